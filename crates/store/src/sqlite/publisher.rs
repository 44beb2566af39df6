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

    /// Tells the readers of the session, those of all sessions, and the search index. The writer calls it in the order of
    /// its commits.
    pub(crate) fn publish(&self, notification: Notification) {
        let session = notification.session;
        match (&notification.appended, notification.tail) {
            (Some(appended), _) => {
                self.notifier.global().push(session, appended);
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
