//! Imported histories: `histories/` has the history and the wire recording of the same runs. Both must give the same
//! canonical trace, apart from what the format of the history does not contain.
//!
//! `INTERLINGUA_HISTORIES` names another folder with the same layout, whose pairs are compared, too.

mod damage;
#[expect(clippy::ptr_arg, reason = "all exceptions have one type")]
mod exceptions;
mod imports;
mod pairs;
mod snapshots;
mod trace;
mod untouched;

use std::path::{Path, PathBuf};

use interlingua_history::{ConvertOptions, HistoryReader, HistoryReport, HistorySession};
use interlingua_schema::UniversalEvent;

/// The history and the wire recordings of the same run.
#[derive(Debug)]
struct Pair {
    /// `agent/version/scenario`.
    name: String,
    /// The agent's folder.
    history: PathBuf,
    /// The recordings, in order: one for each process.
    wires: Vec<PathBuf>,
}

/// The pairs below a folder.
fn pairs_in(root: &Path) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for agent in folders(root) {
        for version in folders(&agent) {
            for scenario in folders(&version) {
                let name = scenario.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                let history = folders(&scenario).into_iter().next().unwrap_or_else(|| panic!("{name} has no history"));
                let is_wire = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl");
                let wires = entries(&scenario).into_iter().filter(is_wire).collect();
                pairs.push(Pair { name, history, wires });
            }
        }
    }
    pairs
}

/// The committed pairs, and those of the folder in the environment.
fn pairs() -> Vec<Pair> {
    let mut pairs = pairs_in(&committed());
    if let Some(folder) = std::env::var_os("INTERLINGUA_HISTORIES") {
        let others = pairs_in(Path::new(&folder));
        pairs.extend(others.into_iter().filter(|other| !committed().join(&other.name).exists()));
    }
    pairs
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("histories")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

/// An imported history.
#[derive(Debug, Default)]
struct Imported {
    events: Vec<UniversalEvent>,
    report: HistoryReport,
    sessions: Vec<HistorySession>,
}

/// Converts all sessions of a file or folder.
fn import(path: &Path) -> Imported {
    let mut imported = Imported::default();
    let reader = HistoryReader::new();
    imported.sessions = reader.sessions(&[path.to_owned()], &mut imported.report).unwrap();
    for session in &imported.sessions {
        let options = ConvertOptions::default();
        reader.convert(session, options, &mut imported.events, &mut imported.report).unwrap();
    }
    imported
}
