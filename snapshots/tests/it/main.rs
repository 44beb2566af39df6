//! Tests over all recordings: native types, universal streams, envelope streams and generated files.
//!
//! They are one binary, so that the recordings are converted once for all tests.

mod envelope;
mod generated;
mod history;
mod native;
mod universal;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use interlingua_snapshots::Corpus;

/// Every recording with its universal stream.
fn corpus() -> &'static Corpus {
    static CORPUS: LazyLock<Corpus> = LazyLock::new(|| Corpus::load().unwrap());
    &CORPUS
}

/// Insta settings for the snapshots in a folder below `expected/`.
fn snapshots_in(folder: impl AsRef<Path>) -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(expected().join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description("notation: snapshots/expected/README.md");
    settings
}

/// The folder of all snapshots.
fn expected() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("expected")
}
