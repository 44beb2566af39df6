//! The connection of one session to the server.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Failure, Input};
use interlingua_native::Native as _;
use interlingua_protocol::opencode::{
    Event, HttpCall, HttpReply, PendingRequests, PermissionDecision, Request, Requests, SessionCreateRequest,
    SessionStatus, SessionStatusesRequest,
};
use interlingua_schema::{ErrorCode, Message};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::event_header::{EventHeader, SessionTree};
use super::event_stream::EventStream;
use super::options;
use super::server::HttpServer;
use crate::driver::{
    CommandReceiver, DriverCommand, OutputSender, PermissionReply, ServeError, ServeOutcome, SessionSpec,
};
use crate::driver_output::OutputBatch;
use crate::drivers::{INTERRUPTED_BEFORE_START, REFUSAL_MESSAGE};

/// How long a running turn may take to end after the session has closed the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);
/// How long the first event of a stream may take to arrive.
const FIRST_EVENT_TIMEOUT: Duration = Duration::from_secs(20);
/// Pause before a new subscription to events.
const RESUBSCRIBE_DELAY: Duration = Duration::from_millis(200);
/// Maximum number of events that are taken before commands are looked at again.
const MAX_EVENTS_PER_READ: usize = 128;

/// The connection of one session to the server.
pub(super) struct Connection {
    server: Arc<HttpServer>,
    requests: Requests,
    events: EventStream,
    output: OutputSender,
    /// Events that are about to be sent to the session.
    batch: OutputBatch,
    spec: SessionSpec,
    /// The session and its sub-agents, after it was created.
    tree: Option<SessionTree>,
    /// A message that waits until the session is created.
    waiting: Option<Message>,
    /// Events that arrived before the session was created. It is not known yet which of them concern the session.
    early_events: Vec<Input>,
    calls: JoinSet<FinishedCall>,
    /// Whether a prompt was sent and the session is not idle yet.
    is_running: bool,
    pending: PendingRequests,
}

/// A request with its reply or error.
struct FinishedCall {
    number: u64,
    purpose: Purpose,
    reply: Result<HttpReply, String>,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    CreateSession,
    Prompt,
    Abort,
    Answer,
    /// Rejects pending requests of an aborted turn. It is not reported to the session.
    Cleanup,
}

/// How serving the session ended; `None` if it has not.
type ServeEnd = Option<Result<ServeOutcome, ServeError>>;

/// Subscribes to events and waits for the first one.
async fn subscribe(server: &HttpServer, requests: &Requests) -> Result<(EventStream, Input), String> {
    let mut events = server.subscribe(requests).await?;
    match timeout(FIRST_EVENT_TIMEOUT, events.next()).await {
        Ok(Some(first @ Input::Received(_))) => Ok((events, first)),
        Ok(Some(Input::Unreadable { error, .. })) => Err(format!("cannot read the first event of OpenCode: {error}")),
        Ok(_) => Err("the event stream of OpenCode ended before the first event".to_owned()),
        Err(_) => Err(format!("OpenCode sent no event within {FIRST_EVENT_TIMEOUT:?}")),
    }
}

impl Connection {
    /// Connects a session. [`run`](Self::run) creates or resumes it.
    pub(super) async fn open(
        server: Arc<HttpServer>,
        spec: SessionSpec,
        output: OutputSender,
    ) -> Result<Self, ServeError> {
        let requests = Requests::in_directory(&spec.directory);
        let (events, first) = match subscribe(&server, &requests).await {
            Ok(subscribed) => subscribed,
            Err(reason) => {
                if let Some(exit) = server.exit().await {
                    let code = exit.code.map_or_else(|| "an unknown code".to_owned(), |code| format!("code {code}"));
                    let last = exit.stderr.last().map(|line| format!(" (last line of its standard error: {line})"));
                    let last = last.unwrap_or_default();
                    return Err(ServeError::Unavailable(format!("OpenCode exited with {code} at its start{last}")));
                }
                return Err(ServeError::Unavailable(reason));
            }
        };
        output.send(first).await;
        let tree = spec.native_session_id.as_ref().map(|native| SessionTree::new(native.as_str()));
        Ok(Self {
            server,
            requests,
            events,
            output,
            batch: OutputBatch::default(),
            spec,
            tree,
            waiting: None,
            early_events: Vec::new(),
            calls: JoinSet::new(),
            is_running: false,
            pending: PendingRequests::default(),
        })
    }

    /// Serves the session until it closes the connection or the server exits. `early_commands` arrived before.
    pub(super) async fn run(
        mut self,
        early_commands: VecDeque<DriverCommand>,
        mut commands: CommandReceiver,
    ) -> Result<ServeOutcome, ServeError> {
        if self.tree.is_none() {
            let request = self.requests.create_session(options::session_options(&self.spec));
            self.send(Purpose::CreateSession, request).await;
        }
        for command in early_commands {
            self.execute(command).await;
        }
        loop {
            let end = tokio::select! {
                biased;
                command = commands.next() => {
                    let Some(command) = command else {
                        self.close().await;
                        return Ok(ServeOutcome::Stopped);
                    };
                    self.execute(command).await;
                    None
                }
                Some(call) = self.calls.join_next() => match call {
                    Ok(call) => self.handle_call(call).await,
                    Err(_) => None,
                },
                event = self.events.next() => self.receive_events(event).await,
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    async fn execute(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::SendMessage(message) => {
                self.waiting = Some(message);
                self.prompt().await;
            }
            DriverCommand::ReplyPermission { key, reply } => {
                let (decision, message) = permission_decision(reply);
                let request = self.requests.reply_to_permission(key.as_str(), decision, message);
                self.send(Purpose::Answer, request).await;
            }
            DriverCommand::AnswerQuestions { key, answers } => {
                let request = self.requests.answer_question(key.as_str(), answers);
                self.send(Purpose::Answer, request).await;
            }
            DriverCommand::RejectQuestions { key } => {
                let request = self.requests.reject_question(key.as_str());
                self.send(Purpose::Answer, request).await;
            }
            DriverCommand::Interrupt => self.interrupt().await,
        }
    }

    /// Sends the waiting message, if the session was created.
    async fn prompt(&mut self) {
        let Some(session) = self.tree.as_ref().map(|tree| tree.root().to_owned()) else { return };
        let Some(message) = self.waiting.take() else { return };
        match options::prompt_parts(&message).await {
            Ok(parts) => {
                self.is_running = true;
                let request = self.requests.prompt(&session, parts, options::prompt_options(&self.spec));
                self.send(Purpose::Prompt, request).await;
            }
            Err(reason) => self.output.send_failure(Failure::new(ErrorCode::InvalidRequest, reason)).await,
        }
    }

    async fn interrupt(&mut self) {
        if self.waiting.take().is_some() {
            return self.output.send_failure(Failure::new(ErrorCode::AgentError, INTERRUPTED_BEFORE_START)).await;
        }
        if let Some(tree) = &self.tree {
            let request = self.requests.abort(tree.root());
            self.send(Purpose::Abort, request).await;
        }
    }

    /// Sends a request in the background. [`handle_call`](Self::handle_call) gets the reply.
    async fn send(&mut self, purpose: Purpose, request: impl Into<Request>) {
        let call = self.server.to_call(&request.into());
        let number = self.server.next_call_number();
        if purpose != Purpose::Cleanup {
            let HttpCall { method, path, body } = call.clone();
            self.output.send(Input::Request { call: number, method: method.to_owned(), path, body }).await;
        }
        let server = self.server.clone();
        self.calls.spawn(async move {
            let reply = server.send(call).await;
            FinishedCall { number, purpose, reply }
        });
    }

    async fn handle_call(&mut self, call: FinishedCall) -> ServeEnd {
        let reply = match call.reply {
            Ok(reply) => reply,
            Err(reason) => return self.handle_failed_call(call.purpose, reason).await,
        };
        if call.purpose == Purpose::Cleanup {
            return None;
        }
        self.output.send(Input::Reply { call: call.number, status: reply.status, body: reply.body.clone() }).await;
        match call.purpose {
            Purpose::CreateSession => {
                let session = match reply.decode::<SessionCreateRequest>() {
                    Ok(session) => session.id,
                    Err(error) => {
                        let reason = format!("cannot create a session on OpenCode: {error}");
                        return Some(Err(ServeError::Unavailable(reason)));
                    }
                };
                self.tree = Some(SessionTree::new(session));
                for event in std::mem::take(&mut self.early_events) {
                    self.route_event(event);
                }
                self.output.send_batch(&mut self.batch).await;
                self.prompt().await;
            }
            Purpose::Prompt if reply.status == 404 && self.spec.native_session_id.is_some() => {
                let session = self.tree.as_ref().map(SessionTree::root).unwrap_or_default();
                return Some(Err(ServeError::SessionLost(format!(
                    "OpenCode does not know session {session} any more"
                ))));
            }
            Purpose::Prompt if !reply.is_success() => {
                self.is_running = false;
                let reason = format!("OpenCode refused the message with HTTP status {}", reply.status);
                self.output.send_failure(Failure::new(ErrorCode::AgentError, reason)).await;
            }
            Purpose::Abort => self.reject_pending().await,
            Purpose::Prompt | Purpose::Answer | Purpose::Cleanup => {}
        }
        None
    }

    /// Handles a request without a reply. If the server is gone, the end of the event stream reports that.
    async fn handle_failed_call(&mut self, purpose: Purpose, reason: String) -> ServeEnd {
        if self.server.exit().await.is_some() {
            return None;
        }
        match purpose {
            Purpose::CreateSession => Some(Err(ServeError::Unavailable(reason))),
            Purpose::Prompt => {
                self.is_running = false;
                self.output.send_failure(Failure::new(ErrorCode::AgentError, reason)).await;
                None
            }
            Purpose::Abort | Purpose::Answer | Purpose::Cleanup => None,
        }
    }

    /// Sends an event to the session, with the events that are already received. `None` is the end of the stream.
    async fn receive_events(&mut self, event: Option<Input>) -> ServeEnd {
        let Some(event) = event else { return self.resubscribe().await };
        self.route_event(event);
        for _ in 1..MAX_EVENTS_PER_READ {
            let Some(event) = self.events.next_buffered() else { break };
            self.route_event(event);
        }
        self.output.send_batch(&mut self.batch).await;
        None
    }

    /// Adds an event to the batch if it concerns the session. An unreadable event concerns all sessions.
    fn route_event(&mut self, event: Input) {
        let Input::Received(payload) = &event else { return self.batch.push(event) };
        let Some(tree) = &mut self.tree else {
            return self.early_events.push(event);
        };
        let header = EventHeader::scan(payload);
        if !tree.accepts(&header) {
            return;
        }
        if tree.is_idle(&header) {
            self.is_running = false;
        }
        if PendingRequests::is_about_requests(&header.kind)
            && let Ok(decoded) = Event::decode(payload)
        {
            self.pending.observe(&decoded.value);
        }
        self.batch.push(event);
    }

    /// Handles the end of the event stream: the server has exited, or a new subscription is needed.
    async fn resubscribe(&mut self) -> ServeEnd {
        if let Some(exit) = self.server.exit().await {
            self.batch.extend(exit.stderr.into_iter().map(Input::Stderr).chain([Input::Exit { code: exit.code }]));
            self.output.send_batch(&mut self.batch).await;
            return Some(Ok(ServeOutcome::Stopped));
        }
        sleep(RESUBSCRIBE_DELAY).await;
        match subscribe(&self.server, &self.requests).await {
            Ok((events, first)) => {
                self.events = events;
                self.output.send(first).await;
            }
            Err(reason) => return Some(Err(ServeError::Unavailable(reason))),
        }
        if self.is_running && !self.is_busy().await {
            // OpenCode does not repeat missed events.
            self.is_running = false;
            let failure = Failure::new(
                ErrorCode::AgentError,
                "OpenCode's event stream broke, and the end of the turn was missed",
            );
            self.output.send_failure(failure).await;
        }
        None
    }

    /// Whether the server reports that the session is working.
    async fn is_busy(&self) -> bool {
        let call = self.server.to_call(&self.requests.list_session_statuses().into());
        let Ok(reply) = self.server.send(call).await else { return false };
        let Ok(statuses) = reply.decode::<SessionStatusesRequest>() else { return false };
        let status = self.tree.as_ref().and_then(|tree| statuses.get(tree.root()));
        status.is_some_and(|status| !matches!(status, SessionStatus::Idle(_)))
    }

    /// Rejects the pending requests of an aborted turn. OpenCode would keep them open.
    async fn reject_pending(&mut self) {
        for pending in self.pending.take() {
            let request = self.requests.reject(&pending);
            self.send(Purpose::Cleanup, request).await;
        }
    }

    /// Aborts the running turn.
    async fn close(&mut self) {
        if !self.is_running {
            return;
        }
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        self.interrupt().await;
        let mut is_answered = false;
        while self.is_running || !self.calls.is_empty() {
            let end = tokio::select! {
                Some(Ok(call)) = self.calls.join_next() => {
                    is_answered |= call.purpose == Purpose::Abort && call.reply.is_ok();
                    timeout_at(deadline, self.handle_call(call)).await
                }
                event = timeout_at(deadline, self.events.next()) => match event {
                    Ok(event) => timeout_at(deadline, self.receive_events(event)).await,
                    Err(elapsed) => Err(elapsed),
                },
            };
            match end {
                Ok(None) => {}
                Ok(Some(_)) => return,
                Err(_) => break,
            }
        }
        if !is_answered {
            // A server that does not answer is useless to all sessions.
            self.server.end();
        }
    }
}

/// The answer to a permission request. A rejection without a message would end the turn.
fn permission_decision(reply: PermissionReply) -> (PermissionDecision, Option<&'static str>) {
    match reply {
        PermissionReply::Once => (PermissionDecision::Once, None),
        PermissionReply::Always => (PermissionDecision::Always, None),
        PermissionReply::Reject => (PermissionDecision::Reject, Some(REFUSAL_MESSAGE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_has_a_message_so_that_the_turn_continues() {
        assert_eq!(permission_decision(PermissionReply::Once), (PermissionDecision::Once, None));
        assert_eq!(permission_decision(PermissionReply::Always), (PermissionDecision::Always, None));
        let (decision, message) = permission_decision(PermissionReply::Reject);
        assert_eq!(decision, PermissionDecision::Reject);
        assert!(message.is_some_and(|message| !message.is_empty()));
    }
}
