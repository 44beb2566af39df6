//! Writing appends: those of many sessions in one transaction.
//!
//! A transaction locks the rows of its sessions, in the order of their keys, and reads them. Then it is decided which
//! appends are valid: the sequence must be the next one, and the lease must be that of the owner. All changes and the
//! commit are sent at once. So a transaction takes two round trips, whatever its number of appends.
//!
//! If the connection is lost, it is not known whether the transaction was committed. Its appends are *in doubt*. They
//! are written again, unless the locked rows show that they are stored.

use std::collections::BTreeMap;
use std::pin::Pin;

use futures_util::future::join_all;
use interlingua_schema::{NativeSessionId, Timestamp, Usage};
use tokio::sync::oneshot;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::append::PreparedAppend;
use crate::notifier::Tail;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::events::ChunkRows;
use crate::postgres::lease::LeaseKey;
use crate::postgres::limits::Limits;
use crate::postgres::{message, summary, text};
use crate::{SessionKey, StoreError};

/// Approximate number of bytes of an append besides its events.
const APPEND_BYTES: usize = 256;

/// An append in the queue of a lane.
pub(crate) struct AppendJob {
    pub(crate) session: SessionKey,
    pub(crate) append: PreparedAppend,
    /// The lease that the append was made under; `None` if the session has no owner.
    pub(crate) lease: Option<LeaseKey>,
    sender: oneshot::Sender<Result<(), StoreError>>,
    /// Whether it was sent to the database on a connection that was lost.
    pub(crate) is_in_doubt: bool,
}

/// What becomes of an append in its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is part of the transaction.
    Written,
    /// An earlier transaction has stored it.
    Stored,
    Refused(StoreError),
}

/// What the validity of an append depends on.
pub(crate) struct AppendRules {
    pub(crate) limits: Limits,
    /// False only in a test that shows what fencing prevents.
    pub(crate) is_fenced: bool,
    /// What is added to the id of a transaction to get the number of its appends.
    pub(crate) position_offset: i64,
}

impl AppendJob {
    pub(crate) fn new(
        session: SessionKey,
        append: PreparedAppend,
        lease: Option<LeaseKey>,
        sender: oneshot::Sender<Result<(), StoreError>>,
    ) -> Self {
        Self { session, append, lease, sender, is_in_doubt: false }
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.append.byte_len() + APPEND_BYTES
    }

    /// Number of events.
    pub(crate) fn events(&self) -> u64 {
        self.append.lines.len() as u64
    }

    /// The tail of the session after this append; `None` if it has no events.
    pub(crate) fn tail(&self) -> Option<Tail> {
        let (_, last) = self.append.lines.sequence_range()?;
        Some(if self.append.changes.ended { Tail::Ended { last } } else { Tail::Open { last } })
    }

    /// Sends the result to the caller, who may have stopped waiting.
    pub(crate) fn reply(self, result: Result<(), StoreError>) {
        drop(self.sender.send(result));
    }
}

/// The row of a session, locked by the transaction, with the changes of the appends so far.
struct LockedSession {
    event_count: u64,
    ended: bool,
    epoch: i64,
    owner: Option<i64>,
    stored_bytes: u64,
    usage: Option<String>,
    update: Option<SessionUpdate>,
}

/// New values of a session's row.
#[derive(Default)]
struct SessionUpdate {
    time: Option<Timestamp>,
    native: Option<NativeSessionId>,
    busy: Option<bool>,
    last_turn_status: Option<String>,
    usage: Option<String>,
    model: Option<String>,
    mode: Option<String>,
}

impl LockedSession {
    fn from_row(row: &Row) -> (SessionKey, Self) {
        let session = Self {
            event_count: row.get::<_, i64>(1).cast_unsigned(),
            ended: row.get(2),
            epoch: row.get(3),
            owner: row.get(4),
            stored_bytes: row.get::<_, i64>(5).cast_unsigned(),
            usage: row.get(6),
            update: None,
        };
        (SessionKey(row.get(0)), session)
    }

    /// Decides whether the append is the next one of the session, by its owner.
    fn check(&self, job: &AppendJob, rules: &AppendRules, is_stored: bool) -> Verdict {
        let range = job.append.lines.sequence_range();
        if is_stored && range.is_some() {
            return Verdict::Stored;
        }
        let is_owner = match &job.lease {
            Some(lease) => lease.epoch == self.epoch,
            None => self.owner.is_none(),
        };
        if rules.is_fenced && !is_owner {
            return Verdict::Refused(StoreError::LeaseLost);
        }
        if self.ended {
            return Verdict::Refused(StoreError::SessionEnded);
        }
        let expected = self.event_count + 1;
        let found = range.map_or(expected, |(first, _)| first);
        if rules.is_fenced && found != expected {
            return Verdict::Refused(StoreError::OutOfOrder { expected, found });
        }
        if !job.append.changes.essential {
            let bytes = job.append.byte_len();
            let checked = rules.limits.check_session(self.stored_bytes, bytes);
            if let Err(error) = checked.and_then(|()| rules.limits.check_store(bytes)) {
                return Verdict::Refused(error);
            }
        }
        Verdict::Written
    }

    /// Adds the changes of an append.
    fn apply(&mut self, append: &PreparedAppend) -> Result<(), StoreError> {
        let changes = &append.changes;
        if let Some((_, last)) = append.lines.sequence_range() {
            self.event_count = last;
        }
        self.stored_bytes = self.stored_bytes.saturating_add(append.byte_len() as u64);
        self.ended |= changes.ended;
        let update = self.update.get_or_insert_default();
        update.time = changes.time.max(update.time);
        merge(&mut update.native, changes.native_session_id.as_ref());
        merge(&mut update.busy, changes.busy.as_ref());
        merge(&mut update.last_turn_status, changes.summary.last_turn_status.as_ref());
        merge(&mut update.model, changes.summary.model.as_ref());
        merge(&mut update.mode, changes.summary.mode.as_ref());
        if let Some(usage) = &changes.summary.usage {
            let stored = self.usage.as_deref().and_then(|json| serde_json::from_str::<Usage>(json).ok());
            let mut total = stored.unwrap_or_default();
            total += usage.clone();
            let json = serde_json::to_string(&total).map_err(|error| StoreError::Database(error.to_string()))?;
            self.usage = Some(json.clone());
            update.usage = Some(json);
        }
        Ok(())
    }
}

fn merge<T: Clone>(value: &mut Option<T>, newer: Option<&T>) {
    if let Some(newer) = newer {
        *value = Some(newer.clone());
    }
}

const LOCK_SESSIONS: &str = "SELECT key, event_count, ended, epoch, owner, stored_bytes, usage FROM sessions \
     WHERE key = ANY($1) ORDER BY key FOR NO KEY UPDATE";

const FIND_CHUNKS: &str = "SELECT e.session, e.last, e.checksum FROM events AS e \
     JOIN unnest($1::bigint[], $2::bigint[]) AS wanted (session, last) USING (session, last)";

const UPDATE_SESSIONS: &str = "UPDATE sessions AS s SET event_count = u.event_count, \
     updated_at = greatest(s.updated_at, u.time), stored_bytes = u.stored_bytes, \
     native_session_id = coalesce(u.native, s.native_session_id), ended = u.ended, \
     owner = CASE WHEN NOT u.ended THEN s.owner END, \
     busy = NOT u.ended AND coalesce(u.busy, s.busy), \
     last_turn_status = coalesce(u.status, s.last_turn_status), usage = coalesce(u.usage, s.usage), \
     reported_model = coalesce(u.model, s.reported_model), reported_mode = coalesce(u.mode, s.reported_mode) \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[], $7::boolean[], \
     $8::text[], $9::text[], $10::text[], $11::text[]) \
     AS u (key, event_count, time, stored_bytes, native, ended, busy, status, usage, model, mode) WHERE s.key = u.key";

const UPDATE_STATES: &str = "UPDATE kept SET state = u.state \
     FROM unnest($1::bigint[], $2::text[]) AS u (session, state) WHERE kept.session = u.session";

/// The statements of the transaction, which have to be prepared before it starts: they are sent without waiting.
const STATEMENTS: [&str; 8] = [
    LOCK_SESSIONS,
    UPDATE_SESSIONS,
    UPDATE_STATES,
    ChunkRows::INSERT,
    message::BEGIN_TURNS,
    message::CANCEL_ALL,
    summary::OPEN_REQUEST,
    summary::CLOSE_REQUEST,
];

/// Prepares the statements on a new connection.
pub(crate) async fn prepare_statements(client: &DbClient) -> Result<(), DbError> {
    for statement in STATEMENTS {
        client.prepare(statement).await?;
    }
    client.prepare(summary::CLOSE_ALL_REQUESTS).await.map(drop)
}

/// Writes appends in one transaction. Those that are refused do not affect the others.
///
/// After an error, nothing was written, or everything was: `jobs` are marked as in doubt if that is not known.
pub(crate) async fn write(
    client: &DbClient,
    jobs: &mut [AppendJob],
    rules: &AppendRules,
) -> Result<Vec<Verdict>, DbError> {
    let mut keys: Vec<i64> = jobs.iter().map(|job| job.session.0).collect();
    keys.sort_unstable();
    keys.dedup();
    let params: [&(dyn ToSql + Sync); 1] = [&keys];
    let (begun, rows) = tokio::join!(client.begin(), client.query(LOCK_SESSIONS, &params));
    begun?;
    let mut sessions: BTreeMap<SessionKey, LockedSession> = rows?.iter().map(LockedSession::from_row).collect();
    let stored = find_stored(client, jobs).await?;
    let mut verdicts = Vec::with_capacity(jobs.len());
    for (job, is_stored) in jobs.iter().zip(stored) {
        let verdict = match sessions.get_mut(&job.session) {
            None => Verdict::Refused(StoreError::SessionNotFound),
            Some(session) => match session.check(job, rules, is_stored) {
                Verdict::Written => session.apply(&job.append).map_or_else(Verdict::Refused, |()| Verdict::Written),
                verdict => verdict,
            },
        };
        verdicts.push(verdict);
    }
    for job in jobs.iter_mut() {
        job.is_in_doubt = true;
    }
    let written: Vec<&AppendJob> =
        jobs.iter().zip(&verdicts).filter_map(|(job, verdict)| (*verdict == Verdict::Written).then_some(job)).collect();
    send_changes(client, &sessions, &written, rules.position_offset).await?;
    Ok(verdicts)
}

/// Which of the appends in doubt are stored.
async fn find_stored(client: &DbClient, jobs: &[AppendJob]) -> Result<Vec<bool>, DbError> {
    if !jobs.iter().any(|job| job.is_in_doubt) {
        return Ok(vec![false; jobs.len()]);
    }
    // An append is stored if its last row is: the rows of an append are written together.
    let last_row = |job: &AppendJob| {
        let (_, last) = job.append.lines.sequence_range()?;
        Some((job.session.0, last.cast_signed(), i64::from(job.append.rows.last()?.checksum)))
    };
    let wanted: Vec<_> = jobs.iter().filter(|job| job.is_in_doubt).filter_map(last_row).collect();
    let sessions: Vec<i64> = wanted.iter().map(|(session, ..)| *session).collect();
    let lasts: Vec<i64> = wanted.iter().map(|(_, last, _)| *last).collect();
    let rows = client.query(FIND_CHUNKS, &[&sessions, &lasts]).await?;
    let found: Vec<(i64, i64, i64)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let is_stored = |job: &AppendJob| job.is_in_doubt && last_row(job).is_some_and(|row| found.contains(&row));
    Ok(jobs.iter().map(is_stored).collect())
}

type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), DbError>> + Send + 'a>>;

/// Sends all changes and the commit, and waits for the answers.
async fn send_changes(
    client: &DbClient,
    sessions: &BTreeMap<SessionKey, LockedSession>,
    jobs: &[&AppendJob],
    position_offset: i64,
) -> Result<(), DbError> {
    let rows = ChunkRows::new(jobs.iter().map(|job| (job.session, &job.append)));
    let mut sending: Vec<Sending<'_>> = Vec::new();
    sending.push(Box::pin(update_sessions(client, sessions)));
    if !rows.is_empty() {
        sending.push(Box::pin(rows.insert(client, position_offset)));
    }
    // The last state of each session.
    let states: BTreeMap<i64, &str> =
        jobs.iter().filter_map(|job| Some((job.session.0, job.append.changes.state.as_ref()?.as_str()))).collect();
    if !states.is_empty() {
        sending.push(Box::pin(update_states(client, states)));
    }
    let begun = jobs.iter().flat_map(|job| job.append.changes.begun.iter().map(|begun| (job.session, *begun)));
    let begun: Vec<_> = begun.collect();
    if !begun.is_empty() {
        sending.push(Box::pin(message::begin_turns(client, begun)));
    }
    for job in jobs {
        for change in &job.append.changes.summary.requests {
            sending.push(Box::pin(summary::write_request(client, job.session, change)));
        }
        if job.append.changes.ended {
            sending.push(Box::pin(message::cancel_all(client, job.session)));
            sending.push(Box::pin(summary::close_all_requests(client, job.session)));
        }
    }
    sending.push(Box::pin(client.commit()));
    // The requests are sent in this order, because the futures are polled in this order.
    join_all(sending).await.into_iter().collect()
}

async fn update_states(client: &DbClient, states: BTreeMap<i64, &str>) -> Result<(), DbError> {
    let (sessions, states): (Vec<i64>, Vec<&str>) = states.into_iter().unzip();
    client.execute(UPDATE_STATES, &[&sessions, &states]).await.map(drop)
}

/// Columns of the sessions that change.
#[derive(Default)]
struct Columns<'a> {
    keys: Vec<i64>,
    event_counts: Vec<i64>,
    times: Vec<Option<i64>>,
    stored_bytes: Vec<i64>,
    natives: Vec<Option<String>>,
    ended: Vec<bool>,
    busy: Vec<Option<bool>>,
    statuses: Vec<Option<&'a str>>,
    usages: Vec<Option<&'a str>>,
    models: Vec<Option<String>>,
    modes: Vec<Option<String>>,
}

async fn update_sessions(client: &DbClient, sessions: &BTreeMap<SessionKey, LockedSession>) -> Result<(), DbError> {
    let mut columns = Columns::default();
    let encode = |value: &Option<String>| value.as_deref().map(|value| text::encode(value).into_owned());
    for (key, session) in sessions {
        let Some(update) = &session.update else { continue };
        columns.keys.push(key.0);
        columns.event_counts.push(session.event_count.cast_signed());
        columns.times.push(update.time.map(Timestamp::as_millis));
        columns.stored_bytes.push(i64::try_from(session.stored_bytes).unwrap_or(i64::MAX));
        columns.natives.push(update.native.as_ref().map(|native| text::encode(native.as_str()).into_owned()));
        columns.ended.push(session.ended);
        columns.busy.push(update.busy);
        columns.statuses.push(update.last_turn_status.as_deref());
        columns.usages.push(update.usage.as_deref());
        columns.models.push(encode(&update.model));
        columns.modes.push(encode(&update.mode));
    }
    if columns.keys.is_empty() {
        return Ok(());
    }
    let Columns { keys, event_counts, times, stored_bytes, natives, ended, busy, statuses, usages, models, modes } =
        &columns;
    client
        .execute(
            UPDATE_SESSIONS,
            &[keys, event_counts, times, stored_bytes, natives, ended, busy, statuses, usages, models, modes],
        )
        .await
        .map(drop)
}
