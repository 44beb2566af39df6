//! What a line of the app server is, told from its outermost keys.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a line is, and whom it concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    /// The thread that it is about.
    pub(super) thread: Option<String>,
    /// The turn that it is about.
    pub(super) turn: Option<String>,
    /// The thread that the one it tells of works for.
    pub(super) parent: Option<String>,
    /// Threads of sub-agents that it names.
    pub(super) children: Vec<String>,
    /// It tells that a sub-agent is being started, or was.
    pub(super) spawning: Option<Spawning>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// The server tells something.
    Notice(String),
    /// The server asks something, by this id in JSON.
    Request { method: String, id: String },
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

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    params: Option<Body>,
    result: Option<Body>,
    error: Option<Refused>,
}

/// What is looked at in parameters and results. Whatever has another type than expected is nothing.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Body {
    thread_id: Option<String>,
    conversation_id: Option<String>,
    turn_id: Option<String>,
    thread: Option<Thread>,
    turn: Option<Turn>,
    item: Option<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    id: String,
    parent_thread_id: Option<String>,
    source: Option<Value>,
}

#[derive(Deserialize)]
struct Turn {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    r#type: String,
    #[serde(default)]
    tool: Option<Value>,
    #[serde(default)]
    receiver_thread_ids: Option<Vec<String>>,
    agent_thread_id: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(default)]
    message: String,
}

impl Head {
    /// What a line is.
    pub(super) fn of(line: &str) -> Self {
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(line) else { return Self::outermost(line) };
        let kind = match (envelope.method, envelope.id) {
            (Some(method), None) => Kind::Notice(method.into_owned()),
            (Some(method), Some(id)) => Kind::Request { method: method.into_owned(), id: id.get().to_owned() },
            (None, Some(id)) => match id.get().parse() {
                Ok(id) => Kind::Answer { id, refusal: envelope.error.map(|error| error.message) },
                Err(_) => Kind::Strange,
            },
            (None, None) => Kind::Strange,
        };
        let ends = matches!(&kind, Kind::Notice(method) if method == "item/completed");
        let mut head = Self { kind, ..Self::default() };
        head.read(envelope.params.or(envelope.result).unwrap_or_default(), ends);
        head
    }

    /// A line whose inside is of no shape that we know. Requests are answered all the same.
    fn outermost(line: &str) -> Self {
        #[derive(Deserialize)]
        struct Outermost<'a> {
            #[serde(borrow)]
            method: Option<Cow<'a, str>>,
            #[serde(borrow)]
            id: Option<&'a RawValue>,
            error: Option<Value>,
            params: Option<Value>,
        }
        let Ok(outermost) = serde_json::from_str::<Outermost<'_>>(line) else { return Self::default() };
        let text = |key: &str| outermost.params.as_ref().and_then(|params| params[key].as_str()).map(str::to_owned);
        let thread = text("threadId").or_else(|| text("conversationId"));
        let kind = match (outermost.method, outermost.id) {
            (Some(method), None) => Kind::Notice(method.into_owned()),
            (Some(method), Some(id)) => Kind::Request { method: method.into_owned(), id: id.get().to_owned() },
            (None, Some(id)) => match id.get().parse() {
                Ok(id) => Kind::Answer { id, refusal: outermost.error.map(|error| error.to_string()) },
                Err(_) => Kind::Strange,
            },
            (None, None) => Kind::Strange,
        };
        Self { kind, thread, ..Self::default() }
    }

    fn read(&mut self, body: Body, ends: bool) {
        self.turn = body.turn_id.or_else(|| body.turn.map(|turn| turn.id));
        self.thread = body.thread_id.or(body.conversation_id);
        if let Some(thread) = body.thread {
            let spawned = || {
                let source = thread.source.as_ref()?;
                let parent = source.pointer("/subAgent/thread_spawn/parent_thread_id")?;
                parent.as_str().map(str::to_owned)
            };
            self.parent = thread.parent_thread_id.clone().or_else(spawned);
            self.thread.get_or_insert(thread.id);
        }
        if let Some(item) = body.item {
            let is_spawn = item.r#type == "collabAgentToolCall" && item.tool == Some("spawnAgent".into());
            self.spawning = is_spawn.then_some(if ends { Spawning::Ends } else { Spawning::Begins });
            self.children = item.receiver_thread_ids.into_iter().flatten().chain(item.agent_thread_id).collect();
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
        assert_eq!(notice.kind, Kind::Notice("turn/started".to_owned()));
        assert_eq!((notice.thread.as_deref(), notice.turn.as_deref()), (Some("t"), Some("u")));
        let answer = Head::of(r#"{"id":7,"result":{"thread":{"id":"t","parentThreadId":null}}}"#);
        assert_eq!(answer.kind, Kind::Answer { id: 7, refusal: None });
        assert_eq!(answer.thread.as_deref(), Some("t"));
        let refused = Head::of(r#"{"error":{"code":-32600,"message":"no"},"id":7}"#);
        assert_eq!(refused.kind, Kind::Answer { id: 7, refusal: Some("no".to_owned()) });
        let old = Head::of(r#"{"method":"execCommandApproval","id":"a","params":{"conversationId":"t"}}"#);
        assert_eq!((old.kind, old.thread.as_deref()), (request("execCommandApproval", r#""a""#), Some("t")));
    }

    fn request(method: &str, id: &str) -> Kind {
        Kind::Request { method: method.to_owned(), id: id.to_owned() }
    }

    #[test]
    fn a_sub_agent_is_told_by_its_thread_or_by_the_call_that_starts_it() {
        let started = r#"{"method":"thread/started","params":{"thread":{"id":"c","source":{"subAgent":{"thread_spawn":{"parent_thread_id":"t"}}}}}}"#;
        let started = Head::of(started);
        assert_eq!((started.thread.as_deref(), started.parent.as_deref()), (Some("c"), Some("t")));
        let call = r#"{"method":"item/completed","params":{"threadId":"t","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        let call = Head::of(call);
        assert_eq!((call.children, call.spawning), (vec!["c".to_owned()], Some(Spawning::Ends)));
    }

    #[test]
    fn a_request_of_another_shape_is_still_a_request() {
        let odd = Head::of(r#"{"method":"new/thing","id":3,"params":{"threadId":"t","turn":7}}"#);
        assert_eq!((odd.kind, odd.thread.as_deref()), (request("new/thing", "3"), Some("t")));
        assert_eq!(Head::of("garbage").kind, Kind::Strange);
        assert_eq!(Head::of(r#"{"id":1,"result":null}"#).kind, Kind::Answer { id: 1, refusal: None });
        assert_eq!(Head::of(r#"{"id":1,"result":[1]}"#).kind, Kind::Answer { id: 1, refusal: None });
    }
}
