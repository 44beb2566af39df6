//! `interlingua run`: one turn with an agent in this terminal.

pub(crate) mod login;
mod turn;

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use interlingua_runtime::{CreateSession, Environment, Runtime, RuntimeOptions, drivers};
use interlingua_schema::{Attachment, Message, SessionId};
use interlingua_store::Store;
use tempfile::TempDir;

use self::turn::TurnRunner;
use crate::Outcome;
use crate::data_dir::{launch_config, resolve_data_dir};
use crate::mock_args::MockArgs;
use crate::session_args::SessionArgs;

/// Id of the mock agent.
const MOCK_AGENT: &str = "mock";

/// The message to the mock agent that most people try first.
const EXAMPLE: &str = "example";

/// Printed after [`EXAMPLE`].
const NEXT_STEPS: &str = "
Next: interlingua agents list                     which agents are installed
      interlingua agents install codex            install one
      interlingua run codex \"explain this code\"   the same with a real agent
      interlingua ui                              sessions of any agent in a browser
";

/// Run one turn with an agent and show it live.
///
/// The mock agent needs no setup; other agents must be installed and signed in. The session is stored in a temporary
/// directory; use --data-dir and --session to continue it later. Permission requests and questions are asked in this
/// terminal. Without a terminal, permissions are denied and questions are rejected.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit codes: 0 the turn completed, 1 it failed or was interrupted, 2 error.
Ctrl-C interrupts the turn; a second Ctrl-C ends the program.

Examples:
  interlingua run mock example
  interlingua run mock demo
  interlingua run mock permission --reply once --json | interlingua check -
  interlingua run mock 'echo one' --data-dir /tmp/i --session s1
  interlingua run mock 'echo two' --data-dir /tmp/i --session s1
  git diff | interlingua run claude -")]
pub struct Args {
    /// The agent: claude, codex, opencode, amp, mock, or an ACP agent such as gemini (see `agents list`)
    #[arg(value_name = "AGENT")]
    agent: String,
    /// The message, or `-` for standard input; `help` lists the commands of the mock agent
    #[arg(value_name = "MESSAGE|-")]
    message: String,
    /// File to attach to the message; can be repeated
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    /// Print universal events, one JSON object per line
    #[arg(long)]
    json: bool,
    /// With --json, include each event's native payload
    #[arg(long, requires = "json")]
    raw: bool,
    /// Show the complete output of tools
    #[arg(long)]
    full: bool,
    /// Answer every permission request with this reply instead of asking; questions are rejected
    #[arg(long, value_name = "REPLY")]
    reply: Option<Reply>,
    /// Store the session in this directory
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Session id; an existing session is continued [default: a new id]
    #[arg(long, value_name = "ID", requires = "data_dir")]
    session: Option<String>,
    #[command(flatten)]
    create: SessionArgs,
    #[command(flatten)]
    mock: MockArgs,
}

/// Reply to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Reply {
    /// Allow this time
    Once,
    /// Allow from now on
    Always,
    /// Deny
    Reject,
}

impl Reply {
    /// Name of the reply in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Reject => "reject",
        }
    }
}

impl From<Reply> for interlingua_runtime::PermissionReply {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Once => Self::Once,
            Reply::Always => Self::Always,
            Reply::Reject => Self::Reject,
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
/// If the session cannot be created, or the message cannot be sent.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let message = read_message(args)?;
    let temp_dir = match &args.data_dir {
        Some(_) => None,
        None => Some(TempDir::new().context("cannot create a temporary directory")?),
    };
    let data_dir = args.data_dir.clone().or(temp_dir.as_ref().map(|dir| dir.path().to_owned()));
    let data_dir = resolve_data_dir(data_dir)?;
    let store = Store::open(&data_dir, interlingua_store::StoreOptions::default())?;
    let launch = launch_config(&data_dir)?;
    let agents = drivers(&launch, args.mock.driver()?);
    if let Some(agent) = agents.iter().map(|driver| driver.status()).find(|status| status.id == args.agent) {
        let environment = args.create.environment()?;
        login::check_login(&agent, &environment.keys().map(String::as_str).collect::<Vec<_>>())?;
    }
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    let outcome = tokio.block_on(async {
        let runtime = Runtime::start(store.clone(), agents, RuntimeOptions::default());
        let id = session_id(args);
        if store.session(&id).await?.is_none() {
            runtime.create(id.clone(), session_options(args)?).await?;
        }
        let sent = runtime.send(&id, message).await?;
        let turn = TurnRunner { runtime: &runtime, store: &store, id: &id, args };
        let shown = turn.run(sent).await;
        runtime.shutdown().await;
        let outcome = turn.finish(shown?).await?;
        if args.agent == MOCK_AGENT && args.message == EXAMPLE && !args.json {
            eprint!("{NEXT_STEPS}");
        }
        anyhow::Ok(outcome)
    });
    // After an interrupt, a thread may still wait for an answer from the terminal. It must not block the exit.
    tokio.shutdown_background();
    outcome
}

fn read_message(args: &Args) -> anyhow::Result<Message> {
    let text = if args.message == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        text
    } else {
        args.message.clone()
    };
    let attachments = args.attach.iter().map(|file| {
        let path = std::path::absolute(file).with_context(|| format!("cannot attach {}", file.display()))?;
        Ok(Attachment::new(path.to_string_lossy()))
    });
    Ok(Message::new(text).attachments(attachments.collect::<anyhow::Result<_>>()?))
}

fn session_id(args: &Args) -> SessionId {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    args.session.clone().unwrap_or_else(|| format!("run-{}", since_epoch.as_millis())).into()
}

fn session_options(args: &Args) -> anyhow::Result<CreateSession> {
    let mcp = match args.create.mcp()? {
        Some(mcp) => serde_json::from_value(mcp).context("invalid MCP servers in the file of --mcp")?,
        None => interlingua_runtime::McpServers::default(),
    };
    let directory = args.create.directory.as_ref().map(|directory| directory.to_string_lossy().into_owned());
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
