//! One session's part of the conversation with the app server.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Failure, Input};
use interlingua_schema::{ErrorCode, Message};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::line::News;
use super::params;
use super::requests::Requests;
use super::router::{Inbox, RoutedInput};
use super::server::AppServer;
use crate::driver::{Order, Orders, Parting, ServeError, SessionSpec, Wire};
use crate::wire::WireBatch;

/// How long a turn may take to end when the session lets go.
const PARTING: Duration = Duration::from_millis(1500);

/// A session's part of the conversation.
pub(super) struct Talk {
    server: Arc<AppServer>,
    subscriber: u64,
    inbox: Inbox,
    wire: Wire,
    /// What is on its way to the session.
    batch: WireBatch,
    spec: SessionSpec,
    /// The thread, once it is open.
    thread: Option<String>,
    /// The model that it has.
    model: Option<String>,
    /// A message that waits for the thread.
    waiting: Option<Message>,
    asked: HashMap<u64, Asked>,
    /// The turns that run, by thread: the session's own, and those of sub-agents.
    running: HashMap<String, String>,
    /// The turn is to be stopped, as soon as it is known.
    interrupted: bool,
    requests: Requests,
}

/// A request of ours that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Opening,
    Turn,
    Interrupt,
    Cleaning,
}

/// What becomes of the conversation.
type Over = Option<Result<Parting, ServeError>>;

impl Drop for Talk {
    fn drop(&mut self) {
        self.server.unsubscribe(self.subscriber);
    }
}

impl Talk {
    pub(super) fn new(server: Arc<AppServer>, spec: SessionSpec, wire: Wire) -> Self {
        let (subscriber, inbox) = server.subscribe(Some(spec.session_id.as_str()));
        Self {
            server,
            subscriber,
            inbox,
            wire,
            batch: WireBatch::default(),
            spec,
            thread: None,
            model: None,
            waiting: None,
            asked: HashMap::new(),
            running: HashMap::new(),
            interrupted: false,
            requests: Requests::default(),
        }
    }

    /// Goes on until the session lets go or the server is gone. `early` are the orders that came before.
    pub(super) async fn go_on(mut self, early: VecDeque<Order>, mut orders: Orders) -> Result<Parting, ServeError> {
        self.open().await;
        for order in early {
            self.obey(order).await;
        }
        loop {
            let inputs = tokio::select! {
                biased;
                order = orders.next() => {
                    let Some(order) = order else {
                        self.part().await;
                        return Ok(Parting::Left);
                    };
                    self.obey(order).await;
                    continue;
                }
                inputs = self.inbox.recv() => inputs,
            };
            if let Some(over) = self.receive_batch(inputs).await {
                return over;
            }
        }
    }

    async fn open(&mut self) {
        let (method, [sent, seen]) = params::opening(&self.spec);
        let id = self.server.open_request(self.subscriber);
        self.asked.insert(id, Asked::Opening);
        self.wire.send(Input::Sent(request(method, id, &seen))).await;
        self.server.send(&request(method, id, &sent));
    }

    async fn obey(&mut self, order: Order) {
        let answer = match order {
            Order::Message(message) => {
                self.waiting = Some(message);
                self.interrupted = false;
                return self.begin_turn().await;
            }
            Order::Permission { key, reply } => self.requests.permission(key.as_str(), reply),
            Order::Answer { key, answers } => self.requests.answer(key.as_str(), &answers),
            Order::Reject { key } => self.requests.reject(key.as_str()),
            Order::Interrupt => return self.interrupt().await,
        };
        self.say(answer).await;
    }

    /// Begins a turn with the message that waits, if the thread is open.
    async fn begin_turn(&mut self) {
        let Some(thread) = self.thread.clone() else { return };
        let Some(message) = self.waiting.take() else { return };
        match params::turn(&self.spec, &thread, self.model.as_deref(), &message).await {
            Ok(params) => self.ask("turn/start", &params, Asked::Turn).await,
            Err(reason) => self.fail(ErrorCode::InvalidRequest, &reason).await,
        }
    }

    async fn interrupt(&mut self) {
        if self.waiting.take().is_some() {
            return self.fail(ErrorCode::AgentError, "interrupted before it began").await;
        }
        self.interrupted = true;
        for (thread, turn) in self.running.clone() {
            self.interrupt_turn(&thread, &turn).await;
        }
    }

    async fn interrupt_turn(&mut self, thread: &str, turn: &str) {
        let params = json!({"threadId": thread, "turnId": turn});
        self.ask("turn/interrupt", &params, Asked::Interrupt).await;
    }

    /// Handles what came together, nothing if the server is gone. Says what becomes of the conversation, if it is over.
    async fn receive_batch(&mut self, inputs: Vec<RoutedInput>) -> Over {
        let mut over = None;
        if inputs.is_empty() {
            self.batch.push(Input::Exit { code: None });
            over = Some(Ok(Parting::Left));
        }
        for routed in inputs {
            over = self.receive(routed).await;
            if over.is_some() {
                break;
            }
        }
        self.wire.send_batch(&mut self.batch).await;
        over
    }

    async fn receive(&mut self, RoutedInput { input, news }: RoutedInput) -> Over {
        let line = if let Input::Received(line) = &input { line.as_str() } else { "" };
        match news {
            News::None => {
                let has_exited = matches!(input, Input::Exit { .. });
                self.batch.push(input);
                return has_exited.then_some(Ok(Parting::Left));
            }
            News::TurnStarted { thread, turn } => {
                self.running.insert(thread.clone(), turn.clone());
                self.batch.push(input);
                // Until now Codex refused to interrupt it: "no active turn to interrupt".
                if self.interrupted {
                    self.interrupt_turn(&thread, &turn).await;
                }
            }
            News::TurnCompleted { thread } => {
                self.running.remove(&thread);
                self.batch.push(input);
                if self.thread.as_ref() == Some(&thread) && std::mem::take(&mut self.interrupted) {
                    self.clean().await;
                }
            }
            News::RequestResolved => {
                self.requests.resolved(line);
                self.batch.push(input);
            }
            News::Request { method, id } => {
                let answer = self.requests.asked(&method, &id, line);
                self.batch.push(input);
                self.say(answer).await;
            }
            News::Answer { id, refusal, turn } => {
                let asked = self.asked.remove(&id);
                let opened = (asked == Some(Asked::Opening)).then(|| Opened::read(line));
                self.batch.push(input);
                if let Some(words) = refusal {
                    return self.refused(asked, words);
                }
                self.answered(asked, opened, turn).await;
            }
        }
        None
    }

    async fn answered(&mut self, asked: Option<Asked>, opened: Option<Opened>, turn: Option<String>) {
        match (asked, opened) {
            (Some(Asked::Opening), Some(Opened { thread: Some(thread), model })) => {
                self.thread = Some(thread);
                self.model = model.or_else(|| self.spec.model.clone());
                self.begin_turn().await;
            }
            (Some(Asked::Turn), _) => {
                let (Some(thread), Some(turn)) = (self.thread.clone(), turn) else { return };
                self.running.insert(thread.clone(), turn.clone());
                if self.interrupted {
                    self.interrupt_turn(&thread, &turn).await;
                }
            }
            _ => {}
        }
    }

    fn refused(&mut self, asked: Option<Asked>, words: String) -> Over {
        match asked {
            Some(Asked::Opening) if self.spec.native.is_some() && is_unknown(&words) => {
                Some(Err(ServeError::Lost(words)))
            }
            Some(Asked::Opening) => Some(Err(ServeError::Unavailable(format!("Codex opens no thread: {words}")))),
            Some(Asked::Turn) => {
                self.batch.push_failure(Failure::new(ErrorCode::AgentError, words));
                None
            }
            Some(Asked::Interrupt | Asked::Cleaning) | None => None,
        }
    }

    /// An interrupt leaves commands running; they are ended, too.
    async fn clean(&mut self) {
        if let Some(thread) = self.thread.clone() {
            let params = json!({"threadId": thread});
            self.ask("thread/backgroundTerminals/clean", &params, Asked::Cleaning).await;
        }
    }

    /// Stops what still runs, and leaves the thread.
    async fn part(&mut self) {
        let deadline = Instant::now() + PARTING;
        if !self.running.is_empty() {
            self.interrupt().await;
        }
        let is_open = |talk: &Self| {
            let cleans = talk.asked.values().any(|asked| *asked == Asked::Cleaning);
            cleans || !talk.running.is_empty()
        };
        while is_open(self) {
            let Ok(inputs) = timeout_at(deadline, self.inbox.recv()).await else {
                // A server that does not even answer is of no use to anybody.
                if self.asked.values().any(|asked| *asked == Asked::Interrupt) {
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
            self.server.send(&request("thread/unsubscribe", id, &json!({"threadId": thread})));
        }
    }

    async fn ask(&mut self, method: &str, params: &Value, asked: Asked) {
        let id = self.server.open_request(self.subscriber);
        self.asked.insert(id, asked);
        self.say(Some(request(method, id, params))).await;
    }

    async fn say(&mut self, line: Option<String>) {
        if let Some(line) = line {
            self.batch.push(Input::Sent(line.clone()));
            self.wire.send_batch(&mut self.batch).await;
            self.server.send(&line);
        }
    }

    async fn fail(&mut self, code: ErrorCode, reason: &str) {
        self.batch.push_failure(Failure::new(code, reason));
        self.wire.send_batch(&mut self.batch).await;
    }
}

/// A request as a line.
pub(super) fn request(method: &str, id: u64, params: &Value) -> String {
    json!({"method": method, "id": id, "params": params}).to_string()
}

/// Whether a thread is refused because the server knows nothing of it.
fn is_unknown(words: &str) -> bool {
    ["no rollout found", "thread not found", "invalid thread id"].iter().any(|known| words.contains(known))
}

/// The answer to the request that opens a thread.
#[derive(Default)]
struct Opened {
    thread: Option<String>,
    model: Option<String>,
}

impl Opened {
    fn read(line: &str) -> Self {
        #[derive(Deserialize)]
        struct Line {
            result: Answer,
        }
        #[derive(Deserialize)]
        struct Answer {
            thread: Thread,
            model: Option<String>,
        }
        #[derive(Deserialize)]
        struct Thread {
            id: String,
        }
        let line = serde_json::from_str::<Line>(line);
        line.map_or_else(
            |_| Self::default(),
            |line| Self { thread: Some(line.result.thread.id), model: line.result.model },
        )
    }
}
