//! Servers that share a store: commands reach the owner of a session, and work reaches a server that can do it.
//!
//! A command is executed here if this server owns the session or can take it. Otherwise it is sent to the owner
//! ([`SessionRequest`]), and its result comes back ([`RequestResult`]). A message is queued in the store by whatever
//! server gets it; then the owner is woken up.
//!
//! Every server looks for work: commands for its sessions, queued messages, and sessions that a dead server has left
//! busy.

use std::path::Path;
use std::time::Duration;

use interlingua_schema::{Message, SessionId};
use interlingua_store::{
    ANY_SERVER, CommandAnswer, Enqueued, Fleet, LeaseHolder, MessageState, NewMessage, QueuedMessage, RawPayloads,
    Session, SessionKey, Store, StoreError, TakenCommand,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use crate::driver::Driver;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::sent_message::SentMessage;
use crate::session::{RequestResult, SessionCommand, SessionRequest};

/// How long the owner of a session may take to execute a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay before a command looks for the owner again, when ownership has just changed.
const OWNER_DELAY: Duration = Duration::from_millis(50);
/// How long a session is followed before its message is looked up again.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum length of the name of a placement.
const MAX_PLACEMENT_BYTES: usize = 128;

/// Where the agent of a new session can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) server: Option<String>,
    pub(crate) home: Option<String>,
}

impl Runtime {
    /// The servers that share the store, if they do.
    pub(crate) fn fleet(&self) -> Option<&Fleet> {
        self.shared.fleet.as_ref()
    }

    /// Executes a request on a session, here or on the server that owns it.
    pub(crate) async fn dispatch(&self, session: &Session, request: SessionRequest) -> Result<(), RuntimeError> {
        let Some(fleet) = self.fleet() else { return self.execute(session, request).await };
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        loop {
            let owner = match self.execute(session, request.clone()).await {
                Err(RuntimeError::OwnedByOther(owner)) => owner,
                // Another server has taken over while the command waited.
                Err(RuntimeError::Store(StoreError::LeaseLost)) if Instant::now() < deadline => {
                    sleep(OWNER_DELAY).await;
                    continue;
                }
                result => return result,
            };
            let limit = deadline.saturating_duration_since(Instant::now());
            match fleet.send_command(session.key, &owner, &request.encode(), limit).await? {
                CommandAnswer::Result(result) => return RequestResult::decode(&result, &session.id),
                CommandAnswer::NoOwner => sleep(OWNER_DELAY).await,
                CommandAnswer::Timeout => {
                    let (server, seconds) = (owner.server, COMMAND_TIMEOUT.as_secs());
                    let detail =
                        format!("server `{server}`, which owns the session, did not answer within {seconds} s");
                    return Err(RuntimeError::Timeout(detail));
                }
            }
        }
    }

    /// Executes a request in this process, which becomes the owner of the session if no other server is.
    async fn execute(&self, session: &Session, request: SessionRequest) -> Result<(), RuntimeError> {
        match request.into_command(self, session).await? {
            Some(command) => self.send_command(session, command).await,
            None => Ok(()),
        }
    }

    /// Queues a message for a session, whatever server owns it.
    pub(crate) async fn send_in_fleet(
        &self,
        session: &Session,
        message: NewMessage,
        trace_parent: Option<String>,
    ) -> Result<SentMessage, RuntimeError> {
        if self.shared.actors.is_running(session.key) {
            let (turn_start, turn) = oneshot::channel();
            let copy = message.clone();
            let command = |reply_to| SessionCommand::Message { message: copy, trace_parent, reply_to, turn_start };
            match self.send_command(session, command).await {
                Err(RuntimeError::OwnedByOther(_) | RuntimeError::Store(StoreError::LeaseLost)) => {}
                result => return result.map(|()| SentMessage::waiting(turn)),
            }
        }
        let (public_id, fingerprint) = (message.public_id.clone(), message.fingerprint.clone());
        let queued = self.shared.store.enqueue(session.key, message).await;
        match queued.map_err(|error| RuntimeError::from_store(&session.id, error))? {
            Enqueued::New(_) => self.wake_in_background(session),
            Enqueued::Existing(existing) if existing.fingerprint == fingerprint => {}
            Enqueued::Existing(_) => return Err(RuntimeError::message_id_taken(session.id.clone(), public_id)),
        }
        Ok(self.follow_message(session, public_id))
    }

    /// A message whose turn is found in the store.
    pub(crate) fn follow_message(&self, session: &Session, public_id: String) -> SentMessage {
        let turn = find_turn_start(self.shared.store.clone(), session.clone(), public_id);
        SentMessage::following(Box::pin(turn))
    }

    /// Lets the session take its queued messages, here or on the server that owns it. Does not wait.
    fn wake_in_background(&self, session: &Session) {
        let (runtime, session) = (self.clone(), session.clone());
        tokio::spawn(async move { runtime.wake(&session).await });
    }

    async fn wake(&self, session: &Session) {
        match self.send_command(session, SessionCommand::Wake).await {
            Err(RuntimeError::OwnedByOther(owner)) => self.signal_work(session.key, Some(&owner)),
            Err(error) => tracing::debug!(session = %session.id, %error, "the session will be woken up again"),
            Ok(()) => {}
        }
    }

    /// Tells other servers that a session has work.
    pub(crate) fn signal_work(&self, session: SessionKey, owner: Option<&LeaseHolder>) {
        if let Some(fleet) = self.fleet() {
            fleet.signal_work(session, owner);
        }
    }

    /// Tells the other servers that this one has all values of a session that may be secret. If another server owns the
    /// session, it gives it up as soon as it is idle.
    pub(crate) async fn announce_secrets(&self, session: &Session) -> Result<(), RuntimeError> {
        let Some(fleet) = self.fleet() else { return self.send_command(session, SessionCommand::Wake).await };
        fleet.hold_secrets(session.key).await?;
        match self.send_command(session, SessionCommand::Wake).await {
            Err(RuntimeError::OwnedByOther(_)) => self.dispatch(session, SessionRequest::HandOver).await,
            result => result,
        }
    }

    /// Where the agent of a new session can run: where the client says, or where its files will be.
    pub(crate) fn place(&self, requested: Option<String>, driver: &dyn Driver) -> Result<Placement, RuntimeError> {
        let Some(fleet) = self.fleet() else {
            if requested.is_none() {
                return Ok(Placement::default());
            }
            let detail = "`placement` needs servers that share a store (`--store postgres://…`)";
            return Err(RuntimeError::field("placement", detail));
        };
        if let Some(name) = &requested
            && (name.is_empty() || name.len() > MAX_PLACEMENT_BYTES || name.chars().any(char::is_control))
        {
            let detail = format!(
                "expected `placement` to be `{ANY_SERVER}` or the name of a server, of 1 to {MAX_PLACEMENT_BYTES} bytes"
            );
            return Err(RuntimeError::field("placement", detail));
        }
        let home = fleet.home().filter(|_| driver.keeps_files()).map(str::to_owned);
        let server = requested.unwrap_or_else(|| {
            let is_shared = home.is_some() || !driver.keeps_files();
            if is_shared { ANY_SERVER.to_owned() } else { fleet.server().to_owned() }
        });
        let home = home.filter(|_| server == ANY_SERVER);
        Ok(Placement { server: Some(server), home })
    }

    /// Where the agents of sessions can run whose files are on this machine, if servers share the store: the placement,
    /// and the shared home.
    #[must_use]
    pub fn placement_of_local_files(&self) -> (Option<String>, Option<String>) {
        let Some(fleet) = self.fleet() else { return (None, None) };
        match fleet.home() {
            Some(home) => (Some(ANY_SERVER.to_owned()), Some(home.to_owned())),
            None => (Some(fleet.server().to_owned()), None),
        }
    }

    /// Looks for work until the runtime is shut down.
    pub(crate) async fn serve_fleet(&self, fleet: &Fleet) {
        loop {
            fleet.wait_for_work().await;
            if let Err(error) = self.look_for_work(fleet).await {
                tracing::debug!(%error, "cannot look for work yet");
            }
        }
    }

    async fn look_for_work(&self, fleet: &Fleet) -> Result<(), StoreError> {
        for command in fleet.take_commands().await? {
            let (runtime, fleet) = (self.clone(), fleet.clone());
            tokio::spawn(async move { runtime.execute_for_other(&fleet, &command).await });
        }
        if self.is_draining() {
            return Ok(());
        }
        for session in fleet.sessions_with_work().await? {
            if !self.shared.actors.is_running(session.key) {
                tracing::info!(session = %session.id, agent = session.agent, "taking a session up that has work");
            }
            self.wake_in_background(&session);
        }
        Ok(())
    }

    /// Executes a command that another server has sent.
    async fn execute_for_other(&self, fleet: &Fleet, command: &TakenCommand) {
        let done = match self.try_execute_for_other(fleet, command).await {
            // Another server has to execute it.
            Err(
                RuntimeError::OwnedByOther(_)
                | RuntimeError::ShuttingDown
                | RuntimeError::Store(StoreError::LeaseLost | StoreError::Unavailable(_)),
            ) => fleet.give_command_back(command).await,
            result => fleet.finish_command(command, &RequestResult::encode(result)).await,
        };
        if let Err(error) = done {
            tracing::warn!(%error, "cannot answer a command of another server; it runs into its timeout");
        }
    }

    async fn try_execute_for_other(&self, fleet: &Fleet, command: &TakenCommand) -> Result<(), RuntimeError> {
        let Some(session) = fleet.session(command.session).await? else {
            return Err(StoreError::SessionNotFound.into());
        };
        let request = SessionRequest::decode(&command.request)?;
        if request == SessionRequest::HandOver {
            // The server that asks has newer ones.
            self.remove_secrets(session.key);
        }
        self.execute(&session, request).await
    }

    /// Replaces the paths of files that were uploaded to other servers by paths of this one.
    pub(crate) async fn fetch_attachments(&self, session: SessionKey, mut queued: QueuedMessage) -> QueuedMessage {
        self.fetch_files(session, &mut queued.message).await;
        queued
    }

    /// As [`fetch_attachments`](Self::fetch_attachments). A file that cannot be fetched is missed when it is opened.
    pub(crate) async fn fetch_files(&self, session: SessionKey, message: &mut Message) {
        if self.fleet().is_none() {
            return;
        }
        for attachment in &mut message.attachments {
            if Path::new(&attachment.path).exists() {
                continue;
            }
            match self.shared.store.fetch_upload(session, Path::new(&attachment.path)).await {
                Ok(Some(path)) => attachment.path = path.to_string_lossy().into_owned(),
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, path = attachment.path, "cannot fetch an uploaded file"),
            }
        }
    }
}

/// Waits until the turn of a queued message has begun. Returns the sequence before it; `None` if there will be none.
async fn find_turn_start(store: Store, session: Session, public_id: String) -> Option<u64> {
    // From here on, the event that begins the turn cannot be missed.
    let after = store.session(&session.id).await.ok()??.event_count;
    let mut reader = store.reader(session.key, after, RawPayloads::Omit);
    loop {
        match store.find_message(session.key, &public_id).await {
            Ok(Some(record)) => match record.state {
                MessageState::Begun { turn_starts_after } => return Some(turn_starts_after),
                MessageState::Cancelled => return None,
                MessageState::Queued => {}
            },
            Err(StoreError::Unavailable(_)) => sleep(FOLLOW_INTERVAL).await,
            Ok(None) | Err(_) => return None,
        }
        // A message begins with an event that shows it.
        let shows_message = async {
            loop {
                match reader.next().await {
                    Ok(Some(batch)) if batch.iter().any(|(_, json)| json.contains(r#""role":"user""#)) => break,
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return sleep(FOLLOW_INTERVAL).await,
                }
            }
        };
        let _ = timeout(FOLLOW_INTERVAL, shows_message).await;
    }
}

impl RuntimeError {
    /// Gives a store error the id of its session.
    pub(crate) fn from_store(id: &SessionId, error: StoreError) -> Self {
        match error {
            StoreError::SessionNotFound => Self::SessionNotFound(id.clone()),
            StoreError::SessionEnded => Self::SessionEnded(id.clone()),
            error => Self::Store(error),
        }
    }
}
