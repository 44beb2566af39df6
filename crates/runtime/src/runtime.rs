//! The runtime: all sessions of a store, and the operations on them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_schema::{Attachment, NativeSessionId, SessionId};
use interlingua_store::{Fleet, Session, SessionKey, SessionState, StateFilter, Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::actors::SessionActors;
use crate::agents::{AgentStatus, InstallOptions, Mode, Models};
use crate::create::StoredConfig;
use crate::driver::{BoxFuture, Driver, PermissionReply, ServeError};
use crate::error::{RuntimeError, to_runtime_error};
use crate::install::check_version;
use crate::install_jobs::{InstallJob, InstallJobs, InstallStatus};
use crate::options::RuntimeOptions;
use crate::running_turns::RunningTurns;
use crate::runtime_metrics::RuntimeMetrics;
use crate::secrets::{Secrets, SecretsBySession, SessionSecrets};
use crate::session::{QuestionReply, ReplySender, SessionCommand, SessionRequest};
use crate::session_status::SessionStatus;

/// How long a large message waits for another one.
const LARGE_MESSAGE_TIMEOUT: Duration = Duration::from_secs(30);

/// All sessions of a store, and the agents behind them. Cloning copies a pointer.
///
/// A session with nothing to do is only a row in the store. A session with something to do is a task, which lives until
/// that is done.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    /// The servers that share the store, if they do.
    pub(crate) fleet: Option<Fleet>,
    /// The task that looks for work of the fleet.
    fleet_task: Mutex<Option<AbortHandle>>,
    pub(crate) options: RuntimeOptions,
    /// Begins as that of the options.
    request_timeout: Mutex<Option<Duration>>,
    pub(crate) actors: SessionActors,
    drivers: Vec<Arc<dyn Driver>>,
    secrets: Mutex<SecretsBySession>,
    install_jobs: InstallJobs,
    large_messages: Arc<Semaphore>,
    pub(crate) running_turns: RunningTurns,
    pub(crate) metrics: RuntimeMetrics,
    /// Held while links to skills are created or removed.
    pub(crate) skills_lock: tokio::sync::Mutex<()>,
    /// Held while a repository with skills is brought up to date.
    pub(crate) checkout_lock: tokio::sync::Mutex<()>,
    /// The sessions of which all values that may be secret are in `secrets`.
    pub(crate) complete_secrets: Mutex<BTreeSet<SessionKey>>,
}

/// A session that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreatedSession {
    /// The agent's id of the session, if it is known before the agent has started.
    pub native_session_id: Option<NativeSessionId>,
}

impl Runtime {
    /// Starts a runtime for a store and these drivers. In the background, it recovers the sessions that were
    /// interrupted when the last process ended, and takes their queued messages.
    ///
    /// Must be called inside a tokio runtime.
    #[must_use]
    pub fn start(store: Store, drivers: Vec<Arc<dyn Driver>>, options: RuntimeOptions) -> Self {
        let shared = Shared {
            fleet: store.fleet(),
            fleet_task: Mutex::default(),
            store,
            request_timeout: Mutex::new(options.request_timeout),
            options,
            actors: SessionActors::default(),
            drivers,
            secrets: Mutex::default(),
            install_jobs: InstallJobs::default(),
            large_messages: Arc::new(Semaphore::new(1)),
            running_turns: RunningTurns::default(),
            metrics: RuntimeMetrics::default(),
            skills_lock: tokio::sync::Mutex::default(),
            checkout_lock: tokio::sync::Mutex::default(),
            complete_secrets: Mutex::default(),
        };
        let runtime = Self { shared: Arc::new(shared) };
        if let Some(fleet) = runtime.shared.fleet.clone() {
            let serving = runtime.clone();
            let task = tokio::spawn(async move { serving.serve_fleet(&fleet).await });
            *runtime.shared.fleet_task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
            return runtime;
        }
        let (recovering, task_guard) = (runtime.clone(), runtime.shared.actors.task_guard());
        tokio::spawn(async move {
            recovering.recover_sessions().await;
            // The runtime goes first: the caller of the shutdown may want exclusive use of the store.
            drop(recovering);
            drop(task_guard);
        });
        runtime
    }

    /// Wakes every session with unfinished work: it was busy or had queued messages when the last process ended.
    async fn recover_sessions(&self) {
        let interrupted = match self.shared.store.interrupted_sessions().await {
            Ok(interrupted) => interrupted,
            Err(error) => {
                return tracing::error!(%error, "cannot list sessions with unfinished work; each recovers with its next message");
            }
        };
        for session in interrupted {
            tracing::info!(session = %session.id, agent = session.agent, "recovering session after a restart");
            if let Err(error) = self.send_command(&session, SessionCommand::Wake).await {
                tracing::warn!(session = %session.id, %error, "cannot recover session; its next message tries again");
            }
        }
    }

    /// Changes how long requests that come later wait for an answer; `None` for ever.
    pub fn set_request_timeout(&self, timeout: Option<Duration>) {
        *self.shared.request_timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    /// How long a request waits for an answer, unless its session says.
    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        *self.shared.request_timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of every agent on this machine. Starts nothing.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentStatus> {
        self.shared.drivers.iter().map(|driver| driver.status()).collect()
    }

    /// Lists the modes of an agent.
    ///
    /// # Errors
    /// If there is no such agent, or it has to be asked and does not answer.
    pub async fn modes(&self, agent: &str) -> Result<Vec<Mode>, RuntimeError> {
        let driver = self.driver(agent)?;
        self.query(driver.id(), "modes", driver.modes()).await
    }

    /// Lists the models of an agent. For one that is not installed, those of the version that this program supports, as
    /// far as they are known without asking it.
    ///
    /// # Errors
    /// If there is no such agent, or it has to be asked and does not answer.
    pub async fn models(&self, agent: &str) -> Result<Models, RuntimeError> {
        let driver = self.driver(agent)?;
        let agent = driver.id();
        match self.query(agent, "models", driver.models()).await {
            Err(RuntimeError::AgentNotInstalled { .. }) => Ok(Models::fallback(agent)),
            models => models,
        }
    }

    /// Waits for the answer of an agent, within the timeout. `subject` is what it lists.
    async fn query<T>(
        &self,
        agent: &'static str,
        subject: &str,
        answer: BoxFuture<Result<T, ServeError>>,
    ) -> Result<T, RuntimeError> {
        let limit = self.shared.options.query_timeout;
        let answer = timeout(limit, answer).await.map_err(|_| {
            let seconds = limit.as_secs_f32();
            RuntimeError::Timeout(format!("{agent} did not list its {subject} within {seconds} s"))
        })?;
        answer.map_err(|error| to_runtime_error(agent, error))
    }

    /// Installs an agent, and waits until it is installed. A caller that leaves does not end the installation. Joins one
    /// that runs with the same options.
    ///
    /// # Errors
    /// If there is no such agent, the version is none, or it cannot be installed.
    pub async fn install(&self, agent: &str, options: InstallOptions) -> Result<(), RuntimeError> {
        self.start_install_job(agent, options)?.wait().await
    }

    /// Starts to install an agent. [`install_status`](Self::install_status) tells how far it is.
    ///
    /// Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// If there is no such agent, or the version is none.
    pub fn start_install(&self, agent: &str, options: InstallOptions) -> Result<(), RuntimeError> {
        self.start_install_job(agent, options).map(drop)
    }

    fn start_install_job(&self, agent: &str, options: InstallOptions) -> Result<InstallJob, RuntimeError> {
        let driver = self.driver(agent)?;
        check_version(options.version.as_deref())?;
        Ok(self.shared.install_jobs.start(&driver, options))
    }

    /// The last installation of an agent since this runtime was started.
    ///
    /// # Errors
    /// If there is no such agent.
    pub fn install_status(&self, agent: &str) -> Result<InstallStatus, RuntimeError> {
        Ok(self.shared.install_jobs.status(self.driver(agent)?.id()))
    }

    /// What a session is doing, and what it waits for. `session` is as it was read from the store.
    #[must_use]
    pub fn status(&self, session: &Session) -> SessionStatus {
        let driver = self.driver(&session.agent).ok();
        let default_mode = driver.as_ref().and_then(|driver| driver.default_mode());
        let default_model = driver.as_ref().and_then(|driver| driver.default_model());
        SessionStatus::new(session, self.secrets().get(&session.key), default_mode, default_model)
    }

    /// Filter of the store for sessions whose [`status`](Self::status) has this state.
    #[must_use]
    pub fn state_filter(&self, state: SessionState) -> StateFilter {
        let complete = self.shared.complete_secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        StateFilter::new(state, complete)
    }

    /// Supplies values that a session was created with, after they were lost in a restart or to replace them. When none
    /// is missing any more, the queued messages get their turns. A running turn keeps the old values; the next one
    /// starts the agent again with the new ones.
    ///
    /// # Errors
    /// If the session does not exist or has ended, or was not created with a value of this name.
    pub async fn set_secrets(&self, id: &SessionId, secrets: SessionSecrets) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        let names = StoredConfig::decode(&session).secret_names();
        let supplied = Secrets::check(&secrets, &names)?;
        let mut is_complete = false;
        if !supplied.is_empty() {
            let mut all = self.secrets();
            let secrets = all.entry(session.key).or_default();
            secrets.merge(supplied);
            is_complete = secrets.missing(&names).is_empty();
        }
        if is_complete {
            self.mark_secrets_complete(session.key);
            return self.announce_secrets(&session).await;
        }
        self.dispatch(&session, SessionRequest::Wake).await
    }

    /// Writes a file of a client, and returns the attachment for a message of the session. Deleting the session removes
    /// the file.
    ///
    /// # Errors
    /// If the session does not exist or has ended, the name is not the name of a file, or the file cannot be written.
    pub async fn upload(
        &self,
        id: &SessionId,
        filename: String,
        mime: Option<String>,
        content: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Attachment, RuntimeError> {
        let session = self.open_session(id).await?;
        let saved = self.shared.store.save_upload(session.key, filename.clone(), content).await;
        let path = saved.map_err(|error| match error {
            StoreError::InvalidFileName => RuntimeError::field("filename", error.to_string()),
            error => RuntimeError::Store(error),
        })?;
        let Ok(path) = path.into_os_string().into_string() else {
            return Err(RuntimeError::field("filename", "the path of the data directory is not UTF-8"));
        };
        Ok(Attachment::new(path).mime(mime).filename(Some(filename)))
    }

    /// Ends the running turn as interrupted, and returns when it has ended. Without a turn, nothing happens. Queued
    /// messages stay.
    ///
    /// # Errors
    /// If the session does not exist or has ended.
    pub async fn interrupt(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        self.dispatch(&session, SessionRequest::Interrupt).await
    }

    /// Ends the session and its agent. For a session that has ended, nothing happens.
    ///
    /// # Errors
    /// If the session does not exist.
    pub async fn terminate(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        if session.ended { Ok(()) } else { self.dispatch(&session, SessionRequest::Terminate).await }
    }

    /// Ends the session and its agent, and deletes it with all its events.
    ///
    /// # Errors
    /// If the session does not exist.
    pub async fn delete(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        if !session.ended {
            match self.dispatch(&session, SessionRequest::Terminate).await {
                // Its agent is stopped. A session whose end cannot be stored, on a full disk or in a damaged database, can
                // still be deleted.
                Err(RuntimeError::Store(error)) => {
                    tracing::warn!(session = %id, %error, "deleting a session whose end cannot be stored");
                }
                result => result?,
            }
        }
        self.shared.store.delete(session.key).await.map_err(|error| RuntimeError::from_store(id, error))
    }

    /// Answers a permission request.
    ///
    /// # Errors
    /// If there is no such request, it is already resolved, or the session has ended.
    pub async fn reply_permission(
        &self,
        id: &SessionId,
        permission: &str,
        reply: PermissionReply,
    ) -> Result<(), RuntimeError> {
        self.reply_permission_as(id, permission, reply, None).await
    }

    /// Answers a permission request for a client that used the API token with this name. `permission.resolved` names it.
    ///
    /// # Errors
    /// As [`reply_permission`](Self::reply_permission).
    pub async fn reply_permission_as(
        &self,
        id: &SessionId,
        permission: &str,
        reply: PermissionReply,
        by: Option<String>,
    ) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        let permission = permission.to_owned();
        self.dispatch(&session, SessionRequest::Permission { id: permission, reply, by }).await
    }

    /// Answers a question with chosen options or free text. The questions of one request are sent to the agent when the
    /// last of them is answered.
    ///
    /// # Errors
    /// If there is no such question, it is already resolved, or the session has ended.
    pub async fn reply_question(
        &self,
        id: &SessionId,
        question: &str,
        answers: Vec<String>,
    ) -> Result<(), RuntimeError> {
        self.resolve_question(id, question, QuestionReply::Answered(answers)).await
    }

    /// Rejects a question, and with it the other questions of the same request.
    ///
    /// # Errors
    /// If there is no such question, it is already resolved, or the session has ended.
    pub async fn reject_question(&self, id: &SessionId, question: &str) -> Result<(), RuntimeError> {
        self.resolve_question(id, question, QuestionReply::Rejected).await
    }

    async fn resolve_question(&self, id: &SessionId, question: &str, reply: QuestionReply) -> Result<(), RuntimeError> {
        let session = self.open_session(id).await?;
        let question = question.to_owned();
        self.dispatch(&session, SessionRequest::Question { id: question, reply }).await
    }

    /// Stops every agent within a bounded time. Running turns are interrupted; the next process continues the sessions.
    pub async fn shutdown(&self) {
        if let Some(task) = self.shared.fleet_task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        let actors = self.shared.actors.shutdown();
        let grace = self.shared.options.stop_grace + Duration::from_secs(1);
        let all_stopped = async {
            actors.wait().await;
            for driver in &self.shared.drivers {
                Arc::clone(driver).shutdown().await;
            }
        };
        if timeout(grace, all_stopped).await.is_err() {
            let grace_ms = grace.as_millis();
            tracing::warn!(grace_ms, "agents still running after the grace period; their supervisors will kill them");
        }
    }

    /// Starts no further turns, and waits until those that run have ended, at most for this time. Messages stay in their
    /// queues, and can still be queued. Returns the number of sessions that still work.
    ///
    /// A server that is started with the same store afterwards goes on with the queues.
    pub async fn drain(&self, limit: Duration) -> usize {
        let leave_idle = async {
            if self.fleet().is_some() {
                // Sessions that are idle are given to other servers.
                self.shared.actors.wake_all();
            }
        };
        // In this order: an actor that is woken up sees that no further turns start.
        tokio::join!(biased; self.shared.running_turns.drain(limit), leave_idle).0
    }

    /// Whether no further turns start, because of [`drain`](Self::drain).
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.running_turns.is_draining()
    }

    /// The driver of an agent.
    pub(crate) fn driver(&self, agent: &str) -> Result<Arc<dyn Driver>, RuntimeError> {
        self.shared.drivers.iter().find(|driver| driver.id() == agent).cloned().ok_or_else(|| {
            let known = self.shared.drivers.iter().map(|driver| driver.id()).collect();
            RuntimeError::UnsupportedAgent { agent: agent.to_owned(), known }
        })
    }

    /// The values of a session that are in memory. Those from before a restart are not.
    pub(crate) fn session_secrets(&self, session: SessionKey) -> Secrets {
        self.secrets().get(&session).cloned().unwrap_or_default()
    }

    /// Waits until no other session is between taking a large message from its queue and having it in its stream. In
    /// between, the text is in memory several times. Does not wait forever: an agent may never acknowledge its message.
    pub(crate) async fn wait_for_large_message(&self) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.shared.large_messages).acquire_owned();
        // The semaphore is never closed.
        timeout(LARGE_MESSAGE_TIMEOUT, room).await.ok()?.ok()
    }

    /// Forgets the values of a session that has ended.
    pub(crate) fn remove_secrets(&self, session: SessionKey) {
        let had_secrets = self.secrets().remove(&session).is_some();
        if let Some(fleet) = self.fleet().cloned().filter(|_| had_secrets) {
            // Without it, the session waits for this server as long as it runs.
            tokio::spawn(async move { fleet.forget_secrets(session).await });
        }
        self.shared.complete_secrets.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    pub(crate) fn mark_secrets_complete(&self, session: SessionKey) {
        self.shared.complete_secrets.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
    }

    pub(crate) fn secrets(&self) -> MutexGuard<'_, SecretsBySession> {
        self.shared.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Session, RuntimeError> {
        self.shared.store.session(id).await?.ok_or_else(|| RuntimeError::SessionNotFound(id.clone()))
    }

    async fn open_session(&self, id: &SessionId) -> Result<Session, RuntimeError> {
        let session = self.session(id).await?;
        if session.ended { Err(RuntimeError::SessionEnded(id.clone())) } else { Ok(session) }
    }

    /// Sends a command to a session, whose actor is started if it does not run, and waits for the reply.
    pub(crate) async fn send_command(
        &self,
        session: &Session,
        command: impl FnOnce(ReplySender) -> SessionCommand,
    ) -> Result<(), RuntimeError> {
        let (reply_to, reply) = oneshot::channel();
        self.shared.actors.send(self, session, command(reply_to));
        let result = reply.await.unwrap_or(Err(RuntimeError::ShuttingDown));
        result.map_err(|error| match error {
            RuntimeError::Store(error) => RuntimeError::from_store(&session.id, error),
            error => error,
        })
    }
}
