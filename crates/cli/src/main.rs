//! The `interlingua` binary: parses the command line, runs one command, and turns what comes back into an exit code.

use std::process::ExitCode;

use clap::Parser;
use interlingua::{Cli, Outcome};

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::IssuesFound) => ExitCode::from(1),
        // Whoever reads our output has enough of it: nothing to tell.
        Err(error) if interlingua::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
