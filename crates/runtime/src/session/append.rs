//! Writing events to the store, while more of them arrive.
//!
//! One append is in flight at a time. Outputs that arrive meanwhile are converted and collected in the pending append,
//! which is written when the first one is durable. So a single event is written at once, without a timer, and for a
//! fast agent, appends grow with the duration of a commit. The agent, the converter and the disk work at the same time.
//!
//! There is one append in flight, not several, because the store commits them one after the other anyway: a second one
//! in its queue could no longer grow. It also guarantees that no event becomes durable after one that did not.

use interlingua_store::{PendingWrite, StoreError};

use super::pending_append::UntilDurable;
use super::{Phase, SessionActor, reply};
use crate::cpu_bound::run_cpu_bound;
use crate::error::RuntimeError;

/// An append that the store has not committed yet.
#[derive(Debug)]
pub(super) struct InFlightAppend {
    write: PendingWrite<()>,
    until_durable: UntilDurable,
}

/// Waits for the result of the append in flight. Without one, waits forever. Can be cancelled.
pub(super) async fn wait(in_flight: &mut Option<InFlightAppend>) -> Result<(), StoreError> {
    match in_flight {
        Some(append) => (&mut append.write).await,
        None => std::future::pending().await,
    }
}

impl SessionActor {
    /// Starts to write the pending append, unless another one is in flight.
    pub(super) fn start_append(&mut self) {
        if self.in_flight.is_some() {
            return;
        }
        let busy = self.phase == Phase::Turn || !self.open_work.is_empty();
        let changed = (busy != self.stored_busy).then_some(busy);
        let message_bytes = self.current_message.as_ref().map_or(0, |current| current.message.text.len());
        let bytes = self.pending.bytes + message_bytes;
        // The store encodes and compresses the events before it queues the append.
        let started = run_cpu_bound(bytes, || {
            let (append, until_durable) = self.pending.take(changed)?;
            let write = self.runtime.shared.store.append(self.session.key, append.lease(&self.lease));
            Some(InFlightAppend { write, until_durable })
        });
        if started.is_some() {
            self.stored_busy = busy;
            self.in_flight = started;
        }
    }

    /// Handles the result of the append in flight, and notifies callers that wait for a turn.
    pub(super) fn finish_append(&mut self, result: Result<(), StoreError>) -> Result<(), RuntimeError> {
        let append = self.in_flight.take();
        result?;
        for (waiter, sequence) in append.into_iter().flat_map(|append| append.until_durable.turn_starts) {
            // The caller may have gone away.
            let _ = waiter.send(sequence);
        }
        Ok(())
    }

    /// Everything is durable: replies to callers that wait for the end of the turn. An error if the session has ended.
    pub(super) fn finish_commit(&mut self) -> Result<(), RuntimeError> {
        let has_ended = self.phase == Phase::Ended;
        if !self.is_busy() || has_ended {
            for reply_to in self.interrupt.take().into_iter().flat_map(|interrupt| interrupt.reply_to) {
                reply(reply_to, Ok(()));
            }
        }
        if has_ended { Err(RuntimeError::SessionEnded(self.session.id.clone())) } else { Ok(()) }
    }

    /// Writes all events and waits until they are durable.
    pub(super) async fn commit(&mut self) -> Result<(), RuntimeError> {
        self.start_append();
        while self.in_flight.is_some() {
            let result = wait(&mut self.in_flight).await;
            self.finish_append(result)?;
            self.start_append();
        }
        self.finish_commit()
    }
}
