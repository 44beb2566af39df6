//! `interlingua man`: manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::{Cli, Outcome};

/// Write the manual pages into a folder, one per command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua man ~/.local/share/man/man1
  man interlingua-run")]
pub struct Args {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If the pages cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let folder = &args.folder;
    let cannot_write = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot_write)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(cannot_write)?;
    println!("wrote the manual pages to {}", folder.display());
    Ok(Outcome::Success)
}
