//! Codex: one app-server for all sessions, JSON-RPC in lines in both directions.

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

use super::{AgentRequest, AttachedFile, DEFAULT_DENIAL, HostContext, HostEvent};
use crate::process::{Output, Process, StdoutRole};

pub(crate) struct Host<'a> {
    context: HostContext<'a>,
    pub(super) process: Process,
    /// Session name → thread id.
    threads: BTreeMap<String, String>,
    /// Session name → turn id.
    turns: BTreeMap<String, String>,
    /// Number of requests of the host.
    requests: u64,
    /// Requests of the agent that have no answer.
    pending: PendingRequests,
    /// Version of the agent.
    version: Option<Version>,
    /// Lines that came while the host waited for another one.
    queued: VecDeque<String>,
}

impl<'a> Host<'a> {
    pub(super) async fn start(context: HostContext<'a>) -> Result<Self> {
        configure(&context)?;
        let process = launch(&context)?;
        let version = Version::parse(context.version).ok();
        let mut host = Self {
            context,
            process,
            threads: BTreeMap::new(),
            turns: BTreeMap::new(),
            requests: 0,
            pending: PendingRequests::new(version.clone()),
            version,
            queued: VecDeque::new(),
        };
        host.initialize().await?;
        Ok(host)
    }

    async fn initialize(&mut self) -> Result<()> {
        let client =
            ClientInfo { title: Some("Host".to_owned()), ..new!(ClientInfo { name: "host", version: "0.1.0" }) };
        // Codex warns about the unknown model in every thread. In the thread of a sub-agent, the warning may come
        // before or after the start of the thread.
        let muted: &[&str] = if delegates(&self.context) { &["warning"] } else { &[] };
        self.call(codex::initialize(client, muted)).await?;
        self.process.send(&codex::initialized()).await
    }

    pub(super) async fn send_message(&mut self, session: &str, text: &str, files: &[AttachedFile]) -> Result<()> {
        let thread = match self.threads.get(session) {
            Some(thread) => thread.clone(),
            None => self.start_thread(session).await?,
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
            .uses_plan_mode()
            .then(|| PlanMode { model: model(&self.context).to_owned(), reasoning_effort: Some("medium".to_owned()) });
        let started = self.call(codex::start_turn(&thread, input, plan, self.version.as_ref())).await?;
        let turn = started.turn.context("the answer to turn/start has no turn")?;
        self.turns.insert(session.to_owned(), turn.id);
        Ok(())
    }

    async fn start_thread(&mut self, session: &str) -> Result<String> {
        let cwd = Some(self.context.dirs.workspace.to_string_lossy().into_owned());
        let mut options = ThreadOptions { cwd, ..ThreadOptions::default() };
        if self.context.scenario.setup.permissions == PermissionPolicy::Ask {
            options.approval_policy = Some(AskForApprovalText::Untrusted);
            options.sandbox = Some(SandboxMode::DangerFullAccess);
        }
        let started = self.call(options.start()).await?;
        let thread = started.thread.context("the answer to thread/start has no thread")?.id;
        self.threads.insert(session.to_owned(), thread.clone());
        if self.context.scenario.setup.mcp {
            self.wait_for_mcp_server().await?;
        }
        Ok(thread)
    }

    /// Waits until the MCP server has started or failed. Otherwise its status could come before or after the start of
    /// the turn.
    async fn wait_for_mcp_server(&mut self) -> Result<()> {
        while !self.queued.iter().any(|line| is_mcp_server_status(line)) {
            match self.process.next().await {
                Output::Line(line) => self.queued.push_back(line),
                Output::Exited(code) => bail!("the agent exited with code {code:?} before its MCP server was ready"),
            }
        }
        Ok(())
    }

    pub(super) async fn answer(&mut self, request: &AgentRequest, answer: &HostAnswer) -> Result<()> {
        let reply = match answer {
            HostAnswer::Allow => Reply::Allow,
            HostAnswer::AllowAlways => Reply::AllowForSession,
            HostAnswer::Choose(chosen) => Reply::Answers(chosen),
            HostAnswer::Deny(_) | HostAnswer::Dismiss => Reply::Reject(DEFAULT_DENIAL),
        };
        let key = request.payload.as_str().context("the request has no key")?;
        let line = self.pending.reply(key, reply).context("the request is no longer pending")?;
        self.process.send(&line).await
    }

    pub(super) async fn interrupt(&mut self, session: &str) -> Result<()> {
        let thread = self.threads.get(session).context("there is no thread to interrupt")?;
        let turn = self.turns.get(session).context("there is no turn to interrupt")?;
        self.call(codex::interrupt_turn(thread, turn)).await.map(drop)
    }

    pub(super) async fn resume(&mut self, session: &str) -> Result<()> {
        self.shutdown().await?;
        self.process = launch(&self.context)?;
        self.initialize().await?;
        let thread = self.threads.get(session).context("there is no thread to resume")?.clone();
        self.call(ThreadOptions::default().resume(&thread)).await.map(drop)
    }

    pub(super) async fn shutdown(&mut self) -> Result<()> {
        self.process.close_input();
        self.process.wait().await;
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<HostEvent> {
        loop {
            let line = match self.queued.pop_front() {
                Some(line) => line,
                None => match self.process.next().await {
                    Output::Exited(_) => return Ok(HostEvent::Exited),
                    Output::Line(line) => line,
                },
            };
            if let Some(event) = self.observe(&line).await? {
                return Ok(event);
            }
        }
    }

    /// Handles a line, and returns the event that it contains, if any.
    async fn observe(&mut self, line: &str) -> Result<Option<HostEvent>> {
        let request = match ServerMessage::decode(line) {
            Some(ServerMessage::Request(request)) => request,
            Some(ServerMessage::Notification(notification)) => return Ok(self.notification_event(&notification)),
            Some(ServerMessage::Answer(_)) | None => return Ok(None),
        };
        match self.pending.receive(line, SystemTime::now())? {
            Received::Pending(key) => Ok(Some(HostEvent::Request(AgentRequest {
                description: request.variant().to_owned(),
                payload: key.into(),
            }))),
            Received::Answered(answer) => self.process.send(&answer).await.map(|()| None),
        }
    }

    fn notification_event(&self, notification: &ServerNotification) -> Option<HostEvent> {
        match notification {
            ServerNotification::ItemAgentMessageDelta(_) => Some(HostEvent::Text),
            ServerNotification::Error(error) if error.will_retry == Some(true) => Some(HostEvent::Retry),
            ServerNotification::TurnCompleted(completed) => {
                // The threads of sub-agents are not in the scenario.
                let (session, _) =
                    self.threads.iter().find(|(_, thread)| Some(*thread) == completed.thread_id.as_ref())?;
                Some(HostEvent::TurnEnded { session: session.clone() })
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
                Output::Exited(code) => bail!("the agent exited with code {code:?} without answering {}", R::METHOD),
            };
            if ServerMessage::decode(&line).is_some_and(|message| message.is_answer_to(id)) {
                return decode_answer::<R>(&line).map_err(|error| anyhow!("{} failed: {error}", R::METHOD));
            }
            self.queued.push_back(line);
        }
    }

    /// Whether turns run in plan mode. Codex asks questions and makes plans only there.
    fn uses_plan_mode(&self) -> bool {
        let asks = |step: &Step| matches!(step, Step::ToolCall(ToolAction::Ask(_) | ToolAction::Plan { .. }));
        self.context.scenario.setup.plan_mode || self.context.scenario.has_step(asks)
    }
}

fn model(context: &HostContext<'_>) -> &'static str {
    interlingua_scripted_model::required_model(Agent::Codex, context.scenario).unwrap_or("gpt-5.5")
}

/// Whether a line reports that an MCP server has started or failed.
fn is_mcp_server_status(line: &str) -> bool {
    let Some(ServerMessage::Notification(notification)) = ServerMessage::decode(line) else { return false };
    match *notification {
        ServerNotification::McpServerStartupStatusUpdated(status) => {
            status.status != Some(McpServerStartupState::Starting)
        }
        // Before 0.130.
        ServerNotification::Unknown { tag, .. } => tag == "codex/event/mcp_startup_complete",
        _ => false,
    }
}

fn delegates(context: &HostContext<'_>) -> bool {
    context.scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Delegate { .. })))
}

fn configure(context: &HostContext<'_>) -> Result<()> {
    let mut config = codex_config(context.model_url).replacen("gpt-5.5", model(context), 1);
    let head = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
    config.insert_str(0, head);
    // Few retries, so that a permanent failure of a scenario ends soon.
    config = config.replace("env_key =", "request_max_retries = 2\nstream_max_retries = 2\nenv_key =");
    let workspace = context.dirs.workspace.display();
    // Writing to a string does not fail.
    let _ = write!(config, "\n[analytics]\nenabled = false\n\n[projects.\"{workspace}\"]\ntrust_level = \"trusted\"\n");
    if context.scenario.setup.mcp {
        let recorder = context.recorder.display();
        let _ = write!(config, "\n[mcp_servers.tiny]\ncommand = \"{recorder}\"\nargs = [\"{}\"]\n", mcp::SUBCOMMAND);
    }
    let folder = context.dirs.home.join(".codex");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(folder.join("config.toml"), config).context("cannot write config.toml")
}

fn launch(context: &HostContext<'_>) -> Result<Process> {
    let environment: Vec<(String, String)> = agent_environment(Agent::Codex, context.model_url)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    context.recording.set_command_line(&["codex", "app-server"].map(str::to_owned));
    let arguments = ["app-server".to_owned()];
    Process::start(context.program, &arguments, &environment, context.dirs, context.recording, StdoutRole::Wire)
}
