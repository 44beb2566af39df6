//! `cargo xtask inspector`: builds the page of the inspector.

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::console;
use crate::repository::Repository;

/// Build the page of the inspector into inspector/dist
///
/// The next build of `interlingua` contains it. Needs Node 20 or newer; npm downloads the packages in the lock file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Use the installed packages as they are
    #[arg(long)]
    no_install: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if !args.no_install {
        npm(&["ci", "--no-audit", "--no-fund"])?;
    }
    npm(&["run", "typecheck"])?;
    npm(&["run", "build"])?;
    console::log(format_args!("the page is in inspector/dist; the next build of interlingua contains it"));
    Ok(ExitCode::SUCCESS)
}

fn npm(arguments: &[&str]) -> Result<()> {
    let folder = Repository::find()?.root().join("inspector");
    let status = Command::new("npm")
        .args(arguments)
        .current_dir(folder)
        .status()
        .context("cannot run npm; install Node 20 or newer")?;
    if !status.success() {
        bail!("npm {} failed ({status})", arguments.join(" "));
    }
    Ok(())
}
