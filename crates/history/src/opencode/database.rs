//! The database of OpenCode since 1.15. It is never opened for writing.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use interlingua_schema::{Timestamp, Usage};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Row as SqlRow, params};
use serde_json::{Map, Value, json};

use super::database_copy::open_copy;
use super::replay::LastUpdates;
use super::storage::{EventRow, Row, SessionRow, Storage};
use crate::{HistoryError, HistoryReport};

/// First bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Characters of a path that are encoded in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Tables that every known version has.
const REQUIRED_TABLES: [&str; 3] = ["session", "message", "part"];
/// Number of events that are read at once.
const EVENTS_PER_READ: i64 = 64;
/// Columns of sessions. A version may lack some of them.
const SESSION_COLUMNS: [&str; 18] = [
    "id",
    "parent_id",
    "title",
    "directory",
    "version",
    "time_created",
    "time_updated",
    "slug",
    "project_id",
    "share_url",
    "revert",
    "agent",
    "model",
    "cost",
    "tokens_input",
    "tokens_output",
    "tokens_reasoning",
    "tokens_cache_read",
];

/// Whether a file is a database.
pub(crate) fn is_database(path: &Path) -> bool {
    let mut head = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC
}

/// The write-ahead log of a database.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// What changes when a database is written: lengths and times of modification of the database and its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileState([Option<(u64, Option<SystemTime>)>; 2]);

impl FileState {
    pub(super) fn read(path: &Path) -> Self {
        let state = |path: &Path| fs::metadata(path).ok().map(|file| (file.len(), file.modified().ok()));
        Self([state(path), state(&log_of(path))])
    }

    fn has_log(&self) -> bool {
        self.0[1].is_some_and(|(length, _)| length > 0)
    }

    /// Time of the last change.
    pub(super) fn modified(&self) -> Option<SystemTime> {
        self.0.iter().filter_map(|state| (*state)?.1).max()
    }
}

/// An open copy of a database, or the database itself if no process has it open for writing.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    state: FileState,
    connection: Mutex<Connection>,
    columns: BTreeSet<String>,
    has_events: bool,
}

impl Database {
    pub(super) fn open(path: &Path, report: &mut HistoryReport) -> Result<Self, HistoryError> {
        let state = FileState::read(path);
        let (connection, state) = if state.has_log() {
            open_copy(path, report)?
        } else {
            let uri = format!("file:{}?immutable=1", utf8_percent_encode(&path.to_string_lossy(), ESCAPED));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(uri, flags).map_err(error(path))?, state)
        };
        let tables = names(&connection, "SELECT name FROM sqlite_master WHERE type = 'table'").map_err(error(path))?;
        if !REQUIRED_TABLES.iter().all(|table| tables.contains(*table)) {
            let found = tables.into_iter().collect::<Vec<_>>().join(", ");
            return Err(HistoryError::UnknownSchema { path: path.to_owned(), found });
        }
        let columns = names(&connection, "SELECT name FROM pragma_table_info('session')").map_err(error(path))?;
        let has_events = tables.contains("event");
        Ok(Self { path: path.to_owned(), state, connection: Mutex::new(connection), columns, has_events })
    }

    /// The state of the files that were read.
    pub(super) fn state(&self) -> &FileState {
        &self.state
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads rows with a function. The rows before one that cannot be read are returned, and a report says so.
    fn read<T>(
        &self,
        sql: &str,
        parameters: &[&str],
        report: &mut HistoryReport,
        read_row: impl Fn(&SqlRow<'_>) -> T,
    ) -> Result<Vec<T>, HistoryError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(sql).map_err(error(&self.path))?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(error(&self.path))?;
        let mut read = Vec::new();
        loop {
            match rows.next() {
                Ok(Some(row)) => read.push(read_row(row)),
                Ok(None) => return Ok(read),
                Err(source) => {
                    report.add_error(&self.path, &error(&self.path)(source));
                    return Ok(read);
                }
            }
        }
    }

    fn read_sessions(
        &self,
        condition: &str,
        parameters: &[&str],
        report: &mut HistoryReport,
    ) -> Result<Vec<SessionRow>, HistoryError> {
        let columns: Vec<String> = SESSION_COLUMNS
            .iter()
            .map(|name| if self.columns.contains(*name) { (*name).to_owned() } else { format!("NULL AS {name}") })
            .collect();
        let sql = format!("SELECT {} FROM session WHERE {condition} ORDER BY time_created, id", columns.join(", "));
        let sessions = self.read(&sql, parameters, report, to_session_row)?;
        Ok(sessions.into_iter().filter(|session| !session.id.is_empty()).collect())
    }
}

impl Storage for Database {
    fn path(&self) -> &Path {
        &self.path
    }

    fn sessions(&self, report: &mut HistoryReport) -> Result<Vec<SessionRow>, HistoryError> {
        self.read_sessions("true", &[], report)
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>, HistoryError> {
        let found = self.read_sessions("id = ?1", &[id], &mut HistoryReport::default())?;
        Ok(found.into_iter().next())
    }

    fn children(&self, id: &str) -> Result<Vec<SessionRow>, HistoryError> {
        self.read_sessions("parent_id = ?1", &[id], &mut HistoryReport::default())
    }

    fn titled(&self, title: &str, other: &str) -> Result<Vec<SessionRow>, HistoryError> {
        self.read_sessions("title IN (?1, ?2)", &[title, other], &mut HistoryReport::default())
    }

    fn messages(&self, session: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM message WHERE session_id = ?1 ORDER BY id";
        self.read(sql, &[session], report, |row| to_row(row, &[("sessionID", session)]))
    }

    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM message WHERE id = ?1";
        let ids = [("sessionID", session)];
        Ok(self.read(sql, &[message], &mut HistoryReport::default(), |row| to_row(row, &ids))?.into_iter().next())
    }

    fn parts(&self, session: &str, message: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM part WHERE message_id = ?1 ORDER BY id";
        self.read(sql, &[message], report, |row| to_row(row, &[("sessionID", session), ("messageID", message)]))
    }

    fn part(&self, session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM part WHERE id = ?1";
        let ids = [("sessionID", session), ("messageID", message)];
        Ok(self.read(sql, &[part], &mut HistoryReport::default(), |row| to_row(row, &ids))?.into_iter().next())
    }

    fn last_updates(&self, session: &str) -> Result<Option<LastUpdates>, HistoryError> {
        if !self.has_events {
            return Ok(None);
        }
        let connection = self.connection();
        let query = || -> rusqlite::Result<Option<LastUpdates>> {
            let begins = "SELECT EXISTS (SELECT 1 FROM event WHERE aggregate_id = ?1 AND seq = 0 AND type LIKE 'session.created%')";
            if !connection.prepare_cached(begins)?.query_row([session], |row| row.get(0))? {
                return Ok(None);
            }
            let updates = "SELECT json_extract(data, '$.info.id') AS message, max(seq) FROM event \
                 WHERE aggregate_id = ?1 AND type LIKE 'message.updated%' AND json_valid(data) \
                 GROUP BY message HAVING message IS NOT NULL";
            let mut updates = connection.prepare_cached(updates)?;
            let updates = updates.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let updates: LastUpdates = updates.collect::<Result<_, _>>()?;
            // An older version that used the database in between has written no events.
            let mut messages = connection.prepare_cached("SELECT id FROM message WHERE session_id = ?1")?;
            let mut messages = messages.query_map([session], |row| row.get::<_, String>(0))?;
            let has_all = messages.all(|message| message.is_ok_and(|message| updates.contains_key(&message)));
            Ok(has_all.then_some(updates))
        };
        query().map_err(error(&self.path))
    }

    fn next_update(&self, session: &str, part: &str, after: i64) -> Result<Option<EventRow>, HistoryError> {
        let connection = self.connection();
        let sql = "SELECT rowid, seq, id, type, data FROM event WHERE aggregate_id = ?1 AND seq > ?2 \
             AND type LIKE 'message.part.updated%' AND json_valid(data) AND json_extract(data, '$.part.id') = ?3 \
             ORDER BY seq LIMIT 1";
        let mut statement = connection.prepare_cached(sql).map_err(error(&self.path))?;
        statement.query_row(params![session, after, part], to_event_row).optional().map_err(error(&self.path))
    }

    fn events(&self, session: &str, after: i64) -> Result<Vec<EventRow>, HistoryError> {
        let connection = self.connection();
        let sql =
            "SELECT rowid, seq, id, type, data FROM event WHERE aggregate_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let mut statement = connection.prepare_cached(sql).map_err(error(&self.path))?;
        let rows = statement.query_map(params![session, after, EVENTS_PER_READ], to_event_row);
        rows.and_then(Iterator::collect).map_err(error(&self.path))
    }
}

fn to_event_row(row: &SqlRow<'_>) -> rusqlite::Result<EventRow> {
    let text = |index: usize| Ok::<_, rusqlite::Error>(text_of(row.get_ref(index)?).unwrap_or_default());
    Ok(EventRow { place: row.get(0)?, number: row.get(1)?, id: text(2)?, kind: text(3)?, data: text(4)? })
}

/// The text of a column; an error if it has none.
fn text_of(column: ValueRef<'_>) -> Result<String, String> {
    match column {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8(bytes.to_vec()).map_err(|_| "expected UTF-8, found other bytes".to_owned())
        }
        ValueRef::Integer(number) => Ok(number.to_string()),
        ValueRef::Real(number) => Ok(number.to_string()),
        ValueRef::Null => Err("expected a text, found NULL".to_owned()),
    }
}

/// The number in a column, if it is one.
fn number_of(column: ValueRef<'_>) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "times and counts are small")]
    match column {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
fn millis_of(column: ValueRef<'_>) -> Option<i64> {
    number_of(column).map(|number| number as i64)
}

fn to_session_row(row: &SqlRow<'_>) -> SessionRow {
    // The statement has these columns.
    let column = |index: usize| row.get_ref(index).unwrap_or(ValueRef::Null);
    let text = |index: usize| text_of(column(index)).ok();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are small")]
    let count = |index: usize| number_of(column(index)).map_or(0, |number| number.max(0.0) as u64);
    let (created, updated) = (millis_of(column(5)), millis_of(column(6)));
    let id = text(0).unwrap_or_default();
    let mut info = Map::new();
    info.insert("id".to_owned(), json!(id));
    let fields = [("parentID", 1), ("title", 2), ("directory", 3), ("version", 4), ("slug", 7), ("projectID", 8)];
    for (key, index) in fields {
        if let Some(value) = text(index) {
            info.insert(key.to_owned(), Value::String(value));
        }
    }
    info.insert("time".to_owned(), json!({ "created": created, "updated": updated }));
    if let Some(url) = text(9) {
        info.insert("share".to_owned(), json!({ "url": url }));
    }
    if let Some(revert) = text(10).and_then(|revert| serde_json::from_str::<Value>(&revert).ok()) {
        info.insert("revert".to_owned(), revert);
    }
    let usage = number_of(column(14)).map(|_| {
        let (input, output, reasoning, cached) = (count(14), count(15), count(16), count(17));
        Usage::new(input + cached, output + reasoning)
            .cached_input_tokens(Some(cached))
            .reasoning_tokens(Some(reasoning))
            .cost_usd(number_of(column(13)))
    });
    SessionRow {
        parent: text(1),
        title: text(2),
        directory: text(3),
        version: text(4),
        agent: text(11),
        model: text(12).and_then(|model| model_name(&model)),
        usage,
        created: created.map(Timestamp::from_millis),
        updated: updated.map(Timestamp::from_millis),
        info: Value::Object(info).to_string(),
        id,
    }
}

/// Provider and model in one name.
fn model_name(model: &str) -> Option<String> {
    let model: Value = serde_json::from_str(model).ok()?;
    let (provider, id) = (model.get("providerID")?.as_str()?, model.get("id")?.as_str()?);
    Some(format!("{provider}/{id}"))
}

/// The content of a row is without its ids. They are added, as events have them.
fn to_row(row: &SqlRow<'_>, ids: &[(&str, &str)]) -> Row {
    let column = |index: usize| row.get_ref(index).unwrap_or(ValueRef::Null);
    let id = text_of(column(0)).unwrap_or_default();
    let created = millis_of(column(1));
    let data = match text_of(column(2)) {
        Ok(data) => data,
        Err(problem) => return Row { id, created, problem: Some(problem), ..Row::default() },
    };
    let mut json = String::with_capacity(data.len() + 128);
    json.push_str("{\"id\":");
    json.push_str(&json!(id).to_string());
    for (key, value) in ids {
        json.push_str(",\"");
        json.push_str(key);
        json.push_str("\":");
        json.push_str(&json!(value).to_string());
    }
    match data.trim_start().strip_prefix('{') {
        Some(rest) if rest.trim_start().starts_with('}') => json.push('}'),
        Some(rest) => {
            json.push(',');
            json.push_str(rest);
        }
        // Not an object: reported as it is.
        None => json = data,
    }
    Row { id, created, json, ..Row::default() }
}

fn names(connection: &Connection, sql: &str) -> rusqlite::Result<BTreeSet<String>> {
    connection.prepare(sql)?.query_map(params![], |row| row.get(0))?.collect()
}

pub(super) fn error(path: &Path) -> impl FnOnce(rusqlite::Error) -> HistoryError + use<> {
    let path = path.to_owned();
    |source| HistoryError::Database { path, source }
}
