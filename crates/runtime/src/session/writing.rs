//! Making what happens durable, while more of it happens.
//!
//! One write is under way at a time. What is heard meanwhile is converted and gathers on the page, and when the write is
//! done all of that is the next one. So a lone event is written the moment it is there, without a timer, and of an agent
//! that talks fast the more goes into one commit the longer commits take. The agent, the converter and the disk are at
//! work at the same time.
//!
//! It is one write, not several, because the store commits one after the other anyway: a second one in its queue would
//! only be a page that can no longer grow. And nothing can become durable after something that did not.

use interlingua_store::{PendingWrite, StoreError};

use super::page::Begun;
use super::{Actor, Phase, reply};
use crate::error::RuntimeError;

/// A write that is under way.
#[derive(Debug)]
pub(super) struct Writing {
    pending: PendingWrite<()>,
    /// Whom to tell when it is durable.
    begun: Vec<Begun>,
}

/// What comes of the write that is under way; nothing ever if there is none. Can be cancelled.
pub(super) async fn outcome(writing: &mut Option<Writing>) -> Result<(), StoreError> {
    match writing {
        Some(writing) => (&mut writing.pending).await,
        None => std::future::pending().await,
    }
}

impl Actor {
    /// Begins to write what is on the page, unless a write is under way.
    pub(super) fn write(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let busy = self.phase == Phase::Turn || !self.open.is_nothing();
        let changed = (busy != self.noted_busy).then_some(busy);
        if let Some((append, begun)) = self.page.turn(changed) {
            self.noted_busy = busy;
            let pending = self.runtime.shared.store.append(self.session.key, append);
            self.writing = Some(Writing { pending, begun });
        }
    }

    /// The write is over: tells those who wait for it.
    pub(super) fn written(&mut self, outcome: Result<(), StoreError>) -> Result<(), RuntimeError> {
        let writing = self.writing.take();
        outcome?;
        for (waiting, sequence) in writing.into_iter().flat_map(|writing| writing.begun) {
            // Nobody may be waiting any more.
            let _ = waiting.send(sequence);
        }
        Ok(())
    }

    /// Everything is durable: tells those who wait for the end of a turn. An error if it was the end of the session.
    pub(super) fn caught_up(&mut self) -> Result<(), RuntimeError> {
        let has_ended = self.phase == Phase::Ended;
        if !self.is_busy() || has_ended {
            for answer in self.interrupt.take().into_iter().flat_map(|interrupt| interrupt.answers) {
                reply(answer, Ok(()));
            }
        }
        if has_ended { Err(RuntimeError::SessionEnded(self.session.id.clone())) } else { Ok(()) }
    }

    /// Writes everything down and waits until it is durable.
    pub(super) async fn commit(&mut self) -> Result<(), RuntimeError> {
        self.write();
        while self.writing.is_some() {
            let outcome = outcome(&mut self.writing).await;
            self.written(outcome)?;
            self.write();
        }
        self.caught_up()
    }
}
