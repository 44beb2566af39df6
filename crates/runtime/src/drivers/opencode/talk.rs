//! One session's part of the conversation with the server.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Failure, Input};
use interlingua_schema::{ErrorCode, Message};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::events::Events;
use super::head::{Family, Head};
use super::params;
use super::server::{Answer, HttpServer, in_directory};
use crate::driver::{Order, Orders, Parting, PermissionReply, ServeError, SessionSpec, Wire};
use crate::drivers::REFUSED;
use crate::wire::WireBatch;

/// How long a turn may take to end when the session lets go.
const PARTING: Duration = Duration::from_millis(1500);
/// How long a stream of events may take to begin.
const GREETING: Duration = Duration::from_secs(20);
/// The pause before events are listened to again.
const PAUSE: Duration = Duration::from_millis(200);

/// How many events are taken at once before orders have their turn again.
const MAX_EVENTS_PER_READ: usize = 128;

/// A session's part of the conversation.
pub(super) struct Talk {
    server: Arc<HttpServer>,
    events: Events,
    wire: Wire,
    /// What is on its way to the session.
    batch: WireBatch,
    spec: SessionSpec,
    /// The session and its sub-agents, once there is one.
    family: Option<Family>,
    /// A message that waits for the session.
    waiting: Option<Message>,
    /// What was told before it was known whose it is.
    early: Vec<Input>,
    calls: JoinSet<Call>,
    /// A prompt was sent, and the session is not idle yet.
    is_running: bool,
    /// Permissions and questions that are not answered yet.
    asked: BTreeSet<Request>,
}

/// Something that the agent asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Request {
    Permission(String),
    Question(String),
}

/// A request that is done.
struct Call {
    number: u64,
    what: What,
    answer: Result<Answer, String>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Session,
    Prompt,
    Abort,
    Answer,
    /// Tidying up, which is of no interest to the session.
    Aside,
}

/// What becomes of the conversation.
type Over = Option<Result<Parting, ServeError>>;

/// Listens to the events of a directory, from its greeting on.
async fn listen(server: &HttpServer, spec: &SessionSpec) -> Result<(Events, Input), String> {
    let mut events = server.events(&spec.directory).await?;
    match timeout(GREETING, events.next()).await {
        Ok(Some(greeting @ Input::Received(_))) => Ok((events, greeting)),
        Ok(Some(Input::Unreadable { error, .. })) => Err(format!("OpenCode's greeting cannot be read: {error}")),
        Ok(_) => Err("OpenCode's events ended before they began".to_owned()),
        Err(_) => Err(format!("OpenCode told no event within {GREETING:?}")),
    }
}

impl Talk {
    /// Begins to listen.
    pub(super) async fn begin(server: Arc<HttpServer>, spec: SessionSpec, wire: Wire) -> Result<Self, ServeError> {
        let (events, greeting) = match listen(&server, &spec).await {
            Ok(listening) => listening,
            Err(reason) => {
                if let Some(gone) = server.gone().await {
                    let code = gone.code.map_or_else(|| "an unknown code".to_owned(), |code| format!("code {code}"));
                    let last = gone.stderr.last().map(|line| format!(" (last line of its standard error: {line})"));
                    let last = last.unwrap_or_default();
                    return Err(ServeError::Unavailable(format!("OpenCode exited with {code} before it served{last}")));
                }
                return Err(ServeError::Unavailable(reason));
            }
        };
        wire.send(greeting).await;
        let family = spec.native.as_ref().map(|native| Family::new(native.as_str()));
        Ok(Self {
            server,
            events,
            wire,
            batch: WireBatch::default(),
            spec,
            family,
            waiting: None,
            early: Vec::new(),
            calls: JoinSet::new(),
            is_running: false,
            asked: BTreeSet::new(),
        })
    }

    /// Goes on until the session lets go or the server is gone. `early` are the orders that came before.
    pub(super) async fn go_on(mut self, early: VecDeque<Order>, mut orders: Orders) -> Result<Parting, ServeError> {
        if self.family.is_none() {
            let body = params::session(&self.spec).to_string();
            self.post(What::Session, "/session", Some(body)).await;
        }
        for order in early {
            self.obey(order).await;
        }
        loop {
            let over = tokio::select! {
                biased;
                order = orders.next() => {
                    let Some(order) = order else {
                        self.part().await;
                        return Ok(Parting::Left);
                    };
                    self.obey(order).await;
                    None
                }
                Some(call) = self.calls.join_next() => match call {
                    Ok(call) => self.answered(call).await,
                    Err(_) => None,
                },
                event = self.events.next() => self.receive(event).await,
            };
            if let Some(over) = over {
                return over;
            }
        }
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Message(message) => {
                self.waiting = Some(message);
                self.prompt().await;
            }
            Order::Permission { key, reply } => {
                let body = answer(reply).to_string();
                self.post(What::Answer, &format!("/permission/{}/reply", key.as_str()), Some(body)).await;
            }
            Order::Answer { key, answers } => {
                let body = json!({"answers": answers}).to_string();
                self.post(What::Answer, &format!("/question/{}/reply", key.as_str()), Some(body)).await;
            }
            Order::Reject { key } => {
                self.post(What::Answer, &format!("/question/{}/reject", key.as_str()), None).await;
            }
            Order::Interrupt => self.interrupt().await,
        }
    }

    /// Sends the message that waits, if there is a session.
    async fn prompt(&mut self) {
        let Some(session) = self.family.as_ref().map(|family| family.session().to_owned()) else { return };
        let Some(message) = self.waiting.take() else { return };
        match params::prompt(&self.spec, &message).await {
            Ok(body) => {
                self.is_running = true;
                let path = format!("/session/{session}/prompt_async");
                self.post(What::Prompt, &path, Some(body.to_string())).await;
            }
            Err(reason) => self.wire.failed(Failure::new(ErrorCode::InvalidRequest, reason)).await,
        }
    }

    async fn interrupt(&mut self) {
        if self.waiting.take().is_some() {
            return self.wire.failed(Failure::new(ErrorCode::AgentError, "interrupted before it began")).await;
        }
        if let Some(family) = &self.family {
            let path = format!("/session/{}/abort", family.session());
            self.post(What::Abort, &path, None).await;
        }
    }

    /// Makes a request, whose answer is [heard of](Talk::answered).
    async fn post(&mut self, what: What, path: &str, body: Option<String>) {
        let path = in_directory(path, &self.spec.directory);
        let number = self.server.number();
        if what != What::Aside {
            let request =
                Input::Request { call: number, method: "POST".to_owned(), path: path.clone(), body: body.clone() };
            self.wire.send(request).await;
        }
        let server = self.server.clone();
        self.calls.spawn(async move {
            let answer = server.call(Method::POST, &path, body).await;
            Call { number, what, answer }
        });
    }

    async fn answered(&mut self, call: Call) -> Over {
        let answer = match call.answer {
            Ok(answer) => answer,
            Err(reason) => return self.unanswered(call.what, reason).await,
        };
        if call.what == What::Aside {
            return None;
        }
        let reply = Input::Reply { call: call.number, status: answer.status, body: answer.body.clone() };
        self.wire.send(reply).await;
        match call.what {
            What::Session => {
                let Some(session) = created(&answer) else {
                    let said = answer.body.unwrap_or_default();
                    let reason = format!("OpenCode makes no session: HTTP status {} {said}", answer.status);
                    return Some(Err(ServeError::Unavailable(reason)));
                };
                self.family = Some(Family::new(session));
                for event in std::mem::take(&mut self.early) {
                    self.take_event(event);
                }
                self.wire.send_batch(&mut self.batch).await;
                self.prompt().await;
            }
            What::Prompt if answer.status == 404 && self.spec.native.is_some() => {
                let session = self.family.as_ref().map(Family::session).unwrap_or_default();
                return Some(Err(ServeError::Lost(format!("OpenCode does not know session {session} any more"))));
            }
            What::Prompt if !answer.is_success() => {
                self.is_running = false;
                let reason = format!("OpenCode refuses the message with HTTP status {}", answer.status);
                self.wire.failed(Failure::new(ErrorCode::AgentError, reason)).await;
            }
            What::Abort => self.forget_requests().await,
            What::Prompt | What::Answer | What::Aside => {}
        }
        None
    }

    /// A request got no answer. If that is because the server is gone, the end of its events says so.
    async fn unanswered(&mut self, what: What, reason: String) -> Over {
        if self.server.gone().await.is_some() {
            return None;
        }
        match what {
            What::Session => Some(Err(ServeError::Unavailable(reason))),
            What::Prompt => {
                self.is_running = false;
                self.wire.failed(Failure::new(ErrorCode::AgentError, reason)).await;
                None
            }
            What::Abort | What::Answer | What::Aside => None,
        }
    }

    /// An event came, or none ever will. What came together with it is taken along.
    async fn receive(&mut self, event: Option<Input>) -> Over {
        let Some(event) = event else { return self.silence().await };
        self.take_event(event);
        for _ in 1..MAX_EVENTS_PER_READ {
            let Some(event) = self.events.at_hand() else { break };
            self.take_event(event);
        }
        self.wire.send_batch(&mut self.batch).await;
        None
    }

    /// Takes note of an event, and passes it on if it concerns the session. What is unreadable concerns everybody.
    fn take_event(&mut self, event: Input) {
        let Input::Received(payload) = &event else { return self.batch.push(event) };
        let Some(family) = &mut self.family else {
            return self.early.push(event);
        };
        let head = Head::scan(payload);
        if !family.concerns(&head) {
            return;
        }
        if family.is_idle(&head) {
            self.is_running = false;
        }
        if let Some(request) = &head.request {
            let request = || request.clone().into_owned();
            match &*head.kind {
                "permission.asked" => drop(self.asked.insert(Request::Permission(request()))),
                "question.asked" => drop(self.asked.insert(Request::Question(request()))),
                "permission.replied" => drop(self.asked.remove(&Request::Permission(request()))),
                "question.replied" | "question.rejected" => {
                    self.asked.remove(&Request::Question(request()));
                }
                _ => {}
            }
        }
        self.batch.push(event);
    }

    /// The events ended: the server is gone, or else they are listened to again.
    async fn silence(&mut self) -> Over {
        if let Some(gone) = self.server.gone().await {
            self.batch.extend(gone.stderr.into_iter().map(Input::Stderr).chain([Input::Exit { code: gone.code }]));
            self.wire.send_batch(&mut self.batch).await;
            return Some(Ok(Parting::Left));
        }
        sleep(PAUSE).await;
        match listen(&self.server, &self.spec).await {
            Ok((events, greeting)) => {
                self.events = events;
                self.wire.send(greeting).await;
            }
            Err(reason) => return Some(Err(ServeError::Unavailable(reason))),
        }
        if self.is_running && !self.is_busy().await {
            // What was told meanwhile is told to nobody again.
            self.is_running = false;
            let failure = Failure::new(ErrorCode::AgentError, "OpenCode's events broke off, and the end was missed");
            self.wire.failed(failure).await;
        }
        None
    }

    /// Whether the server says that the session has something to do.
    async fn is_busy(&self) -> bool {
        let path = in_directory("/session/status", &self.spec.directory);
        let answer = self.server.call(Method::GET, &path, None).await;
        let body = answer.ok().and_then(|answer| answer.body);
        let all: Value = body.and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default();
        let session = self.family.as_ref().map(Family::session).unwrap_or_default();
        all.get(session).is_some_and(|status| status["type"] != "idle")
    }

    /// What is open when a turn is aborted stays open in the server, unless it is refused.
    async fn forget_requests(&mut self) {
        for request in std::mem::take(&mut self.asked) {
            match request {
                Request::Permission(id) => {
                    let body = json!({"reply": "reject"}).to_string();
                    self.post(What::Aside, &format!("/permission/{id}/reply"), Some(body)).await;
                }
                Request::Question(id) => self.post(What::Aside, &format!("/question/{id}/reject"), None).await,
            }
        }
    }

    /// Stops what still runs.
    async fn part(&mut self) {
        if !self.is_running {
            return;
        }
        let deadline = Instant::now() + PARTING;
        self.interrupt().await;
        let mut is_answered = false;
        while self.is_running || !self.calls.is_empty() {
            let over = tokio::select! {
                Some(Ok(call)) = self.calls.join_next() => {
                    is_answered |= call.what == What::Abort && call.answer.is_ok();
                    timeout_at(deadline, self.answered(call)).await
                }
                event = timeout_at(deadline, self.events.next()) => match event {
                    Ok(event) => timeout_at(deadline, self.receive(event)).await,
                    Err(late) => Err(late),
                },
            };
            match over {
                Ok(None) => {}
                Ok(Some(_)) => return,
                Err(_) => break,
            }
        }
        if !is_answered {
            // A server that does not even answer is of no use to anybody.
            self.server.end();
        }
    }
}

/// The answer to a permission request. Refused without a word, it would end the turn.
fn answer(reply: PermissionReply) -> Value {
    match reply {
        PermissionReply::Once => json!({"reply": "once"}),
        PermissionReply::Always => json!({"reply": "always"}),
        PermissionReply::Reject => json!({"reply": "reject", "message": REFUSED}),
    }
}

/// The session that was made.
fn created(answer: &Answer) -> Option<String> {
    #[derive(Deserialize)]
    struct Session {
        id: String,
    }
    let body = answer.body.as_deref().filter(|_| answer.is_success())?;
    serde_json::from_str::<Session>(body).ok().map(|session| session.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_words_so_that_the_turn_goes_on() {
        assert_eq!(answer(PermissionReply::Once), json!({"reply": "once"}));
        let refusal = answer(PermissionReply::Reject);
        assert_eq!(refusal["reply"], "reject");
        assert!(refusal["message"].as_str().is_some_and(|words| !words.is_empty()), "{refusal}");
    }
}
