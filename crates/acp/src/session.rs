//! A session that is open in the client: a task that follows its events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use interlingua_client::{Client, ClientError, EventQuery, EventStream};
use interlingua_native::acp::{PromptResponse, StopReason as WireStopReason, Usage as WireUsage};
use interlingua_native::new;
use interlingua_protocol::acp::{AUTHENTICATION_REQUIRED, INTERNAL_ERROR, RpcError};
use interlingua_schema::{ErrorCode, EventData, StopReason, TurnEnded, TurnStatus, UniversalEvent, Usage};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

use crate::connection::Connection;
use crate::requests::{answer_permission, answer_question, ask, permission_request};
use crate::updates::Projector;

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
    follower: AbortHandle,
}

impl Drop for AttachedSession {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

impl AttachedSession {
    /// Follows a session from the event after `after` on.
    pub(crate) async fn open(
        client: &Client,
        connection: &Connection,
        session: &str,
        after: u64,
        mut projector: Projector,
        support: ClientSupport,
    ) -> Result<Self, ClientError> {
        let events = client.follow_events(session, EventQuery::after(after)).await?;
        projector.show_user(true);
        let prompts = Prompts::default();
        let follower = Follower {
            client: client.clone(),
            connection: connection.clone(),
            session: session.to_owned(),
            projector,
            support,
            prompts: prompts.clone(),
            requests: HashMap::new(),
            error: None,
        };
        let follower = tokio::spawn(follower.run(events)).abort_handle();
        Ok(Self { prompts, follower })
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
    client: Client,
    connection: Connection,
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
    async fn run(mut self, mut events: EventStream) {
        let reason = loop {
            match events.next().await {
                Ok(Some(event)) => self.observe(&event),
                Ok(None) => break "the session has ended".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        self.prompts.end_all(&Err(RpcError { code: INTERNAL_ERROR, message: reason }));
    }

    fn observe(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::TurnStarted(started) => {
                self.error = None;
                let ids = started.metadata.as_ref().and_then(|metadata| metadata.message_ids.as_deref());
                let is_own = self.prompts.start(ids.unwrap_or_default());
                self.projector.show_user(!is_own);
            }
            EventData::Error(error) => {
                let code = match error.code {
                    Some(ErrorCode::Auth) => AUTHENTICATION_REQUIRED,
                    _ => INTERNAL_ERROR,
                };
                self.error = Some(RpcError { code, message: error.message.clone() });
            }
            EventData::PermissionRequested(permission) => {
                let id = permission.permission_id.clone();
                let request = self.connection.request(permission_request(&self.session, permission));
                let on_wire = Some(request.id());
                let answer = answer_permission(self.client.clone(), self.session.clone(), id.clone(), request);
                self.requests.insert(id, OpenRequest { on_wire, waiting: tokio::spawn(answer) });
            }
            EventData::QuestionRequested(question) => {
                let id = question.question_id.clone();
                let asked = ask(&self.connection, &self.session, question, self.support.forms);
                let on_wire = asked.request_id();
                let answer = answer_question(self.client.clone(), self.session.clone(), id.clone(), asked);
                self.requests.insert(id, OpenRequest { on_wire, waiting: tokio::spawn(answer) });
            }
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
            // At once, so that the client is told before the turn ends.
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
