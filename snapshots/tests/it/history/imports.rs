//! Imports into a store: what is stored does not depend on when and how often a history is imported.

use std::fs;
use std::path::Path;

use interlingua_history::{HistoryReport, ImportOutcome, Importer};
use interlingua_schema::UniversalEvent;
use interlingua_store::{NewSession, RawPayloads, ReadLimits, SessionFilter, Store, StoreOptions};
use tokio::runtime::Runtime;

use super::{committed, entries};

struct TestStore {
    store: Store,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

impl TestStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { store, runtime, _folder: folder }
    }

    fn import(&self, path: &Path) -> Vec<ImportOutcome> {
        let importer = Importer::new(self.store.clone(), self.runtime.handle().clone());
        let mut report = HistoryReport::default();
        let sessions = importer.reader().sessions(&[path.to_owned()], &mut report).unwrap();
        sessions.iter().map(|session| importer.import(session, false, &mut report).unwrap().outcome).collect()
    }

    /// All stored events.
    fn events(&self) -> Vec<UniversalEvent> {
        let limits = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
        let page = self.runtime.block_on(self.store.sessions(&SessionFilter::default(), 100, None)).unwrap();
        let mut sessions = page.sessions;
        sessions.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
        let mut events = Vec::new();
        for session in sessions {
            let batch = self.runtime.block_on(self.store.read(session.key, 0, limits, RawPayloads::Omit)).unwrap();
            events.extend(batch.iter().map(|(_, json)| serde_json::from_str::<UniversalEvent>(json).unwrap()));
        }
        events
    }
}

#[test]
fn importing_twice_changes_nothing() {
    for name in ["claude/2.1.326/resume-and-fork", "codex/0.130.0/collab_v1", "opencode/1.18.34/question_reply"] {
        let store = TestStore::new();
        let path = committed().join(name);
        let first = store.import(&path);
        assert!(first.iter().all(|outcome| matches!(outcome, ImportOutcome::Imported(_))), "{name}: {first:?}");
        let events = store.events();
        assert!(!events.is_empty());
        let second = store.import(&path);
        assert!(second.iter().all(|outcome| *outcome == ImportOutcome::Unchanged), "{name}: {second:?}");
        assert_eq!(events, store.events(), "{name}");
    }
}

#[test]
fn importing_while_the_agent_writes_gives_what_importing_later_gives() {
    let folders = [
        "claude/2.1.326/new-retry-storm/home/.claude/projects/-workspace",
        "claude/2.0.30/sigkill-and-resume/home/.claude/projects/-workspace",
        "codex/0.169.0/kill_mid_turn_resume/codex_home/sessions/2026/11/18",
        "codex/0.130.0/exec_basic/codex_home/sessions/2026/11/18",
        "codex/0.130.0/error_400/codex_home/sessions/2026/11/18",
    ];
    for name in folders {
        let sizes = |path: &Path| fs::metadata(path).unwrap().len();
        let source =
            entries(&committed().join(name)).into_iter().filter(|path| path.is_file()).max_by_key(|path| sizes(path));
        let text = fs::read(source.as_ref().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(source.unwrap().file_name().unwrap());
        let growing = TestStore::new();
        let line_ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1);
        for end in line_ends {
            // Half a line, too: the agent may be writing it.
            fs::write(&file, &text[..end - 2]).unwrap();
            growing.import(&file);
            fs::write(&file, &text[..end]).unwrap();
            growing.import(&file);
        }
        let once = TestStore::new();
        once.import(&file);
        assert_eq!(growing.events(), once.events(), "{name}");
    }
}

#[test]
fn a_session_that_runs_in_the_store_is_not_imported() {
    let store = TestStore::new();
    let path = committed().join("codex/0.130.0/error_400");
    let mut session = NewSession::new("live", "codex");
    session.native_session_id = Some("01a1ec3f-6ac8-7772-a5ed-539c7bb99d18".into());
    store.runtime.block_on(store.store.create(session)).unwrap();
    assert_eq!(store.import(&path), [ImportOutcome::Continued("live".into())]);
    assert!(store.events().is_empty());
}
