//! Snapshots of the universal stream of each recording, in `expected/<agent>/<version>/`. Review changes with `cargo
//! insta review`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use interlingua_snapshots::{CorpusEntry, recordings, render};

use crate::{corpus, expected, snapshots_in};

#[test]
fn every_universal_stream_matches_its_snapshot() {
    let mut different = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let stream = render(converted);
        let settings = snapshots_in(Path::new(recording.agent.id()).join(&recording.version));
        // A difference must not prevent the other snapshots from being written for review.
        let result = catch_unwind(AssertUnwindSafe(|| {
            settings.bind(|| insta::assert_snapshot!(recording.scenario.clone(), stream));
        }));
        if result.is_err() {
            different.push(recording.name());
        }
    }
    assert!(
        different.is_empty(),
        "these recordings convert to another stream than before: {different:#?}\nrun `cargo insta review` to see and accept the changes"
    );
}

#[test]
fn every_snapshot_has_a_recording() {
    let root = expected();
    let expected_files: Vec<_> = recordings()
        .unwrap()
        .iter()
        .map(|recording| {
            let folder = root.join(recording.agent.id()).join(&recording.version);
            folder.join(format!("{}.snap", recording.scenario))
        })
        .collect();
    let list = |path: &Path| -> Vec<_> {
        std::fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    };
    for agent in list(&root).iter().filter(|path| path.is_dir()) {
        for snapshot in list(agent).iter().flat_map(|version| list(version)) {
            let is_snapshot = snapshot.extension().is_some_and(|extension| extension == "snap");
            assert!(
                !is_snapshot || expected_files.contains(&snapshot),
                "{} belongs to no recording; delete it",
                snapshot.display()
            );
        }
    }
}
