//! What the host serves to the agent itself: files and terminals. A task serves the requests in their order, so that the
//! connection never waits for them.

use std::ffi::OsString;
use std::path::PathBuf;

use interlingua_native::new;
use interlingua_protocol::acp::acp::{
    AgentRequest, CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse,
    ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, RequestId,
    TerminalExitStatus, TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest,
    WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use interlingua_protocol::acp::{INTERNAL_ERROR, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, refuse, respond};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::files;
use super::terminals::{Command, ExitStatus, Terminals};
use crate::driver::SessionSpec;
use crate::process::Supervisor;
use crate::process_environment::process_environment;

/// Serves requests of the agent. Dropping it kills the commands.
#[derive(Debug)]
pub(super) struct HostServices {
    requests: mpsc::UnboundedSender<(RequestId, AgentRequest)>,
    answers: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl Drop for HostServices {
    fn drop(&mut self) {
        // The terminals are dropped with the task.
        self.task.abort();
    }
}

impl HostServices {
    /// Starts to serve a session.
    pub(super) fn start(supervisor: Supervisor, spec: &SessionSpec) -> Self {
        let (requests, queue) = mpsc::unbounded_channel();
        let (sender, answers) = mpsc::unbounded_channel();
        let server = Server {
            supervisor,
            directory: spec.directory.clone(),
            environment: process_environment(&[], &[], &spec.env),
            terminals: Terminals::default(),
            answers: sender,
        };
        Self { requests, answers, task: tokio::spawn(server.run(queue)) }
    }

    /// Serves a request. Its answer follows.
    pub(super) fn serve(&self, id: RequestId, request: AgentRequest) {
        // The task ends with `self`.
        let _ = self.requests.send((id, request));
    }

    /// Waits for the line of an answer. Cancellation loses nothing.
    pub(super) async fn next_answer(&mut self) -> Option<String> {
        self.answers.recv().await
    }
}

struct Server {
    supervisor: Supervisor,
    directory: PathBuf,
    /// The environment of the commands that the agent runs in terminals.
    environment: Vec<(OsString, OsString)>,
    terminals: Terminals,
    answers: mpsc::UnboundedSender<String>,
}

impl Server {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<(RequestId, AgentRequest)>) {
        while let Some((id, request)) = requests.recv().await {
            if let Some(answer) = self.answer(id, request).await {
                // The session may have ended.
                let _ = self.answers.send(answer);
            }
        }
    }

    /// The answer to a request; `None` if it follows later.
    async fn answer(&mut self, id: RequestId, request: AgentRequest) -> Option<String> {
        Some(match request {
            AgentRequest::FsReadTextFile(request) => self.read_file(id, request).await,
            AgentRequest::FsWriteTextFile(request) => self.write_file(id, request).await,
            AgentRequest::TerminalCreate(request) => self.create_terminal(id, request).await,
            AgentRequest::TerminalOutput(request) => self.terminal_output(id, &request),
            AgentRequest::TerminalWaitForExit(request) => return self.wait_for_exit(id, request),
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
            AgentRequest::SessionRequestPermission(_) | AgentRequest::ElicitationCreate(_) => return None,
        })
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
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let exit = exited.await;
            let ExitStatus { code, signal } = exit.unwrap_or(ExitStatus { code: None, signal: None });
            let response = WaitForTerminalExitResponse {
                exit_code: code.map(i64::from),
                signal: signal.map(|signal| signal.to_string()),
                ..WaitForTerminalExitResponse::new()
            };
            let _ = answers.send(respond::<WaitForTerminalExitRequest>(id, &response));
        });
        None
    }
}

fn refuse_terminal(id: RequestId, terminal: &str) -> String {
    refuse(id, RESOURCE_NOT_FOUND, &format!("there is no terminal `{terminal}`"))
}
