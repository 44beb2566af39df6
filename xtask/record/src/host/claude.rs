//! Claude Code: one process per session, lines of JSON in both directions, with a control protocol.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use interlingua_agents::Agent;
use interlingua_native::claude::{
    ControlRequest, ControlRequestInner, RawContentBlockDelta, RawMessageStreamEvent, StdoutMessage,
};
use interlingua_native::{Native as _, Union as _};
use interlingua_protocol::claude::{
    self, Attachment, ControlRequestBuilder, ControlRequestParams, HostMessage, McpServerConfigForProcessTransport,
    McpServers, PendingRequests, PermissionMode, Prompt, Reply, SentRequest, SessionOptions,
};
use interlingua_record::mcp;
use interlingua_scripted_model::agent_environment;
use interlingua_scripted_model::scenario::{HostAnswer, MAIN_SESSION, PermissionPolicy, Step, ToolAction};
use semver::Version;

use super::{AgentRequest, AttachedFile, DEFAULT_DENIAL, HostContext, HostEvent};
use crate::process::{Output, Process, StdoutRole};

/// Tools of scenarios with a to-do list. Claude Code offers the to-do tool only if it is named, and then only named
/// tools.
const TOOLS_WITH_TODO: &str = "TodoWrite,Bash,Read,Edit,Write";

pub(crate) struct Host<'a> {
    context: HostContext<'a>,
    pub(super) process: Process,
    /// Native session id, once the agent has reported it.
    session: Option<String>,
    outbox: ControlRequestBuilder,
    pending: PendingRequests,
}

impl<'a> Host<'a> {
    pub(super) async fn start(context: HostContext<'a>) -> Result<Self> {
        let process = launch(&context, None)?;
        let mut host = Self {
            context,
            process,
            session: None,
            outbox: ControlRequestBuilder::default(),
            pending: PendingRequests::default(),
        };
        host.initialize().await?;
        Ok(host)
    }

    async fn initialize(&mut self) -> Result<()> {
        let request = self.request(claude::initialize()).await?;
        loop {
            match self.process.next().await {
                // A version that rejects the request works without it.
                Output::Line(line) if request.read_answer(&line).is_some() => return Ok(()),
                Output::Line(_) => {}
                Output::Exited(code) => bail!("the agent exited with code {code:?} during `initialize`"),
            }
        }
    }

    pub(super) async fn send_message(&mut self, session: &str, text: &str, files: &[AttachedFile]) -> Result<()> {
        if session != MAIN_SESSION {
            bail!("Claude Code has one session per process; exclude it in [absent]");
        }
        let prompt = Prompt { text: text.to_owned(), attachments: files.iter().map(attachment).collect() };
        self.process.send(&HostMessage::Prompt(prompt).into_line()).await
    }

    pub(super) async fn answer(&mut self, request: &AgentRequest, answer: &HostAnswer) -> Result<()> {
        let reply = match answer {
            HostAnswer::Allow => Reply::Allow,
            HostAnswer::AllowAlways => Reply::AllowSuggested,
            HostAnswer::Deny(reason) => Reply::Deny(reason.as_deref().unwrap_or(DEFAULT_DENIAL)),
            HostAnswer::Dismiss => Reply::Dismiss,
            HostAnswer::Choose(chosen) => Reply::Answers(chosen),
        };
        let line = request.payload.as_str().and_then(|id| self.pending.reply(id, reply));
        let line = line.with_context(|| format!("the host has no answer to {}", request.description))?;
        self.process.send(&line).await
    }

    pub(super) async fn interrupt(&mut self, _session: &str) -> Result<()> {
        self.request(claude::interrupt()).await.map(drop)
    }

    pub(super) async fn resume(&mut self, _session: &str) -> Result<()> {
        self.shutdown().await?;
        self.process = launch(&self.context, self.session.as_deref())?;
        self.pending = PendingRequests::default();
        self.initialize().await
    }

    pub(super) async fn shutdown(&mut self) -> Result<()> {
        self.process.close_input();
        self.process.wait().await;
        Ok(())
    }

    pub(super) async fn next(&mut self) -> Result<HostEvent> {
        loop {
            let line = match self.process.next().await {
                Output::Exited(_) => return Ok(HostEvent::Exited),
                Output::Line(line) => line,
            };
            self.pending.receive(&line);
            let Ok(message) = StdoutMessage::decode(&line) else { continue };
            match message.value {
                StdoutMessage::SystemInit(init) => self.session = init.session_id,
                StdoutMessage::SystemApiRetry(_) => return Ok(HostEvent::Retry),
                StdoutMessage::StreamEvent(event) if event.event.as_ref().is_some_and(is_text) => {
                    return Ok(HostEvent::Text);
                }
                StdoutMessage::ControlRequest(request) => return Ok(HostEvent::Request(agent_request(request))),
                StdoutMessage::ResultSuccess(_) | StdoutMessage::ResultError(_) => {
                    return Ok(HostEvent::TurnEnded { session: MAIN_SESSION.to_owned() });
                }
                StdoutMessage::Unknown { tag, .. } if tag.starts_with("result/") => {
                    return Ok(HostEvent::TurnEnded { session: MAIN_SESSION.to_owned() });
                }
                _ => {}
            }
        }
    }

    async fn request<R: ControlRequestParams>(&mut self, request: R) -> Result<SentRequest<R>> {
        let request = self.outbox.build(request);
        self.process.send(request.line()).await?;
        Ok(request)
    }
}

/// Whether an event is a delta of the model's text.
fn is_text(event: &RawMessageStreamEvent) -> bool {
    let RawMessageStreamEvent::ContentBlockDelta(delta) = event else { return false };
    matches!(delta.delta, Some(RawContentBlockDelta::TextDelta(_)))
}

fn agent_request(request: ControlRequest) -> AgentRequest {
    let description = match &request.request {
        Some(ControlRequestInner::CanUseTool(tool)) => {
            format!("can_use_tool {}", tool.tool_name.as_deref().unwrap_or("?"))
        }
        Some(other) => other.variant().to_owned(),
        None => "an unreadable request".to_owned(),
    };
    AgentRequest { description, payload: request.request_id.into() }
}

/// Converts a file to a part of a message.
fn attachment(file: &AttachedFile) -> Attachment {
    match file.text() {
        Some(text) => Attachment::PlainText { title: file.name(), text: text.to_owned() },
        None if file.is_image() => Attachment::Image { media_type: file.mime.to_owned(), base64: file.base64() },
        None => Attachment::Pdf { base64: file.base64() },
    }
}

fn launch(context: &HostContext<'_>, resume: Option<&str>) -> Result<Process> {
    let setup = &context.scenario.setup;
    let permissions = if setup.plan_mode {
        claude::Permissions::Mode(PermissionMode::Plan)
    } else if setup.permissions == PermissionPolicy::Allow {
        claude::Permissions::Bypass
    } else {
        claude::Permissions::Default
    };
    let has_todo = context.scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Todo(_))));
    let options = SessionOptions {
        permissions,
        tools: has_todo.then_some(TOOLS_WITH_TODO),
        resume,
        mcp_servers: if setup.mcp { mcp_servers(context)? } else { McpServers::default() },
        strict_mcp_config: setup.mcp,
        ..SessionOptions::default()
    };
    let arguments = claude::command_line(&options, Version::parse(context.version).ok().as_ref());
    let mut environment: Vec<(String, String)> = agent_environment(Agent::Claude, context.model_url)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
    // The agent does run in a sandbox: it has only loopback, and its own home and workspace.
    set("IS_SANDBOX", "1");
    // All tools are offered at once. A search for deferred tools would be the same in every scenario.
    set("ENABLE_TOOL_SEARCH", "false");
    set("CLAUDE_CODE_MAX_RETRIES", "2");
    if has_todo {
        set("CLAUDE_CODE_ENABLE_TASKS", "0");
    }
    let mut argv = vec!["claude".to_owned()];
    argv.extend(arguments.iter().cloned());
    context.recording.set_command_line(&argv);
    Process::start(context.program, &arguments, &environment, context.dirs, context.recording, StdoutRole::Wire)
}

/// This program as an MCP server.
fn mcp_servers(context: &HostContext<'_>) -> Result<McpServers> {
    let command = context.recorder.to_str().context("the path of this program is not UTF-8")?;
    let server = McpServerConfigForProcessTransport {
        command: Some(command.to_owned()),
        args: Some(vec![mcp::SUBCOMMAND.to_owned()]),
        ..McpServerConfigForProcessTransport::new()
    };
    Ok(McpServers { mcp_servers: BTreeMap::from([("tiny".to_owned(), server)]) })
}
