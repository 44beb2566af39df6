//! What a line of the app server is, scanned from its outermost fields.
//!
//! The scan tells where a line goes. The receiving session decodes it.

use std::borrow::Cow;

use interlingua_convert::Input;

use crate::drivers::scanner::Scanner;

/// What a line is, and whom it concerns. Every line is scanned for it, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) kind: Kind<'a>,
    /// The thread that it is about.
    pub(super) thread: Option<Cow<'a, str>>,
    /// The turn that it is about.
    turn: Option<Cow<'a, str>>,
    /// The thread that the one it tells of works for.
    pub(super) parent: Option<Cow<'a, str>>,
    /// Threads of sub-agents that it names.
    pub(super) children: Vec<Cow<'a, str>>,
    /// It tells that a sub-agent is being started, or was.
    pub(super) spawning: Option<Spawning>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// A notification.
    Notification(Cow<'a, str>),
    /// A request of the server's. The id is JSON.
    Request { method: Cow<'a, str>, id: &'a str },
    /// The answer to a request of ours, or its refusal.
    Answer { id: u64 },
    /// Nothing that the protocol knows.
    #[default]
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spawning {
    Begins,
    Ends,
}

/// What the driver of a session has to act on. Of most lines it is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineEvent {
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
    /// A request of the server's. The id is JSON.
    Request {
        id: String,
    },
    /// The answer to a request of ours, or its refusal.
    Answer {
        id: u64,
    },
}

impl<'a> Head<'a> {
    /// Scans what the server sent.
    pub(super) fn scan_input(input: &'a Input) -> Self {
        match input {
            Input::Received(line) => Self::scan(line),
            Input::Unreadable { bytes, .. } => Self::scan(readable_prefix(bytes)),
            _ => Self::default(),
        }
    }

    /// Scans a line, or the beginning of one that is too long.
    pub(super) fn scan(line: &'a str) -> Self {
        let mut head = Self::default();
        let (mut method, mut id) = (None, None);
        let mut json = Scanner::new(line);
        if !json.enter_object() {
            return head;
        }
        while let Some(key) = json.next_key() {
            match key {
                "method" => method = json.text(),
                "id" => id = json.raw(),
                "params" | "result" => {
                    let is_delta = method.as_deref().is_some_and(is_delta);
                    head.scan_body(&mut json, method.as_deref() == Some("item/completed"), is_delta);
                    if is_delta && head.thread.is_some() {
                        break;
                    }
                }
                _ => {}
            }
        }
        head.kind = match (method, id) {
            (Some(method), None) => Kind::Notification(method),
            (Some(method), Some(id)) => Kind::Request { method, id },
            (None, Some(id)) => id.parse().map_or(Kind::Unknown, |id| Kind::Answer { id }),
            (None, None) => Kind::Unknown,
        };
        head
    }

    /// Scans parameters or a result. Of a delta, the thread is all that counts.
    fn scan_body(&mut self, json: &mut Scanner<'a>, is_completed: bool, is_delta: bool) {
        let (mut conversation, mut thread, mut turn) = (None, None, None);
        if !json.enter_object() {
            return;
        }
        while let Some(key) = json.next_key() {
            match key {
                "threadId" => self.thread = json.text(),
                "conversationId" => conversation = json.text(),
                "turnId" => self.turn = json.text(),
                "thread" => thread = self.scan_thread(json),
                "turn" => turn = json.text_at(&["id"]),
                "item" => self.scan_item(json, is_completed),
                _ => {}
            }
            if is_delta && self.thread.is_some() {
                return;
            }
        }
        self.turn = self.turn.take().or(turn);
        self.thread = self.thread.take().or(conversation).or(thread);
    }

    /// Scans a thread: its id, and the thread that it works for.
    fn scan_thread(&mut self, json: &mut Scanner<'a>) -> Option<Cow<'a, str>> {
        let (mut id, mut parent, mut spawned_by) = (None, None, None);
        if json.enter_object() {
            while let Some(key) = json.next_key() {
                match key {
                    "id" => id = json.text(),
                    "parentThreadId" => parent = json.text(),
                    "source" => spawned_by = json.text_at(&["subAgent", "thread_spawn", "parent_thread_id"]),
                    _ => {}
                }
            }
        }
        self.parent = parent.or(spawned_by);
        id
    }

    /// Scans an item for the sub-agents that it tells of.
    fn scan_item(&mut self, json: &mut Scanner<'a>, is_completed: bool) {
        let (mut kind, mut tool) = (None, None);
        if !json.enter_object() {
            return;
        }
        while let Some(key) = json.next_key() {
            match key {
                "type" => {
                    kind = json.text();
                    if kind.as_deref().is_some_and(|kind| !NAMES_SUB_AGENTS.contains(&kind)) {
                        json.leave_object();
                        return;
                    }
                }
                "tool" => tool = json.text(),
                "receiverThreadIds" => self.children.extend(json.texts()),
                "agentThreadId" => self.children.extend(json.text()),
                _ => {}
            }
        }
        if kind.as_deref() == Some("collabAgentToolCall") && tool.as_deref() == Some("spawnAgent") {
            self.spawning = Some(if is_completed { Spawning::Ends } else { Spawning::Begins });
        }
    }

    /// What the driver of the session that it goes to has to act on.
    pub(super) fn into_event(self) -> LineEvent {
        let text = Cow::into_owned;
        match self.kind {
            Kind::Notification(method) => match (&*method, self.thread, self.turn) {
                ("turn/started", Some(thread), Some(turn)) => {
                    LineEvent::TurnStarted { thread: text(thread), turn: text(turn) }
                }
                ("turn/completed", Some(thread), _) => LineEvent::TurnCompleted { thread: text(thread) },
                ("serverRequest/resolved", ..) => LineEvent::RequestResolved,
                _ => LineEvent::None,
            },
            Kind::Request { id, .. } => LineEvent::Request { id: id.to_owned() },
            Kind::Answer { id } => LineEvent::Answer { id },
            Kind::Unknown => LineEvent::None,
        }
    }
}

/// Items that name sub-agents.
const NAMES_SUB_AGENTS: [&str; 2] = ["collabAgentToolCall", "subAgentActivity"];

/// Whether a notification is a piece of a text: most are, and their thread comes first.
fn is_delta(method: &str) -> bool {
    method.ends_with("delta") || method.ends_with("Delta")
}

/// As much of the bytes as is text.
fn readable_prefix(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_whom_it_concerns() {
        let notice = Head::scan(r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}"#);
        assert_eq!(notice.kind, Kind::Notification("turn/started".into()));
        assert_eq!((notice.thread.as_deref(), notice.turn.as_deref()), (Some("t"), Some("u")));
        let answer = Head::scan(r#"{"id":7,"result":{"thread":{"id":"t","parentThreadId":null}}}"#);
        assert_eq!(answer.kind, Kind::Answer { id: 7 });
        assert_eq!(answer.thread.as_deref(), Some("t"));
        let refused = Head::scan(r#"{"error":{"code":-32600,"message":"no"},"id":7}"#);
        assert_eq!(refused.kind, Kind::Answer { id: 7 });
        let old = Head::scan(r#"{"method":"execCommandApproval","id":"a","params":{"conversationId":"t"}}"#);
        assert_eq!((&old.kind, old.thread.as_deref()), (&request("execCommandApproval", r#""a""#), Some("t")));
    }

    fn request<'a>(method: &'a str, id: &'a str) -> Kind<'a> {
        Kind::Request { method: method.into(), id }
    }

    #[test]
    fn a_sub_agent_is_told_by_its_thread_or_by_the_call_that_starts_it() {
        let started = r#"{"method":"thread/started","params":{"thread":{"id":"c","source":{"subAgent":{"thread_spawn":{"parent_thread_id":"t"}}}}}}"#;
        let started = Head::scan(started);
        assert_eq!((started.thread.as_deref(), started.parent.as_deref()), (Some("c"), Some("t")));
        let call = r#"{"method":"item/completed","params":{"threadId":"t","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        let call = Head::scan(call);
        assert_eq!((call.children, call.spawning), (vec!["c".into()], Some(Spawning::Ends)));
    }

    #[test]
    fn a_request_of_another_shape_is_still_a_request() {
        let odd = Head::scan(r#"{"method":"new/thing","id":3,"params":{"threadId":"t","turn":7}}"#);
        assert_eq!((&odd.kind, odd.thread.as_deref()), (&request("new/thing", "3"), Some("t")));
        assert_eq!(Head::scan("garbage").kind, Kind::Unknown);
        assert_eq!(Head::scan(r#"{"id":1,"result":null}"#).kind, Kind::Answer { id: 1 });
        assert_eq!(Head::scan(r#"{"id":1,"result":[1]}"#).kind, Kind::Answer { id: 1 });
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_tells_what_it_is() {
        let unreadable = |line: &str| Input::Unreadable { bytes: line.into(), error: "too long".to_owned() };
        let answer = unreadable(r#"{"id":7,"result":{"thread":{"id":"t","turns":["#);
        assert_eq!(Head::scan_input(&answer).kind, Kind::Answer { id: 7 });
        let notice = unreadable(r#"{"method":"turn/diff/updated","params":{"threadId":"t","diff":"aaa"#);
        assert_eq!(Head::scan_input(&notice).thread.as_deref(), Some("t"));
    }

    #[test]
    fn a_driver_acts_on_turns_requests_and_answers() {
        let event = |line: &str| Head::scan(line).into_event();
        let turn = |method: &str| format!(r#"{{"method":"{method}","params":{{"threadId":"t","turn":{{"id":"u"}}}}}}"#);
        let (thread, turn_id) = ("t".to_owned(), "u".to_owned());
        assert_eq!(
            event(&turn("turn/started")),
            LineEvent::TurnStarted { thread: thread.clone(), turn: turn_id.clone() }
        );
        assert_eq!(event(&turn("turn/completed")), LineEvent::TurnCompleted { thread });
        assert_eq!(event(r#"{"method":"serverRequest/resolved","params":{}}"#), LineEvent::RequestResolved);
        assert_eq!(event(r#"{"method":"x","id":"1","params":{}}"#), LineEvent::Request { id: r#""1""#.to_owned() });
        assert_eq!(event(r#"{"id":1,"result":{"turn":{"id":"u"}}}"#), LineEvent::Answer { id: 1 });
        assert_eq!(
            event(r#"{"method":"item/agentMessage/delta","params":{"threadId":"t","delta":"a"}}"#),
            LineEvent::None
        );
    }
}
