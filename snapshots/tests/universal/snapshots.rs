//! Each recording's stream as a snapshot, under `snapshots/<agent>/<version>/`. Review with `cargo insta review`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use interlingua_snapshots::{convert, recordings, render};

#[test]
fn every_recording_becomes_its_snapshot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected");
    let mut different = Vec::new();
    for recording in recordings().unwrap() {
        let stream = render(&convert(&recording).unwrap());
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root.join(recording.agent.id()).join(&recording.version));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected");
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
