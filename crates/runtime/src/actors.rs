//! The running session actors.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlingua_store::{Session, SessionKey};
use tokio::sync::{mpsc, oneshot};

use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::session::{self, SessionCommand};

/// The receiving end of a session actor's commands.
pub(crate) type SessionCommands = mpsc::UnboundedReceiver<SessionCommand>;

/// The sessions that have something to do: each is a task with a channel.
///
/// A command is sent under the same lock under which an idle task is removed, so no command is lost between the two.
pub(crate) struct SessionActors {
    state: Mutex<State>,
}

struct State {
    running: HashMap<SessionKey, mpsc::UnboundedSender<SessionCommand>>,
    /// Every task holds a clone while it runs. `None` once the runtime shuts down and no task may start.
    task_guard: Option<TaskGuard>,
    /// Closes when the last task has dropped its guard.
    tasks_ended: Option<mpsc::Receiver<()>>,
}

/// Held by a task for which a shutdown waits.
pub(crate) type TaskGuard = mpsc::Sender<()>;

/// A shutdown of all actors.
pub(crate) struct ActorShutdown {
    replies: Vec<oneshot::Receiver<Result<(), RuntimeError>>>,
    tasks_ended: Option<mpsc::Receiver<()>>,
}

impl ActorShutdown {
    /// Waits until all actors have stopped their agents and their tasks have ended.
    pub(crate) async fn wait(self) {
        for reply in self.replies {
            // An actor that is gone has stopped its agent.
            let _ = reply.await;
        }
        if let Some(mut tasks_ended) = self.tasks_ended {
            tasks_ended.recv().await;
        }
    }
}

impl Default for SessionActors {
    fn default() -> Self {
        let (task_guard, tasks_ended) = mpsc::channel(1);
        let state = State { running: HashMap::new(), task_guard: Some(task_guard), tasks_ended: Some(tasks_ended) };
        Self { state: Mutex::new(state) }
    }
}

impl SessionActors {
    /// A guard for a task that a shutdown should wait for. `None` during a shutdown.
    pub(crate) fn task_guard(&self) -> Option<TaskGuard> {
        self.lock().task_guard.clone()
    }

    /// Sends a command to a session. Starts its actor if it does not run.
    pub(crate) fn send(&self, runtime: &Runtime, session: &Session, command: SessionCommand) {
        let mut state = self.lock();
        let Some(task_guard) = state.task_guard.clone() else {
            return command.refuse(RuntimeError::ShuttingDown);
        };
        let command = match state.running.get(&session.key) {
            None => command,
            Some(sender) => match sender.send(command) {
                Ok(()) => return,
                Err(mpsc::error::SendError(command)) => command,
            },
        };
        let (sender, mut commands) = mpsc::unbounded_channel();
        if let Err(mpsc::error::SendError(command)) = sender.send(command) {
            return command.refuse(RuntimeError::ShuttingDown);
        }
        state.running.insert(session.key, sender);
        drop(state);
        let (runtime, session) = (runtime.clone(), session.clone());
        tokio::spawn(async move {
            Box::pin(session::run_actor(&runtime, session, &mut commands)).await;
            // The runtime goes first: the caller of the shutdown may want exclusive use of the store.
            drop(runtime);
            drop(task_guard);
        });
    }

    /// Whether a session has an actor in this process.
    pub(crate) fn is_running(&self, session: SessionKey) -> bool {
        self.lock().running.get(&session).is_some_and(|sender| !sender.is_closed())
    }

    /// Makes every actor look what it should do now.
    pub(crate) fn wake_all(&self) {
        for sender in self.lock().running.values() {
            // Nobody waits for the reply. An actor that is gone has nothing to do.
            let _ = sender.send(SessionCommand::Wake(oneshot::channel().0));
        }
    }

    /// Removes an actor that has nothing left to do. False if a command has arrived meanwhile.
    pub(crate) fn remove_idle(&self, session: SessionKey, commands: &SessionCommands) -> bool {
        let mut state = self.lock();
        let is_idle = commands.is_empty();
        if is_idle {
            state.running.remove(&session);
        }
        is_idle
    }

    /// Removes an actor that has failed or whose session has ended, and replies to its remaining commands.
    pub(crate) fn remove_failed(&self, session: SessionKey, commands: &mut SessionCommands, error: &RuntimeError) {
        let mut state = self.lock();
        state.running.remove(&session);
        while let Ok(command) = commands.try_recv() {
            if matches!(error, RuntimeError::SessionEnded(_)) {
                command.reply_for_ended_session(error.clone());
            } else {
                command.refuse(error.clone());
            }
        }
    }

    /// Tells every actor to stop its agent, and starts no actor any more.
    pub(crate) fn shutdown(&self) -> ActorShutdown {
        let mut state = self.lock();
        state.task_guard = None;
        let stop = |sender: &mpsc::UnboundedSender<SessionCommand>| {
            let (reply_to, reply) = oneshot::channel();
            sender.send(SessionCommand::Shutdown(reply_to)).ok().map(|()| reply)
        };
        let replies = state.running.values().filter_map(stop).collect();
        ActorShutdown { replies, tasks_ended: state.tasks_ended.take() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
