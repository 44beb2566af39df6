//! One session on the app server: a thread and its turns.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use interlingua_convert::{Failure, Input};
use interlingua_protocol::codex::{
    self, Answer, AnswerError, HostRequest, PendingRequests, Received, Reply, RequestKind, SentRequests,
};
use interlingua_schema::{ErrorCode, Message, NativeSessionId};
use semver::Version;
use tokio::time::{Instant, timeout_at};

use super::line_header::LineEvent;
use super::options;
use super::router::{Inbox, RoutedInput};
use super::server::AppServer;
use crate::driver::{
    CommandReceiver, DriverCommand, OutputSender, PermissionReply, ServeError, ServeOutcome, SessionSpec,
};
use crate::driver_output::OutputBatch;
use crate::drivers::{INTERRUPTED_BEFORE_START, REFUSAL_MESSAGE};

/// How long running turns may take to end when the session closes the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1500);
/// Parts of the server's error message when it cannot resume a thread that does not exist.
const UNKNOWN_THREAD: [&str; 3] = ["no rollout found", "thread not found", "invalid thread id"];

/// One session on the app server.
pub(super) struct CodexSession {
    server: Arc<AppServer>,
    /// Version of the server, if known.
    version: Option<Version>,
    subscriber: u64,
    inbox: Inbox,
    output: OutputSender,
    /// Inputs that are about to be sent to the session.
    batch: OutputBatch,
    spec: SessionSpec,
    /// The thread, once it is open.
    thread: Option<String>,
    /// The model of the thread.
    model: Option<String>,
    /// A message that waits until the thread is open.
    unsent_message: Option<Message>,
    sent: SentRequests,
    pending: PendingRequests,
    /// The running turns by thread: the session's own, and those of sub-agents.
    running: HashMap<String, RunningTurn>,
    /// Whether the turn is to be interrupted as soon as it has started.
    interrupt_requested: bool,
}

/// A running turn.
#[derive(Clone, Debug)]
struct RunningTurn {
    id: String,
    /// Whether the app server has announced the turn. Before that, it refuses an interrupt: "no active turn to interrupt".
    is_started: bool,
}

/// How serving the session ended; `None` if it has not.
type ServeEnd = Option<Result<ServeOutcome, ServeError>>;

impl Drop for CodexSession {
    fn drop(&mut self) {
        self.server.unsubscribe(self.subscriber);
    }
}

impl CodexSession {
    pub(super) fn new(
        server: Arc<AppServer>,
        version: Option<Version>,
        spec: SessionSpec,
        output: OutputSender,
    ) -> Self {
        let (subscriber, inbox) = server.subscribe(Some(spec.session_id.as_str()));
        Self {
            server,
            pending: PendingRequests::new(version.clone()),
            version,
            subscriber,
            inbox,
            output,
            batch: OutputBatch::default(),
            spec,
            thread: None,
            model: None,
            unsent_message: None,
            sent: SentRequests::default(),
            running: HashMap::new(),
            interrupt_requested: false,
        }
    }

    /// Serves the session until it closes the connection or the server exits. `early_commands` arrived before.
    pub(super) async fn serve(
        mut self,
        early_commands: VecDeque<DriverCommand>,
        mut commands: CommandReceiver,
    ) -> Result<ServeOutcome, ServeError> {
        self.open_thread().await;
        for command in early_commands {
            self.execute(command).await;
        }
        loop {
            let inputs = tokio::select! {
                biased;
                command = commands.next() => {
                    let Some(command) = command else {
                        self.close().await;
                        return Ok(ServeOutcome::Stopped);
                    };
                    self.execute(command).await;
                    continue;
                }
                inputs = self.inbox.recv() => inputs,
            };
            if let Some(ended) = self.receive_batch(inputs).await {
                return ended;
            }
        }
    }

    /// Starts or resumes the thread. The request may contain secrets, so the session gets a redacted copy.
    async fn open_thread(&mut self) {
        let options = options::thread_options(&self.spec);
        let resumed = self.spec.native_session_id.as_ref().map(NativeSessionId::as_str);
        let id = self.server.open_request(self.subscriber);
        let shown = options.clone().redacted().open(resumed).into_line(id);
        let line = self.sent.open(id, options.open(resumed));
        self.output.send(Input::Sent(shown)).await;
        self.server.send(&line);
    }

    async fn execute(&mut self, command: DriverCommand) {
        let (key, reply) = match &command {
            DriverCommand::SendMessage(message) => {
                self.unsent_message = Some(message.clone());
                self.interrupt_requested = false;
                return self.start_turn().await;
            }
            DriverCommand::Interrupt => return self.interrupt().await,
            DriverCommand::ReplyPermission { key, reply: PermissionReply::Once } => (key, Reply::Allow),
            DriverCommand::ReplyPermission { key, reply: PermissionReply::Always } => (key, Reply::AllowForSession),
            DriverCommand::ReplyPermission { key, reply: PermissionReply::Reject }
            | DriverCommand::RejectQuestions { key } => (key, Reply::Reject(REFUSAL_MESSAGE)),
            DriverCommand::AnswerQuestions { key, answers } => (key, Reply::Answers(answers)),
        };
        if let Some(answer) = self.pending.reply(key.as_str(), reply) {
            self.send(answer).await;
        } else {
            let (session, key) = (&self.spec.session_id, key.as_str());
            tracing::debug!(%session, agent = "codex", key, "discarding an answer: the request is not open any more");
        }
    }

    /// Starts a turn with the queued message, if the thread is open.
    async fn start_turn(&mut self) {
        let Some(thread) = self.thread.clone() else { return };
        let Some(message) = self.unsent_message.take() else { return };
        let plan = match options::plan_mode(&self.spec, self.model.as_deref()) {
            Ok(plan) => plan,
            Err(reason) => return self.fail(ErrorCode::AgentError, &reason).await,
        };
        match options::user_input(&message).await {
            Ok(input) => self.request(codex::start_turn(&thread, input, plan, self.version.as_ref())).await,
            Err(reason) => self.fail(ErrorCode::InvalidRequest, &reason).await,
        }
    }

    async fn interrupt(&mut self) {
        if self.unsent_message.take().is_some() {
            return self.fail(ErrorCode::AgentError, INTERRUPTED_BEFORE_START).await;
        }
        self.interrupt_requested = true;
        for (thread, turn) in self.running.clone() {
            if turn.is_started {
                self.request(codex::interrupt_turn(&thread, &turn.id)).await;
            }
        }
    }

    /// Handles inputs that arrived together; an empty batch means that the server is gone.
    async fn receive_batch(&mut self, inputs: Vec<RoutedInput>) -> ServeEnd {
        let mut ended = None;
        if inputs.is_empty() {
            self.batch.push(Input::Exit { code: None });
            ended = Some(Ok(ServeOutcome::Stopped));
        }
        for routed in inputs {
            ended = self.receive(routed).await;
            if ended.is_some() {
                break;
            }
        }
        self.output.send_batch(&mut self.batch).await;
        ended
    }

    async fn receive(&mut self, RoutedInput { input, event }: RoutedInput) -> ServeEnd {
        let line = if let Input::Received(line) = &input { line.as_str() } else { "" };
        match event {
            LineEvent::None => {
                let has_exited = matches!(input, Input::Exit { .. });
                self.batch.push(input);
                return has_exited.then_some(Ok(ServeOutcome::Stopped));
            }
            LineEvent::TurnStarted { thread, turn } => {
                self.running.insert(thread.clone(), RunningTurn { id: turn.clone(), is_started: true });
                self.batch.push(input);
                if self.interrupt_requested {
                    self.request(codex::interrupt_turn(&thread, &turn)).await;
                }
            }
            LineEvent::TurnCompleted { thread } => {
                self.running.remove(&thread);
                self.batch.push(input);
                if self.thread.as_ref() == Some(&thread) && std::mem::take(&mut self.interrupt_requested) {
                    // The interrupted turn has left its commands running.
                    self.request(codex::clean_background_terminals(&thread)).await;
                }
            }
            LineEvent::RequestResolved => {
                self.pending.resolve(line);
                self.batch.push(input);
            }
            LineEvent::Request { id } => {
                let received = self.pending.receive(line, SystemTime::now());
                self.batch.push(input);
                match received {
                    Ok(Received::Pending(_)) => {}
                    Ok(Received::Answered(answer)) => self.send(answer).await,
                    Err(error) => self.refuse(&id, &format!("the request cannot be read: {error}")).await,
                }
            }
            LineEvent::Answer { id } => {
                let answer = match &input {
                    Input::Unreadable { error, .. } => {
                        let error = AnswerError::Unreadable(error.clone());
                        self.sent.remove(id).map(|kind| (kind, Err(error)))
                    }
                    _ => self.sent.decode_answer(id, line),
                };
                self.batch.push(input);
                match answer {
                    Some((_, Ok(answer))) => self.receive_answer(answer).await,
                    Some((kind, Err(error))) => return self.receive_refusal(kind, &error),
                    None => {}
                }
            }
        }
        None
    }

    async fn receive_answer(&mut self, answer: Answer) {
        match answer {
            Answer::StartThread(answer) => self.thread_opened(answer.thread.map(|thread| thread.id), answer.model).await,
            Answer::ResumeThread(answer) => {
                self.thread_opened(answer.thread.map(|thread| thread.id), answer.model).await;
            }
            Answer::StartTurn(answer) => {
                let (Some(thread), Some(turn)) = (self.thread.clone(), answer.turn) else { return };
                let is_started = self.running.get(&thread).is_some_and(|known| known.id == turn.id && known.is_started);
                self.running.insert(thread, RunningTurn { id: turn.id, is_started });
            }
            Answer::InterruptTurn(_)
            | Answer::CleanBackgroundTerminals(_)
            | Answer::Unsubscribe(_)
            // Sessions do not make these requests.
            | Answer::Initialize(_)
            | Answer::LogIn(_)
            | Answer::ListModels(_) => {}
        }
    }

    async fn thread_opened(&mut self, thread: Option<String>, model: Option<String>) {
        self.thread = thread;
        self.model = model.or_else(|| self.spec.model.clone());
        self.start_turn().await;
    }

    fn receive_refusal(&mut self, kind: RequestKind, error: &AnswerError) -> ServeEnd {
        match (kind, error) {
            (RequestKind::ResumeThread, AnswerError::Refused(message))
                if UNKNOWN_THREAD.iter().any(|known| message.contains(known)) =>
            {
                Some(Err(ServeError::SessionLost(message.clone())))
            }
            (RequestKind::StartThread | RequestKind::ResumeThread, _) => {
                Some(Err(ServeError::Unavailable(format!("cannot open a thread on Codex: {error}"))))
            }
            (RequestKind::StartTurn, _) => {
                self.batch.push_failure(Failure::new(ErrorCode::AgentError, error.to_string()));
                None
            }
            // A turn that has ended cannot be interrupted, and older versions do not know how to clean up.
            (
                RequestKind::InterruptTurn
                | RequestKind::CleanBackgroundTerminals
                | RequestKind::Unsubscribe
                | RequestKind::Initialize
                | RequestKind::LogIn
                | RequestKind::ListModels,
                _,
            ) => None,
        }
    }

    /// Interrupts running turns, and unsubscribes from the thread.
    async fn close(&mut self) {
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        if !self.running.is_empty() {
            self.interrupt().await;
        }
        while !self.running.is_empty() || self.sent.contains(RequestKind::CleanBackgroundTerminals) {
            let Ok(inputs) = timeout_at(deadline, self.inbox.recv()).await else {
                // A server that does not even answer is useless to all sessions.
                if self.sent.contains(RequestKind::InterruptTurn) {
                    self.server.end();
                }
                break;
            };
            if self.receive_batch(inputs).await.is_some() {
                return;
            }
        }
        if let Some(thread) = &self.thread {
            let id = self.server.open_request(self.subscriber);
            self.server.send(&HostRequest::from(codex::unsubscribe(thread)).into_line(id));
        }
    }

    async fn request(&mut self, request: impl Into<HostRequest>) {
        let id = self.server.open_request(self.subscriber);
        let line = self.sent.open(id, request);
        self.send(line).await;
    }

    async fn refuse(&mut self, id: &str, reason: &str) {
        if let Some(id) = codex::parse_id(id) {
            self.send(codex::refuse_invalid(id, reason)).await;
        }
    }

    /// Sends a line to the server, after all earlier inputs are sent to the session.
    async fn send(&mut self, line: String) {
        self.batch.push(Input::Sent(line.clone()));
        self.output.send_batch(&mut self.batch).await;
        self.server.send(&line);
    }

    async fn fail(&mut self, code: ErrorCode, reason: &str) {
        self.batch.push_failure(Failure::new(code, reason));
        self.output.send_batch(&mut self.batch).await;
    }
}
