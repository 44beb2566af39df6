//! Every session, and what can be asked of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_schema::{Message, NativeSessionId, SessionId};
use interlingua_store::{Session, Store};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::actors::Actors;
use crate::agents::{AgentStatus, InstallOptions, Mode, Models};
use crate::attachments;
use crate::create::{AllSecrets, CreateSession, Secrets};
use crate::driver::{BoxFuture, Driver, PermissionReply, ServeError};
use crate::error::RuntimeError;
use crate::session::{Answer, Command, QuestionReply};

/// How long a session id may be.
const MAX_SESSION_ID_BYTES: usize = 256;

/// How the runtime goes about things.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RuntimeOptions {
    /// Whether creating a session installs the agent that it needs.
    pub auto_install: bool,
    /// How long an agent has to end a turn that is interrupted, before it is ended itself.
    pub interrupt_grace: Duration,
    /// How long a driver has to end its agent, before it is cut off.
    pub stop_grace: Duration,
    /// How long an agent has to say which modes and models it has.
    pub query_timeout: Duration,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            auto_install: false,
            interrupt_grace: Duration::from_secs(10),
            stop_grace: Duration::from_secs(5),
            query_timeout: Duration::from_secs(60),
        }
    }
}

impl RuntimeOptions {
    /// Sets whether creating a session installs the agent that it needs.
    #[must_use]
    pub fn auto_install(mut self, auto_install: bool) -> Self {
        self.auto_install = auto_install;
        self
    }

    /// Sets how long an agent has to end a turn that is interrupted.
    #[must_use]
    pub fn interrupt_grace(mut self, grace: Duration) -> Self {
        self.interrupt_grace = grace;
        self
    }

    /// Sets how long a driver has to end its agent.
    #[must_use]
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.stop_grace = grace;
        self
    }

    /// Sets how long an agent has to say which modes and models it has.
    #[must_use]
    pub fn query_timeout(mut self, grace: Duration) -> Self {
        self.query_timeout = grace;
        self
    }
}

/// Every session of a store and the agents behind them. Cloning copies a pointer.
///
/// A session with nothing to do is only a row in the store. One with something to do is a task that lives until it is
/// done.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) options: RuntimeOptions,
    pub(crate) actors: Actors,
    drivers: Vec<Arc<dyn Driver>>,
    secrets: Mutex<AllSecrets>,
}

/// A session that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedSession {
    /// The agent's own name of it, where that is known before the agent has started.
    pub native_session_id: Option<NativeSessionId>,
}

/// A message that is durably queued.
#[derive(Debug)]
pub struct SentMessage {
    turn: oneshot::Receiver<u64>,
}

impl SentMessage {
    /// Waits for the turn that takes the message up: the sequence of the event *before* the first of that turn, so
    /// that reading after it shows the turn from its beginning. `None` if the session ended first.
    pub async fn wait_for_turn(self) -> Option<u64> {
        self.turn.await.ok()
    }
}

impl Runtime {
    /// A runtime over a store, with these agents. Sessions that were cut off when the last process ended are brought
    /// to order in the background, and the messages that waited are taken up.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn start(store: Store, drivers: Vec<Arc<dyn Driver>>, options: RuntimeOptions) -> Self {
        let runtime = Self {
            shared: Arc::new(Shared { store, options, actors: Actors::default(), drivers, secrets: Mutex::default() }),
        };
        let (recovering, pulse) = (runtime.clone(), runtime.shared.actors.pulse());
        tokio::spawn(async move {
            recovering.settle_interrupted().await;
            // Whoever waits for stillness may want the store for themselves.
            drop(recovering);
            drop(pulse);
        });
        runtime
    }

    async fn settle_interrupted(&self) {
        let interrupted = match self.shared.store.interrupted_sessions().await {
            Ok(interrupted) => interrupted,
            Err(error) => return tracing::error!("sessions that were cut off cannot be found: {error}"),
        };
        for session in interrupted {
            tracing::info!(session = %session.id, "goes on after a restart");
            let settled = self.ask(&session, Command::Settle).await;
            if let Err(error) = settled {
                tracing::warn!(session = %session.id, "could not be brought to order: {error}");
            }
        }
    }

    /// The agents as they are installed here. Starts nothing.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentStatus> {
        self.shared.drivers.iter().map(|driver| driver.status()).collect()
    }

    /// The modes of an agent.
    ///
    /// # Errors
    /// If there is no such agent, or it has to be asked and cannot be.
    pub async fn modes(&self, agent: &str) -> Result<Vec<Mode>, RuntimeError> {
        let driver = self.driver(agent)?;
        self.asked(driver.id(), "modes", driver.modes()).await
    }

    /// The models of an agent.
    ///
    /// # Errors
    /// If there is no such agent, or it has to be asked and cannot be.
    pub async fn models(&self, agent: &str) -> Result<Models, RuntimeError> {
        let driver = self.driver(agent)?;
        self.asked(driver.id(), "models", driver.models()).await
    }

    /// What an agent says of itself, if it says so in time.
    async fn asked<T>(
        &self,
        agent: &'static str,
        what: &str,
        answer: BoxFuture<Result<T, ServeError>>,
    ) -> Result<T, RuntimeError> {
        let patience = self.shared.options.query_timeout;
        let late = || {
            let waited = patience.as_secs_f32();
            RuntimeError::Timeout(format!("{agent} did not say within {waited} s which {what} it has"))
        };
        let answer = timeout(patience, answer).await.map_err(|_| late())?;
        answer.map_err(|error| unreachable_agent(agent, error))
    }

    /// Installs an agent.
    ///
    /// # Errors
    /// If there is no such agent, or it cannot be installed.
    pub async fn install(&self, agent: &str, install: InstallOptions) -> Result<(), RuntimeError> {
        let driver = self.driver(agent)?;
        let agent = driver.id();
        driver.install(install).await.map_err(|reason| RuntimeError::InstallFailed { agent, reason })
    }

    /// Creates a session. Its agent is started by the first message.
    ///
    /// # Errors
    /// If anything that was given cannot be honoured, or there is a session of that name.
    pub async fn create(&self, id: SessionId, create: CreateSession) -> Result<CreatedSession, RuntimeError> {
        check_session_id(&id)?;
        let driver = self.driver(&create.agent)?;
        if self.shared.store.session(&id).await?.is_some() {
            return Err(RuntimeError::SessionAlreadyExists(id));
        }
        if !driver.status().installed {
            self.install_missing(&driver, create.agent_version.clone()).await?;
        }
        Arc::clone(&driver).refresh_status().await;
        let spec = create.into_spec(id, &*driver)?;
        let session = match self.shared.store.create(spec.to_store(driver.id())).await {
            Ok(session) => session,
            Err(interlingua_store::StoreError::SessionAlreadyExists(id)) => {
                return Err(RuntimeError::SessionAlreadyExists(id));
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(secrets) = spec.secrets() {
            self.secrets().insert(session.id.clone(), secrets);
        }
        self.ask(&session, Command::Settle).await?;
        Ok(CreatedSession { native_session_id: spec.native_session_id })
    }

    async fn install_missing(&self, driver: &Arc<dyn Driver>, version: Option<String>) -> Result<(), RuntimeError> {
        let agent = driver.id();
        if !self.shared.options.auto_install {
            let command = format!("interlingua agents install {agent}");
            return Err(RuntimeError::AgentNotInstalled { agent, command });
        }
        let install = InstallOptions { reinstall: false, version };
        Arc::clone(driver).install(install).await.map_err(|reason| RuntimeError::InstallFailed { agent, reason })
    }

    /// Queues a message; done when it is durable. It begins a turn when all that came before it are over.
    ///
    /// # Errors
    /// If the session is not there or has ended, or the agent cannot take such a message.
    pub async fn send(&self, id: &SessionId, message: Message) -> Result<SentMessage, RuntimeError> {
        let session = self.open_session(id).await?;
        let driver = self.driver(&session.agent)?;
        let message = attachments::found(message, session.directory.as_deref())?;
        driver.check_message(&message).map_err(|refusal| refusal.by(driver.id()))?;
        let (turn, begins) = oneshot::channel();
        self.ask(&session, |queued| Command::Message { message, queued, turn }).await?;
        Ok(SentMessage { turn: begins })
    }

    /// Ends the running turn as interrupted; done when it has ended. Without one, nothing happens. The queue goes on.
    ///
    /// # Errors
    /// If the session is not there or has ended.
    pub async fn interrupt(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        self.ask(&session, Command::Interrupt).await
    }

    /// Ends the session and its agent. A session that has ended stays so.
    ///
    /// # Errors
    /// If the session is not there.
    pub async fn terminate(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        self.forget(id);
        if session.ended { Ok(()) } else { self.ask(&session, Command::Terminate).await }
    }

    /// Ends the session and its agent, and removes it with all its events.
    ///
    /// # Errors
    /// If the session is not there.
    pub async fn delete(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        self.forget(id);
        if !session.ended {
            self.ask(&session, Command::Terminate).await?;
        }
        self.shared.store.delete(session.key).await.map_err(|error| not_found(id, error))
    }

    /// Answers a permission request.
    ///
    /// # Errors
    /// If there is no such request, it is answered, or the session has ended.
    pub async fn reply_permission(
        &self,
        id: &SessionId,
        permission: &str,
        reply: PermissionReply,
    ) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        let permission = permission.to_owned();
        self.ask(&session, |answer| Command::Permission { id: permission, reply, answer }).await
    }

    /// Answers a question with these choices, or words. Questions that were asked together go back to the agent when
    /// the last of them is answered.
    ///
    /// # Errors
    /// If there is no such question, it is answered, or the session has ended.
    pub async fn reply_question(
        &self,
        id: &SessionId,
        question: &str,
        answers: Vec<String>,
    ) -> Result<(), RuntimeError> {
        self.question(id, question, QuestionReply::Answered(answers)).await
    }

    /// Refuses to answer a question, and with it those that were asked together with it.
    ///
    /// # Errors
    /// If there is no such question, it is answered, or the session has ended.
    pub async fn reject_question(&self, id: &SessionId, question: &str) -> Result<(), RuntimeError> {
        self.question(id, question, QuestionReply::Rejected).await
    }

    async fn question(&self, id: &SessionId, question: &str, reply: QuestionReply) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        let question = question.to_owned();
        self.ask(&session, |answer| Command::Question { id: question, reply, answer }).await
    }

    /// Ends every agent, in bounded time. Turns that run are interrupted; the sessions go on with the next process.
    pub async fn shutdown(&self) {
        let leaving = self.shared.actors.close();
        let grace = self.shared.options.stop_grace + Duration::from_secs(1);
        let all_left = async {
            leaving.done().await;
            for driver in &self.shared.drivers {
                Arc::clone(driver).shutdown().await;
            }
        };
        if timeout(grace, all_left).await.is_err() {
            tracing::warn!("not every agent ended within {grace:?}");
        }
    }

    /// The driver of an agent.
    pub(crate) fn driver(&self, agent: &str) -> Result<Arc<dyn Driver>, RuntimeError> {
        self.shared.drivers.iter().find(|driver| driver.id() == agent).cloned().ok_or_else(|| {
            let known = self.shared.drivers.iter().map(|driver| driver.id()).collect();
            RuntimeError::UnsupportedAgent { agent: agent.to_owned(), known }
        })
    }

    pub(crate) fn secrets_of(&self, id: &SessionId) -> Option<Secrets> {
        self.secrets().get(id).cloned()
    }

    fn forget(&self, id: &SessionId) {
        self.secrets().remove(id);
    }

    fn secrets(&self) -> MutexGuard<'_, AllSecrets> {
        self.shared.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn session(&self, id: &SessionId) -> Result<Session, RuntimeError> {
        self.shared.store.session(id).await?.ok_or_else(|| RuntimeError::SessionNotFound(id.clone()))
    }

    async fn open_session(&self, id: &SessionId) -> Result<Session, RuntimeError> {
        let session = self.session(id).await?;
        if session.ended { Err(RuntimeError::SessionEnded(id.clone())) } else { Ok(session) }
    }

    /// Gives a session a command, waking it if need be, and waits for the answer.
    async fn ask(&self, session: &Session, command: impl FnOnce(Answer) -> Command) -> Result<(), RuntimeError> {
        let (answer, answered) = oneshot::channel();
        self.shared.actors.tell(self, session, command(answer));
        let answered = answered.await.unwrap_or(Err(RuntimeError::ShuttingDown));
        answered.map_err(|error| match error {
            RuntimeError::Store(error) => not_found(&session.id, error),
            error => error,
        })
    }
}

/// Puts the store's answer into words of this interface.
fn not_found(id: &SessionId, error: interlingua_store::StoreError) -> RuntimeError {
    match error {
        interlingua_store::StoreError::SessionNotFound => RuntimeError::SessionNotFound(id.clone()),
        interlingua_store::StoreError::SessionEnded => RuntimeError::SessionEnded(id.clone()),
        error => RuntimeError::Store(error),
    }
}

fn unreachable_agent(agent: &'static str, error: ServeError) -> RuntimeError {
    match error {
        ServeError::NotInstalled { agent, command } => RuntimeError::AgentNotInstalled { agent, command },
        ServeError::Unavailable(reason) | ServeError::SessionLost(reason) => {
            RuntimeError::AgentProcessExited { agent, reason }
        }
    }
}

/// Whether a session can be called so: 1 to 256 bytes without control characters.
///
/// # Errors
/// What is wrong with the name.
pub fn check_session_id(id: &SessionId) -> Result<(), RuntimeError> {
    let text = id.as_str();
    if text.is_empty() || text.len() > MAX_SESSION_ID_BYTES {
        let detail = format!("a session id has 1 to {MAX_SESSION_ID_BYTES} bytes, this one has {}", text.len());
        return Err(RuntimeError::field("sessionId", detail));
    }
    if text.chars().any(char::is_control) {
        return Err(RuntimeError::field("sessionId", "a session id has no control characters, this one does"));
    }
    Ok(())
}
