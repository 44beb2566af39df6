//! Claude Code: one process a session, lines of JSON both ways, and a control protocol in them.

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

use super::{Ask, Attached, NO, Seen, Stage};
use crate::process::{Output, Process, Stdout};

/// The to-do tool is there only if it is named, and then only what is named is there.
const TOOLS_WITH_TODO: &str = "TodoWrite,Bash,Read,Edit,Write";

pub(crate) struct Host<'a> {
    stage: Stage<'a>,
    pub(super) process: Process,
    /// The native session, once the agent has said it.
    session: Option<String>,
    outbox: ControlRequestBuilder,
    pending: PendingRequests,
}

impl<'a> Host<'a> {
    pub(super) async fn start(stage: Stage<'a>) -> Result<Self> {
        let process = launch(&stage, None)?;
        let mut host = Self {
            stage,
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
                // A version that refuses the request works without it.
                Output::Line(line) if request.read_answer(&line).is_some() => return Ok(()),
                Output::Line(_) => {}
                Output::Exited(code) => bail!("the agent ended with {code:?} before it said hello"),
            }
        }
    }

    pub(super) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        if session != MAIN_SESSION {
            bail!("Claude Code has one session a process; say why in [absent]");
        }
        let prompt = Prompt { text: text.to_owned(), attachments: files.iter().map(attachment).collect() };
        self.process.send(&HostMessage::Prompt(prompt).into_line()).await
    }

    pub(super) async fn answer(&mut self, ask: &Ask, answer: &HostAnswer) -> Result<()> {
        let reply = match answer {
            HostAnswer::Allow => Reply::Allow,
            HostAnswer::AllowAlways => Reply::AllowSuggested,
            HostAnswer::Deny(reason) => Reply::Deny(reason.as_deref().unwrap_or(NO)),
            HostAnswer::Dismiss => Reply::Dismiss,
            HostAnswer::Choose(chosen) => Reply::Answers(chosen),
        };
        let line = ask.request.as_str().and_then(|id| self.pending.reply(id, reply));
        let line = line.with_context(|| format!("a host cannot answer {}", ask.about))?;
        self.process.send(&line).await
    }

    pub(super) async fn interrupt(&mut self, _session: &str) -> Result<()> {
        self.request(claude::interrupt()).await.map(drop)
    }

    pub(super) async fn resume(&mut self, _session: &str) -> Result<()> {
        self.end().await?;
        self.process = launch(&self.stage, self.session.as_deref())?;
        self.pending = PendingRequests::default();
        self.initialize().await
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
            let line = match self.process.next().await {
                Output::Exited(_) => return Ok(Seen::Gone),
                Output::Line(line) => line,
            };
            self.pending.receive(&line);
            let Ok(message) = StdoutMessage::decode(&line) else { continue };
            match message.value {
                StdoutMessage::SystemInit(init) => self.session = init.session_id,
                StdoutMessage::SystemApiRetry(_) => return Ok(Seen::Retry),
                StdoutMessage::StreamEvent(event) if event.event.as_ref().is_some_and(is_text) => {
                    return Ok(Seen::Text);
                }
                StdoutMessage::ControlRequest(request) => return Ok(Seen::Asked(ask(request))),
                StdoutMessage::ResultSuccess(_) | StdoutMessage::ResultError(_) => {
                    return Ok(Seen::TurnOver { session: MAIN_SESSION.to_owned() });
                }
                StdoutMessage::Unknown { tag, .. } if tag.starts_with("result/") => {
                    return Ok(Seen::TurnOver { session: MAIN_SESSION.to_owned() });
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

/// Whether an event brings text of the model.
fn is_text(event: &RawMessageStreamEvent) -> bool {
    let RawMessageStreamEvent::ContentBlockDelta(delta) = event else { return false };
    matches!(delta.delta, Some(RawContentBlockDelta::TextDelta(_)))
}

fn ask(request: ControlRequest) -> Ask {
    let about = match &request.request {
        Some(ControlRequestInner::CanUseTool(tool)) => {
            format!("can_use_tool {}", tool.tool_name.as_deref().unwrap_or("?"))
        }
        Some(other) => other.variant().to_owned(),
        None => "an unreadable request".to_owned(),
    };
    Ask { about, request: request.request_id.into() }
}

/// A file as a part of a message.
fn attachment(file: &Attached) -> Attachment {
    match file.text() {
        Some(text) => Attachment::PlainText { title: file.name(), text: text.to_owned() },
        None if file.is_image() => Attachment::Image { media_type: file.mime.to_owned(), base64: file.base64() },
        None => Attachment::Pdf { base64: file.base64() },
    }
}

fn launch(stage: &Stage<'_>, resume: Option<&str>) -> Result<Process> {
    let setup = &stage.scenario.setup;
    let permissions = if setup.plan_mode {
        claude::Permissions::Mode(PermissionMode::Plan)
    } else if setup.permissions == PermissionPolicy::Allow {
        claude::Permissions::Bypass
    } else {
        claude::Permissions::Default
    };
    let has_todo = stage.scenario.has_step(|step| matches!(step, Step::ToolCall(ToolAction::Todo(_))));
    let options = SessionOptions {
        permissions,
        tools: has_todo.then_some(TOOLS_WITH_TODO),
        resume,
        mcp_servers: if setup.mcp { mcp_servers(stage)? } else { McpServers::default() },
        strict_mcp_config: setup.mcp,
        ..SessionOptions::default()
    };
    let arguments = claude::command_line(&options, Version::parse(stage.version).ok().as_ref());
    let mut environment: Vec<(String, String)> = agent_environment(Agent::Claude, stage.model)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut set = |name: &str, value: &str| environment.push((name.to_owned(), value.to_owned()));
    // It is in a sandbox: nothing but loopback, a home and a workspace of its own.
    set("IS_SANDBOX", "1");
    // All tools are offered at once; looking for them first is the same in every scenario.
    set("ENABLE_TOOL_SEARCH", "false");
    set("CLAUDE_CODE_MAX_RETRIES", "2");
    if has_todo {
        set("CLAUDE_CODE_ENABLE_TASKS", "0");
    }
    let mut argv = vec!["claude".to_owned()];
    argv.extend(arguments.iter().cloned());
    stage.tape.started(&argv);
    Process::start(stage.program, &arguments, &environment, stage.place, stage.tape, Stdout::Wire)
}

/// The recorder as an MCP server.
fn mcp_servers(stage: &Stage<'_>) -> Result<McpServers> {
    let command = stage.recorder.to_str().context("the path of this program is not UTF-8")?;
    let server = McpServerConfigForProcessTransport {
        command: Some(command.to_owned()),
        args: Some(vec![mcp::WORD.to_owned()]),
        ..McpServerConfigForProcessTransport::new()
    };
    Ok(McpServers { mcp_servers: BTreeMap::from([("tiny".to_owned(), server)]) })
}
