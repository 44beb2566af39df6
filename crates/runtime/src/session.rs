//! The session actor: a task that owns the event stream of one session and talks to its driver.
//!
//! It waits for four things: commands, outputs of the driver, the store, and deadlines. It never waits for the driver
//! to execute a command, so no agent can block it. While the store writes, it keeps receiving ([`append`]). It takes
//! the next message from the queue, and stops when idle, only after everything before is durable.

mod append;
mod checkpoint;
mod command;
mod connection;
mod current_message;
mod load;
mod messages;
mod open_work;
mod pending_append;
mod replies;
mod request;
mod request_deadlines;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Conversion, Converter, StreamEnd};
use interlingua_store::{Acquired, AgentPlace, Lease, MessageId, Session, StoreError};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use append::InFlightAppend;
use checkpoint::Checkpoint;
pub(crate) use command::{QuestionReply, ReplySender, SessionCommand};
use connection::{Connection, Received};
use current_message::CurrentMessage;
use open_work::OpenWork;
use pending_append::PendingAppend;
use replies::{Replies, ReplySource};
pub(crate) use request::{RequestResult, SessionRequest};
use request_deadlines::RequestDeadlines;

use crate::actors::SessionCommands;
use crate::batch_channel::ByteLen;
use crate::cpu_bound::run_cpu_bound;
use crate::create::StoredConfig;
use crate::driver::{Driver, DriverCommand, ServeOutcome};
use crate::driver_output::now;
use crate::error::RuntimeError;
use crate::running_turns::RunningTurn;
use crate::runtime::Runtime;
use crate::secrets::Secrets;

/// Takes the lease of a session, loads it, executes its commands, and returns when there is nothing left to do.
pub(crate) async fn run_actor(runtime: &Runtime, session: Session, commands: &mut SessionCommands) {
    let (key, id) = (session.key, session.id.clone());
    let error = match runtime.shared.store.acquire(key).await {
        Ok(Acquired::Lease(lease)) => {
            let leaves_work = Box::pin(run_with_lease(runtime, session, &lease, commands)).await;
            runtime.shared.store.release(&lease);
            if leaves_work {
                runtime.signal_work(key, None);
            }
            return;
        }
        Ok(Acquired::HeldBy(owner)) => RuntimeError::OwnedByOther(owner),
        Err(StoreError::SessionNotFound) => RuntimeError::SessionNotFound(id),
        Err(StoreError::SessionEnded) => RuntimeError::SessionEnded(id),
        Err(error) => error.into(),
    };
    runtime.shared.actors.remove_failed(key, commands, &error);
}

/// Runs the session. Returns whether there is work left that another server can do.
async fn run_with_lease(runtime: &Runtime, session: Session, lease: &Lease, commands: &mut SessionCommands) -> bool {
    let (key, id) = (session.key, session.id.clone());
    let error = match SessionActor::load(runtime, session.clone(), lease).await {
        Err(error) => error,
        Ok(mut actor) => match actor.run(commands).await {
            Ok(()) => return actor.queue.may_have_messages && !actor.may_start_turns(),
            Err(error) => {
                actor.abandon_agent().await;
                if let RuntimeError::Store(reason) = &error
                    && reason.is_storage_full()
                {
                    report_full_storage(runtime, session.clone(), lease, reason).await;
                }
                error
            }
        },
    };
    if matches!(error, RuntimeError::SessionEnded(_) | RuntimeError::SessionNotFound(_)) {
        runtime.remove_secrets(key);
        runtime.shared.metrics.forget(key);
        runtime.unlink_skills(session.directory.as_deref(), &StoredConfig::decode(&session).skills).await;
    }
    match &error {
        RuntimeError::Store(StoreError::LeaseLost) => {
            tracing::warn!(session = %id, "another server has taken the session over; its agent here was stopped");
        }
        RuntimeError::Store(error) => {
            tracing::error!(session = %id, %error, "store failed; stopping the session until its next command");
        }
        _ => {}
    }
    runtime.shared.actors.remove_failed(key, commands, &error);
    false
}

/// Ends the turn of a session whose events could not be stored because there is no space.
async fn report_full_storage(runtime: &Runtime, session: Session, lease: &Lease, reason: &StoreError) {
    let id = session.id.clone();
    match SessionActor::load_after_full_storage(runtime, session, lease, reason).await {
        Ok(_) | Err(RuntimeError::SessionEnded(_) | RuntimeError::SessionNotFound(_)) => {}
        Err(error) => {
            tracing::error!(session = %id, %error, "cannot record that the session ran out of space; retrying when it is next loaded");
        }
    }
}

/// A session with something to do.
struct SessionActor {
    runtime: Runtime,
    driver: Arc<dyn Driver>,
    session: Session,
    /// The right to append to the session.
    lease: Lease,
    /// Whether the session is given up as soon as it is idle.
    is_handing_over: bool,
    /// What the session was created with, as stored.
    config: StoredConfig,
    /// The values that the agent is started with, as far as they are in memory.
    secrets: Secrets,
    /// Whether values are missing: no message is taken before a client has handed them in.
    needs_secrets: bool,
    conversion: Conversion<Box<dyn Converter>>,
    checkpoint: Checkpoint,
    /// The events that the next append writes.
    pending: PendingAppend,
    in_flight: Option<InFlightAppend>,
    /// The `busy` flag that the store has.
    stored_busy: bool,
    open_work: OpenWork,
    phase: Phase,
    connection: Option<Connection>,
    current_message: Option<CurrentMessage>,
    queue: QueueHint,
    /// Callers that wait for the turns of queued messages.
    turn_waiters: HashMap<MessageId, Vec<oneshot::Sender<u64>>>,
    /// The clients' traces of queued messages.
    trace_parents: HashMap<MessageId, String>,
    replies: Replies,
    request_deadlines: RequestDeadlines,
    interrupt: Option<PendingInterrupt>,
    /// Counts the session as working, while it is.
    running: Option<RunningTurn>,
    /// When the agent last had something to do.
    idle_since: Instant,
}

/// What the store may hold of the session's queue, so that an empty queue is not read.
#[derive(Clone, Copy, Debug)]
struct QueueHint {
    may_have_messages: bool,
    /// Whether some of them may be large.
    may_have_large_messages: bool,
}

/// What a session is doing, according to its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between turns.
    Idle,
    /// In a turn.
    Turn,
    /// The session has ended.
    Ended,
}

/// An interrupt that the agent has not followed yet.
#[derive(Debug)]
struct PendingInterrupt {
    /// Deadline for killing the agent.
    deadline: Instant,
    reply_to: Vec<ReplySender>,
}

impl SessionActor {
    /// Whether a turn runs, or is about to.
    fn is_busy(&self) -> bool {
        self.phase == Phase::Turn || self.current_message.is_some()
    }

    /// Whether the queue may hold messages that can be sent to the agent.
    fn has_work(&self) -> bool {
        self.queue.may_have_messages && self.may_start_turns()
    }

    /// Whether messages may be taken from the queue.
    fn may_start_turns(&self) -> bool {
        !self.needs_secrets && *self.lease.place() != AgentPlace::Elsewhere && !self.is_leaving()
    }

    /// Whether another server should go on with the session, or the next process.
    fn is_leaving(&self) -> bool {
        self.is_handing_over || self.runtime.shared.running_turns.is_draining()
    }

    /// Counts the session as working or not, for a server that waits for its turns to end.
    fn update_running(&mut self) {
        let is_working = self.is_busy() || !self.open_work.is_empty() || self.in_flight.is_some();
        if !is_working {
            self.running = None;
        } else if self.running.is_none() {
            self.running = Some(self.runtime.shared.running_turns.start());
        }
    }

    async fn run(&mut self, commands: &mut SessionCommands) -> Result<(), RuntimeError> {
        loop {
            self.start_append();
            if self.in_flight.is_none() {
                self.finish_commit()?;
                if !self.is_busy() && self.has_work() {
                    self.running.get_or_insert_with(|| self.runtime.shared.running_turns.start());
                    if self.has_work() {
                        self.take_next_message().await?;
                    }
                }
                if self.can_stop() {
                    self.stop_idle_agent().await?;
                    if !self.has_work()
                        && !self.is_busy()
                        && self.runtime.shared.actors.remove_idle(self.session.key, commands)
                    {
                        return Ok(());
                    }
                }
            }
            self.update_running();
            let deadline = self.deadline();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.execute(command).await?,
                    None => return Err(RuntimeError::ShuttingDown),
                },
                result = append::wait(&mut self.in_flight) => self.finish_append(result)?,
                received = receive(&mut self.connection), if self.pending.has_room() => self.receive(received).await?,
                () = sleep_until_deadline(deadline) => self.handle_deadline().await?,
                () = self.lease.lost() => return Err(StoreError::LeaseLost.into()),
            }
        }
    }

    /// Whether the actor can stop: nothing is queued or running, and the agent is gone or has been idle long enough.
    fn can_stop(&self) -> bool {
        let is_idle_too_long = || self.is_handing_over || self.idle_since.elapsed() >= self.driver.idle_timeout();
        !self.is_busy()
            && !self.has_work()
            // A caller may wait for the turn of a message that waits for secrets.
            && self.turn_waiters.values().flatten().all(oneshot::Sender::is_closed)
            && (self.connection.is_none() || (self.open_work.is_empty() && is_idle_too_long()))
    }

    fn deadline(&self) -> Option<Instant> {
        self.agent_deadline().into_iter().chain(self.request_deadlines.first()).min()
    }

    /// The deadline of an interrupt, or of an idle agent.
    fn agent_deadline(&self) -> Option<Instant> {
        match &self.interrupt {
            Some(interrupt) => Some(interrupt.deadline),
            None if self.is_busy() || self.connection.is_none() || self.in_flight.is_some() => None,
            // An agent whose commands still run is not idle.
            None if !self.open_work.is_empty() => None,
            None => Some(self.idle_since + self.driver.idle_timeout()),
        }
    }

    async fn execute(&mut self, command: SessionCommand) -> Result<(), RuntimeError> {
        match command {
            SessionCommand::Wake(reply_to) => {
                self.load_secrets();
                // Another server may have queued a message.
                self.queue.may_have_messages = true;
                reply(reply_to, Ok(()));
            }
            SessionCommand::HandOver(reply_to) => {
                self.is_handing_over = true;
                reply(reply_to, Ok(()));
            }
            SessionCommand::Message { message, trace_parent, reply_to, turn_start } => {
                return self.queue_message(message, trace_parent, reply_to, turn_start).await;
            }
            SessionCommand::FindTurn { public_id, reply_to, turn_start } => {
                let attached = self.attach_to_turn(&public_id, turn_start).await;
                reply(reply_to, attached.clone());
                return ignore_unavailable(attached);
            }
            SessionCommand::CancelMessage { id, reply_to } => {
                let result = self.cancel_message(id).await;
                reply(reply_to, result);
            }
            SessionCommand::Update { changes, reply_to } => {
                let result = self.update(changes).await;
                reply(reply_to, result);
            }
            SessionCommand::Permission { id, reply: permission_reply, by, reply_to } => {
                let result = self.reply_permission(id, permission_reply, ReplySource::Client { token: by });
                reply(reply_to, result);
            }
            SessionCommand::Question { id, reply: question_reply, reply_to } => {
                let result = self.reply_question(id, question_reply, &ReplySource::Client { token: None });
                reply(reply_to, result);
            }
            SessionCommand::Interrupt(reply_to) => {
                // A finished turn counts as ended once its end is durable.
                if !self.is_busy()
                    && let Err(error) = self.commit().await
                {
                    reply(reply_to, Err(error.clone()));
                    return Err(error);
                }
                self.interrupt(reply_to);
            }
            SessionCommand::Terminate(reply_to) => return self.terminate(reply_to).await,
            SessionCommand::Shutdown(reply_to) => {
                self.abort_turn().await?;
                reply(reply_to, Ok(()));
                return Err(RuntimeError::ShuttingDown);
            }
        }
        Ok(())
    }

    /// Reads the values that are in memory, and whether any is missing.
    fn load_secrets(&mut self) {
        let secrets = self.runtime.session_secrets(self.session.key);
        self.needs_secrets = !secrets.missing(&self.config.secret_names()).is_empty();
        if secrets != self.secrets {
            self.secrets = secrets;
            if let Some(connection) = &mut self.connection {
                connection.is_outdated = true;
            }
        }
    }

    async fn receive(&mut self, (outputs, serve_result): Received) -> Result<(), RuntimeError> {
        if serve_result.is_some() {
            self.connection = None;
        }
        let bytes = outputs.iter().map(ByteLen::byte_len).sum();
        run_cpu_bound(bytes, || self.convert(&outputs));
        if let Some(result) = serve_result {
            self.finish_serve(result);
            self.close_background_commands();
        }
        // Outputs after the end of the session are ignored.
        if self.phase == Phase::Ended { self.commit().await } else { Ok(()) }
    }

    fn interrupt(&mut self, reply_to: ReplySender) {
        if !self.is_busy() {
            return reply(reply_to, Ok(()));
        }
        if let Some(interrupt) = &mut self.interrupt {
            return interrupt.reply_to.push(reply_to);
        }
        let deadline = Instant::now() + self.runtime.shared.options.interrupt_grace;
        self.interrupt = Some(PendingInterrupt { deadline, reply_to: vec![reply_to] });
        self.mark_interrupted();
        self.send_command(DriverCommand::Interrupt);
    }

    /// Marks the running turn as interrupted. Some agents are interrupted by means that no converter sees.
    fn mark_interrupted(&mut self) {
        self.push_host_drafts(|session| {
            session.interrupt_requested();
        });
    }

    /// Handles a passed deadline: of an interrupt that the agent did not follow, of unanswered requests, or of
    /// an idle agent.
    async fn handle_deadline(&mut self) -> Result<(), RuntimeError> {
        self.expire_requests();
        if self.interrupt.as_ref().is_some_and(|interrupt| interrupt.deadline <= Instant::now()) {
            let grace_ms = self.runtime.shared.options.interrupt_grace.as_millis();
            let (session, agent) = (&self.session.id, self.driver.id());
            tracing::warn!(%session, agent, grace_ms, "agent did not stop after the interrupt; closing its connection");
            return self.abort_turn().await;
        }
        // The next round of the main loop stops an idle agent.
        Ok(())
    }

    /// Ends the agent and with it the running turn, which counts as interrupted.
    async fn abort_turn(&mut self) -> Result<(), RuntimeError> {
        if self.is_busy() {
            self.mark_interrupted();
        }
        self.stop_agent().await;
        self.close_turn(None);
        self.close_background_commands();
        self.commit().await
    }

    /// Stops an agent that has nothing to do.
    async fn stop_idle_agent(&mut self) -> Result<(), RuntimeError> {
        if self.connection.is_none() {
            return Ok(());
        }
        self.stop_agent().await;
        self.close_background_commands();
        self.commit().await
    }

    /// Stops the agent, and converts its last outputs.
    async fn stop_agent(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let (last_outputs, result) = connection.close(self.runtime.shared.options.stop_grace).await;
        self.convert(&last_outputs);
        // Other results do not matter for a connection that we closed.
        if result == Ok(ServeOutcome::SessionEnded) {
            self.finish_serve(result);
        }
    }

    /// Stops the agent, and ignores its last outputs.
    async fn abandon_agent(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.close(self.runtime.shared.options.stop_grace).await);
        }
    }

    async fn terminate(&mut self, reply_to: ReplySender) -> Result<(), RuntimeError> {
        let mut result = self.commit_end().await;
        self.abandon_agent().await;
        if let Err(RuntimeError::Store(reason)) = &result
            && reason.is_storage_full()
        {
            // The last events are lost, but the end needs little space.
            result = match Self::load_after_full_storage(&self.runtime, self.session.clone(), &self.lease, reason).await
            {
                Ok(actor) => {
                    *self = actor;
                    self.commit_end().await
                }
                Err(error) => Err(error),
            };
        }
        match result {
            Ok(()) | Err(RuntimeError::SessionEnded(_)) => reply(reply_to, Ok(())),
            Err(ref error) => reply(reply_to, Err(error.clone())),
        }
        result
    }

    /// Ends the stream of the session and waits until that is durable.
    async fn commit_end(&mut self) -> Result<(), RuntimeError> {
        self.add_message_to_stream();
        self.conversion.finish(Some(now()), StreamEnd::Terminated, &mut self.pending.events);
        self.observe_events();
        self.pending.essential = true;
        self.commit().await
    }

    /// Sends a command to the driver. False if the driver does not receive commands any more.
    fn send_command(&self, command: DriverCommand) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.send(command))
    }
}

/// Replies to a command. The caller may have gone away.
fn reply(reply_to: ReplySender, result: Result<(), RuntimeError>) {
    let _ = reply_to.send(result);
}

/// A database that cannot be read for a moment fails a command, but not the session.
fn ignore_unavailable(result: Result<(), RuntimeError>) -> Result<(), RuntimeError> {
    match result {
        Err(RuntimeError::Store(StoreError::Unavailable(_))) => Ok(()),
        result => result,
    }
}

/// Waits for the next outputs of the driver. Without a connection, waits forever.
async fn receive(connection: &mut Option<Connection>) -> Received {
    match connection {
        Some(connection) => connection.receive().await,
        None => std::future::pending().await,
    }
}

async fn sleep_until_deadline(deadline: Option<Instant>) {
    match deadline {
        // Everything else that is ready goes before a deadline that has passed.
        Some(deadline) => sleep_until(deadline.max(Instant::now() + Duration::from_millis(1))).await,
        None => std::future::pending().await,
    }
}
