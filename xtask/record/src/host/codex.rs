//! Codex: one app-server for all sessions, JSON-RPC in lines both ways.

use interlingua_native::new;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::SystemTime;

use anyhow::{Context as _, Result, anyhow, bail};
use interlingua_agents::Agent;
use interlingua_native::codex::{
    AskForApprovalText, ClientInfo, LocalImageUserInput, McpServerStartupState, MentionUserInput, SandboxMode,
    ServerNotification, TextUserInput, UserInput,
};
use interlingua_native::{Request, Union as _};
use interlingua_protocol::codex::{
    self, HostRequest, PendingRequests, PlanMode, Received, Reply, ServerMessage, ThreadOptions, decode_answer,
};
use interlingua_record::mcp;
use interlingua_scripted_model::scenario::{HostAnswer, PermissionPolicy, Step, ToolAction};
use interlingua_scripted_model::{agent_environment, codex_config};
use semver::Version;

use super::{Ask, Attached, NO, Seen, Stage};
use crate::process::{Output, Process, Stdout};

pub(crate) struct Host<'a> {
    stage: Stage<'a>,
    pub(super) process: Process,
    /// Session → thread.
    threads: BTreeMap<String, String>,
    /// Session → turn.
    turns: BTreeMap<String, String>,
    /// How many requests the host made.
    requests: u64,
    /// What the agent asks.
    pending: PendingRequests,
    /// The agent's version.
    version: Option<Version>,
    /// Lines that came while the host waited for something else.
    ahead: VecDeque<String>,
}

impl<'a> Host<'a> {
    pub(super) async fn start(stage: Stage<'a>) -> Result<Self> {
        configure(&stage)?;
        let process = launch(&stage)?;
        let version = Version::parse(stage.version).ok();
        let mut host = Self {
            stage,
            process,
            threads: BTreeMap::new(),
            turns: BTreeMap::new(),
            requests: 0,
            pending: PendingRequests::new(version.clone()),
            version,
            ahead: VecDeque::new(),
        };
        host.initialize().await?;
        Ok(host)
    }

    async fn initialize(&mut self) -> Result<()> {
        let client =
            ClientInfo { title: Some("Host".to_owned()), ..new!(ClientInfo { name: "host", version: "0.1.0" }) };
        // It warns of the unknown model in every thread: in a sub-agent's before or after that is started.
        let muted: &[&str] = if delegates(&self.stage) { &["warning"] } else { &[] };
        self.call(codex::initialize(client, muted)).await?;
        self.process.send(&codex::initialized()).await
    }

    pub(super) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        let thread = match self.threads.get(session) {
            Some(thread) => thread.clone(),
            None => self.begin(session).await?,
        };
        let mut input: Vec<UserInput> = vec![new!(TextUserInput { text: text }).into()];
        input.extend(files.iter().map(|file| -> UserInput {
            let path = file.path.to_string_lossy();
            if file.is_image() {
                new!(LocalImageUserInput { path: path }).into()
            } else {
                new!(MentionUserInput { name: file.name(), path: path }).into()
            }
        }));
        let plan = self
            .plans()
            .then(|| PlanMode { model: model(&self.stage).to_owned(), reasoning_effort: Some("medium".to_owned()) });
        let started = self.call(codex::start_turn(&thread, input, plan, self.version.as_ref())).await?;
        let turn = started.turn.context("turn/start gave no turn")?;
        self.turns.insert(session.to_owned(), turn.id);
        Ok(())
    }

    async fn begin(&mut self, session: &str) -> Result<String> {
        let cwd = Some(self.stage.place.workspace.to_string_lossy().into_owned());
        let mut options = ThreadOptions { cwd, ..ThreadOptions::default() };
        if self.stage.scenario.setup.permissions == PermissionPolicy::Ask {
            options.approval_policy = Some(AskForApprovalText::Untrusted);
            options.sandbox = Some(SandboxMode::DangerFullAccess);
        }
        let started = self.call(options.start()).await?;
        let thread = started.thread.context("thread/start gave no thread")?.id;
        self.threads.insert(session.to_owned(), thread.clone());
        if self.stage.scenario.setup.mcp {
            self.servers_are_up().await?;
        }
        Ok(thread)
    }

    /// Waits until the MCP server is there, or is not: otherwise that is told before or after the turn begins.
    async fn servers_are_up(&mut self) -> Result<()> {
        while !self.ahead.iter().any(|line| tells_of_server(line)) {
            match self.process.next().await {
                Output::Line(line) => self.ahead.push_back(line),
                Output::Exited(code) => bail!("the agent ended with {code:?} before its MCP server was there"),
            }
        }
        Ok(())
    }

    pub(super) async fn answer(&mut self, ask: &Ask, answer: &HostAnswer) -> Result<()> {
        let reply = match answer {
            HostAnswer::Allow => Reply::Allow,
            HostAnswer::AllowAlways => Reply::AllowForSession,
            HostAnswer::Choose(chosen) => Reply::Answers(chosen),
            HostAnswer::Deny(_) | HostAnswer::Dismiss => Reply::Reject(NO),
        };
        let key = ask.request.as_str().context("a request of Codex has a key")?;
        let line = self.pending.reply(key, reply).context("nothing waits for this answer")?;
        self.process.send(&line).await
    }

    pub(super) async fn interrupt(&mut self, session: &str) -> Result<()> {
        let thread = self.threads.get(session).context("there is no thread to interrupt")?;
        let turn = self.turns.get(session).context("there is no turn to interrupt")?;
        self.call(codex::interrupt_turn(thread, turn)).await.map(drop)
    }

    pub(super) async fn resume(&mut self, session: &str) -> Result<()> {
        self.end().await?;
        self.process = launch(&self.stage)?;
        self.initialize().await?;
        let thread = self.threads.get(session).context("there is no thread to resume")?.clone();
        self.call(ThreadOptions::default().resume(&thread)).await.map(drop)
    }

    pub(super) async fn end(&mut self) -> Result<()> {
        self.process.close();
        while !self.process.is_gone() {
            self.process.next().await;
        }
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<Seen> {
        loop {
            let line = match self.ahead.pop_front() {
                Some(line) => line,
                None => match self.process.next().await {
                    Output::Exited(_) => return Ok(Seen::Gone),
                    Output::Line(line) => line,
                },
            };
            if let Some(seen) = self.see(&line).await? {
                return Ok(seen);
            }
        }
    }

    async fn see(&mut self, line: &str) -> Result<Option<Seen>> {
        let request = match ServerMessage::decode(line) {
            Some(ServerMessage::Request(request)) => request,
            Some(ServerMessage::Notification(notification)) => return Ok(self.see_notification(&notification)),
            Some(ServerMessage::Answer(_)) | None => return Ok(None),
        };
        match self.pending.receive(line, SystemTime::now())? {
            Received::Pending(key) => {
                Ok(Some(Seen::Asked(Ask { about: request.variant().to_owned(), request: key.into() })))
            }
            Received::Answered(answer) => self.process.send(&answer).await.map(|()| None),
        }
    }

    fn see_notification(&self, notification: &ServerNotification) -> Option<Seen> {
        match notification {
            ServerNotification::ItemAgentMessageDelta(_) => Some(Seen::Text),
            ServerNotification::Error(error) if error.will_retry == Some(true) => Some(Seen::Retry),
            ServerNotification::TurnCompleted(completed) => {
                // A sub-agent's thread is nobody's session.
                let (session, _) =
                    self.threads.iter().find(|(_, thread)| Some(*thread) == completed.thread_id.as_ref())?;
                Some(Seen::TurnOver { session: session.clone() })
            }
            _ => None,
        }
    }

    /// Makes a request and waits for its answer.
    async fn call<R: Request + Into<HostRequest>>(&mut self, params: R) -> Result<R::Response> {
        self.requests += 1;
        let id = self.requests;
        self.process.send(&params.into().into_line(id)).await?;
        loop {
            let line = match self.process.next().await {
                Output::Line(line) => line,
                Output::Exited(code) => bail!("the agent ended with {code:?} instead of answering {}", R::METHOD),
            };
            if ServerMessage::decode(&line).is_some_and(|message| message.is_answer_to(id)) {
                return decode_answer::<R>(&line).map_err(|error| anyhow!("{} was refused: {error}", R::METHOD));
            }
            self.ahead.push_back(line);
        }
    }

    /// Codex asks the user and makes plans in plan mode only.
    fn plans(&self) -> bool {
        let asks = |step: &Step| matches!(step, Step::ToolCall(ToolAction::Ask(_) | ToolAction::Plan { .. }));
        self.stage.scenario.setup.plan_mode || self.stage.scenario.has_step(asks)
    }
}

fn model(stage: &Stage<'_>) -> &'static str {
    interlingua_scripted_model::required_model(Agent::Codex, stage.scenario).unwrap_or("gpt-5.5")
}

/// Whether a line tells that an MCP server is there, or is not.
fn tells_of_server(line: &str) -> bool {
    let Some(ServerMessage::Notification(notification)) = ServerMessage::decode(line) else { return false };
    matches!(*notification, ServerNotification::McpServerStartupStatusUpdated(status)
        if status.status != Some(McpServerStartupState::Starting))
}

fn delegates(stage: &Stage<'_>) -> bool {
    stage.scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Delegate { .. })))
}

fn configure(stage: &Stage<'_>) -> Result<()> {
    let mut config = codex_config(stage.model).replacen("gpt-5.5", model(stage), 1);
    let head = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
    config.insert_str(0, head);
    // Few retries: a scenario says what fails, not how often one may hope.
    config = config.replace("env_key =", "request_max_retries = 2\nstream_max_retries = 2\nenv_key =");
    let workspace = stage.place.workspace.display();
    // Writing to a string does not fail.
    let _ = write!(config, "\n[analytics]\nenabled = false\n\n[projects.\"{workspace}\"]\ntrust_level = \"trusted\"\n");
    if stage.scenario.setup.mcp {
        let recorder = stage.recorder.display();
        let _ = write!(config, "\n[mcp_servers.tiny]\ncommand = \"{recorder}\"\nargs = [\"{}\"]\n", mcp::WORD);
    }
    let folder = stage.place.home.join(".codex");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(folder.join("config.toml"), config).context("cannot write config.toml")
}

fn launch(stage: &Stage<'_>) -> Result<Process> {
    let environment: Vec<(String, String)> = agent_environment(Agent::Codex, stage.model)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    stage.tape.started(&["codex", "app-server"].map(str::to_owned));
    let arguments = ["app-server".to_owned()];
    Process::start(stage.program, &arguments, &environment, stage.place, stage.tape, Stdout::Wire)
}
