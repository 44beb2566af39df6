//! `interlingua run`: one message, one turn, in this terminal.

mod ask;
mod turn;

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use interlingua_runtime::{CreateSession, Environment, Runtime, RuntimeOptions, drivers};
use interlingua_schema::{Attachment, Message, SessionId};
use interlingua_store::Store;
use tempfile::TempDir;

use self::turn::Turn;
use crate::Outcome;
use crate::data_folder::{data_folder, machine};
use crate::mock_args::MockArgs;
use crate::session_args::SessionArgs;

/// Run one turn with an agent and show it as it happens.
///
/// Nothing has to be set up: the session lives in a temporary folder, or in --data-dir to go on with it later. What
/// the agent asks is asked here; where nobody can answer, the answer is no.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 0: the turn completed. 1: it failed or was interrupted. 2: it could not be run.
Ctrl-C interrupts the turn, a second one leaves.

Examples:
  interlingua run mock hello
  interlingua run mock demo
  interlingua run mock permission --reply once --json | interlingua check -
  interlingua run mock 'echo one' --data-dir /tmp/i --session s1
  interlingua run mock 'echo two' --data-dir /tmp/i --session s1
  git diff | interlingua run claude -")]
pub struct Args {
    /// The agent: claude, codex, opencode, amp or mock
    #[arg(value_name = "AGENT")]
    agent: String,
    /// What to tell it, or `-` for standard input; `help` tells what the mock agent can do
    #[arg(value_name = "MESSAGE|-")]
    message: String,
    /// A file that goes with the message; can be repeated
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Print universal events, one JSON object a line
    #[arg(long)]
    json: bool,
    /// With --json, keep each event's native payload
    #[arg(long, requires = "json")]
    raw: bool,
    /// Show the output of tools whole
    #[arg(long)]
    full: bool,
    /// Answer every permission request so, instead of asking; questions are then declined
    #[arg(long, value_name = "REPLY")]
    reply: Option<Reply>,
    /// Keep the session in this folder
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The session's name; one that is there goes on [default: a new one]
    #[arg(long, value_name = "ID", requires = "data_dir")]
    session: Option<String>,
    #[command(flatten)]
    create: SessionArgs,
    #[command(flatten)]
    mock: MockArgs,
}

/// An answer to every permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, from now on.
    Always,
    /// No.
    Reject,
}

impl Reply {
    /// As the API writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Reject => "reject",
        }
    }
}

impl From<Reply> for interlingua_client::PermissionAnswer {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Once => Self::Once,
            Reply::Always => Self::Always,
            Reply::Reject => Self::Reject,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When the session cannot be created, or the message cannot be delivered.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let message = message(args)?;
    let temporary = match &args.data_dir {
        Some(_) => None,
        None => Some(TempDir::new().context("cannot make a temporary folder")?),
    };
    let folder = args.data_dir.as_deref().or(temporary.as_ref().map(TempDir::path)).context("no folder")?;
    let store = Store::open(folder, interlingua_store::StoreOptions::default())?;
    // Agents are where they were installed, wherever the session is kept.
    let machine = machine(&data_folder(None).unwrap_or_else(|_| folder.to_owned()))?;
    let agents = drivers(&machine, args.mock.driver()?);
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    let outcome = tokio.block_on(async {
        let runtime = Runtime::start(store.clone(), agents, RuntimeOptions::default());
        let id = session_id(args);
        if store.session(&id).await?.is_none() {
            runtime.create(id.clone(), create(args)?).await?;
        }
        let sent = runtime.send(&id, message).await?;
        let turn = Turn { runtime: &runtime, store: &store, id: &id, args };
        let status = turn.play(sent).await;
        runtime.shutdown().await;
        turn.after(status?).await
    });
    // A question at the terminal that was interrupted is still waiting for its line.
    tokio.shutdown_background();
    outcome
}

fn message(args: &Args) -> anyhow::Result<Message> {
    let text = if args.message == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        text
    } else {
        args.message.clone()
    };
    let attachments = args.attach.iter().map(|file| {
        let path = std::path::absolute(file).with_context(|| format!("cannot use {}", file.display()))?;
        Ok(Attachment::new(path.to_string_lossy()))
    });
    Ok(Message::new(text).attachments(attachments.collect::<anyhow::Result<_>>()?))
}

fn session_id(args: &Args) -> SessionId {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    args.session.clone().unwrap_or_else(|| format!("run-{}", time.as_millis())).into()
}

fn create(args: &Args) -> anyhow::Result<CreateSession> {
    let mcp = match args.create.mcp()? {
        Some(mcp) => serde_json::from_value(mcp).context("--mcp")?,
        None => interlingua_runtime::McpServers::default(),
    };
    let directory = args.create.directory.as_ref().map(|folder| folder.to_string_lossy().into_owned());
    Ok(CreateSession::new(&args.agent)
        .agent_mode(args.create.agent_mode.clone())
        .permission_mode(args.create.permission_mode.clone())
        .model(args.create.model.clone())
        .variant(args.create.variant.clone())
        .agent_version(args.create.agent_version.clone())
        .directory(directory)
        .title(args.create.title.clone())
        .env(args.create.environment()?.into_iter().collect::<Environment>())
        .mcp(mcp))
}
