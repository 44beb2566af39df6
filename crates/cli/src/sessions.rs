//! `interlingua sessions`: sessions on a running server.

mod follow;
mod server_args;
mod table;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use interlingua_client::{
    AttachedFile, Client, ClientError, CreateSessionRequest, EventQuery, MessageRequest, SessionQuery, TurnQuery,
};

use self::server_args::{ServerArgs, explain};
use crate::Outcome;
use crate::output::Output;
use crate::printer::Printer;
use crate::session_args::SessionArgs;

/// Events per request.
const PAGE_SIZE: u64 = 1000;

/// Work with the sessions of a running server.
///
/// The server is the one at --endpoint, its token the one in `INTERLINGUA_TOKEN`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua server --no-token &
  interlingua sessions create s1 --agent mock
  interlingua sessions send s1 'permission' --follow
  interlingua sessions reply-permission s1 PERMISSION once
  interlingua sessions tail s1
  interlingua sessions events s1 --json | interlingua check -")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    server: ServerArgs,
    /// Print JSON: what the server answers, or one event a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List sessions, newest first
    List {
        /// At most so many
        #[arg(long, value_name = "COUNT")]
        limit: Option<u64>,
        /// Where the page before ended: its `nextCursor`
        #[arg(long, value_name = "CURSOR")]
        cursor: Option<String>,
    },
    /// Create a session
    Create {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// The agent: claude, codex, opencode, amp or mock
        #[arg(long, value_name = "AGENT")]
        agent: String,
        #[command(flatten)]
        create: Box<SessionArgs>,
    },
    /// Send a message
    Send {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// What to tell the agent
        #[arg(value_name = "MESSAGE")]
        message: String,
        /// A file that goes with the message, on the server's machine; can be repeated
        #[arg(long, value_name = "FILE")]
        attach: Vec<PathBuf>,
        /// Show the turn until it ends; exit code 1 unless it completed
        #[arg(long)]
        follow: bool,
        /// With --follow, show the output of tools whole
        #[arg(long)]
        full: bool,
    },
    /// Show the events there are
    Events {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// Only those after this sequence
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        offset: u64,
        /// At most so many
        #[arg(long, value_name = "COUNT")]
        limit: Option<u64>,
        /// With --json, each event's native payload too
        #[arg(long)]
        raw: bool,
        /// Show the output of tools whole
        #[arg(long)]
        full: bool,
    },
    /// Follow a session until it ends, through dropped connections too
    Tail {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// Only events after this sequence
        #[arg(long, value_name = "SEQUENCE", default_value_t = 0)]
        offset: u64,
        /// With --json, each event's native payload too
        #[arg(long)]
        raw: bool,
        /// Show the output of tools whole
        #[arg(long)]
        full: bool,
    },
    /// End the running turn; the session goes on
    Interrupt {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a session
    Terminate {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
    },
    /// End a session and remove its events
    Delete {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
    },
    /// Answer a permission request
    ReplyPermission {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// The `permission_id` of the request
        #[arg(value_name = "PERMISSION")]
        permission: String,
        /// The answer
        #[arg(value_name = "REPLY")]
        reply: crate::run::Reply,
    },
    /// Answer a question, or decline to
    ReplyQuestion {
        /// The session's name
        #[arg(value_name = "ID")]
        id: String,
        /// The `question_id` of the question
        #[arg(value_name = "QUESTION")]
        question: String,
        /// The choices, or your own words
        #[arg(value_name = "ANSWER", required_unless_present = "reject", conflicts_with = "reject")]
        answers: Vec<String>,
        /// Decline to answer
        #[arg(long)]
        reject: bool,
    },
}

/// Runs the command.
///
/// # Errors
/// When there is no server, or it refuses.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let client = args.server.client()?;
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    tokio.block_on(Sessions { client, json: args.json }.execute(args.command))
}

/// The commands, with the server that they talk to.
struct Sessions {
    client: Client,
    json: bool,
}

impl Sessions {
    async fn execute(&self, command: Command) -> anyhow::Result<Outcome> {
        match command {
            Command::List { limit, cursor } => self.list(limit, cursor).await,
            Command::Create { id, agent, create } => self.create(&id, &agent, &create).await,
            Command::Send { id, message, attach, follow, full } => {
                self.send(&id, &message, &attach, follow.then_some(full)).await
            }
            Command::Events { id, offset, limit, raw, full } => self.events(&id, offset, limit, raw, full).await,
            Command::Tail { id, offset, raw, full } => {
                let query = EventQuery::after(offset).include_raw(raw);
                follow::tail(&self.client, &id, query, self.printer(full)).await
            }
            Command::Interrupt { id } => self.done(self.client.interrupt(&id).await, &format!("interrupted {id}")),
            Command::Terminate { id } => self.done(self.client.terminate(&id).await, &format!("terminated {id}")),
            Command::Delete { id } => self.done(self.client.delete_session(&id).await, &format!("deleted {id}")),
            Command::ReplyPermission { id, permission, reply } => {
                let replied = self.client.reply_permission(&id, &permission, reply.into()).await;
                self.done(replied, &format!("answered {}", reply.name()))
            }
            Command::ReplyQuestion { id, question, reject: true, .. } => {
                self.done(self.client.reject_question(&id, &question).await, "declined")
            }
            Command::ReplyQuestion { id, question, answers, .. } => {
                self.done(self.client.reply_question(&id, &question, &answers).await, "answered")
            }
        }
    }

    fn printer(&self, full: bool) -> Printer {
        if self.json { Printer::json() } else { Printer::transcript(full) }
    }

    /// Reports a request whose answer is empty.
    fn done(&self, result: Result<(), ClientError>, what: &str) -> anyhow::Result<Outcome> {
        result.map_err(explain)?;
        print(if self.json { r#"{"ok":true}"# } else { what })
    }

    async fn list(&self, limit: Option<u64>, cursor: Option<String>) -> anyhow::Result<Outcome> {
        let mut query = SessionQuery::default();
        (query.limit, query.cursor) = (limit, cursor);
        let page = self.client.sessions(&query).await.map_err(explain)?;
        if self.json {
            return print(&serde_json::to_value(&page)?.to_string());
        }
        let mut output = Output::new();
        table::write(&page.sessions, &mut output)?;
        if let Some(cursor) = page.next_cursor {
            writeln!(output, "(there are more: --cursor {cursor})")?;
        }
        output.flush()?;
        Ok(Outcome::Success)
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
        if let Some(folder) = &args.directory {
            create.directory = Some(std::path::absolute(folder)?.to_string_lossy().into_owned());
        }
        let created = self.client.create_session(id, &create).await.map_err(explain)?;
        if self.json {
            return print(&serde_json::to_value(&created)?.to_string());
        }
        match created.native_session_id {
            Some(native) => print(&format!("created {id} ({native})")),
            None => print(&format!("created {id}")),
        }
    }

    async fn send(&self, id: &str, message: &str, attach: &[PathBuf], follow: Option<bool>) -> anyhow::Result<Outcome> {
        let mut message = MessageRequest::new(message);
        message.attachments = attach.iter().map(|file| AttachedFile::new(file.to_string_lossy())).collect();
        let Some(full) = follow else {
            return self.done(self.client.send_message(id, &message).await, "queued");
        };
        let events = self.client.stream_turn(id, &message, TurnQuery::held()).await.map_err(explain)?;
        follow::turn(events, self.printer(full)).await
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
        let (mut after, mut left) = (offset, limit.unwrap_or(u64::MAX));
        while left > 0 {
            let query = EventQuery::after(after).limit(left.min(PAGE_SIZE)).include_raw(raw);
            let page = self.client.events(id, query).await.map_err(explain)?;
            let Some(last) = page.events.last().map(|event| event.sequence) else { break };
            if last <= after {
                bail!("the server repeats events");
            }
            for event in &page.events {
                printer.event(event)?;
            }
            (after, left) = (last, left.saturating_sub(page.events.len() as u64));
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
