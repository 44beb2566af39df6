//! The connection to an agent: lines in both directions.

use std::collections::VecDeque;
use std::path::Path;

use interlingua_agents::{AcpProfile, login_remedy};
use interlingua_convert::Input;
use interlingua_native::new;
use interlingua_protocol::acp::acp::{
    AgentNotification, Implementation, InitializeRequest, InitializeResponse, NewSessionRequest, RequestId,
};
use interlingua_protocol::acp::{
    self, AgentMessage, INVALID_PARAMS, METHOD_NOT_FOUND, OpenedSession, PendingRequests, Received, SessionOptions,
    decode_answer, refuse,
};

use super::services::HostServices;
use crate::driver::{OutputSender, SessionSpec};
use crate::driver_output::OutputBatch;
use crate::process::{Process, Supervisor};

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
    /// Events that are about to be returned.
    events: VecDeque<Event>,
    services: HostServices,
    pub(super) pending: PendingRequests,
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
        Self {
            process,
            output,
            batch: OutputBatch::default(),
            events: VecDeque::new(),
            services: HostServices::start(supervisor, spec),
            pending: PendingRequests::default(),
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
    pub(super) fn initialize(&mut self, profile: &AcpProfile) -> u64 {
        let id = self.next_id();
        self.send(acp::request_line(id, acp::initialize(host(), profile.offers_files)));
        id
    }

    /// Sends a line. It is reported with the next inputs, in its place among them.
    pub(super) fn send(&mut self, line: String) {
        self.process.send(&line);
        self.batch.push(Input::Sent(line));
    }

    /// Sends a line, and reports another one without its secrets.
    pub(super) fn send_as(&mut self, line: &str, reported: String) {
        self.process.send(line);
        self.batch.push(Input::Sent(reported));
    }

    /// Waits for the next event. Reports all lines, and serves the requests among them. Cancellation loses nothing: what
    /// was read and not reported yet stays in `self`.
    pub(super) async fn receive(&mut self) -> Event {
        loop {
            self.output.send_batch(&mut self.batch).await;
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            tokio::select! {
                biased;
                Some(line) = self.services.next_answer() => self.send(line),
                inputs = self.process.read() => inputs.into_iter().for_each(|input| self.handle(input)),
            }
        }
    }

    fn handle(&mut self, input: Input) {
        let line = match &input {
            Input::Received(line) => line.as_str(),
            Input::Exit { .. } => {
                self.events.push_back(Event::Exited);
                return self.batch.push(input);
            }
            _ => return self.batch.push(input),
        };
        let message = AgentMessage::decode(line);
        if let Some(AgentMessage::Answer(RequestId::Number(id))) = &message {
            let id = u64::try_from(*id).unwrap_or(u64::MAX);
            self.events.push_back(Event::Answer { id, line: line.to_owned() });
        }
        self.batch.push(input);
        match message {
            Some(AgentMessage::Request(id, request)) => {
                if let Received::Service(request) = self.pending.receive(id.clone(), *request) {
                    self.services.serve(id, *request);
                }
            }
            Some(AgentMessage::BadRequest(id, reason)) => self.send(refuse(id, INVALID_PARAMS, &reason)),
            Some(AgentMessage::Notification(notification)) => self.observe(*notification),
            Some(AgentMessage::Answer(_)) | None => {}
        }
    }

    /// A request that the agent withdraws is answered all the same.
    fn observe(&mut self, notification: AgentNotification) {
        if let AgentNotification::CancelRequest(cancelled) = notification
            && let Some(answer) = cancelled.request_id.and_then(|id| self.pending.withdraw(&id))
        {
            self.send(answer);
        }
    }

    /// Ends the agent. Its last output and its exit are reported.
    pub(super) async fn shutdown(mut self) {
        self.output.send_batch(&mut self.batch).await;
        self.process.shutdown(&self.output).await;
    }
}

/// What the agent requires before it can be used.
pub(super) fn login_advice(profile: &AcpProfile, response: Option<&InitializeResponse>, reason: &str) -> String {
    let name = profile.descriptor.display_name;
    let methods = response.map(InitializeResponse::login_methods).unwrap_or_default();
    format!("{name} requires authentication ({reason}): {}", login_remedy(Some(&profile.descriptor), &methods))
}

/// Opens a session in a process that serves no session, and returns what the agent says about it.
pub(super) async fn describe(
    mut process: Process,
    directory: &Path,
    profile: &AcpProfile,
) -> Result<OpenedSession, String> {
    process.send(&acp::request_line(1, acp::initialize(host(), profile.offers_files)));
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
