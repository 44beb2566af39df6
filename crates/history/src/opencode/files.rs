//! The files of OpenCode up to 1.1: one per session, message and part.

use std::fs;
use std::path::{Path, PathBuf};

use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::{Row, SessionRow, Storage};
use crate::HistoryError;
use crate::json::{Field, minify, number, text};

/// The `storage` folder of a history.
pub(super) struct FileStorage {
    folder: PathBuf,
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
        Self { folder: folder.to_owned() }
    }
}

/// The contents of the JSON files in a folder.
fn read_rows(folder: &Path) -> Result<Vec<Row>, HistoryError> {
    Ok(json_files(folder)?.iter().filter_map(|path| read_row(path)).collect())
}

impl Storage for FileStorage {
    fn sessions(&self) -> Result<Vec<SessionRow>, HistoryError> {
        let mut sessions = Vec::new();
        let root = self.folder.join("session");
        for project in entries(&root)? {
            if !project.is_dir() {
                continue;
            }
            for path in json_files(&project)? {
                let Ok(json) = fs::read_to_string(&path) else { continue };
                let Ok(info) = serde_json::from_str::<Info<'_>>(&json) else { continue };
                let owned = |field| text(field).map(std::borrow::Cow::into_owned);
                let Some(id) = owned(info.id) else { continue };
                let time = |field| number(field).and_then(|time| i64::try_from(time).ok()).map(Timestamp::from_millis);
                sessions.push(SessionRow {
                    id,
                    parent: owned(info.parent_id),
                    title: owned(info.title),
                    directory: owned(info.directory),
                    version: owned(info.version),
                    created: time(info.time.created),
                    updated: time(info.time.updated),
                    info: json.clone(),
                });
            }
        }
        sessions.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(sessions)
    }

    fn messages(&self, session: &str) -> Result<Vec<Row>, HistoryError> {
        read_rows(&self.folder.join("message").join(session))
    }

    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError> {
        Ok(read_row(&self.folder.join("message").join(session).join(format!("{message}.json"))))
    }

    fn parts(&self, _session: &str, message: &str) -> Result<Vec<Row>, HistoryError> {
        read_rows(&self.folder.join("part").join(message))
    }

    fn part(&self, _session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError> {
        Ok(read_row(&self.folder.join("part").join(message).join(format!("{part}.json"))))
    }

    fn events(&self, _session: &str) -> Result<Vec<(String, String)>, HistoryError> {
        Ok(Vec::new())
    }
}

/// The content of a file. A file that cannot be read, or that is not text, is left out.
fn read_row(path: &Path) -> Option<Row> {
    let id = path.file_stem()?.to_str()?.to_owned();
    // The files are indented. Events are not.
    let json = minify(&String::from_utf8_lossy(&fs::read(path).ok()?));
    Some(Row { id, created: None, json })
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
