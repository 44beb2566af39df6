//! The rows of events: writing and reading them.

use std::ops::ControlFlow;

use interlingua_schema::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::append::PreparedAppend;
use crate::damaged::{Remains, Replacement, parse_intact};
use crate::events::EventLines;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::stored_chunk::{self, EventColumn};
use crate::{Batch, RawPayloads, ReadLimits, SessionKey};

/// Number of rows that are read at once. A row has 16 KiB of events at most, unless it is one long event.
const ROWS_PER_READ: i64 = 32;

/// The rows of the chunks of many appends, by column.
#[derive(Default)]
pub(crate) struct ChunkRows<'a> {
    sessions: Vec<i64>,
    lasts: Vec<i64>,
    counts: Vec<i32>,
    checksums: Vec<i64>,
    compressed: Vec<bool>,
    json: Vec<&'a [u8]>,
    payloads: Vec<Option<&'a [u8]>>,
    event_checksums: Vec<Option<&'a [u8]>>,
}

impl<'a> ChunkRows<'a> {
    pub(crate) const INSERT: &'static str = "INSERT INTO events \
         (session, last, count, append, checksum, is_compressed, json, payloads, event_checksums) \
         SELECT u.session, u.last, u.count, pg_current_xact_id()::text::bigint + $1, u.checksum, u.is_compressed, \
         u.json, u.payloads, u.event_checksums \
         FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::boolean[], $7::bytea[], $8::bytea[], \
         $9::bytea[]) AS u (session, last, count, checksum, is_compressed, json, payloads, event_checksums)";

    pub(crate) fn new(appends: impl Iterator<Item = (SessionKey, &'a PreparedAppend)>) -> Self {
        let mut rows = Self::default();
        for (session, append) in appends {
            for (chunk, row) in append.chunks.iter().zip(&append.rows) {
                let last = chunk.events.end.checked_sub(1).and_then(|last| append.lines.get(last));
                let Some((last, _)) = last else { continue };
                rows.sessions.push(session.0);
                rows.lasts.push(last.cast_signed());
                rows.counts.push(i32::try_from(chunk.events.len()).unwrap_or(i32::MAX));
                rows.checksums.push(i64::from(row.checksum));
                let (bytes, is_compressed) = match row.events(append.lines.text(&chunk.events).unwrap_or_default()) {
                    EventColumn::Text(text) => (text, false),
                    EventColumn::Compressed(compressed) => (compressed, true),
                };
                rows.compressed.push(is_compressed);
                rows.json.push(bytes);
                rows.payloads.push(row.payloads.as_deref());
                rows.event_checksums.push(row.event_checksums.as_deref());
            }
        }
        rows
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    pub(crate) async fn insert(&self, client: &DbClient, position_offset: i64) -> Result<(), DbError> {
        let Self { sessions, lasts, counts, checksums, compressed, json, payloads, event_checksums } = self;
        let columns: [&(dyn ToSql + Sync); 9] =
            [&position_offset, sessions, lasts, counts, checksums, compressed, json, payloads, event_checksums];
        client.execute(Self::INSERT, &columns).await.map(drop)
    }
}

/// A row of `events`.
pub(crate) struct StoredRow {
    pub(crate) session: SessionKey,
    pub(crate) last: u64,
    count: u64,
    pub(crate) append: i64,
    checksum: u32,
    is_compressed: bool,
    json: Vec<u8>,
    payloads: Option<Vec<u8>>,
}

impl StoredRow {
    /// Number of [`columns`](Self::columns).
    pub(crate) const COLUMN_COUNT: usize = 8;

    /// The columns of [`from_row`](Self::from_row), of a table with the name `e`.
    pub(crate) fn columns(raw: RawPayloads) -> String {
        let payloads = if raw == RawPayloads::Include { "e.payloads" } else { "NULL::bytea" };
        format!("e.session, e.last, e.count, e.append, e.checksum, e.is_compressed, e.json, {payloads}")
    }

    pub(crate) fn from_row(row: &Row) -> Self {
        Self {
            session: SessionKey(row.get(0)),
            last: row.get::<_, i64>(1).cast_unsigned(),
            count: u64::try_from(row.get::<_, i32>(2)).unwrap_or_default(),
            append: row.get(3),
            checksum: u32::try_from(row.get::<_, i64>(4)).unwrap_or_default(),
            is_compressed: row.get(5),
            json: row.get(6),
            payloads: row.get(7),
        }
    }

    /// Sequence of the first event.
    pub(crate) fn first(&self) -> u64 {
        (self.last + 1).saturating_sub(self.count)
    }

    /// Adds the events that follow the last one of `lines`. Breaks when a limit is reached. Events that cannot be read,
    /// and missing ones before the row, are replaced.
    async fn push_to(
        &self,
        client: &DbClient,
        lines: &mut EventLines,
        limits: ReadLimits,
    ) -> Result<ControlFlow<()>, DbError> {
        let decoded = stored_chunk::decode_events(self.column(), self.checksum);
        if let Ok(events) = &decoded
            && self.first() <= lines.next()
        {
            return Ok(self.push_events(events, lines, limits));
        }
        tracing::error!(session = self.session.0, sequence = lines.next(), "cannot read a stored event");
        let text = decoded.unwrap_or_else(|_| stored_chunk::decode_damaged_events(self.column()));
        let event_checksums = self.load_event_checksums(client).await?;
        let remains = Remains { text: &text, event_checksums: event_checksums.as_deref() };
        let mut replacement = load_replacement(client, self.session, lines).await?;
        let pushed = replacement.push_row(lines, limits, (self.first(), self.last), remains);
        // An event that was made here can be encoded.
        Ok(pushed.unwrap_or(ControlFlow::Break(())))
    }

    /// The checksums of the events, which only a damaged row needs.
    async fn load_event_checksums(&self, client: &DbClient) -> Result<Option<Vec<u8>>, DbError> {
        let query = "SELECT event_checksums FROM events WHERE session = $1 AND last = $2";
        let row = client.query_opt(query, &[&self.session.0, &self.last.cast_signed()]).await?;
        Ok(row.and_then(|row| row.get(0)))
    }

    fn push_events(&self, events: &str, lines: &mut EventLines, limits: ReadLimits) -> ControlFlow<()> {
        // Events whose payloads are damaged have none.
        let payloads = self.payloads.as_deref();
        let payloads = payloads.and_then(|payloads| stored_chunk::decode_payloads(payloads, events).ok());
        let read_already = usize::try_from(lines.next() - self.first()).unwrap_or(usize::MAX);
        lines.push_chunk(read_already, events, payloads.as_deref(), limits)
    }

    fn column(&self) -> EventColumn<'_> {
        if self.is_compressed { EventColumn::Compressed(&self.json) } else { EventColumn::Text(&self.json) }
    }
}

/// Reads the events with a sequence higher than `after`; empty if there are none.
pub(crate) async fn read(
    client: &DbClient,
    session: SessionKey,
    after: u64,
    limits: ReadLimits,
    raw: RawPayloads,
) -> Result<Batch, DbError> {
    let query = format!(
        "SELECT {} FROM events AS e WHERE e.session = $1 AND e.last > $2 ORDER BY e.last LIMIT $3",
        StoredRow::columns(raw)
    );
    let mut lines = EventLines::after(after);
    let mut read_to = i64::try_from(after).unwrap_or(i64::MAX);
    loop {
        let rows = client.query(&query, &[&session.0, &read_to, &ROWS_PER_READ]).await?;
        for row in &rows {
            let row = StoredRow::from_row(row);
            read_to = row.last.cast_signed();
            if row.push_to(client, &mut lines, limits).await?.is_break() {
                return Ok(Batch::from_lines(lines));
            }
        }
        if i64::try_from(rows.len()).is_ok_and(|count| count < ROWS_PER_READ) {
            return Ok(Batch::from_lines(lines));
        }
    }
}

/// Reads the events of rows of one session. The first event is the one after `after`.
pub(crate) async fn read_rows(
    client: &DbClient,
    rows: &[StoredRow],
    after: u64,
    limits: ReadLimits,
) -> Result<EventLines, DbError> {
    let mut lines = EventLines::after(after);
    for row in rows {
        if row.push_to(client, &mut lines, limits).await?.is_break() {
            break;
        }
    }
    Ok(lines)
}

/// Makes the events that are read in the place of those after the last one of `lines`.
async fn load_replacement(client: &DbClient, key: SessionKey, lines: &EventLines) -> Result<Replacement, DbError> {
    let session = client.query_opt("SELECT id, created_at FROM sessions WHERE key = $1", &[&key.0]).await?;
    let (id, created_at) = session.map_or((String::new(), 0), |row| (row.get::<_, String>(0), row.get::<_, i64>(1)));
    let last = lines.len().checked_sub(1).and_then(|last| lines.get(last)).and_then(|(_, line)| parse_intact(line));
    let time = match last {
        Some(event) => Some(event.time),
        None => earlier_time(client, key, lines.next()).await?,
    };
    Ok(Replacement::new(id, key, time.unwrap_or(Timestamp::from_millis(created_at))))
}

/// Time of the last readable event before a sequence.
async fn earlier_time(client: &DbClient, session: SessionKey, next: u64) -> Result<Option<Timestamp>, DbError> {
    let query = format!(
        "SELECT {} FROM events AS e WHERE e.session = $1 AND e.last < $2 ORDER BY e.last DESC LIMIT $3",
        StoredRow::columns(RawPayloads::Omit)
    );
    let rows = client.query(&query, &[&session.0, &next.cast_signed(), &ROWS_PER_READ]).await?;
    Ok(rows.iter().map(StoredRow::from_row).find_map(|row| {
        let events = stored_chunk::decode_events(row.column(), row.checksum).ok()?;
        events.rsplit('\n').find_map(parse_intact).map(|event| event.time)
    }))
}
