//! Each recording's stream as a snapshot, in `expected/<agent>/<version>/`. Review with `cargo insta review`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use interlingua_snapshots::{CorpusEntry, recordings, render};

use crate::{corpus, expected, snapshots_in};

#[test]
fn every_recording_becomes_its_snapshot() {
    let mut different = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let stream = render(converted);
        let settings = snapshots_in(Path::new(recording.agent.id()).join(&recording.version));
        // One that differs must not keep the others from being written for review.
        let same = catch_unwind(AssertUnwindSafe(|| {
            settings.bind(|| insta::assert_snapshot!(recording.scenario.clone(), stream));
        }));
        if same.is_err() {
            different.push(recording.name());
        }
    }
    assert!(different.is_empty(), "changed, run `cargo insta review`: {different:#?}");
}

#[test]
fn no_snapshot_is_left_without_its_recording() {
    let root = expected();
    let known: Vec<_> = recordings()
        .unwrap()
        .iter()
        .map(|recording| {
            let folder = root.join(recording.agent.id()).join(&recording.version);
            folder.join(format!("{}.snap", recording.scenario))
        })
        .collect();
    let folders = |path: &Path| -> Vec<_> {
        std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    for agent in folders(&root).iter().filter(|path| path.is_dir()) {
        for snapshot in folders(agent).iter().flat_map(|version| folders(version)) {
            let is_snapshot = snapshot.extension().is_some_and(|extension| extension == "snap");
            assert!(!is_snapshot || known.contains(&snapshot), "{} has no recording", snapshot.display());
        }
    }
}
