//! The commands of the `interlingua` binary, one module each.
//!
//! A command returns an [`Outcome`], which is the exit code 0 or 1, or an error, which is one line on standard error
//! and exit code 2.

pub mod agents;
pub mod audit;
pub mod check;
pub mod convert;
mod data_folder;
mod log;
mod mock_args;
mod output;
mod printer;
pub mod run;
pub mod schema;
pub mod scripted_model;
pub mod server;
mod session_args;
pub mod sessions;
pub mod show;

use std::io;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// How a command went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As wished: exit code 0.
    Success,
    /// It found what it looks for, a broken rule or a type that does not fit: exit code 1.
    IssuesFound,
}

impl Outcome {
    fn found_if(found: bool) -> Self {
        if found { Self::IssuesFound } else { Self::Success }
    }
}

/// One event language for every coding agent.
///
/// Reads what Claude Code, Codex, OpenCode and Amp say on their wires and tells it as one stream of universal events:
/// of a session in this terminal, of sessions behind an HTTP API, or of a log.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Logs are wirelogs (a recording with a header line) or simply what an agent printed, one JSON value a line. `-` reads \
standard input.

Examples:
  interlingua run mock hello
  interlingua server --no-token
  claude -p hi --output-format stream-json --verbose | interlingua show -
  interlingua convert recording.jsonl > events.jsonl
  interlingua check events.jsonl

Exit codes: 0 fine, 1 something was found (a broken rule, a type that does not fit), 2 it could not be done."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The command with which this program supervises an agent. It is started by the program itself.
const SUPERVISE: &str = "supervise";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Server(server::Args),
    Sessions(sessions::Args),
    Agents(agents::Args),
    Convert(convert::Args),
    Check(check::Args),
    Show(show::Args),
    Schema(schema::Args),
    ScriptedModel(scripted_model::Args),
    Audit(audit::Args),
    #[command(name = SUPERVISE, hide = true)]
    Supervise,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// When it cannot be done: a file that cannot be read, an agent nobody knows.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self.command {
            Command::Run(args) => run::run(&args),
            Command::Server(args) => server::run(args),
            Command::Sessions(args) => sessions::run(args),
            Command::Agents(args) => agents::run(args),
            Command::Convert(args) => convert::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::ScriptedModel(args) => scripted_model::run(&args),
            Command::Audit(args) => audit::run(&args),
            Command::Supervise => supervise(),
        }
    }
}

fn supervise() -> anyhow::Result<Outcome> {
    interlingua_runtime::supervise().context("cannot supervise an agent (the server starts this, not people)")?;
    Ok(Outcome::Success)
}

/// Whether a command failed only because nobody reads its output any more.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}
