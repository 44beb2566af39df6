//! Turns: from a message in the queue to the end of what it began.

use interlingua_convert::{Failure, Input, SessionDrafts, StreamEnd, TurnEnd};
use interlingua_schema::{ErrorCode, EventData, ItemKind, Role, TurnStatus};
use interlingua_store::{QueuedMessage, StoredState};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection::{Connection, ServeResult};
use super::ordered::Ordered;
use super::{Actor, Phase, Replies};
use crate::batch_channel::ByteLen as _;
use crate::driver::{DriverCommand, ServeError, ServeOutcome, SessionSpec};
use crate::driver_output::{DriverOutput, TimedOutput, now};
use crate::error::RuntimeError;

impl Actor {
    /// Takes the message that has waited longest, and orders the agent to answer it.
    pub(super) async fn next_message(&mut self) -> Result<(), RuntimeError> {
        let Some(queued) = self.runtime.shared.store.next_message(self.session.key).await? else {
            self.may_have_messages = false;
            return Ok(());
        };
        let turn = self.waiting.remove(&queued.id);
        self.take_message(queued, turn).await
    }

    /// CommandReceiver the agent to answer a message that is next.
    pub(super) async fn take_message(
        &mut self,
        queued: QueuedMessage,
        turn: Option<oneshot::Sender<u64>>,
    ) -> Result<(), RuntimeError> {
        self.ordered = Some(Ordered::new(queued, turn));
        self.order_message();
        self.commit().await
    }

    /// CommandReceiver the agent to answer the message, bringing it up if need be.
    fn order_message(&mut self) {
        let Some(message) = self.ordered.as_ref().map(|ordered| ordered.message.clone()) else { return };
        if self.connection.is_none() {
            let kept = StoredState::new(self.config.clone());
            let secrets = self.runtime.secrets_of(&self.session.id);
            match SessionSpec::of_stored(&self.session, &kept, secrets) {
                Ok(spec) => self.connection = Some(Connection::open(self.driver.clone(), spec)),
                Err(missing) => {
                    return self.close_turn(Some(Failure::new(ErrorCode::InvalidRequest, missing.to_string())));
                }
            }
        }
        // A driver that no longer hears is about to say so.
        self.order(DriverCommand::SendMessage(message));
    }

    /// Converts what the driver sent. Inputs are converted together, which is faster; whatever asks where the session
    /// stands comes after the inputs before it.
    pub(super) fn convert(&mut self, messages: &[TimedOutput]) {
        for message in messages {
            let at = Some(message.time);
            self.page.bytes += message.byte_len();
            match &message.output {
                DriverOutput::Launched(launch) => {
                    self.touch();
                    self.conversion.observe_launch(at, launch, &mut self.page.events);
                }
                DriverOutput::Failed(failure) => {
                    self.settle();
                    self.close_turn(Some(failure.clone()));
                }
                DriverOutput::Input(input) => {
                    match input {
                        Input::Sent(_) | Input::Request { .. } => self.touch(),
                        Input::Exit { .. } => {
                            self.settle();
                            // A message that the agent died on is shown in the turn that fails.
                            if self.ordered.as_ref().is_some_and(|ordered| ordered.touched) {
                                self.show_message();
                            }
                        }
                        _ => {}
                    }
                    self.conversion.receive(at, input.borrowed());
                }
            }
        }
        self.settle();
    }

    /// Makes events of what was heard, and looks at them.
    fn settle(&mut self) {
        self.conversion.flush(&mut self.page.events);
        self.watch();
    }

    fn touch(&mut self) {
        if let Some(ordered) = &mut self.ordered {
            ordered.touched = true;
        }
    }

    /// The driver is done with the session for now.
    pub(super) fn served(&mut self, served: ServeResult) {
        match served {
            Err(ServeError::SessionLost(reason)) => {
                self.show_message();
                self.conversion.fail_session(Some(now()), &reason, &mut self.page.events);
                self.watch();
            }
            Ok(ServeOutcome::SessionEnded) => {
                self.show_message();
                self.conversion.finish(Some(now()), StreamEnd::Log, &mut self.page.events);
                self.watch();
            }
            Ok(ServeOutcome::Stopped) => {
                let unheard = |ordered: &&mut Ordered| !ordered.touched && !ordered.repeated;
                if let Some(ordered) = self.ordered.as_mut().filter(unheard) {
                    // The agent left just when it was spoken to: it is called back, once.
                    ordered.repeated = true;
                    return self.order_message();
                }
                if self.is_busy() {
                    self.show_message();
                    self.conversion.push(Some(now()), Input::Exit { code: None }, &mut self.page.events);
                    self.watch();
                    self.close_turn(Some(Failure::new(ErrorCode::AgentError, "the agent is gone")));
                }
            }
            Err(error) => {
                tracing::warn!(session = %self.session.id, agent = self.driver.id(), "{error}");
                self.close_turn(Some(Failure::new(ErrorCode::AgentError, error.to_string())));
            }
        }
    }

    /// Sees to it that the message stands in the stream, even if the agent never heard of it.
    pub(super) fn show_message(&mut self) {
        if self.ordered.as_ref().is_some_and(|ordered| !ordered.shown) {
            self.host(|session| session.prompt_accepted(None));
        }
        let unheard = self.ordered.as_ref().filter(|ordered| !ordered.shown);
        if let Some(prompt) = unheard.map(Ordered::prompt) {
            self.host(|session| {
                session.prompt_sent(prompt);
                session.prompt_accepted(None);
            });
        }
    }

    /// Ends the turn that runs, or was about to: failed for this reason, or interrupted. Without one, nothing happens.
    pub(super) fn close_turn(&mut self, failure: Option<Failure>) {
        if !self.is_busy() || self.phase == Phase::Ended {
            return;
        }
        self.show_message();
        let failure = failure.filter(|_| self.interrupt.is_none());
        self.host(|session| {
            if let Some(failure) = failure {
                session.failed(failure);
                session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
            } else {
                session.interrupt_requested();
                session.turn_ended(TurnEnd::with_status(TurnStatus::Interrupted));
            }
        });
    }

    /// The agent is gone, and with it the commands that ran on after their turn: nobody will tell how they end. A message
    /// that the agent has not heard of is not concerned.
    pub(super) fn close_commands(&mut self) {
        let is_unheard = self.ordered.as_ref().is_none_or(|ordered| !ordered.touched);
        if self.phase == Phase::Rest && is_unheard && !self.open.is_nothing() {
            self.conversion.push(Some(now()), Input::Exit { code: None }, &mut self.page.events);
            self.watch();
        }
    }

    /// The host itself says something in the session.
    pub(super) fn host(&mut self, say: impl FnOnce(&mut SessionDrafts<'_>)) {
        self.conversion.push_host_drafts(
            Some(now()),
            |drafts| say(&mut drafts.current_session()),
            &mut self.page.events,
        );
        self.watch();
    }

    /// Looks at the events that are new, and at what they mean for the session.
    pub(super) fn watch(&mut self) {
        let page = &mut self.page;
        for event in &page.events[page.watched..] {
            self.standing.watch(event);
            self.open.watch(&event.data);
            if event.native_session_id.is_some() && event.native_session_id != self.session.native_session_id {
                self.session.native_session_id.clone_from(&event.native_session_id);
            }
            match &event.data {
                EventData::TurnStarted(_) => {
                    self.phase = Phase::Turn;
                    if let Some(ordered) = &mut self.ordered {
                        ordered.began_after.get_or_insert(event.sequence - 1);
                    }
                }
                EventData::TurnEnded(_) => {
                    self.phase = Phase::Rest;
                    self.replies = Replies::default();
                    self.idle_since = Instant::now();
                    // A turn that the agent had of its own may end while the message is still on its way.
                    match &mut self.ordered {
                        Some(ordered) if !ordered.shown => ordered.began_after = None,
                        _ => self.ordered = None,
                    }
                }
                EventData::SessionEnded(_) => {
                    self.phase = Phase::Ended;
                    self.ordered = None;
                }
                EventData::ItemStarted(started) => {
                    let item = &started.item;
                    let is_users =
                        item.kind == ItemKind::Message && item.role == Some(Role::User) && item.parent_id.is_none();
                    if let Some(ordered) = self.ordered.as_mut().filter(|ordered| is_users && !ordered.shown) {
                        ordered.shown = true;
                        page.taken.push(ordered.id);
                        let began_after = ordered.began_after.unwrap_or(event.sequence - 1);
                        page.begun.extend(ordered.turn.take().map(|turn| (turn, began_after)));
                    }
                }
                // An agent that works between turns is not idle.
                EventData::ItemCompleted(_) if self.phase == Phase::Rest => self.idle_since = Instant::now(),
                _ => {}
            }
            // A command may run on when its turn is over. Then its call has to be read again after a restart.
            let may_settle = matches!(event.data, EventData::SessionStarted(_) | EventData::TurnEnded(_));
            if may_settle && self.open.is_nothing() {
                page.state = self.standing.settle(event).or(page.state.take());
            }
        }
        page.watched = page.events.len();
    }
}
