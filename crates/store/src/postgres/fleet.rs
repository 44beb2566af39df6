//! What a server does for the sessions of others: it looks for work, and sends and executes commands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::lease::LeaseHolder;
use crate::postgres::command;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::heartbeat::Heartbeat;
use crate::postgres::member::{HAS_FILES, IS_UNOWNED, Member};
use crate::postgres::outbox::Signal;
use crate::postgres::session;
use crate::postgres::store::PostgresStore;
use crate::{Session, SessionKey, StoreError};

/// Interval of looking for work without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Shortest time between two looks, so that many signals cost few queries.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Interval of looking for the result of a command without a signal.
const RESULT_INTERVAL: Duration = Duration::from_millis(250);
/// Number of sessions that are looked up at once.
const MAX_SESSIONS: i64 = 256;

/// The servers that share a store, as one of them sees them. Cloning it copies a pointer.
#[derive(Clone)]
pub struct Fleet {
    store: PostgresStore,
    heartbeat: Arc<Heartbeat>,
}

/// A command that another server has sent, to be executed here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenCommand {
    /// Session that it is for.
    pub session: SessionKey,
    /// The command, in the runtime's words.
    pub request: String,
    pub(crate) id: i64,
    pub(crate) sender: i64,
}

/// The answer to a command that was sent to the owner of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandAnswer {
    /// The owner has executed it, with this result in the runtime's words.
    Result(String),
    /// No server has taken it, and the session has no owner any more. The command was withdrawn.
    NoOwner,
    /// The owner did not answer in time.
    Timeout,
}

/// How a server is connected with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FleetStatus {
    /// Name of this server.
    pub server: String,
    /// Number of sessions that it owns.
    pub leases: usize,
    /// Time since its leases were renewed last.
    pub heartbeat_age: Duration,
    /// How long the leases last after a renewal.
    pub lease: Duration,
    /// Whether it receives the signals of other servers. Otherwise it looks every second.
    pub receives_signals: bool,
    /// How long the last signal took from the sender to the receiver.
    pub signal_lag: Duration,
}

impl Fleet {
    /// `None` if the process is not a server.
    pub(crate) fn new(store: &PostgresStore) -> Option<Self> {
        let heartbeat = store.shared.heartbeat.clone()?;
        Some(Self { store: store.clone(), heartbeat })
    }

    fn member(&self) -> &Member {
        self.heartbeat.member()
    }

    /// Name of this server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.member().name
    }

    /// The shared home of agents that this server uses.
    #[must_use]
    pub fn home(&self) -> Option<&str> {
        self.member().home.as_deref()
    }

    /// How this server is connected with the others. Does not wait.
    #[must_use]
    pub fn status(&self) -> FleetStatus {
        let shared = &self.store.shared;
        FleetStatus {
            server: self.member().name.clone(),
            leases: shared.leases.count(),
            heartbeat_age: self.heartbeat.age(),
            lease: self.member().lease,
            receives_signals: shared.inbox.is_connected(),
            signal_lag: shared.inbox.lag.last(),
        }
    }

    /// Waits until there may be work for this server, or until it is time to look.
    pub async fn wait_for_work(&self) {
        sleep(MIN_INTERVAL).await;
        let _ = timeout(POLL_INTERVAL, self.store.shared.inbox.work.notified()).await;
    }

    /// Sessions with something to do that this server owns, or can own.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub async fn sessions_with_work(&self) -> Result<Vec<Session>, StoreError> {
        let (member, may_take_over) = (self.member(), self.heartbeat.may_take_over());
        let client = self.store.shared.pool.client().await?;
        Ok(load_work(&client, member, may_take_over).await?)
    }

    /// The session with this key.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub async fn session(&self, session: SessionKey) -> Result<Option<Session>, StoreError> {
        let client = self.store.shared.pool.client().await?;
        Ok(session::find_by_key(&client, session).await?)
    }

    /// Tells the owner of a session that it has work, or every server if none owns it.
    pub fn signal_work(&self, session: SessionKey, owner: Option<&LeaseHolder>) {
        self.store.shared.outbox.send(Signal::Work { session, server: owner.map(|owner| owner.id) });
    }

    /// Takes the commands for sessions that this server owns, or that have no owner.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn take_commands(&self) -> Result<Vec<TakenCommand>, StoreError> {
        let (member, may_take_over) = (self.member(), self.heartbeat.may_take_over());
        let client = self.store.shared.pool.client().await?;
        Ok(command::take(&client, member, may_take_over).await?)
    }

    /// Stores the result of a command, and tells its sender.
    ///
    /// # Errors
    ///
    /// If the database fails. The sender learns of it by the deadline of its command.
    pub async fn finish_command(&self, taken: &TakenCommand, result: &str) -> Result<(), StoreError> {
        let client = self.store.shared.pool.client().await?;
        command::finish(&client, taken.id, result).await?;
        self.store.shared.outbox.send(Signal::Result { command: taken.id, server: taken.sender });
        Ok(())
    }

    /// Gives a command back, because another server owns its session.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn give_command_back(&self, taken: &TakenCommand) -> Result<(), StoreError> {
        let member = self.member().id;
        let client = self.store.shared.pool.client().await?;
        command::give_back(&client, taken.id, member).await?;
        self.signal_work(taken.session, None);
        Ok(())
    }

    /// Sends a command to the owner of a session, and waits for the answer.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn send_command(
        &self,
        session: SessionKey,
        owner: &LeaseHolder,
        request: &str,
        limit: Duration,
    ) -> Result<CommandAnswer, StoreError> {
        let (shared, sender) = (&self.store.shared, self.member().id);
        let command = command::insert(&*shared.pool.client().await?, session, request, sender, limit).await?;
        let waiting = shared.inbox.expect_result(command);
        self.signal_work(session, Some(owner));
        let deadline = Instant::now() + limit;
        let answer = loop {
            let _ = timeout(RESULT_INTERVAL, waiting.notified()).await;
            let client = shared.pool.client().await?;
            if let Some(result) = command::take_result(&client, command).await? {
                break CommandAnswer::Result(result);
            }
            let is_late = Instant::now() >= deadline;
            if is_late || !self.has_owner(&client, session).await? {
                let is_withdrawn = command::withdraw(&client, command).await?;
                if is_withdrawn && !is_late {
                    break CommandAnswer::NoOwner;
                }
                if is_late {
                    break CommandAnswer::Timeout;
                }
            }
        };
        shared.inbox.forget_result(command);
        Ok(answer)
    }

    /// Whether a server that runs owns the session.
    async fn has_owner(&self, client: &DbClient, session: SessionKey) -> Result<bool, DbError> {
        let query = format!("SELECT 1 FROM sessions AS s WHERE s.key = $1 AND NOT {IS_UNOWNED}");
        let lease_seconds = self.member().lease.as_secs_f64();
        Ok(client.query_opt(&query, &[&session.0, &lease_seconds]).await?.is_some())
    }

    /// Tells the other servers that this one has all values of a session that may be secret.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn hold_secrets(&self, session: SessionKey) -> Result<(), StoreError> {
        let member = self.member().id;
        let hold = "INSERT INTO secret_holders (session, server) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.store.shared.pool.client().await?.execute(hold, &[&session.0, &member]).await?;
        Ok(())
    }

    /// Tells the other servers that this one has forgotten the values of a session that may be secret.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn forget_secrets(&self, session: SessionKey) -> Result<(), StoreError> {
        let member = self.member().id;
        let forget = "DELETE FROM secret_holders WHERE session = $1 AND server = $2";
        self.store.shared.pool.client().await?.execute(forget, &[&session.0, &member]).await?;
        Ok(())
    }
}

/// Sessions with queued messages or unfinished work that this server owns or can own.
///
/// A session without an owner is taken if its agent can run here, or nowhere: then its turns have to fail. What a dead
/// server has left open can be closed by any server.
async fn load_work(client: &DbClient, member: &Member, may_take_over: bool) -> Result<Vec<Session>, DbError> {
    let query = format!(
        "WITH queued AS (SELECT DISTINCT session AS key FROM messages WHERE state = 0) \
         SELECT s.key FROM (SELECT key FROM queued UNION SELECT key FROM sessions WHERE busy) AS c \
         JOIN sessions AS s ON s.key = c.key WHERE NOT s.ended AND ( \
         s.owner = $1 AND s.key IN (SELECT key FROM queued) \
         OR (s.owner IS NULL OR $3 AND {IS_UNOWNED}) AND (s.busy OR \
         (NOT s.has_secrets OR EXISTS (SELECT 1 FROM secret_holders AS h WHERE h.session = s.key AND h.server = $1)) \
         AND (EXISTS (SELECT 1 FROM servers AS v WHERE v.id = $1 AND {HAS_FILES}) \
         OR NOT EXISTS (SELECT 1 FROM servers AS v WHERE {HAS_FILES} \
         AND v.expires_at > clock_timestamp() - make_interval(secs => $4))))) LIMIT $5"
    );
    let (lease, absence) = (member.lease.as_secs_f64(), member.absence_limit.as_secs_f64());
    let rows = client.query(&query, &[&member.id, &lease, &may_take_over, &absence, &MAX_SESSIONS]).await?;
    let keys: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if keys.is_empty() { Ok(Vec::new()) } else { session::load(client, &keys).await }
}
