//! The sessions that have something to do.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use interlingua_store::{Session, SessionKey};
use tokio::sync::{mpsc, oneshot};

use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::session::{self, Command};

/// The commands of a session that is at work.
pub(crate) type Commands = mpsc::UnboundedReceiver<Command>;

/// The sessions that have something to do, each a task with a channel.
///
/// A command is sent, and a task retires, under the same lock: no command can get lost between the two.
pub(crate) struct Actors {
    state: Mutex<State>,
}

struct State {
    at_work: HashMap<SessionKey, mpsc::UnboundedSender<Command>>,
    /// Held by every task for as long as it runs; `None` once no more may begin.
    pulse: Option<mpsc::Sender<()>>,
    /// Closes when the last task is gone.
    stillness: Option<mpsc::Receiver<()>>,
}

/// Sessions that were told to leave their agents.
pub(crate) struct Leaving {
    answers: Vec<oneshot::Receiver<Result<(), RuntimeError>>>,
    stillness: Option<mpsc::Receiver<()>>,
}

impl Leaving {
    /// Done when all of them have, and their tasks are gone.
    pub(crate) async fn done(self) {
        for answer in self.answers {
            // A session that is gone has left.
            let _ = answer.await;
        }
        if let Some(mut stillness) = self.stillness {
            stillness.recv().await;
        }
    }
}

impl Default for Actors {
    fn default() -> Self {
        let (pulse, stillness) = mpsc::channel(1);
        let state = State { at_work: HashMap::new(), pulse: Some(pulse), stillness: Some(stillness) };
        Self { state: Mutex::new(state) }
    }
}

impl Actors {
    /// Something to hold while a task runs that a shutdown should wait for; `None` when there is one.
    pub(crate) fn pulse(&self) -> Option<mpsc::Sender<()>> {
        self.lock().pulse.clone()
    }

    /// Gives a session a command; wakes it if it sleeps.
    pub(crate) fn tell(&self, runtime: &Runtime, session: &Session, command: Command) {
        let mut state = self.lock();
        let Some(pulse) = state.pulse.clone() else {
            return command.refuse(RuntimeError::ShuttingDown);
        };
        let command = match state.at_work.get(&session.key) {
            None => command,
            Some(commands) => match commands.send(command) {
                Ok(()) => return,
                Err(mpsc::error::SendError(command)) => command,
            },
        };
        let (commands, mut obeyed) = mpsc::unbounded_channel();
        if let Err(mpsc::error::SendError(command)) = commands.send(command) {
            return command.refuse(RuntimeError::ShuttingDown);
        }
        state.at_work.insert(session.key, commands);
        drop(state);
        let (runtime, session) = (runtime.clone(), session.clone());
        tokio::spawn(async move {
            session::work(&runtime, session, &mut obeyed).await;
            // Whoever waits for stillness may want the store for themselves.
            drop(runtime);
            drop(pulse);
        });
    }

    /// Takes a session with nothing left to do off the list: false if a command has come in the meantime.
    pub(crate) fn retire(&self, session: SessionKey, commands: &Commands) -> bool {
        let mut state = self.lock();
        let idle = commands.is_empty();
        if idle {
            state.at_work.remove(&session);
        }
        idle
    }

    /// Takes a session off the list that can obey no more, and answers what it was still told.
    pub(crate) fn give_up(&self, session: SessionKey, commands: &mut Commands, error: &RuntimeError) {
        let mut state = self.lock();
        state.at_work.remove(&session);
        while let Ok(command) = commands.try_recv() {
            let is_over = matches!(error, RuntimeError::SessionEnded(_)) && command.is_fulfilled_by_the_end();
            if is_over {
                command.fulfil();
            } else {
                command.refuse(error.clone());
            }
        }
    }

    /// Tells every session to leave its agent, and wakes none any more.
    pub(crate) fn close(&self) -> Leaving {
        let mut state = self.lock();
        state.pulse = None;
        let leave = |commands: &mpsc::UnboundedSender<Command>| {
            let (answer, answered) = oneshot::channel();
            commands.send(Command::Leave(answer)).ok().map(|()| answered)
        };
        Leaving { answers: state.at_work.values().filter_map(leave).collect(), stillness: state.stillness.take() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
