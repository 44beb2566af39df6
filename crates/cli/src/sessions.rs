//! `interlingua sessions`: sessions of a running server.

mod export;
mod follow;
mod labels;
mod list;
mod queue;
mod search;
mod secrets;
pub(crate) mod server_args;
mod show;
mod table;
mod tail_all;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use interlingua_client::{
    AttachedFile, Client, ClientError, CreateSessionRequest, EventQuery, MessageRequest, TurnQuery,
};

use self::follow::Follower;
pub(crate) use self::server_args::ServerArgs;
use self::server_args::client_error;
use crate::Outcome;
use crate::output::Output;
use crate::printer::Printer;
use crate::session_args::SessionArgs;

/// Number of events per request.
const PAGE_SIZE: u64 = 1000;

/// Work with the sessions of a running server.
///
/// The address of the server is set with --endpoint, its token with `INTERLINGUA_TOKEN` or --token-file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua server --no-token &
  interlingua sessions create s1 --agent mock
  interlingua sessions send s1 'permission' --follow
  interlingua sessions reply-permission s1 PERMISSION_ID once
  interlingua sessions list --state waiting
  interlingua sessions tail s1
  interlingua sessions tail --all
  interlingua sessions search 'failing test'
  interlingua sessions export s1 --output s1.html
  interlingua sessions events s1 --json | interlingua check -")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    server: ServerArgs,
    /// Print JSON: the answer of the server, or one event per line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List sessions, newest first
    #[command(after_help = "\
Examples:
  interlingua sessions list
  interlingua sessions list --state waiting
  interlingua sessions list --label team=core --text 'fix build' --limit 10 --json")]
    List(list::ListArgs),
    /// Show a session: what it is doing, what it waits for, its usage and labels
    #[command(after_help = "\
Example:
  interlingua sessions show s1")]
    Show {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Set or remove labels of a session
    #[command(after_help = "\
Examples:
  interlingua sessions label s1 team=core draft=
  interlingua sessions label s1 --remove draft")]
    Label {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Label to set
        #[arg(value_name = "NAME=VALUE", value_parser = labels::parse, required_unless_present = "remove")]
        labels: Vec<(String, String)>,
        /// Name of a label to remove; can be repeated
        #[arg(long, value_name = "NAME")]
        remove: Vec<String>,
    },
    /// Show the messages that wait for their turns, or remove one
    #[command(after_help = "\
Examples:
  interlingua sessions queue s1
  interlingua sessions queue s1 --cancel MESSAGE_ID")]
    Queue {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Message to remove, as long as its turn has not begun
        #[arg(long, value_name = "MESSAGE_ID")]
        cancel: Option<String>,
    },
    /// Create a session
    #[command(after_help = "\
Examples:
  interlingua sessions create s1 --agent mock
  interlingua sessions create s2 --agent claude --directory ~/project --permission-mode acceptEdits")]
    Create {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Agent: claude, codex, opencode, amp, mock, or an ACP agent such as gemini (see `agents list`)
        #[arg(long, value_name = "AGENT")]
        agent: String,
        #[command(flatten)]
        create: Box<SessionArgs>,
    },
    /// Send a message
    #[command(after_help = "\
Examples:
  interlingua sessions send s1 'echo hello'
  interlingua sessions send s1 'fix the failing test' --follow")]
    Send {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Text of the message
        #[arg(value_name = "MESSAGE")]
        message: String,
        /// Id of the message: a message with the id of an earlier one is not sent again
        #[arg(long, value_name = "MESSAGE_ID")]
        message_id: Option<String>,
        /// File to attach, on the server's machine; can be repeated
        #[arg(long, value_name = "FILE")]
        attach: Vec<PathBuf>,
        /// Show the turn until it ends, and ask what the agent asks; exit code 1 if it did not complete
        #[arg(long)]
        follow: bool,
        /// With --follow, show the complete output of tools
        #[arg(long)]
        full: bool,
    },
    /// Show the stored events of a session
    #[command(after_help = "\
Examples:
  interlingua sessions events s1
  interlingua sessions events s1 --json --offset 100 | interlingua check -")]
    Events {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Show only events after this sequence
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        offset: u64,
        /// Maximum number of events
        #[arg(long, value_name = "COUNT")]
        limit: Option<u64>,
        /// With --json, include each event's native payload
        #[arg(long)]
        raw: bool,
        /// Show the complete output of tools
        #[arg(long)]
        full: bool,
    },
    /// Follow a session until it ends, and answer what its agent asks; or follow all sessions
    ///
    /// A session is shown from its start, and reconnects when the connection breaks. With --all, the events to come of every
    /// session are shown over one connection, one line for each event that says something, until the command is stopped (Ctrl-C).
    #[command(after_help = "\
Examples:
  interlingua sessions tail s1 --json
  interlingua sessions tail --all
  interlingua sessions tail --all --label team=core --agent codex
  interlingua sessions tail --all --from-start --json > events.jsonl")]
    Tail(TailArgs),
    /// Search the text of all sessions, newest first
    ///
    /// Finds messages, reasoning, tool calls and their results, diffs, requests and errors that have all words, in upper or
    /// lower case. Words in double quotes must follow each other; `word*` matches the beginnings of words. Exit code 1 if
    /// nothing is found.
    #[command(after_help = "\
Examples:
  interlingua sessions search timeout handshake
  interlingua sessions search '\"connection reset\" retr*' --agent codex --since 2026-01-31T00:00:00Z
  interlingua sessions search panic --limit 100 --json

Show an event that was found:
  interlingua sessions events ID --offset SEQUENCE-1 --limit 1")]
    Search(search::SearchArgs),
    /// Export a session as a file: its events, or a transcript for people
    #[command(after_help = "\
Examples:
  interlingua sessions export s1 > s1.jsonl
  interlingua sessions export s1 --output s1.html
  interlingua sessions export s1 --format markdown | less")]
    Export(export::ExportArgs),
    /// Supply values that a session was created with again, or list those that it waits for
    ///
    /// The server keeps the values of --env and --mcp in memory only. After a restart of the server, a session that was
    /// created with such values waits for them, together with its queued messages. Values are read from the environment,
    /// a file or standard input, because the arguments of a command are visible to other users.
    #[command(after_help = "\
Examples:
  interlingua sessions secrets s1
  interlingua sessions secrets s1 --env OPENAI_API_KEY --mcp servers.json
  echo '{\"env\":{\"API_KEY\":\"…\"}}' | interlingua sessions secrets s1 --stdin")]
    Secrets {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Environment variable whose current value is supplied; can be repeated
        #[arg(long, value_name = "NAME", value_parser = secrets::parse_name)]
        env: Vec<String>,
        /// JSON file with the MCP servers, as for `sessions create`, or with their values only:
        /// {"NAME": {"env": {…}}} or {"NAME": {"headers": {…}}}
        #[arg(long, value_name = "FILE")]
        mcp: Option<PathBuf>,
        /// Read all values from standard input, as JSON: {"env": {…}, "mcp": {…}}
        #[arg(long, conflicts_with_all = ["env", "mcp"])]
        stdin: bool,
    },
    /// Interrupt the running turn; the session stays open
    #[command(after_help = "\
Example:
  interlingua sessions interrupt s1")]
    Interrupt {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a session; its events can still be read
    #[command(after_help = "\
Example:
  interlingua sessions terminate s1")]
    Terminate {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a session and delete it with its events
    #[command(after_help = "\
Example:
  interlingua sessions delete s1")]
    Delete {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Answer a permission request
    #[command(after_help = "\
The id is in brackets behind the request in `sessions tail`, `events` and `show`.

Example:
  interlingua sessions reply-permission s1 PERMISSION_ID once")]
    ReplyPermission {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Id of the permission request
        #[arg(value_name = "PERMISSION_ID")]
        permission: String,
        /// Reply to the request
        #[arg(value_name = "REPLY")]
        reply: crate::run::Reply,
    },
    /// Answer or reject a question
    #[command(after_help = "\
The id is in brackets behind the question in `sessions tail`, `events` and `show`.

Examples:
  interlingua sessions reply-question s1 QUESTION_ID SQLite
  interlingua sessions reply-question s1 QUESTION_ID --reject")]
    ReplyQuestion {
        /// Session id
        #[arg(value_name = "ID")]
        id: String,
        /// Id of the question
        #[arg(value_name = "QUESTION_ID")]
        question: String,
        /// Chosen options, or your own answer
        #[arg(value_name = "ANSWER", required_unless_present = "reject", conflicts_with = "reject")]
        answers: Vec<String>,
        /// Reject the question
        #[arg(long)]
        reject: bool,
    },
}

/// What to follow.
#[derive(Debug, clap::Args)]
struct TailArgs {
    /// Session id
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    id: Option<String>,
    #[command(flatten)]
    all: tail_all::AllArgs,
    /// Show only events after this sequence
    #[arg(long, value_name = "SEQUENCE", default_value_t = 0, conflicts_with = "all")]
    offset: u64,
    /// With --json, include each event's native payload
    #[arg(long)]
    raw: bool,
    /// Show the complete output of tools
    #[arg(long, conflicts_with = "all")]
    full: bool,
}

/// Runs the command.
///
/// # Errors
/// If the server cannot be reached or refuses the request.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let client = args.server.client()?;
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    tokio.block_on(SessionCommands { client, json: args.json }.execute(args.command))
}

/// Executes the commands on one server.
struct SessionCommands {
    client: Client,
    json: bool,
}

impl SessionCommands {
    async fn execute(&self, command: Command) -> anyhow::Result<Outcome> {
        match command {
            Command::List(args) => list::list(&self.client, args, self.json).await,
            Command::Show { id } => show::show(&self.client, &id, self.json).await,
            Command::Label { id, labels, remove } => labels::change(&self.client, &id, labels, remove, self.json).await,
            Command::Queue { id, cancel: Some(message) } => {
                self.report(self.client.cancel_message(&id, &message).await, &format!("cancelled {message}"))
            }
            Command::Queue { id, cancel: None } => queue::list(&self.client, &id, self.json).await,
            Command::Create { id, agent, create } => self.create(&id, &agent, &create).await,
            Command::Send { id, message, message_id, attach, follow, full } => {
                let mut request = MessageRequest::new(message);
                request.id = message_id;
                request.attachments = attach.iter().map(|file| AttachedFile::new(file.to_string_lossy())).collect();
                self.send(&id, &request, follow.then_some(full)).await
            }
            Command::Events { raw: true, .. } | Command::Tail(TailArgs { raw: true, .. }) if !self.json => {
                bail!("--raw needs --json: the transcript does not show native payloads")
            }
            Command::Events { id, offset, limit, raw, full } => self.events(&id, offset, limit, raw, full).await,
            Command::Tail(args) => self.tail(args).await,
            Command::Search(args) => search::search(&self.client, args, self.json).await,
            Command::Export(args) => export::export(&self.client, args, self.json).await,
            Command::Secrets { id, env, mcp, stdin } => match secrets::read(&env, mcp.as_deref(), stdin)? {
                Some(secrets) => secrets::hand_in(&self.client, &id, &secrets, self.json).await,
                None => secrets::list_missing(&self.client, &id, self.json).await,
            },
            Command::Interrupt { id } => self.report(self.client.interrupt(&id).await, &format!("interrupted {id}")),
            Command::Terminate { id } => self.report(self.client.terminate(&id).await, &format!("terminated {id}")),
            Command::Delete { id } => self.report(self.client.delete_session(&id).await, &format!("deleted {id}")),
            Command::ReplyPermission { id, permission, reply } => {
                let replied = self.client.reply_permission(&id, &permission, reply.into()).await;
                self.report(replied, &format!("answered {}", reply.name()))
            }
            Command::ReplyQuestion { id, question, reject: true, .. } => {
                self.report(self.client.reject_question(&id, &question).await, "rejected")
            }
            Command::ReplyQuestion { id, question, answers, .. } => {
                self.report(self.client.reply_question(&id, &question, &answers).await, "answered")
            }
        }
    }

    fn printer(&self, full: bool) -> Printer {
        if self.json { Printer::json() } else { Printer::transcript(full) }
    }

    /// Prints the result of a request whose answer is empty.
    fn report(&self, result: Result<(), ClientError>, message: &str) -> anyhow::Result<Outcome> {
        result.map_err(client_error)?;
        print(if self.json { r#"{"ok":true}"# } else { message })
    }

    async fn create(&self, id: &str, agent: &str, args: &SessionArgs) -> anyhow::Result<Outcome> {
        let mut create = CreateSessionRequest::new(agent);
        create.agent_mode.clone_from(&args.agent_mode);
        create.permission_mode.clone_from(&args.permission_mode);
        create.model.clone_from(&args.model);
        create.variant.clone_from(&args.variant);
        create.agent_version.clone_from(&args.agent_version);
        create.title.clone_from(&args.title);
        create.env = args.environment()?;
        create.mcp = args.mcp()?;
        if let Some(directory) = &args.directory {
            create.directory = Some(std::path::absolute(directory)?.to_string_lossy().into_owned());
        }
        let created = self.client.create_session(id, &create).await.map_err(client_error)?;
        if self.json {
            return print(&serde_json::to_value(&created)?.to_string());
        }
        match created.native_session_id {
            Some(native) => print(&format!("created {id} ({native})")),
            None => print(&format!("created {id}")),
        }
    }

    async fn send(&self, id: &str, message: &MessageRequest, follow: Option<bool>) -> anyhow::Result<Outcome> {
        let Some(full) = follow else {
            return self.report(self.client.send_message(id, message).await, "queued");
        };
        let events = self.client.stream_turn(id, message, TurnQuery::held()).await.map_err(client_error)?;
        Follower::new(&self.client, id, self.printer(full)).turn(events).await
    }

    async fn tail(&self, args: TailArgs) -> anyhow::Result<Outcome> {
        if let Some(id) = &args.id {
            let query = EventQuery::after(args.offset).include_raw(args.raw);
            return Follower::new(&self.client, id, self.printer(args.full)).tail(query).await;
        }
        tail_all::tail(&self.client, args.all.into_query(args.raw), self.json).await
    }

    async fn events(
        &self,
        id: &str,
        offset: u64,
        limit: Option<u64>,
        raw: bool,
        full: bool,
    ) -> anyhow::Result<Outcome> {
        let mut printer = self.printer(full);
        printer.show_request_ids();
        let (mut after, mut remaining) = (offset, limit.unwrap_or(u64::MAX));
        while remaining > 0 {
            let query = EventQuery::after(after).limit(remaining.min(PAGE_SIZE)).include_raw(raw);
            let page = self.client.events(id, query).await.map_err(client_error)?;
            let Some(last) = page.events.last().map(|event| event.sequence) else { break };
            if last <= after {
                bail!("the server sent event {last} again after event {after}");
            }
            for event in &page.events {
                printer.print(event)?;
            }
            (after, remaining) = (last, remaining.saturating_sub(page.events.len() as u64));
            if !page.has_more {
                break;
            }
        }
        printer.finish()?;
        Ok(Outcome::Success)
    }
}

fn print(line: &str) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    writeln!(output, "{line}")?;
    output.flush()?;
    Ok(Outcome::Success)
}
