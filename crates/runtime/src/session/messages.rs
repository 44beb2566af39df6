//! The queue of a session, and changes of its options between turns.

use interlingua_schema::Message;
use interlingua_store::{Enqueued, MessageId, MessageState, NewMessage, QueuedMessage, SessionChanges};
use tokio::sync::oneshot;

use super::command::ReplySender;
use super::{SessionActor, ignore_unavailable, reply};
use crate::cpu_bound::{LARGE_TEXT_BYTES, run_cpu_bound};
use crate::driver_output::now;
use crate::error::RuntimeError;

impl SessionActor {
    /// Queues a message, unless the session has one with the same id. The caller that is slower than another one with
    /// the same id gets the turn of the other's message.
    pub(super) async fn queue_message(
        &mut self,
        message: NewMessage,
        trace_parent: Option<String>,
        reply_to: ReplySender,
        turn_start: oneshot::Sender<u64>,
    ) -> Result<(), RuntimeError> {
        // A message with nothing before it in the queue need not be read back from the store. A large one is, when there
        // is room for it.
        let is_large = message.message.text.len() >= LARGE_TEXT_BYTES;
        let is_next = !self.is_busy() && !self.queue.may_have_messages && self.may_start_turns() && !is_large;
        let copy: Option<Message> = is_next.then(|| message.message.clone());
        let (public_id, fingerprint) = (message.public_id.clone(), message.fingerprint.clone());
        // The store encodes the attachments before it queues the write.
        let attachment_bytes = message.message.attachments.iter().map(|attachment| attachment.path.len()).sum();
        let store = &self.runtime.shared.store;
        let queued = run_cpu_bound(attachment_bytes, || store.enqueue(self.session.key, message));
        match queued.await {
            Ok(Enqueued::New(id)) => {
                reply(reply_to, Ok(()));
                if let Some(trace_parent) = trace_parent {
                    self.trace_parents.insert(id, trace_parent);
                }
                if let Some(message) = copy {
                    let queued = QueuedMessage::new(id, public_id, message, now());
                    return self.take_message(queued, vec![turn_start], None).await;
                }
                self.turn_waiters.entry(id).or_default().push(turn_start);
                self.queue.may_have_messages = true;
                self.queue.may_have_large_messages |= is_large;
            }
            Ok(Enqueued::Existing(existing)) if existing.fingerprint == fingerprint => {
                let attached = self.attach_to_turn(&public_id, turn_start).await;
                reply(reply_to, attached.clone());
                return ignore_unavailable(attached);
            }
            Ok(Enqueued::Existing(_)) => {
                let conflict = RuntimeError::message_id_taken(self.session.id.clone(), public_id);
                reply(reply_to, Err(conflict));
            }
            Err(error) => reply(reply_to, Err(error.into())),
        }
        Ok(())
    }

    /// Tells a caller where the turn of a message starts, now or when it does. A caller that waits for the turn of a
    /// cancelled message learns that there will be none.
    pub(super) async fn attach_to_turn(
        &mut self,
        public_id: &str,
        turn_start: oneshot::Sender<u64>,
    ) -> Result<(), RuntimeError> {
        // A turn that has begun, and may be over, is found in the store only when its first events are durable.
        self.commit().await?;
        let Some(record) = self.runtime.shared.store.find_message(self.session.key, public_id).await? else {
            return Ok(());
        };
        match record.state {
            // The caller may have gone away.
            MessageState::Begun { turn_starts_after } => drop(turn_start.send(turn_starts_after)),
            MessageState::Cancelled => {}
            MessageState::Queued => match &mut self.current_message {
                Some(current) if current.id == record.id => current.turn_waiters.push(turn_start),
                _ => {
                    self.turn_waiters.entry(record.id).or_default().push(turn_start);
                    self.queue.may_have_messages = true;
                }
            },
        }
        Ok(())
    }

    /// Removes a message from the queue.
    pub(super) async fn cancel_message(&mut self, id: MessageId) -> Result<(), RuntimeError> {
        let is_current = self.current_message.as_ref().is_some_and(|current| current.id == id);
        if is_current || !self.runtime.shared.store.cancel_message(self.session.key, id).await? {
            return Err(RuntimeError::message_begun(self.session.id.clone()));
        }
        // Dropping the senders tells waiters that the turn will not start.
        self.turn_waiters.remove(&id);
        self.trace_parents.remove(&id);
        Ok(())
    }

    /// Changes what the agent is started with. An agent that is idle is started again before the next turn.
    pub(super) async fn update(&mut self, changes: SessionChanges) -> Result<(), RuntimeError> {
        if self.is_busy() || !self.open_work.is_empty() {
            let agent = self.driver.id();
            return Err(RuntimeError::ChangeRefused {
                session: self.session.id.clone(),
                reason: format!(
                    "{agent} takes its model and permission mode when it starts, and it is working; interrupt the turn or \
                     wait for its end"
                ),
            });
        }
        self.session = self.runtime.shared.store.update_session(self.session.key, changes).await?;
        if let Some(connection) = &mut self.connection {
            connection.is_outdated = true;
        }
        Ok(())
    }
}
