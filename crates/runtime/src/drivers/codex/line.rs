//! What a line of the app server is, told from its outermost keys.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::drivers::text::Text;

/// What a line is, and whom it concerns. Every line is looked at, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) kind: Kind<'a>,
    /// The thread that it is about.
    pub(super) thread: Option<Text<'a>>,
    /// The turn that it is about.
    turn: Option<Text<'a>>,
    /// The thread that the one it tells of works for.
    pub(super) parent: Option<Text<'a>>,
    /// Threads of sub-agents that it names.
    pub(super) children: Vec<Text<'a>>,
    /// It tells that a sub-agent is being started, or was.
    pub(super) spawning: Option<Spawning>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// The server tells something.
    Notice(Text<'a>),
    /// The server asks something, by this id in JSON.
    Request { method: Text<'a>, id: &'a str },
    /// The server answers a request of ours, or refuses it in these words.
    Answer { id: u64, refusal: Option<String> },
    /// Nothing that the protocol knows.
    #[default]
    Strange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spawning {
    Begins,
    Ends,
}

/// What a session's conversation has to know of a line. Of most lines it is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    TurnStarted {
        thread: String,
        turn: String,
    },
    TurnCompleted {
        thread: String,
    },
    /// The server no longer waits for an answer.
    RequestResolved,
    /// The server asks something, by this id in JSON.
    Request {
        method: String,
        id: String,
    },
    /// The server answers a request of ours, or refuses it in these words.
    Answer {
        id: u64,
        refusal: Option<String>,
        turn: Option<String>,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<Body<'a>>,
    #[serde(borrow)]
    result: Option<Body<'a>>,
    error: Option<Refused>,
}

/// What is looked at in parameters and results. Whatever has another type than expected is nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Body<'a> {
    #[serde(borrow)]
    thread_id: Option<Text<'a>>,
    #[serde(borrow)]
    conversation_id: Option<Text<'a>>,
    #[serde(borrow)]
    turn_id: Option<Text<'a>>,
    #[serde(borrow)]
    thread: Option<Thread<'a>>,
    #[serde(borrow)]
    turn: Option<Turn<'a>>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow)]
    parent_thread_id: Option<Text<'a>>,
    source: Option<Value>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow)]
    id: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow, default)]
    tool: Option<&'a RawValue>,
    #[serde(borrow, default)]
    receiver_thread_ids: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    agent_thread_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(default)]
    message: String,
}

impl<'a> Head<'a> {
    /// What a line is.
    pub(super) fn of(line: &'a str) -> Self {
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(line) else { return Self::outermost(line) };
        let refusal = envelope.error.map(|error| error.message);
        let kind = Kind::of(envelope.method, envelope.id, refusal);
        let ends = matches!(&kind, Kind::Notice(method) if **method == *"item/completed");
        let mut head = Self { kind, ..Self::default() };
        head.read(envelope.params.or(envelope.result).unwrap_or_default(), ends);
        head
    }

    /// A line whose inside is of no shape that we know. Requests are answered all the same.
    fn outermost(line: &'a str) -> Self {
        #[derive(Deserialize)]
        struct Outermost<'a> {
            #[serde(borrow)]
            method: Option<Text<'a>>,
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            error: Option<Value>,
            params: Option<Value>,
        }
        let Ok(outermost) = serde_json::from_str::<Outermost<'_>>(line) else { return Self::default() };
        let text = |key: &str| outermost.params.as_ref().and_then(|params| params[key].as_str()).map(str::to_owned);
        let thread = text("threadId").or_else(|| text("conversationId")).map(Text::from);
        let refusal = outermost.error.map(|error| error.to_string());
        Self { kind: Kind::of(outermost.method, outermost.id, refusal), thread, ..Self::default() }
    }

    fn read(&mut self, body: Body<'a>, ends: bool) {
        self.turn = body.turn_id.or_else(|| body.turn.map(|turn| turn.id));
        self.thread = body.thread_id.or(body.conversation_id);
        if let Some(thread) = body.thread {
            let spawned = || {
                let source = thread.source.as_ref()?;
                let parent = source.pointer("/subAgent/thread_spawn/parent_thread_id")?;
                parent.as_str().map(|parent| Text::from(parent.to_owned()))
            };
            self.parent = thread.parent_thread_id.or_else(spawned);
            self.thread.get_or_insert(thread.id);
        }
        if let Some(item) = body.item {
            let starts_one = || item.tool.is_some_and(|tool| tool.get() == r#""spawnAgent""#);
            let is_spawn = *item.r#type == *"collabAgentToolCall" && starts_one();
            self.spawning = is_spawn.then_some(if ends { Spawning::Ends } else { Spawning::Begins });
            self.children = item.receiver_thread_ids.into_iter().flatten().chain(item.agent_thread_id).collect();
        }
    }

    /// What the conversation of the session that it goes to has to know.
    pub(super) fn into_news(self) -> News {
        let text = Text::into_owned;
        match self.kind {
            Kind::Notice(method) => match (&*method, self.thread, self.turn) {
                ("turn/started", Some(thread), Some(turn)) => {
                    News::TurnStarted { thread: text(thread), turn: text(turn) }
                }
                ("turn/completed", Some(thread), _) => News::TurnCompleted { thread: text(thread) },
                ("serverRequest/resolved", ..) => News::RequestResolved,
                _ => News::None,
            },
            Kind::Request { method, id } => News::Request { method: text(method), id: id.to_owned() },
            Kind::Answer { id, refusal } => News::Answer { id, refusal, turn: self.turn.map(text) },
            Kind::Strange => News::None,
        }
    }
}

impl<'a> Kind<'a> {
    fn of(method: Option<Text<'a>>, id: Option<&'a RawValue>, refusal: Option<String>) -> Self {
        match (method, id) {
            (Some(method), None) => Self::Notice(method),
            (Some(method), Some(id)) => Self::Request { method, id: id.get() },
            (None, Some(id)) => id.get().parse().map_or(Self::Strange, |id| Self::Answer { id, refusal }),
            (None, None) => Self::Strange,
        }
    }
}

/// A request's id as the converter calls it.
pub(super) fn id_text(id: &str) -> String {
    serde_json::from_str::<String>(id).unwrap_or_else(|_| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_whom_it_concerns() {
        let notice = Head::of(r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}"#);
        assert_eq!(notice.kind, Kind::Notice("turn/started".into()));
        assert_eq!((notice.thread.as_deref(), notice.turn.as_deref()), (Some("t"), Some("u")));
        let answer = Head::of(r#"{"id":7,"result":{"thread":{"id":"t","parentThreadId":null}}}"#);
        assert_eq!(answer.kind, Kind::Answer { id: 7, refusal: None });
        assert_eq!(answer.thread.as_deref(), Some("t"));
        let refused = Head::of(r#"{"error":{"code":-32600,"message":"no"},"id":7}"#);
        assert_eq!(refused.kind, Kind::Answer { id: 7, refusal: Some("no".to_owned()) });
        let old = Head::of(r#"{"method":"execCommandApproval","id":"a","params":{"conversationId":"t"}}"#);
        assert_eq!((&old.kind, old.thread.as_deref()), (&request("execCommandApproval", r#""a""#), Some("t")));
    }

    fn request<'a>(method: &'a str, id: &'a str) -> Kind<'a> {
        Kind::Request { method: method.into(), id }
    }

    #[test]
    fn a_sub_agent_is_told_by_its_thread_or_by_the_call_that_starts_it() {
        let started = r#"{"method":"thread/started","params":{"thread":{"id":"c","source":{"subAgent":{"thread_spawn":{"parent_thread_id":"t"}}}}}}"#;
        let started = Head::of(started);
        assert_eq!((started.thread.as_deref(), started.parent.as_deref()), (Some("c"), Some("t")));
        let call = r#"{"method":"item/completed","params":{"threadId":"t","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        let call = Head::of(call);
        assert_eq!((call.children, call.spawning), (vec!["c".into()], Some(Spawning::Ends)));
    }

    #[test]
    fn a_request_of_another_shape_is_still_a_request() {
        let odd = Head::of(r#"{"method":"new/thing","id":3,"params":{"threadId":"t","turn":7}}"#);
        assert_eq!((&odd.kind, odd.thread.as_deref()), (&request("new/thing", "3"), Some("t")));
        assert_eq!(Head::of("garbage").kind, Kind::Strange);
        assert_eq!(Head::of(r#"{"id":1,"result":null}"#).kind, Kind::Answer { id: 1, refusal: None });
        assert_eq!(Head::of(r#"{"id":1,"result":[1]}"#).kind, Kind::Answer { id: 1, refusal: None });
    }

    #[test]
    fn a_conversation_hears_of_turns_requests_and_answers() {
        let news = |line: &str| Head::of(line).into_news();
        let turn = |method: &str| format!(r#"{{"method":"{method}","params":{{"threadId":"t","turn":{{"id":"u"}}}}}}"#);
        let (thread, turn_id) = ("t".to_owned(), "u".to_owned());
        assert_eq!(news(&turn("turn/started")), News::TurnStarted { thread: thread.clone(), turn: turn_id.clone() });
        assert_eq!(news(&turn("turn/completed")), News::TurnCompleted { thread });
        assert_eq!(news(r#"{"method":"serverRequest/resolved","params":{}}"#), News::RequestResolved);
        assert_eq!(
            news(r#"{"method":"x","id":"1","params":{}}"#),
            News::Request { method: "x".to_owned(), id: r#""1""#.to_owned() }
        );
        assert_eq!(
            news(r#"{"id":1,"result":{"turn":{"id":"u"}}}"#),
            News::Answer { id: 1, refusal: None, turn: Some(turn_id) }
        );
        assert_eq!(news(r#"{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"a"}}"#), News::None);
    }
}
