//! Where agents keep their sessions.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use interlingua_agents::Agent;

use crate::claude::is_session_file;
use crate::codex::is_rollout_file;
use crate::opencode::storage_folder;
use crate::{HistoryError, HistoryReport};

/// Maximum depth of folders below a root.
const MAX_DEPTH: usize = 12;
/// Folders with what tools wrote, which may look like sessions.
const TOOL_OUTPUT_FOLDERS: [&str; 2] = ["tool-results", "tool-output"];

/// The folders in which agents keep their sessions on this machine, as far as they exist.
#[must_use]
pub fn default_folders() -> Vec<(Agent, PathBuf)> {
    let variable = |name: &str| env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let below_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let claude = variable("CLAUDE_CONFIG_DIR").or_else(|| below_home(".claude")).map(|folder| folder.join("projects"));
    let codex = variable("CODEX_HOME").or_else(|| below_home(".codex"));
    let data = variable("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
    let opencode = data.map(|folder| folder.join("opencode"));
    let folders = [(Agent::Claude, claude), (Agent::Codex, codex), (Agent::OpenCode, opencode)];
    folders
        .into_iter()
        .filter_map(|(agent, folder)| Some((agent, folder?)))
        .filter(|(_, folder)| folder.is_dir())
        .collect()
}

/// Files and folders that may be histories.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<PathBuf>,
    /// Folders of OpenCode's files.
    pub(crate) storage_folders: Vec<PathBuf>,
}

/// Finds what may be a history below a folder: an agent's folder, a home, or any other. A folder below it that cannot be
/// read is in the report.
pub(crate) fn find(folder: &Path, report: &mut HistoryReport) -> Result<Found, HistoryError> {
    let mut found = Found::default();
    fs::read_dir(folder).map_err(HistoryError::read(folder))?;
    for root in roots_of(folder) {
        list(&root, 0, &mut found, report);
    }
    Ok(found)
}

/// The folders to search. Below a home or an agent's folder, only those with sessions: the others may be large.
fn roots_of(folder: &Path) -> Vec<PathBuf> {
    const IN_HOME: [&str; 4] =
        [".claude/projects", ".codex/sessions", ".codex/archived_sessions", ".local/share/opencode"];
    const IN_CODEX_HOME: [&str; 2] = ["sessions", "archived_sessions"];
    let existing = |names: &[&str]| -> Vec<PathBuf> {
        names.iter().map(|name| folder.join(name)).filter(|path| path.is_dir()).collect()
    };
    let in_home = existing(&IN_HOME);
    if !in_home.is_empty() {
        return in_home;
    }
    let in_codex_home = existing(&IN_CODEX_HOME);
    if !in_codex_home.is_empty() {
        return in_codex_home;
    }
    vec![folder.to_owned()]
}

fn list(folder: &Path, depth: usize, found: &mut Found, report: &mut HistoryReport) {
    if storage_folder(folder).is_some_and(|storage| storage == folder) {
        found.storage_folders.push(folder.to_owned());
        return;
    }
    for (path, kind) in read_folder(folder, report) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if kind.is_dir() && depth < MAX_DEPTH && !TOOL_OUTPUT_FOLDERS.contains(&name) {
            list(&path, depth + 1, found, report);
        } else if kind.is_file() && has_history_name(&path) {
            found.files.push(path);
        }
    }
}

/// The entries of a folder, in the order of their names. What cannot be read is in the report.
pub(crate) fn read_folder(folder: &Path, report: &mut HistoryReport) -> Vec<(PathBuf, fs::FileType)> {
    let mut entries = Vec::new();
    let mut add = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry?;
        entries.push((entry.path(), entry.file_type()?));
        Ok(())
    };
    let listed = fs::read_dir(folder).and_then(|mut listed| listed.try_for_each(&mut add));
    if let Err(error) = listed {
        report.add_error(folder, &HistoryError::read(folder)(error));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    entries
}

/// Whether a file has the name of a history. Its content is looked at later.
fn has_history_name(path: &Path) -> bool {
    is_database_file(path) || is_session_file(path) || is_rollout_file(path)
}

/// Whether a file has the name of a database of OpenCode.
pub(crate) fn is_database_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("opencode") && path.extension().is_some_and(|extension| extension == "db")
}
