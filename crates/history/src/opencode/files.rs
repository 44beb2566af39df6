//! The files of OpenCode up to 1.1: one per session, message and part.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use foldhash::{HashMap, HashSet};
use interlingua_schema::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::storage::{Row, SessionRow, Storage};
use super::timeline::time_of_id;
use crate::json::{Field, minify, number, text};
use crate::{HistoryError, HistoryReport};

/// The `storage` folder of a history.
#[derive(Debug)]
pub(super) struct FileStorage {
    folder: PathBuf,
    sessions: OnceLock<Sessions>,
    /// Ids of the messages that were deleted and have parts, by their sessions.
    deleted: OnceLock<HashMap<String, Vec<String>>>,
}

/// The sessions of a storage folder, oldest first.
#[derive(Debug, Default)]
struct Sessions {
    rows: Vec<SessionRow>,
    by_id: HashMap<String, usize>,
    /// What could not be read.
    report: HistoryReport,
}

/// The storage folder that a path is, contains, or is a session file of.
pub(crate) fn storage_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return [path.to_owned(), path.join("storage")].into_iter().find(|folder| is_storage(folder));
    }
    // `storage/session/<project>/<session>.json`
    let folder = path.ancestors().nth(3)?;
    (is_storage(folder) && path.extension().is_some_and(|extension| extension == "json")).then(|| folder.to_owned())
}

/// Whether a folder has what OpenCode writes there. Other programs have folders with the name `session`, too.
fn is_storage(folder: &Path) -> bool {
    folder.join("session").is_dir() && (folder.join("message").is_dir() || folder.join("migration").is_file())
}

/// The folders whose files change when a session goes on: those of its messages and of their parts.
pub(super) fn session_folders(storage: &Path, session: &str) -> Vec<PathBuf> {
    let messages = storage.join("message").join(session);
    let ids = entries(&messages).unwrap_or_default().into_iter().filter_map(|path| Some(path.file_stem()?.to_owned()));
    let mut folders: Vec<PathBuf> = ids.map(|id| storage.join("part").join(id)).collect();
    folders.push(messages);
    folders
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    id: Field<'a>,
    #[serde(borrow, rename = "parentID")]
    parent_id: Field<'a>,
    #[serde(borrow)]
    title: Field<'a>,
    #[serde(borrow)]
    directory: Field<'a>,
    #[serde(borrow)]
    version: Field<'a>,
    #[serde(borrow)]
    time: Time<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Time<'a> {
    #[serde(borrow)]
    created: Field<'a>,
    #[serde(borrow)]
    updated: Field<'a>,
}

impl FileStorage {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), sessions: OnceLock::new(), deleted: OnceLock::new() }
    }

    fn all_sessions(&self) -> &Sessions {
        self.sessions.get_or_init(|| {
            let mut sessions = Sessions::default();
            if let Err(error) = self.read_sessions(&mut sessions) {
                sessions.report.add_error(&self.folder, &error);
            }
            sessions.rows.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
            sessions.by_id = sessions.rows.iter().enumerate().map(|(index, row)| (row.id.clone(), index)).collect();
            sessions
        })
    }

    fn read_sessions(&self, sessions: &mut Sessions) -> Result<(), HistoryError> {
        for project in entries(&self.folder.join("session"))?.into_iter().filter(|path| path.is_dir()) {
            for path in json_files(&project)? {
                let Some(row) = read_row(&path) else { continue };
                let parsed = serde_json::from_str::<Info<'_>>(&row.json);
                let problem = match (&row.problem, &parsed) {
                    (Some(problem), _) => Some(problem.clone()),
                    (None, Err(error)) => Some(format!("expected a session as a JSON object, found {error}")),
                    (None, Ok(_)) => None,
                };
                if let Some(problem) = &problem {
                    sessions.report.add_problem(&path, None, problem.as_str());
                }
                // Of a damaged session, the messages are read.
                let info = parsed.ok().filter(|_| problem.is_none()).unwrap_or_default();
                let owned = |field| text(field).map(std::borrow::Cow::into_owned);
                let time = |field| number(field).and_then(|time| i64::try_from(time).ok()).map(Timestamp::from_millis);
                let id = owned(info.id).unwrap_or_else(|| row.id.clone());
                sessions.rows.push(SessionRow {
                    parent: owned(info.parent_id),
                    title: owned(info.title),
                    directory: owned(info.directory),
                    version: owned(info.version),
                    created: time(info.time.created),
                    updated: time(info.time.updated),
                    info: if problem.is_some() { json!({ "id": id }).to_string() } else { row.json.clone() },
                    id,
                    ..SessionRow::default()
                });
            }
        }
        Ok(())
    }

    fn message_folder(&self, session: &str) -> PathBuf {
        self.folder.join("message").join(session)
    }

    fn part_folder(&self, message: &str) -> PathBuf {
        self.folder.join("part").join(message)
    }

    /// Finds the messages whose parts are left: a revert deletes only the messages.
    fn find_deleted(&self) -> HashMap<String, Vec<String>> {
        let names = |folder: &Path| -> Vec<String> {
            let paths = entries(folder).unwrap_or_default().into_iter();
            paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
        };
        let sessions = entries(&self.folder.join("message")).unwrap_or_default();
        let messages: HashSet<String> = sessions.iter().flat_map(|session| names(session)).collect();
        let mut deleted: HashMap<String, Vec<String>> = HashMap::default();
        for message in names(&self.folder.join("part")).into_iter().filter(|message| !messages.contains(message)) {
            #[derive(Default, Deserialize)]
            #[serde(default)]
            struct Part<'a> {
                #[serde(borrow, rename = "sessionID")]
                session_id: Field<'a>,
            }
            let parts = json_files(&self.part_folder(&message)).unwrap_or_default();
            let session = parts.iter().filter_map(|path| read_row(path)).find_map(|row| {
                let part: Part<'_> = serde_json::from_str(&row.json).ok()?;
                text(part.session_id).map(std::borrow::Cow::into_owned)
            });
            if let Some(session) = session {
                deleted.entry(session).or_default().push(message);
            }
        }
        deleted
    }
}

/// The contents of the JSON files in a folder.
fn read_rows(folder: &Path) -> Result<Vec<Row>, HistoryError> {
    Ok(json_files(folder)?.iter().filter_map(|path| read_row(path)).collect())
}

impl Storage for FileStorage {
    fn path(&self) -> &Path {
        &self.folder
    }

    fn sessions(&self, report: &mut HistoryReport) -> Result<Vec<SessionRow>, HistoryError> {
        let sessions = self.all_sessions();
        report.merge(sessions.report.clone());
        Ok(sessions.rows.clone())
    }

    fn session(&self, id: &str) -> Result<Option<SessionRow>, HistoryError> {
        let sessions = self.all_sessions();
        Ok(sessions.by_id.get(id).and_then(|index| sessions.rows.get(*index)).cloned())
    }

    fn children(&self, id: &str) -> Result<Vec<SessionRow>, HistoryError> {
        let rows = self.all_sessions().rows.iter();
        Ok(rows.filter(|row| row.parent.as_deref() == Some(id)).cloned().collect())
    }

    fn titled(&self, title: &str, other: &str) -> Result<Vec<SessionRow>, HistoryError> {
        let rows = self.all_sessions().rows.iter();
        Ok(rows.filter(|row| row.title.as_deref().is_some_and(|own| own == title || own == other)).cloned().collect())
    }

    fn messages(&self, session: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError> {
        let _ = report;
        read_rows(&self.message_folder(session))
    }

    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError> {
        Ok(read_row(&self.message_folder(session).join(format!("{message}.json"))))
    }

    fn parts(&self, _session: &str, message: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError> {
        let _ = report;
        read_rows(&self.part_folder(message))
    }

    fn part(&self, _session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError> {
        Ok(read_row(&self.part_folder(message).join(format!("{part}.json"))))
    }

    /// Messages that were reverted, as far as their parts show what they were.
    fn deleted_messages(&self, session: &str) -> Vec<Row> {
        let deleted = self.deleted.get_or_init(|| self.find_deleted());
        let ids = deleted.get(session).into_iter().flatten();
        // The mode and model are those of the other messages.
        let messages = read_rows(&self.message_folder(session)).unwrap_or_default();
        let messages = messages.iter().filter_map(|row| serde_json::from_str::<Value>(&row.json).ok());
        let other = messages.into_iter().find(|message| message["role"] == "user").unwrap_or_default();
        ids.map(|id| {
            let parts = read_rows(&self.part_folder(id)).unwrap_or_default();
            // Only the agent's messages have steps.
            let role = if parts.iter().any(|part| part.json.contains("\"step-")) { "assistant" } else { "user" };
            let near = self.session(session).ok().flatten().and_then(|row| row.created).map_or(0, Timestamp::as_millis);
            let created = time_of_id(id, near);
            let ends = parts.iter().filter_map(|part| time_of_id(&part.id, near));
            let completed = ends.max().or(created);
            let mut message = json!({ "id": id, "sessionID": session, "role": role, "time": { "created": created } });
            if role == "assistant" {
                message["time"]["completed"] = json!(completed);
            } else {
                for key in ["agent", "model"] {
                    message[key] = other[key].clone();
                }
            }
            Row { id: id.clone(), created, json: message.to_string(), ..Row::default() }
        })
        .collect()
    }
}

/// The content of a file. `None` if it does not exist.
fn read_row(path: &Path) -> Option<Row> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let row = Row { id, path: Some(path.to_owned()), ..Row::default() };
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Row { problem: Some(format!("cannot be read: {error}")), ..row }),
    };
    // The files are indented. Events are not.
    Some(match String::from_utf8(bytes) {
        Ok(json) => Row { json: minify(&json), ..row },
        Err(error) => {
            let problem = Some("expected UTF-8, found other bytes".to_owned());
            Row { json: String::from_utf8_lossy(error.as_bytes()).into_owned(), problem, ..row }
        }
    })
}

/// The JSON files in a folder, by name: ids sort by their time.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    Ok(entries(folder)?.into_iter().filter(is_json).collect())
}

/// The entries of a folder. A folder that does not exist has none.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HistoryError::read(folder)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(HistoryError::read(folder))?.path());
    }
    paths.sort();
    Ok(paths)
}
