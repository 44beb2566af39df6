//! The commands of the `interlingua` binary, one module each.
//!
//! A command returns an [`Outcome`], which is exit code 0 or 1, or an error, which is one line on standard error and
//! exit code 2.

pub mod acp;
mod acp_agents;
mod agent_log;
pub mod agents;
pub mod audit;
pub mod check;
pub mod completions;
pub mod config;
pub mod convert;
mod data_dir;
mod dialog;
pub mod doctor;
mod duration;
pub mod health;
pub mod history;
pub mod man;
mod mock_args;
mod output;
mod parallel;
mod printer;
mod progress;
pub mod run;
pub mod schema;
pub mod scripted_model;
pub mod server;
mod server_file;
mod session_args;
pub mod sessions;
pub mod show;
mod storage_args;
pub mod store;
mod store_args;
pub mod tokens;
pub mod ui;
mod version;

use std::io;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

/// Result of a command that could be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Success,
    /// The command found issues, such as violated rules, or the turn did not complete: exit code 1.
    IssuesFound,
}

impl Outcome {
    fn issues_if(found: bool) -> Self {
        if found { Self::IssuesFound } else { Self::Success }
    }
}

/// One event language for every coding agent.
///
/// Converts what Claude Code, Codex, OpenCode, Amp and ACP agents send on their wires into one stream of universal events: from a
/// session in this terminal, from sessions behind an HTTP API, or from a log.
#[derive(Debug, Parser)]
#[command(
    version,
    long_version = version::describe(),
    arg_required_else_help = true,
    after_help = "\
A log is a wirelog (a recording with a header line) or the plain output of an agent, one JSON value per line. `-` reads \
standard input.

Examples:
  interlingua run mock example
  interlingua doctor
  interlingua ui
  interlingua server --no-token
  claude -p hi --output-format stream-json --verbose | interlingua show -
  interlingua convert recording.jsonl > events.jsonl
  interlingua check events.jsonl

Exit codes: 0 success, 1 issues found (a violated rule, a type that does not match, a failed turn), 2 error."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Hidden subcommand that runs this program as the supervisor of an agent. Only this program starts it.
const SUPERVISE: &str = "supervise";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Server(server::Args),
    Ui(ui::Args),
    Acp(acp::Args),
    Sessions(sessions::Args),
    Health(health::Args),
    Store(store::Args),
    Tokens(tokens::Args),
    Config(config::Args),
    Agents(agents::Args),
    Doctor(doctor::Args),
    Convert(convert::Args),
    History(history::Args),
    Usage(history::usage::UsageArgs),
    Check(check::Args),
    Show(show::Args),
    Schema(schema::Args),
    ScriptedModel(scripted_model::Args),
    Audit(audit::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(name = SUPERVISE, hide = true)]
    Supervise,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// If the command cannot be carried out: a file cannot be read, an agent is unknown.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self.command {
            Command::Run(args) => run::run(&args),
            Command::Server(args) => server::run(args),
            Command::Ui(args) => ui::run(args),
            Command::Acp(args) => acp::run(args),
            Command::Sessions(args) => sessions::run(args),
            Command::Health(args) => health::run(&args),
            Command::Store(args) => store::run(args),
            Command::Tokens(args) => tokens::run(args),
            Command::Config(args) => config::run(args),
            Command::Agents(args) => agents::run(args),
            Command::Doctor(args) => doctor::run(args),
            Command::Convert(args) => convert::run(&args),
            Command::History(args) => history::run(args),
            Command::Usage(args) => history::usage::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Show(args) => show::run(&args),
            Command::Schema(args) => schema::run(&args),
            Command::ScriptedModel(args) => scripted_model::run(&args),
            Command::Audit(args) => audit::run(&args),
            Command::Completions(args) => completions::run(&args),
            Command::Man(args) => man::run(&args),
            Command::Supervise => supervise(),
        }
    }
}

fn supervise() -> anyhow::Result<Outcome> {
    interlingua_runtime::supervise()
        .context("cannot supervise an agent (this command is started by `interlingua server`, not by users)")?;
    Ok(Outcome::Success)
}

/// Whether a command failed only because the reader of its output is gone.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe))
}

/// Whether a command has written the error to its log already, so that it need not be printed again.
#[must_use]
pub fn is_logged(error: &anyhow::Error) -> bool {
    error.is::<server::LoggedError>()
}
