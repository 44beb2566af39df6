//! The generated types, proved on every recording.

mod api;
mod chaos;
mod recorded;

use std::path::{Path, PathBuf};

/// What Codex up to 0.98 says everything a second time with. No schema has it, so its lines are unknown to the types.
const LEGACY: &str = "codex/event/";

/// Where the snapshots of these tests are.
fn bind(test: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("expected/native"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(test);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
