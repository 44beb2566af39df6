//! Telling readers and the search index what has become durable.

use std::sync::Arc;

use crate::notifier::{Notification, Notifier, Tail};
use crate::sqlite::search::IndexerHandle;

/// Passes on what the writer has committed.
pub(crate) struct Publisher {
    notifier: Arc<Notifier>,
    indexer: IndexerHandle,
}

impl Publisher {
    pub(crate) fn new(notifier: Arc<Notifier>, indexer: IndexerHandle) -> Self {
        Self { notifier, indexer }
    }

    /// The thread that fills the search index.
    pub(crate) fn indexer(&self) -> &IndexerHandle {
        &self.indexer
    }

    /// Tells the readers of the session, those of all sessions, and the search index. `append` is the number of an append.
    /// The writer calls it in the order of its commits.
    pub(crate) fn publish(&self, notification: Notification, append: i64) {
        let session = notification.session;
        match (&notification.lines, notification.tail) {
            (Some(lines), _) => {
                self.notifier.global().push(session, append, lines);
                self.indexer.observe_commit();
            }
            (None, Tail::Deleted) => {
                self.notifier.global().remove(session);
                self.indexer.remove(session);
            }
            (None, Tail::Unknown) => self.notifier.global().mark_changed(),
            (None, Tail::Open { .. } | Tail::Ended { .. }) => {}
        }
        self.notifier.notify(notification);
    }
}
