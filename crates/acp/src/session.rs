//! A session that is open in the client: a task that follows its events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_client::{ClientError, EventQuery, EventStream, PendingRequest, SessionInfo};
use interlingua_native::acp::{PromptResponse, StopReason as WireStopReason, Usage as WireUsage};
use interlingua_native::new;
use interlingua_protocol::acp::{AUTHENTICATION_REQUIRED, INTERNAL_ERROR, RpcError};
use interlingua_schema::{
    ErrorCode, EventData, Permission, Question, StopReason, TurnEnded, TurnStatus, UniversalEvent, Usage,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep, sleep_until};

use crate::connection::Connection;
use crate::requests::{answer_permission, answer_question, ask, permission_request};
use crate::server::Server;
use crate::settings::{Settings, ShownSettings};
use crate::updates::Projector;

/// How long a server may be gone before the prompts fail.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of the attempts to find the server again.
const SERVER_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What the client supports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClientSupport {
    pub(crate) forms: bool,
    pub(crate) notices: bool,
}

/// The result of a prompt.
pub(crate) type PromptResult = Result<PromptResponse, RpcError>;

/// A prompt of this client that is not answered.
#[derive(Debug)]
struct Prompt {
    message_id: String,
    /// Its turn has started.
    is_running: bool,
    result: oneshot::Sender<PromptResult>,
}

/// The prompts of this client in a session, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prompts(Arc<Mutex<VecDeque<Prompt>>>);

impl Prompts {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Prompt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a prompt. The receiver gets its result.
    pub(crate) fn add(&self, message_id: String) -> oneshot::Receiver<PromptResult> {
        let (result, receiver) = oneshot::channel();
        self.lock().push_back(Prompt { message_id, is_running: false, result });
        receiver
    }

    /// Removes a prompt that was not sent.
    pub(crate) fn remove(&self, message_id: &str) {
        self.lock().retain(|prompt| prompt.message_id != message_id);
    }

    /// Answers the prompts whose turns have not started as cancelled. Returns the ids of their messages, and whether a
    /// turn of this client runs.
    pub(crate) fn cancel_waiting(&self) -> (Vec<String>, bool) {
        let mut prompts = self.lock();
        let (running, waiting): (VecDeque<Prompt>, VecDeque<Prompt>) =
            std::mem::take(&mut *prompts).into_iter().partition(|prompt| prompt.is_running);
        let is_running = !running.is_empty();
        *prompts = running;
        let cancel = |prompt: Prompt| {
            // The client may be gone.
            let _ = prompt.result.send(Ok(new!(PromptResponse { stop_reason: WireStopReason::Cancelled })));
            prompt.message_id
        };
        (waiting.into_iter().map(cancel).collect(), is_running)
    }

    /// Marks the prompts whose turn starts. Returns whether there are any.
    fn start(&self, message_ids: &[String]) -> bool {
        let mut found = false;
        for prompt in self.lock().iter_mut().filter(|prompt| message_ids.contains(&prompt.message_id)) {
            prompt.is_running = true;
            found = true;
        }
        found
    }

    /// Answers the prompts whose turn has ended.
    fn end(&self, result: &PromptResult) {
        let mut prompts = self.lock();
        let (ended, waiting): (VecDeque<Prompt>, VecDeque<Prompt>) =
            std::mem::take(&mut *prompts).into_iter().partition(|prompt| prompt.is_running);
        *prompts = waiting;
        for prompt in ended {
            let _ = prompt.result.send(result.clone());
        }
    }

    /// Answers all prompts as cancelled, because the client closes the session.
    pub(crate) fn cancel_all(&self) {
        self.end_all(&Ok(new!(PromptResponse { stop_reason: WireStopReason::Cancelled })));
    }

    /// Answers all prompts, because the session has ended or cannot be followed.
    fn end_all(&self, result: &PromptResult) {
        for prompt in std::mem::take(&mut *self.lock()) {
            let _ = prompt.result.send(result.clone());
        }
    }
}

/// A session that is open in the client. Dropping it closes it here; the session goes on.
#[derive(Debug)]
pub(crate) struct AttachedSession {
    pub(crate) prompts: Prompts,
    pub(crate) shown: ShownSettings,
    follower: AbortHandle,
}

impl Drop for AttachedSession {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl AttachedSession {
    /// Follows a session from the event after `after` on, and asks what waits for an answer.
    pub(crate) async fn open(
        (server, connection, settings): (&Server, &Connection, &Settings),
        session: &SessionInfo,
        after: u64,
        mut projector: Projector,
        support: ClientSupport,
        prompts: Prompts,
    ) -> Result<Self, ClientError> {
        let events = server.client().follow_events(&session.session_id, EventQuery::after(after)).await?;
        projector.show_user(true);
        let shown = ShownSettings::default();
        shown.observe(session);
        let mut follower = Follower {
            server: server.clone(),
            connection: connection.clone(),
            settings: settings.clone(),
            shown: shown.clone(),
            session: session.session_id.clone(),
            projector,
            support,
            prompts: prompts.clone(),
            requests: HashMap::new(),
            error: None,
        };
        session.pending.iter().for_each(|pending| follower.ask_pending(pending));
        let follower = tokio::spawn(follower.run(events)).abort_handle();
        Ok(Self { prompts, shown, follower })
    }
}

/// A permission or a question that the client is asked.
struct OpenRequest {
    /// Id of the request to the client.
    on_wire: Option<u64>,
    /// Waits for the answer.
    waiting: JoinHandle<()>,
}

/// Follows a session: sends updates, asks what the agent asks, and answers prompts.
struct Follower {
    server: Server,
    connection: Connection,
    settings: Settings,
    shown: ShownSettings,
    session: String,
    projector: Projector,
    support: ClientSupport,
    prompts: Prompts,
    /// Permissions and questions that the client is asked, by their ids.
    requests: HashMap<String, OpenRequest>,
    /// The last error of the running turn.
    error: Option<RpcError>,
}

impl Drop for Follower {
    fn drop(&mut self) {
        // This withdraws the requests to the client.
        self.requests.values().for_each(|request| request.waiting.abort());
    }
}

impl Follower {
    async fn run(mut self, events: EventStream) {
        let reason = match self.follow(events).await {
            Ok(()) => "the session has ended".to_owned(),
            Err(error) => error.to_string(),
        };
        self.prompts.end_all(&Err(RpcError { code: INTERNAL_ERROR, message: reason }));
    }

    /// Follows the events until the session ends. The stream reconnects for ever: if the server stays away, the prompts
    /// fail, and the session is followed on the server that runs then.
    async fn follow(&mut self, mut events: EventStream) -> Result<(), ClientError> {
        loop {
            let (breaks, mut broken) = mpsc::unbounded_channel();
            // The receiver lives as long as the stream.
            events = events.on_reconnect(move |_| {
                let _ = breaks.send(());
            });
            let mut deadline = None;
            loop {
                tokio::select! {
                    event = events.next() => match event? {
                        Some(event) => {
                            deadline = None;
                            self.observe(&event);
                        }
                        None => return Ok(()),
                    },
                    Some(()) = broken.recv(), if deadline.is_none() => deadline = Some(Instant::now() + SERVER_TIMEOUT),
                    () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                        deadline = None;
                        if let Err(error) = self.server.client().health().await {
                            self.server_lost(&error);
                            break;
                        }
                    }
                }
            }
            events = self.reopen(events.last_sequence()).await?;
        }
    }

    fn server_lost(&mut self, error: &ClientError) {
        tracing::warn!(session = %self.session, %error, "the server is gone");
        let message = format!("the server is gone: {error}; the session continues when a server runs again");
        self.prompts.end_all(&Err(RpcError { code: INTERNAL_ERROR, message }));
        let ids: Vec<String> = self.requests.keys().cloned().collect();
        for id in ids {
            self.withdraw(&id);
        }
    }

    /// Follows the session on a server that runs again.
    async fn reopen(&mut self, after: u64) -> Result<EventStream, ClientError> {
        loop {
            sleep(SERVER_RETRY_INTERVAL).await;
            if self.server.check().await.is_err() {
                continue;
            }
            let client = self.server.client();
            let opened = async {
                let session = client.session(&self.session).await?;
                Ok((session, client.follow_events(&self.session, EventQuery::after(after)).await?))
            };
            match opened.await {
                Ok((session, events)) => {
                    session.pending.iter().for_each(|pending| self.ask_pending(pending));
                    return Ok(events);
                }
                Err(error) if ClientError::is_temporary(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Asks what the agent asked before this client was there.
    fn ask_pending(&mut self, pending: &PendingRequest) {
        let data = Value::Object(pending.data.clone());
        if pending.kind == "permission" {
            match serde_json::from_value(data) {
                Ok(permission) => self.ask_permission(&permission),
                Err(error) => tracing::warn!(session = %self.session, %error, "cannot ask for a permission"),
            }
        } else {
            match serde_json::from_value(data) {
                Ok(question) => self.ask_question(&question),
                Err(error) => tracing::warn!(session = %self.session, %error, "cannot ask a question"),
            }
        }
    }

    fn ask_permission(&mut self, permission: &Permission) {
        let id = permission.permission_id.clone();
        if self.requests.contains_key(&id) {
            return;
        }
        let request = self.connection.request(permission_request(&self.session, permission));
        let on_wire = Some(request.id());
        let answer = answer_permission(self.server.client(), self.session.clone(), id.clone(), request);
        self.requests.insert(id, OpenRequest { on_wire, waiting: tokio::spawn(answer) });
    }

    fn ask_question(&mut self, question: &Question) {
        let id = question.question_id.clone();
        if self.requests.contains_key(&id) {
            return;
        }
        let asked = ask(&self.connection, &self.session, question, self.support.forms);
        let on_wire = asked.request_id();
        let answer = answer_question(self.server.client(), self.session.clone(), id.clone(), asked);
        self.requests.insert(id, OpenRequest { on_wire, waiting: tokio::spawn(answer) });
    }

    /// Shows the client what another one has chosen.
    fn report_changes(&self) {
        let (settings, shown, session) = (self.settings.clone(), self.shown.clone(), self.session.clone());
        tokio::spawn(async move { settings.report_changes(&session, &shown).await });
    }

    fn observe(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::TurnStarted(started) => {
                self.error = None;
                let ids = started.metadata.as_ref().and_then(|metadata| metadata.message_ids.as_deref());
                let is_own = self.prompts.start(ids.unwrap_or_default());
                self.projector.show_user(!is_own);
                self.report_changes();
            }
            EventData::Error(error) => {
                let code = match error.code {
                    Some(ErrorCode::Auth) => AUTHENTICATION_REQUIRED,
                    _ => INTERNAL_ERROR,
                };
                self.error = Some(RpcError { code, message: error.message.clone() });
            }
            EventData::PermissionRequested(permission) => self.ask_permission(permission),
            EventData::QuestionRequested(question) => self.ask_question(question),
            // Another client may have answered: then the request to this one is withdrawn.
            EventData::PermissionResolved(permission) => self.withdraw(&permission.permission_id),
            EventData::QuestionResolved(question) => self.withdraw(&question.question_id),
            _ => {}
        }
        for update in self.projector.push(event) {
            self.connection.update(&self.session, update);
        }
        if let EventData::TurnEnded(ended) = &event.data {
            self.prompts.end(&prompt_result(ended, self.error.take()));
            self.projector.show_user(true);
        }
    }

    fn withdraw(&mut self, id: &str) {
        if let Some(request) = self.requests.remove(id) {
            // At once, so that the client knows before the turn ends.
            if let Some(id) = request.on_wire {
                self.connection.withdraw(id);
            }
            request.waiting.abort();
        }
    }
}

/// The answer to the prompt of a turn.
fn prompt_result(ended: &TurnEnded, error: Option<RpcError>) -> PromptResult {
    let stop_reason = match &ended.status {
        TurnStatus::Interrupted => WireStopReason::Cancelled,
        TurnStatus::Completed => match ended.metadata.as_ref().and_then(|metadata| metadata.stop_reason.as_ref()) {
            Some(StopReason::MaxTokens) => WireStopReason::MaxTokens,
            Some(StopReason::Refusal) => WireStopReason::Refusal,
            _ => WireStopReason::EndTurn,
        },
        _ => {
            let unknown = || RpcError { code: INTERNAL_ERROR, message: "the turn failed".to_owned() };
            return Err(error.unwrap_or_else(unknown));
        }
    };
    let mut response = new!(PromptResponse { stop_reason: stop_reason });
    response.usage = ended.usage.as_ref().map(wire_usage);
    Ok(response)
}

fn wire_usage(usage: &Usage) -> WireUsage {
    let total = usage.input_tokens.saturating_add(usage.output_tokens);
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    let mut wire = new!(WireUsage { input_tokens: input, output_tokens: output, total_tokens: total });
    wire.cached_read_tokens = usage.cached_input_tokens;
    wire.cached_write_tokens = usage.cache_write_tokens;
    wire.thought_tokens = usage.reasoning_tokens;
    wire
}
