//! The connection to an agent: lines in both directions, and the requests that the host serves itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use interlingua_agents::AcpProfile;
use interlingua_convert::Input;
use interlingua_native::new;
use interlingua_protocol::acp::acp::{
    AgentNotification, AgentRequest, CreateTerminalRequest, CreateTerminalResponse, Implementation, InitializeRequest,
    InitializeResponse, KillTerminalRequest, KillTerminalResponse, NewSessionRequest, ReadTextFileRequest,
    ReadTextFileResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, RequestId, TerminalExitStatus,
    TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
    WriteTextFileRequest, WriteTextFileResponse,
};
use interlingua_protocol::acp::{
    self, AgentMessage, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, OpenedSession, PendingRequests,
    RESOURCE_NOT_FOUND, Received, SessionOptions, decode_answer, refuse, respond,
};
use tokio::sync::mpsc;

use super::files;
use super::terminals::{Command, ExitStatus, Terminals};
use crate::driver::{OutputSender, SessionSpec};
use crate::driver_output::OutputBatch;
use crate::process::{Process, Supervisor};
use crate::process_environment::process_environment;

/// Name by which the host introduces itself.
const HOST: &str = "interlingua";

/// The host by its name and version.
fn host() -> Implementation {
    new!(Implementation { name: HOST, version: env!("CARGO_PKG_VERSION") })
}

/// The connection of a session.
pub(super) struct Connection {
    process: Process,
    output: OutputSender,
    /// Inputs that are about to be sent to the session.
    batch: OutputBatch,
    supervisor: Supervisor,
    directory: PathBuf,
    /// The environment of the commands that the agent runs in terminals.
    environment: Vec<(OsString, OsString)>,
    terminals: Terminals,
    pub(super) pending: PendingRequests,
    /// Answers that are ready later: of commands that the agent waits for.
    late_answers: mpsc::UnboundedReceiver<String>,
    late_answer_sender: mpsc::UnboundedSender<String>,
    /// Number of requests of the host so far.
    requests: u64,
}

/// What a line of the agent means to the session.
#[derive(Debug)]
pub(super) enum Event {
    /// The answer to the host's request with this id.
    Answer { id: u64, line: String },
    /// The process has exited.
    Exited,
}

impl Connection {
    pub(super) fn new(process: Process, output: OutputSender, supervisor: Supervisor, spec: &SessionSpec) -> Self {
        let (late_answer_sender, late_answers) = mpsc::unbounded_channel();
        Self {
            process,
            output,
            batch: OutputBatch::default(),
            supervisor,
            directory: spec.directory.clone(),
            environment: process_environment(&[], &[], &spec.env),
            terminals: Terminals::default(),
            pending: PendingRequests::default(),
            late_answers,
            late_answer_sender,
            requests: 0,
        }
    }

    pub(super) fn output(&self) -> &OutputSender {
        &self.output
    }

    /// An id for a request of the host.
    pub(super) fn next_id(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Sends the first request.
    pub(super) async fn initialize(&mut self) -> u64 {
        let id = self.next_id();
        self.send(acp::request_line(id, acp::initialize(host()))).await;
        id
    }

    /// Sends a line, and reports it.
    pub(super) async fn send(&mut self, line: String) {
        self.send_as(&line, line.clone()).await;
    }

    /// Sends a line, and reports another one without its secrets.
    pub(super) async fn send_as(&mut self, line: &str, reported: String) {
        self.batch.push(Input::Sent(reported));
        self.output.send_batch(&mut self.batch).await;
        self.process.send(line);
    }

    /// Waits for lines, reports them, and serves the requests among them. Cancellation loses nothing.
    pub(super) async fn receive(&mut self) -> Vec<Event> {
        let inputs = tokio::select! {
            biased;
            Some(line) = self.late_answers.recv() => {
                self.send(line).await;
                return Vec::new();
            }
            inputs = self.process.read() => inputs,
        };
        let mut events = Vec::new();
        for input in inputs {
            let message = match &input {
                Input::Received(line) => AgentMessage::decode(line),
                Input::Exit { .. } => {
                    events.push(Event::Exited);
                    None
                }
                _ => None,
            };
            let line = match &input {
                Input::Received(line) if matches!(message, Some(AgentMessage::Answer(_))) => line.clone(),
                _ => String::new(),
            };
            self.batch.push(input);
            match message {
                Some(AgentMessage::Answer(RequestId::Number(id))) => {
                    events.push(Event::Answer { id: u64::try_from(id).unwrap_or(u64::MAX), line });
                }
                Some(AgentMessage::Request(id, request)) => {
                    if let Received::Service(request) = self.pending.receive(id.clone(), *request) {
                        self.serve(id, *request).await;
                    }
                }
                Some(AgentMessage::BadRequest(id, reason)) => self.send(refuse(id, INVALID_PARAMS, &reason)).await,
                Some(AgentMessage::Notification(notification)) => self.observe(*notification).await,
                Some(AgentMessage::Answer(_)) | None => {}
            }
        }
        self.output.send_batch(&mut self.batch).await;
        events
    }

    /// A request that the agent withdraws is answered all the same.
    async fn observe(&mut self, notification: AgentNotification) {
        if let AgentNotification::CancelRequest(cancelled) = notification
            && let Some(answer) = cancelled.request_id.and_then(|id| self.pending.withdraw(&id))
        {
            self.send(answer).await;
        }
    }

    /// Serves a request for a file or a terminal.
    async fn serve(&mut self, id: RequestId, request: AgentRequest) {
        let answer = match request {
            AgentRequest::FsReadTextFile(request) => self.read_file(id, request).await,
            AgentRequest::FsWriteTextFile(request) => self.write_file(id, request).await,
            AgentRequest::TerminalCreate(request) => self.create_terminal(id, request).await,
            AgentRequest::TerminalOutput(request) => self.terminal_output(id, &request),
            AgentRequest::TerminalWaitForExit(request) => match self.wait_for_exit(id, request) {
                Some(refusal) => refusal,
                None => return,
            },
            AgentRequest::TerminalKill(request) => {
                let terminal = request.terminal_id.unwrap_or_default();
                if self.terminals.kill(&terminal) {
                    respond::<KillTerminalRequest>(id, &KillTerminalResponse::new())
                } else {
                    refuse_terminal(id, &terminal)
                }
            }
            AgentRequest::TerminalRelease(request) => {
                let terminal = request.terminal_id.unwrap_or_default();
                if self.terminals.release(&terminal) {
                    respond::<ReleaseTerminalRequest>(id, &ReleaseTerminalResponse::new())
                } else {
                    refuse_terminal(id, &terminal)
                }
            }
            AgentRequest::McpMessage(_) => refuse(id, METHOD_NOT_FOUND, "this host has no MCP servers of its own"),
            AgentRequest::Unknown { tag, .. } => {
                refuse(id, METHOD_NOT_FOUND, &format!("this host cannot answer `{tag}`"))
            }
            // `PendingRequests` keeps these.
            AgentRequest::SessionRequestPermission(_) | AgentRequest::ElicitationCreate(_) => return,
        };
        self.send(answer).await;
    }

    async fn read_file(&self, id: RequestId, request: ReadTextFileRequest) -> String {
        let root = self.directory.clone();
        let path = request.path.unwrap_or_default();
        let first = request.line.and_then(|line| u64::try_from(line).ok());
        let limit = request.limit.and_then(|limit| u64::try_from(limit).ok());
        let read = tokio::task::spawn_blocking(move || files::read(&root, &path, first, limit)).await;
        match read.unwrap_or_else(|error| Err((INTERNAL_ERROR, error.to_string()))) {
            Ok(content) => respond::<ReadTextFileRequest>(id, &new!(ReadTextFileResponse { content: content })),
            Err((code, message)) => refuse(id, code, &message),
        }
    }

    async fn write_file(&self, id: RequestId, request: WriteTextFileRequest) -> String {
        let root = self.directory.clone();
        let (path, content) = (request.path.unwrap_or_default(), request.content.unwrap_or_default());
        let written = tokio::task::spawn_blocking(move || files::write(&root, &path, &content)).await;
        match written.unwrap_or_else(|error| Err((INTERNAL_ERROR, error.to_string()))) {
            Ok(()) => respond::<WriteTextFileRequest>(id, &WriteTextFileResponse::new()),
            Err((code, message)) => refuse(id, code, &message),
        }
    }

    async fn create_terminal(&mut self, id: RequestId, request: CreateTerminalRequest) -> String {
        let mut env = self.environment.clone();
        for variable in request.env.into_iter().flatten() {
            if let (Some(name), Some(value)) = (variable.name, variable.value) {
                env.retain(|(known, _)| *known != *name);
                env.push((name.into(), value.into()));
            }
        }
        let command = Command {
            program: request.command.unwrap_or_default(),
            args: request.args.unwrap_or_default(),
            env,
            directory: request.cwd.map_or_else(|| self.directory.clone(), PathBuf::from),
            output_limit: request.output_byte_limit,
        };
        match self.terminals.create(&self.supervisor, command).await {
            Ok(terminal) => {
                respond::<CreateTerminalRequest>(id, &new!(CreateTerminalResponse { terminal_id: terminal }))
            }
            Err(reason) => refuse(id, INTERNAL_ERROR, &reason),
        }
    }

    fn terminal_output(&self, id: RequestId, request: &TerminalOutputRequest) -> String {
        let terminal = request.terminal_id.as_deref().unwrap_or_default();
        let Some(state) = self.terminals.state(terminal) else { return refuse_terminal(id, terminal) };
        let response = TerminalOutputResponse {
            exit_status: state.exit.map(|exit| TerminalExitStatus {
                exit_code: exit.code.map(i64::from),
                signal: exit.signal.map(|signal| signal.to_string()),
                ..TerminalExitStatus::new()
            }),
            ..new!(TerminalOutputResponse { output: state.output, truncated: state.truncated })
        };
        respond::<TerminalOutputRequest>(id, &response)
    }

    /// The answer follows when the command has ended. Returns the line of a refusal.
    fn wait_for_exit(&self, id: RequestId, request: WaitForTerminalExitRequest) -> Option<String> {
        let terminal = request.terminal_id.unwrap_or_default();
        let Some(exited) = self.terminals.wait(&terminal) else { return Some(refuse_terminal(id, &terminal)) };
        let answers = self.late_answer_sender.clone();
        tokio::spawn(async move {
            let exit = exited.await;
            let ExitStatus { code, signal } = exit.unwrap_or(ExitStatus { code: None, signal: None });
            let response = WaitForTerminalExitResponse {
                exit_code: code.map(i64::from),
                signal: signal.map(|signal| signal.to_string()),
                ..WaitForTerminalExitResponse::new()
            };
            // The session may have ended.
            let _ = answers.send(respond::<WaitForTerminalExitRequest>(id, &response));
        });
        None
    }

    /// Ends the agent. Its last output and its exit are reported.
    pub(super) async fn shutdown(self) {
        self.process.shutdown(&self.output).await;
    }
}

fn refuse_terminal(id: RequestId, terminal: &str) -> String {
    refuse(id, RESOURCE_NOT_FOUND, &format!("there is no terminal `{terminal}`"))
}

/// What the agent requires before it can be used.
pub(super) fn login_advice(profile: &AcpProfile, response: Option<&InitializeResponse>, reason: &str) -> String {
    let name = profile.descriptor.display_name;
    let methods = response.and_then(|response| response.auth_methods.as_ref()).into_iter().flatten();
    let methods: Vec<String> = methods
        .filter_map(|method| {
            let name = method.name.as_deref()?;
            Some(match method.description.as_deref().filter(|description| !description.is_empty()) {
                Some(description) => format!("{name} ({description})"),
                None => name.to_owned(),
            })
        })
        .collect();
    let variables = profile.descriptor.credential_variables.join(" or ");
    let logins: Vec<&str> = profile.descriptor.login_files.iter().map(|login| login.command).collect();
    let mut remedies = Vec::new();
    if !variables.is_empty() {
        remedies.push(format!("set {variables}"));
    }
    if !logins.is_empty() {
        remedies.push(format!("run `{}`", logins.join("` or `")));
    }
    let offered = if methods.is_empty() { String::new() } else { format!("; it offers: {}", methods.join(", ")) };
    let remedy = if remedies.is_empty() { "log in with its own program".to_owned() } else { remedies.join(", or ") };
    format!("{name} requires authentication ({reason}): {remedy}{offered}")
}

/// Opens a session in a process that serves no session, and returns what the agent says about it.
pub(super) async fn describe(
    mut process: Process,
    directory: &Path,
    profile: &AcpProfile,
) -> Result<OpenedSession, String> {
    process.send(&acp::request_line(1, acp::initialize(host())));
    let initialized =
        decode_answer::<InitializeRequest>(&next_answer(&mut process, 1).await?).map_err(|error| error.to_string())?;
    let options = SessionOptions { cwd: directory.to_string_lossy().into_owned(), mcp_servers: Vec::new() };
    process.send(&acp::request_line(2, options.create()));
    match decode_answer::<NewSessionRequest>(&next_answer(&mut process, 2).await?) {
        Ok(response) => Ok(response.into()),
        Err(error) if error.requires_login() => Err(login_advice(profile, Some(&initialized), &error.message)),
        Err(error) => Err(error.to_string()),
    }
}

/// The line that answers the request with this id. Requests of the agent are refused.
async fn next_answer(process: &mut Process, id: u64) -> Result<String, String> {
    loop {
        match process.next().await {
            Input::Received(line) => match AgentMessage::decode(&line) {
                Some(AgentMessage::Answer(answered)) if answered == acp::number(id) => return Ok(line),
                Some(AgentMessage::Request(id, _) | AgentMessage::BadRequest(id, _)) => {
                    process.send(&refuse(id, METHOD_NOT_FOUND, "no session is open"));
                }
                _ => {}
            },
            Input::Exit { code } => {
                let code = code.map_or_else(|| "an unknown code".to_owned(), |code| format!("code {code}"));
                return Err(format!("the process exited with {code}"));
            }
            _ => {}
        }
    }
}
