//! Turns: from a queued message to the end of the agent's work on it.

use std::time::Duration;

use interlingua_convert::{Failure, Input, SessionDrafts, StreamEnd, TurnEnd};
use interlingua_schema::{ErrorCode, EventData, ItemKind, Role, TurnStatus};
use interlingua_store::{AgentPlace, QueuedMessage, StoreError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep};

use super::connection::{Connection, ServeResult};
use super::current_message::CurrentMessage;
use super::{Phase, Replies, SessionActor};
use crate::batch_channel::ByteLen as _;
use crate::cpu_bound::LARGE_TEXT_BYTES;
use crate::driver::{DriverCommand, ServeError, ServeOutcome, SessionSpec};
use crate::driver_output::{DriverOutput, TimedOutput, now};
use crate::error::RuntimeError;

/// The variable in which a process gets the trace that it is part of.
const TRACE_VARIABLE: &str = "TRACEPARENT";
/// Delay before the queue is read again, when the database could not be read.
const UNAVAILABLE_DELAY: Duration = Duration::from_millis(500);

impl SessionActor {
    /// Takes the first message from the queue and sends it to the agent.
    pub(super) async fn take_next_message(&mut self) -> Result<(), RuntimeError> {
        let room = if self.queue.may_have_large_messages { self.runtime.wait_for_large_message().await } else { None };
        let next = match self.runtime.shared.store.next_message(self.session.key).await {
            Err(StoreError::Unavailable(_)) => {
                // The next round of the main loop tries again.
                sleep(UNAVAILABLE_DELAY).await;
                return Ok(());
            }
            next => next?,
        };
        let Some(queued) = next else {
            self.queue.may_have_messages = false;
            self.queue.may_have_large_messages = false;
            return Ok(());
        };
        let room = room.filter(|_| queued.message.text.len() >= LARGE_TEXT_BYTES);
        let turn_waiters = self.turn_waiters.remove(&queued.id).unwrap_or_default();
        self.take_message(queued, turn_waiters, room).await
    }

    /// Sends a message, which is the first of the queue, to the agent. `room` is kept until the stream has it.
    pub(super) async fn take_message(
        &mut self,
        queued: QueuedMessage,
        turn_waiters: Vec<oneshot::Sender<u64>>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<(), RuntimeError> {
        if self.connection.as_ref().is_some_and(|connection| connection.is_outdated) {
            self.stop_idle_agent().await?;
        }
        self.runtime.shared.metrics.observe_wait(now().as_millis() - queued.created_at.as_millis());
        let trace_parent = self.trace_parents.remove(&queued.id);
        let queued = self.runtime.fetch_attachments(self.session.key, queued).await;
        self.current_message = Some(CurrentMessage::new(queued, turn_waiters, room).trace_parent(trace_parent));
        self.send_current_message();
        self.commit().await
    }

    /// Sends the current message to the driver. Starts the driver if it does not run.
    fn send_current_message(&mut self) {
        if let AgentPlace::Nowhere(reason) = self.lease.place() {
            let failure = Failure::new(ErrorCode::AgentError, reason.clone());
            return self.close_turn(Some(failure));
        }
        let Some(current) = &self.current_message else { return };
        let (message, trace_parent) = (current.message.clone(), current.trace_parent.clone());
        let (session, agent) = (&self.session.id, self.driver.id());
        if self.connection.is_none() {
            let mut spec = SessionSpec::from_stored(&self.session, &self.config, &self.secrets);
            if let Some(trace_parent) = trace_parent.as_deref().filter(|_| !self.driver.shares_process()) {
                spec.env = spec.env.with_default(TRACE_VARIABLE, trace_parent);
            }
            self.runtime.shared.metrics.observe_start(agent, self.session.key);
            self.connection = Some(Connection::open(self.driver.clone(), spec));
        }
        tracing::debug!(%session, agent, trace_parent, "passing a message to the driver");
        // If the driver does not receive commands any more, its result arrives next.
        self.send_command(DriverCommand::SendMessage(message));
    }

    /// Converts outputs of the driver. Inputs are converted together, which is faster. An output that depends on the
    /// state of the session is handled after the inputs before it are converted.
    pub(super) fn convert(&mut self, outputs: &[TimedOutput]) {
        for timed in outputs {
            let time = Some(timed.time);
            self.pending.bytes += timed.byte_len();
            match &timed.output {
                DriverOutput::Launched(launch) => {
                    self.mark_driver_acted();
                    self.conversion.observe_launch(time, launch, &mut self.pending.events);
                }
                DriverOutput::Failed(failure) => {
                    self.flush_conversion();
                    self.close_turn(Some(failure.clone()));
                }
                DriverOutput::Input(input) => {
                    match input {
                        Input::Sent(_) | Input::Request { .. } => self.mark_driver_acted(),
                        Input::Exit { .. } => {
                            self.flush_conversion();
                            // A message on which the agent died is shown in the turn that fails.
                            if self.current_message.as_ref().is_some_and(|current| current.has_driver_acted) {
                                self.add_message_to_stream();
                            }
                        }
                        _ => {}
                    }
                    self.conversion.receive(time, input.borrowed());
                }
            }
        }
        self.flush_conversion();
    }

    /// Flushes the events of the received inputs, and observes them.
    fn flush_conversion(&mut self) {
        self.conversion.flush(&mut self.pending.events);
        self.observe_events();
    }

    fn mark_driver_acted(&mut self) {
        if let Some(current) = &mut self.current_message {
            current.has_driver_acted = true;
        }
    }

    /// Handles the end of [`Driver::serve`](crate::driver::Driver::serve).
    pub(super) fn finish_serve(&mut self, result: ServeResult) {
        tracing::debug!(session = %self.session.id, agent = self.driver.id(), ?result, "driver stopped");
        if self.is_busy() {
            self.runtime.shared.metrics.observe_death(self.session.key);
        }
        match result {
            Err(ServeError::SessionLost(reason)) => {
                self.add_message_to_stream();
                self.conversion.fail_session(Some(now()), &reason, &mut self.pending.events);
                self.observe_events();
            }
            Ok(ServeOutcome::SessionEnded) => {
                self.add_message_to_stream();
                self.conversion.finish(Some(now()), StreamEnd::Log, &mut self.pending.events);
                self.observe_events();
            }
            Ok(ServeOutcome::Stopped) => {
                let is_unhandled = |current: &&mut CurrentMessage| !current.has_driver_acted && !current.is_retried;
                if let Some(current) = self.current_message.as_mut().filter(is_unhandled) {
                    // The driver stopped just when the message was sent. The message is sent again, once.
                    current.is_retried = true;
                    return self.send_current_message();
                }
                if self.is_busy() {
                    self.add_message_to_stream();
                    self.conversion.push(Some(now()), Input::Exit { code: None }, &mut self.pending.events);
                    self.observe_events();
                    self.close_turn(Some(Failure::new(
                        ErrorCode::AgentError,
                        "the agent stopped before the turn ended",
                    )));
                }
            }
            Err(error) => {
                let (session, agent) = (&self.session.id, self.driver.id());
                tracing::warn!(%session, agent, %error, "agent is unavailable; the next message starts it again");
                let code = match error {
                    ServeError::Unauthorized(_) => ErrorCode::Auth,
                    _ => ErrorCode::AgentError,
                };
                self.close_turn(Some(Failure::new(code, error.to_string())));
            }
        }
    }

    /// Adds the current message to the stream, even if it never reached the agent.
    pub(super) fn add_message_to_stream(&mut self) {
        if self.current_message.as_ref().is_some_and(|current| !current.is_in_stream) {
            self.push_host_drafts(|session| session.prompt_accepted(None));
        }
        let missing = self.current_message.as_ref().filter(|current| !current.is_in_stream);
        if let Some(prompt) = missing.map(CurrentMessage::prompt) {
            self.push_host_drafts(|session| {
                session.prompt_sent(prompt);
                session.prompt_accepted(None);
            });
        }
    }

    /// Ends the current or next turn as failed for this reason, or as interrupted. Does nothing if the session is idle.
    pub(super) fn close_turn(&mut self, failure: Option<Failure>) {
        if !self.is_busy() || self.phase == Phase::Ended {
            return;
        }
        self.add_message_to_stream();
        let failure = failure.filter(|_| self.interrupt.is_none());
        self.push_host_drafts(|session| {
            if let Some(failure) = failure {
                session.failed(failure);
                session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
            } else {
                session.interrupt_requested();
                session.turn_ended(TurnEnd::with_status(TurnStatus::Interrupted));
            }
        });
    }

    /// Closes the commands that outlived their turn: the agent is gone, and their ends will not be reported. A message
    /// that the driver has not acted on is not affected.
    pub(super) fn close_background_commands(&mut self) {
        let is_unhandled = self.current_message.as_ref().is_none_or(|current| !current.has_driver_acted);
        if self.phase == Phase::Idle && is_unhandled && !self.open_work.is_empty() {
            self.conversion.push(Some(now()), Input::Exit { code: None }, &mut self.pending.events);
            self.observe_events();
        }
    }

    /// Adds drafts that the host itself makes, without an input.
    pub(super) fn push_host_drafts(&mut self, draft: impl FnOnce(&mut SessionDrafts<'_>)) {
        self.conversion.push_host_drafts(
            Some(now()),
            |drafts| draft(&mut drafts.current_session()),
            &mut self.pending.events,
        );
        self.observe_events();
    }

    /// Updates the state of the session from its new events.
    pub(super) fn observe_events(&mut self) {
        let request_timeout = self.config.request_timeout().or_else(|| self.runtime.request_timeout());
        let pending = &mut self.pending;
        for event in &mut pending.events[pending.observed..] {
            if let (EventData::TurnStarted(started), Some(current)) = (&mut event.data, &self.current_message)
                && !current.is_in_stream
            {
                // The turn of the message. Only the session knows the ids of messages, no converter does.
                let metadata = started.metadata.get_or_insert_default();
                metadata.message_ids = Some(vec![current.public_id.clone()]);
            }
            self.replies.complete_event(&mut event.data);
            let event = &*event;
            self.checkpoint.observe(event);
            self.request_deadlines.observe(&event.data, request_timeout);
            self.open_work.observe(&event.data);
            if event.native_session_id.is_some() && event.native_session_id != self.session.native_session_id {
                self.session.native_session_id.clone_from(&event.native_session_id);
            }
            match &event.data {
                EventData::TurnStarted(started) => {
                    let turn = &started.turn_id;
                    tracing::debug!(session = %self.session.id, turn, sequence = event.sequence, "turn started");
                    self.phase = Phase::Turn;
                    if let Some(current) = &mut self.current_message {
                        current.turn_starts_after.get_or_insert(event.sequence - 1);
                    }
                }
                EventData::TurnEnded(ended) => {
                    self.runtime.shared.metrics.observe_turn(self.driver.id(), ended);
                    let (session, turn, status) = (&self.session.id, &ended.turn_id, &ended.status);
                    tracing::debug!(%session, turn, %status, sequence = event.sequence, "turn ended");
                    self.phase = Phase::Idle;
                    self.replies = Replies::default();
                    self.idle_since = Instant::now();
                    // A turn that the agent started by itself may end before the message reaches the agent.
                    match &mut self.current_message {
                        Some(current) if !current.is_in_stream => current.turn_starts_after = None,
                        _ => self.current_message = None,
                    }
                }
                EventData::SessionEnded(_) => {
                    self.phase = Phase::Ended;
                    self.current_message = None;
                }
                EventData::ItemStarted(started) => {
                    let item = &started.item;
                    let is_user_message =
                        item.kind == ItemKind::Message && item.role == Some(Role::User) && item.parent_id.is_none();
                    let current = self.current_message.as_mut();
                    if let Some(current) = current.filter(|current| is_user_message && !current.is_in_stream) {
                        current.is_in_stream = true;
                        pending.room = current.release_text();
                        let starts_after = *current.turn_starts_after.get_or_insert(event.sequence - 1);
                        pending.begun.push((current.id, starts_after));
                        let waiters = current.turn_waiters.drain(..);
                        pending.turn_starts.extend(waiters.map(|waiter| (waiter, starts_after)));
                    }
                }
                // An agent that works between turns is not idle.
                EventData::ItemCompleted(_) if self.phase == Phase::Idle => self.idle_since = Instant::now(),
                _ => {}
            }
            // A command may outlive its turn. Then its call has to be read again after a restart: no checkpoint here.
            let is_boundary = matches!(event.data, EventData::SessionStarted(_) | EventData::TurnEnded(_));
            if is_boundary && self.open_work.is_empty() {
                pending.checkpoint = self.checkpoint.advance(event).or(pending.checkpoint.take());
            }
        }
        pending.observed = pending.events.len();
    }
}
