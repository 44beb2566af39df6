//! The `interlingua` binary: parses the command line, runs one command, and maps its result to an exit code.

use std::process::ExitCode;

use clap::Parser;
use interlingua::{Cli, Outcome};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::IssuesFound) => ExitCode::from(1),
        // The reader of the output, such as `head`, has enough: not an error.
        Err(error) if interlingua::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            if !interlingua::is_logged(&error) {
                eprintln!("error: {error:#}");
            }
            ExitCode::from(2)
        }
    }
}
