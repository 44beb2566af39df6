//! `cargo xtask coverage`: what the recordings prove that each agent can do.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::start::start;

/// Write what the recordings prove each agent can do
///
/// Converts every recording under snapshots/transcripts/, looks for each feature in the universal events, and writes
/// docs/coverage.md (the matrix, with the recording that proves each ✓) and crates/convert/src/coverage/proven.rs (the
/// same as data, from which capabilities are advertised).
#[derive(ClapArgs)]
#[command(after_long_help = "\
Run it after adding or replacing recordings, after a change of a converter, and after adding a
feature to crates/convert/src/coverage.rs. It needs no agent and no network.

Examples:
  cargo xtask coverage            rewrite the two files
  cargo xtask coverage --check    exit 1 if they are not what the recordings show; writes nothing")]
pub(crate) struct Args {
    /// Compare instead of writing; exit 1 when a file is not current
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let arguments: &[&str] = if args.check { &["--check"] } else { &[] };
    start("interlingua-snapshots", "coverage", arguments)
}
