//! One session at work: a task that owns the stream of events and speaks with a driver.
//!
//! It waits for four things: commands, what the driver says, the store, and deadlines. It never waits for the driver to
//! obey, so that no agent can make it deaf, and while the store writes it listens on ([`writing`]). The next message is
//! taken up, and the session goes to sleep, only when everything before is durable.

mod command;
mod connection;
mod open_work;
mod ordered;
mod page;
mod replies;
mod standing;
mod stretch;
mod turn;
mod writing;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Conversion, Converter, StreamEnd};
use interlingua_schema::RawJson;
use interlingua_store::{MessageId, QueuedMessage, Session};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

pub(crate) use command::{Answer, Command, QuestionReply};
use connection::{Connection, Received};
use open_work::OpenWork;
use ordered::Ordered;
use page::Page;
use replies::Replies;
use standing::Standing;
use writing::Writing;

use crate::actors::Commands;
use crate::driver::{Driver, DriverCommand, ServeOutcome};
use crate::driver_output::now;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Takes a session up, obeys its commands, and returns when there is nothing left to do.
pub(crate) async fn work(runtime: &Runtime, session: Session, commands: &mut Commands) {
    let key = session.key;
    let error = match Actor::take_up(runtime, session).await {
        Err(error) => error,
        Ok(mut actor) => match actor.run(commands).await {
            Ok(()) => return,
            Err(error) => {
                actor.abandon_agent().await;
                error
            }
        },
    };
    if let RuntimeError::Store(error) = &error {
        tracing::error!("a session is given up because the store fails: {error}");
    }
    runtime.shared.actors.give_up(key, commands, &error);
}

/// A session at work.
struct Actor {
    runtime: Runtime,
    driver: Arc<dyn Driver>,
    session: Session,
    /// What the session was created with.
    config: Option<RawJson>,
    conversion: Conversion<Box<dyn Converter>>,
    standing: Standing,
    page: Page,
    writing: Option<Writing>,
    /// Whether the store knows that something is open.
    noted_busy: bool,
    open: OpenWork,
    phase: Phase,
    connection: Option<Connection>,
    ordered: Option<Ordered>,
    /// Whether there may be messages in the queue.
    may_have_messages: bool,
    /// Those who wait for the turns of messages in the queue.
    waiting: HashMap<MessageId, oneshot::Sender<u64>>,
    replies: Replies,
    interrupt: Option<Interrupt>,
    /// Since when the agent has had nothing to do.
    idle_since: Instant,
}

/// Where a session is, as its events tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between turns.
    Rest,
    /// In a turn.
    Turn,
    /// Over.
    Ended,
}

/// An interrupt that is under way.
#[derive(Debug)]
struct Interrupt {
    /// When patience ends.
    deadline: Instant,
    answers: Vec<Answer>,
}

impl Actor {
    /// Whether a turn runs, or is about to.
    fn is_busy(&self) -> bool {
        self.phase == Phase::Turn || self.ordered.is_some()
    }

    async fn run(&mut self, commands: &mut Commands) -> Result<(), RuntimeError> {
        loop {
            self.write();
            if self.writing.is_none() {
                self.caught_up()?;
                if !self.is_busy() && self.may_have_messages {
                    self.next_message().await?;
                }
                if self.has_nothing_to_do() {
                    self.leave_agent().await?;
                    if !self.may_have_messages
                        && !self.is_busy()
                        && self.runtime.shared.actors.retire(self.session.key, commands)
                    {
                        return Ok(());
                    }
                }
            }
            let deadline = self.deadline();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await?,
                    None => return Err(RuntimeError::ShuttingDown),
                },
                outcome = writing::outcome(&mut self.writing) => self.written(outcome)?,
                received = receive(&mut self.connection), if self.page.has_room() => self.received(received).await?,
                () = until(deadline) => self.overdue().await?,
            }
        }
    }

    /// Whether the session can sleep.
    fn has_nothing_to_do(&self) -> bool {
        let is_due = || self.idle_since.elapsed() >= self.driver.idle_timeout();
        !self.is_busy()
            && !self.may_have_messages
            && (self.connection.is_none() || (self.open.is_nothing() && is_due()))
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.interrupt {
            Some(interrupt) => Some(interrupt.deadline),
            None if self.is_busy() || self.connection.is_none() || self.writing.is_some() => None,
            // An agent whose commands run on is not idle.
            None if !self.open.is_nothing() => None,
            None => Some(self.idle_since + self.driver.idle_timeout()),
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), RuntimeError> {
        match command {
            Command::Settle(answer) => reply(answer, Ok(())),
            Command::Message { message, queued, turn } => {
                // One that nothing stands before need not be looked up again.
                let is_next = !self.is_busy() && !self.may_have_messages;
                let copy = is_next.then(|| message.clone());
                match self.runtime.shared.store.enqueue(self.session.key, message).await {
                    Ok(id) => {
                        reply(queued, Ok(()));
                        if let Some(message) = copy {
                            return self.take_message(QueuedMessage::new(id, message), Some(turn)).await;
                        }
                        self.waiting.insert(id, turn);
                        self.may_have_messages = true;
                    }
                    Err(error) => reply(queued, Err(error.into())),
                }
            }
            Command::Permission { id, reply: says, answer } => {
                let done = self.reply_permission(id, says);
                reply(answer, done);
            }
            Command::Question { id, reply: says, answer } => {
                let done = self.reply_question(id, says);
                reply(answer, done);
            }
            Command::Interrupt(answer) => {
                // A turn that is over has ended when that is durable.
                if !self.is_busy()
                    && let Err(error) = self.commit().await
                {
                    reply(answer, Err(error.clone()));
                    return Err(error);
                }
                self.interrupt(answer);
            }
            Command::Terminate(answer) => return self.terminate(answer).await,
            Command::Leave(answer) => {
                self.cut_short().await?;
                reply(answer, Ok(()));
                return Err(RuntimeError::ShuttingDown);
            }
        }
        Ok(())
    }

    async fn received(&mut self, (messages, served): Received) -> Result<(), RuntimeError> {
        if served.is_some() {
            self.connection = None;
        }
        self.convert(&messages);
        if let Some(served) = served {
            self.served(served);
            self.close_commands();
        }
        // What comes after the end is of no interest.
        if self.phase == Phase::Ended { self.commit().await } else { Ok(()) }
    }

    fn interrupt(&mut self, answer: Answer) {
        if !self.is_busy() {
            return reply(answer, Ok(()));
        }
        if let Some(interrupt) = &mut self.interrupt {
            return interrupt.answers.push(answer);
        }
        let deadline = Instant::now() + self.runtime.shared.options.interrupt_grace;
        self.interrupt = Some(Interrupt { deadline, answers: vec![answer] });
        self.note_interrupt();
        self.order(DriverCommand::Interrupt);
    }

    /// Notes that the running turn is to stop, for agents that are told so in a way that no converter sees.
    fn note_interrupt(&mut self) {
        self.host(|session| {
            session.interrupt_requested();
        });
    }

    /// Patience is at an end: with an agent that does not stop, or with one that has nothing to do.
    async fn overdue(&mut self) -> Result<(), RuntimeError> {
        if self.interrupt.is_some() {
            tracing::warn!(session = %self.session.id, "the agent did not stop when asked to, and is ended");
            return self.cut_short().await;
        }
        // An agent that was idle for too long: the next round sees to it.
        Ok(())
    }

    /// Ends the agent and with it the running turn, which counts as interrupted.
    async fn cut_short(&mut self) -> Result<(), RuntimeError> {
        if self.is_busy() {
            self.note_interrupt();
        }
        self.end_agent().await;
        self.close_turn(None);
        self.close_commands();
        self.commit().await
    }

    /// Lets go of an agent that has nothing to do.
    async fn leave_agent(&mut self) -> Result<(), RuntimeError> {
        if self.connection.is_none() {
            return Ok(());
        }
        self.end_agent().await;
        self.close_commands();
        self.commit().await
    }

    /// Ends the agent, and takes note of its last words.
    async fn end_agent(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let (last_words, parting) = connection.close(self.runtime.shared.options.stop_grace).await;
        self.convert(&last_words);
        // Whatever else it says to being let go is of no interest.
        if parting == Ok(ServeOutcome::SessionEnded) {
            self.served(parting);
        }
    }

    /// Ends the agent without listening to it.
    async fn abandon_agent(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(connection.close(self.runtime.shared.options.stop_grace).await);
        }
    }

    async fn terminate(&mut self, answer: Answer) -> Result<(), RuntimeError> {
        self.show_message();
        self.conversion.finish(Some(now()), StreamEnd::Terminated, &mut self.page.events);
        self.watch();
        let written = self.commit().await;
        self.abandon_agent().await;
        match written {
            Ok(()) | Err(RuntimeError::SessionEnded(_)) => reply(answer, Ok(())),
            Err(ref error) => reply(answer, Err(error.clone())),
        }
        written
    }

    /// Gives the driver an order; false if it can no longer hear.
    fn order(&self, order: DriverCommand) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.send(order))
    }
}

/// Answers a command. Whoever asked may have gone away.
fn reply(answer: Answer, result: Result<(), RuntimeError>) {
    let _ = answer.send(result);
}

/// The next messages of the driver; waits for ever if there is none.
async fn receive(connection: &mut Option<Connection>) -> Received {
    match connection {
        Some(connection) => connection.receive().await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        // A deadline that has passed is noticed after whatever else is ready.
        Some(deadline) => sleep_until(deadline.max(Instant::now() + Duration::from_millis(1))).await,
        None => std::future::pending().await,
    }
}
