//! `interlingua sessions`: sessions on a running server.

mod client;
mod follow;
mod sse;
mod table;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use interlingua_schema::UniversalEvent;
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use self::client::{Client, ServerArgs};
use crate::Outcome;
use crate::output::Output;
use crate::printer::Printer;
use crate::session_args::SessionArgs;

/// How many events are asked for at once.
const PAGE: u64 = 1000;

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
    let client = Client::new(&args.server)?;
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the runtime")?;
    tokio.block_on(Session { client, json: args.json }.obey(args.command))
}

/// One use of a client.
struct Session {
    client: Client,
    json: bool,
}

impl Session {
    async fn obey(&self, command: Command) -> anyhow::Result<Outcome> {
        match command {
            Command::List { limit, cursor } => self.list(limit, cursor).await,
            Command::Create { id, agent, create } => self.create(&id, &agent, &create).await,
            Command::Send { id, message, attach, follow, full } => {
                self.send(&id, &message, &attach, follow.then_some(full)).await
            }
            Command::Events { id, offset, limit, raw, full } => self.events(&id, offset, limit, raw, full).await,
            Command::Tail { id, offset, raw, full } => {
                let from = follow::From { after: offset, raw };
                follow::tail(&self.client, &id, from, self.printer(full)).await
            }
            Command::Interrupt { id } => {
                self.done(self.post(&["sessions", &id, "interrupt"])?, &format!("interrupted {id}")).await
            }
            Command::Terminate { id } => {
                self.done(self.post(&["sessions", &id, "terminate"])?, &format!("terminated {id}")).await
            }
            Command::Delete { id } => {
                let request = self.client.request(Method::DELETE, &["sessions", &id])?;
                self.done(request, &format!("deleted {id}")).await
            }
            Command::ReplyPermission { id, permission, reply } => {
                let reply = reply.name();
                let request = self.post(&["sessions", &id, "permissions", &permission, "reply"])?;
                self.done(request.json(&json!({ "reply": reply })), &format!("answered {reply}")).await
            }
            Command::ReplyQuestion { id, question, reject: true, .. } => {
                self.done(self.post(&["sessions", &id, "questions", &question, "reject"])?, "declined").await
            }
            Command::ReplyQuestion { id, question, answers, .. } => {
                let request = self.post(&["sessions", &id, "questions", &question, "reply"])?;
                self.done(request.json(&json!({ "answers": [answers] })), "answered").await
            }
        }
    }

    fn printer(&self, full: bool) -> Printer {
        if self.json { Printer::json() } else { Printer::transcript(full) }
    }

    fn post(&self, segments: &[&str]) -> anyhow::Result<RequestBuilder> {
        self.client.request(Method::POST, segments)
    }

    /// Sends a request whose answer is empty, and says that it is done.
    async fn done(&self, request: RequestBuilder, what: &str) -> anyhow::Result<Outcome> {
        self.client.send(request).await?;
        print(if self.json { r#"{"ok":true}"# } else { what })
    }

    async fn list(&self, limit: Option<u64>, cursor: Option<String>) -> anyhow::Result<Outcome> {
        let query = [("limit", limit.map(|limit| limit.to_string())), ("cursor", cursor)];
        let query: Vec<_> = query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let list = self.client.json(self.client.request_with(Method::GET, &["sessions"], &query)?).await?;
        if self.json {
            return print(&list.to_string());
        }
        let mut output = Output::new();
        table::write(&list, &mut output)?;
        if let Some(cursor) = list["nextCursor"].as_str() {
            writeln!(output, "(there are more: --cursor {cursor})")?;
        }
        output.flush()?;
        Ok(Outcome::Fine)
    }

    async fn create(&self, id: &str, agent: &str, create: &SessionArgs) -> anyhow::Result<Outcome> {
        let directory = match &create.directory {
            Some(folder) => Some(std::path::absolute(folder)?.to_string_lossy().into_owned()),
            None => None,
        };
        let env = create.environment()?;
        let fields = [
            ("agent", Some(agent.into())),
            ("agentMode", create.agent_mode.clone().map(Value::from)),
            ("permissionMode", create.permission_mode.clone().map(Value::from)),
            ("model", create.model.clone().map(Value::from)),
            ("variant", create.variant.clone().map(Value::from)),
            ("agentVersion", create.agent_version.clone().map(Value::from)),
            ("directory", directory.map(Value::from)),
            ("title", create.title.clone().map(Value::from)),
            ("env", (!env.is_empty()).then(|| json!(env))),
            ("mcp", create.mcp()?),
        ];
        let body: Map<String, Value> =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        let created = self.client.json(self.post(&["sessions", id])?.json(&body)).await?;
        if self.json {
            return print(&created.to_string());
        }
        match created["nativeSessionId"].as_str() {
            Some(native) => print(&format!("created {id} ({native})")),
            None => print(&format!("created {id}")),
        }
    }

    async fn send(&self, id: &str, message: &str, attach: &[PathBuf], follow: Option<bool>) -> anyhow::Result<Outcome> {
        let attachments: Vec<Value> = attach.iter().map(|file| json!({ "path": file.to_string_lossy() })).collect();
        let body = json!({ "message": message, "attachments": attachments });
        let Some(full) = follow else {
            return self.done(self.post(&["sessions", id, "messages"])?.json(&body), "queued").await;
        };
        let path = ["sessions", id, "messages", "stream"];
        let request = self.client.request_with(Method::POST, &path, &[("hold", "true".to_owned())])?.json(&body);
        follow::turn(self.client.send(request).await?, self.printer(full)).await
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
            let query = [
                ("offset", after.to_string()),
                ("limit", left.min(PAGE).to_string()),
                ("include_raw", raw.to_string()),
            ];
            let request = self.client.request_with(Method::GET, &["sessions", id, "events"], &query)?;
            let page: Page = serde_json::from_str(&self.client.send(request).await?.text().await?)
                .context("the server's answer is not a page of events")?;
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
        Ok(Outcome::Fine)
    }
}

fn print(line: &str) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    writeln!(output, "{line}")?;
    output.flush()?;
    Ok(Outcome::Fine)
}

/// A page of events.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    events: Vec<UniversalEvent>,
    has_more: bool,
}
