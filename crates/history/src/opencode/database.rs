//! The database of OpenCode since 1.15.
//!
//! The database may be in use. It is never opened for writing, and `SQLite` must not create files beside it. So it is copied
//! together with its write-ahead log, and the copy is read. Without a log it does not change while it is read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use interlingua_schema::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rusqlite::{Connection, OpenFlags, Row as SqlRow, params};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{Row, SessionRow, Storage};
use crate::HistoryError;

/// First bytes of a database.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Characters of a path that are encoded in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Number of attempts to copy a database that is being written.
const MAX_COPY_ATTEMPTS: u32 = 5;
/// Tables that every known version has.
const REQUIRED_TABLES: [&str; 3] = ["session", "message", "part"];

/// Whether a file is a database.
pub(crate) fn is_database(path: &Path) -> bool {
    let mut head = [0; 16];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == MAGIC
}

/// An open copy of a database, or the database itself if no process has it open for writing.
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
    columns: BTreeSet<String>,
    has_events: bool,
    /// Keeps the copy until it is closed.
    _copy: Option<TempDir>,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, HistoryError> {
        let log = with_suffix(path, "-wal");
        let has_log = fs::metadata(&log).is_ok_and(|log| log.len() > 0);
        let (connection, copy) = if has_log {
            let (connection, copy) = open_copy(path, &log)?;
            (connection, Some(copy))
        } else {
            let uri = format!("file:{}?immutable=1", utf8_percent_encode(&path.to_string_lossy(), ESCAPED));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(uri, flags).map_err(error(path))?, None)
        };
        let tables = names(&connection, "SELECT name FROM sqlite_master WHERE type = 'table'").map_err(error(path))?;
        if !REQUIRED_TABLES.iter().all(|table| tables.contains(*table)) {
            let found = tables.into_iter().collect::<Vec<_>>().join(", ");
            let found = if found.is_empty() { "no tables".to_owned() } else { found };
            return Err(HistoryError::UnknownSchema { path: path.to_owned(), found });
        }
        let columns = names(&connection, "SELECT name FROM pragma_table_info('session')").map_err(error(path))?;
        Ok(Self { path: path.to_owned(), connection, columns, has_events: tables.contains("event"), _copy: copy })
    }

    fn rows(&self, sql: &str, parameters: &[&str], ids: &[(&str, &str)]) -> Result<Vec<Row>, HistoryError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(error(&self.path))?;
        let parameters = rusqlite::params_from_iter(parameters);
        let rows = statement.query_map(parameters, |row| to_row(row, ids)).map_err(error(&self.path))?;
        rows.collect::<Result<_, _>>().map_err(error(&self.path))
    }

    /// A column of the session table, if this version has it.
    fn column(&self, name: &str) -> String {
        if self.columns.contains(name) { name.to_owned() } else { format!("NULL AS {name}") }
    }
}

impl Storage for Database {
    fn sessions(&self) -> Result<Vec<SessionRow>, HistoryError> {
        let names = [
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
        ];
        let columns: Vec<String> = names.iter().map(|name| self.column(name)).collect();
        let sql = format!("SELECT {} FROM session ORDER BY time_created, id", columns.join(", "));
        let mut statement = self.connection.prepare(&sql).map_err(error(&self.path))?;
        let rows = statement.query_map(params![], to_session_row).map_err(error(&self.path))?;
        rows.collect::<Result<_, _>>().map_err(error(&self.path))
    }

    fn messages(&self, session: &str) -> Result<Vec<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM message WHERE session_id = ?1 ORDER BY id";
        self.rows(sql, &[session], &[("sessionID", session)])
    }

    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM message WHERE id = ?1";
        Ok(self.rows(sql, &[message], &[("sessionID", session)])?.into_iter().next())
    }

    fn parts(&self, session: &str, message: &str) -> Result<Vec<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM part WHERE message_id = ?1 ORDER BY id";
        self.rows(sql, &[message], &[("sessionID", session), ("messageID", message)])
    }

    fn part(&self, session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError> {
        let sql = "SELECT id, time_created, data FROM part WHERE id = ?1";
        let rows = self.rows(sql, &[part], &[("sessionID", session), ("messageID", message)])?;
        Ok(rows.into_iter().next())
    }

    fn events(&self, session: &str) -> Result<Vec<(String, String)>, HistoryError> {
        if !self.has_events {
            return Ok(Vec::new());
        }
        let sql = "SELECT type, data FROM event WHERE aggregate_id = ?1 ORDER BY seq";
        let mut statement = self.connection.prepare_cached(sql).map_err(error(&self.path))?;
        let rows =
            statement.query_map(params![session], |row| Ok((row.get(0)?, row.get(1)?))).map_err(error(&self.path))?;
        rows.collect::<Result<_, _>>().map_err(error(&self.path))
    }
}

fn to_session_row(row: &SqlRow<'_>) -> rusqlite::Result<SessionRow> {
    let text = |index: usize| -> rusqlite::Result<Option<String>> { row.get(index) };
    let id: String = row.get(0)?;
    let created: Option<i64> = row.get(5)?;
    let updated: Option<i64> = row.get(6)?;
    let mut info = Map::new();
    info.insert("id".to_owned(), json!(id));
    let fields = [("parentID", 1), ("title", 2), ("directory", 3), ("version", 4), ("slug", 7), ("projectID", 8)];
    for (key, index) in fields {
        if let Some(value) = text(index)? {
            info.insert(key.to_owned(), Value::String(value));
        }
    }
    info.insert("time".to_owned(), json!({ "created": created, "updated": updated }));
    if let Some(url) = text(9)? {
        info.insert("share".to_owned(), json!({ "url": url }));
    }
    if let Some(revert) = text(10)?.and_then(|revert| serde_json::from_str::<Value>(&revert).ok()) {
        info.insert("revert".to_owned(), revert);
    }
    Ok(SessionRow {
        parent: text(1)?,
        title: text(2)?,
        directory: text(3)?,
        version: text(4)?,
        created: created.map(Timestamp::from_millis),
        updated: updated.map(Timestamp::from_millis),
        info: Value::Object(info).to_string(),
        id,
    })
}

/// The content of a row is without its ids. They are added, as events have them.
fn to_row(row: &SqlRow<'_>, ids: &[(&str, &str)]) -> rusqlite::Result<Row> {
    let id: String = row.get(0)?;
    let data: String = row.get(2)?;
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
    Ok(Row { id, created: row.get(1)?, json })
}

/// Copies a database with its log, and opens the copy. A copy that was made during a write is made again.
fn open_copy(path: &Path, log: &Path) -> Result<(Connection, TempDir), HistoryError> {
    let mut attempt = 1;
    loop {
        let folder = tempfile::tempdir().map_err(HistoryError::read(path))?;
        let copy = folder.path().join("copy.db");
        let before = state(path, log);
        fs::copy(path, &copy).map_err(HistoryError::read(path))?;
        match fs::copy(log, with_suffix(&copy, "-wal")) {
            Ok(_) => {}
            // The writer has closed the database meanwhile, and moved the log into it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(HistoryError::read(log)(error)),
        }
        let is_unchanged = before == state(path, log);
        let opened = Connection::open(&copy).and_then(|connection| {
            let check: String = connection.query_row("PRAGMA quick_check(1)", params![], |row| row.get(0))?;
            Ok((connection, check == "ok"))
        });
        match opened {
            Ok((connection, true)) if is_unchanged || attempt >= MAX_COPY_ATTEMPTS => return Ok((connection, folder)),
            Err(source) if attempt >= MAX_COPY_ATTEMPTS => return Err(error(path)(source)),
            Ok((connection, false)) if attempt >= MAX_COPY_ATTEMPTS => return Ok((connection, folder)),
            _ => attempt += 1,
        }
    }
}

/// What changes when a database is written.
fn state(path: &Path, log: &Path) -> [Option<(u64, Option<std::time::SystemTime>)>; 2] {
    [path, log].map(|file| fs::metadata(file).ok().map(|file| (file.len(), file.modified().ok())))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn names(connection: &Connection, sql: &str) -> rusqlite::Result<BTreeSet<String>> {
    connection.prepare(sql)?.query_map(params![], |row| row.get(0))?.collect()
}

fn error(path: &Path) -> impl FnOnce(rusqlite::Error) -> HistoryError + use<> {
    let path = path.to_owned();
    |source| HistoryError::Database { path, source }
}
