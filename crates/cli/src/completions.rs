//! `interlingua completions`: completion scripts for shells.

use std::io::{self, Write as _};

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{Cli, Outcome};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua completions bash > ~/.local/share/bash-completion/completions/interlingua
  interlingua completions zsh > ~/.zfunc/_interlingua            (with fpath+=~/.zfunc before compinit)
  interlingua completions fish > ~/.config/fish/completions/interlingua.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// If the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    // The generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "interlingua", &mut script);
    io::stdout().lock().write_all(&script).context("cannot write the script")?;
    Ok(Outcome::Success)
}
