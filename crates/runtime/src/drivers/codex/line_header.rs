//! The header of a line of the app server, scanned from its outermost fields.
//!
//! The header decides where a line goes. The receiving session decodes the line.

use std::borrow::Cow;

use interlingua_convert::Input;

use crate::drivers::scanner::Scanner;

/// The kind of a line, and the thread that it concerns. Every line is scanned for its header, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LineHeader<'a> {
    pub(super) kind: LineKind<'a>,
    /// The thread that the line is about.
    pub(super) thread: Option<Cow<'a, str>>,
    /// The turn that the line is about.
    turn: Option<Cow<'a, str>>,
    /// The parent of `thread`, if that is the thread of a sub-agent.
    pub(super) parent: Option<Cow<'a, str>>,
    /// Threads of sub-agents that the line names.
    pub(super) children: Vec<Cow<'a, str>>,
    /// Whether the line reports the spawning of a sub-agent.
    pub(super) spawn: Option<SpawnProgress>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum LineKind<'a> {
    /// A notification, with its method.
    Notification(Cow<'a, str>),
    /// A request of the server. The id is JSON.
    Request { method: Cow<'a, str>, id: &'a str },
    /// The answer to one of our requests, or its refusal.
    Answer { id: u64 },
    /// Not part of the protocol.
    #[default]
    Unknown,
}

impl LineKind<'_> {
    /// The method of a notification or request.
    pub(super) fn method(&self) -> Option<&str> {
        match self {
            Self::Notification(method) | Self::Request { method, .. } => Some(method),
            Self::Answer { .. } | Self::Unknown => None,
        }
    }
}

/// The progress of spawning a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpawnProgress {
    Started,
    Completed,
}

/// What the driver of a session has to act on. For most lines it is `None`.
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
    /// The server does not wait for an answer any more.
    RequestResolved,
    /// A request of the server. The id is JSON.
    Request {
        id: String,
    },
    /// The answer to one of our requests, or its refusal.
    Answer {
        id: u64,
    },
}

impl<'a> LineHeader<'a> {
    /// Scans an input of the server.
    pub(super) fn scan_input(input: &'a Input) -> Self {
        match input {
            Input::Received(line) => Self::scan(line),
            Input::Unreadable { bytes, .. } => Self::scan(readable_prefix(bytes)),
            _ => Self::default(),
        }
    }

    /// Scans a line, or the beginning of one that is too long.
    pub(super) fn scan(line: &'a str) -> Self {
        let mut header = Self::default();
        let (mut method, mut id) = (None, None);
        let mut json = Scanner::new(line);
        if !json.enter_object() {
            return header;
        }
        while let Some(key) = json.next_key() {
            match key {
                "method" => method = json.string(),
                "id" => id = json.raw(),
                "params" | "result" => {
                    let is_delta = method.as_deref().is_some_and(is_delta);
                    header.scan_body(&mut json, method.as_deref() == Some("item/completed"), is_delta);
                    if is_delta && header.thread.is_some() {
                        break;
                    }
                }
                _ => {}
            }
        }
        header.kind = match (method, id) {
            (Some(method), None) => LineKind::Notification(method),
            (Some(method), Some(id)) => LineKind::Request { method, id },
            (None, Some(id)) => id.parse().map_or(LineKind::Unknown, |id| LineKind::Answer { id }),
            (None, None) => LineKind::Unknown,
        };
        header
    }

    /// Scans parameters or a result. For a delta, only the thread matters.
    fn scan_body(&mut self, json: &mut Scanner<'a>, is_completed: bool, is_delta: bool) {
        let (mut conversation, mut thread, mut turn) = (None, None, None);
        if !json.enter_object() {
            return;
        }
        while let Some(key) = json.next_key() {
            match key {
                "threadId" => self.thread = json.string(),
                "conversationId" => conversation = json.string(),
                "turnId" => self.turn = json.string(),
                "thread" => thread = self.scan_thread(json),
                "turn" => turn = json.string_at(&["id"]),
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
                    "id" => id = json.string(),
                    "parentThreadId" => parent = json.string(),
                    "source" => spawned_by = json.string_at(&["subAgent", "thread_spawn", "parent_thread_id"]),
                    _ => {}
                }
            }
        }
        self.parent = parent.or(spawned_by);
        id
    }

    /// Scans an item for sub-agents.
    fn scan_item(&mut self, json: &mut Scanner<'a>, is_completed: bool) {
        let (mut kind, mut tool) = (None, None);
        if !json.enter_object() {
            return;
        }
        while let Some(key) = json.next_key() {
            match key {
                "type" => {
                    kind = json.string();
                    if kind.as_deref().is_some_and(|kind| !SUB_AGENT_ITEMS.contains(&kind)) {
                        json.leave_object();
                        return;
                    }
                }
                "tool" => tool = json.string(),
                "receiverThreadIds" => self.children.extend(json.strings()),
                "agentThreadId" => self.children.extend(json.string()),
                _ => {}
            }
        }
        if kind.as_deref() == Some("collabAgentToolCall") && tool.as_deref() == Some("spawnAgent") {
            self.spawn = Some(if is_completed { SpawnProgress::Completed } else { SpawnProgress::Started });
        }
    }

    /// What the driver of the receiving session has to act on.
    pub(super) fn into_event(self) -> LineEvent {
        let owned = Cow::into_owned;
        match self.kind {
            LineKind::Notification(method) => match (&*method, self.thread, self.turn) {
                ("turn/started", Some(thread), Some(turn)) => {
                    LineEvent::TurnStarted { thread: owned(thread), turn: owned(turn) }
                }
                ("turn/completed", Some(thread), _) => LineEvent::TurnCompleted { thread: owned(thread) },
                ("serverRequest/resolved", ..) => LineEvent::RequestResolved,
                _ => LineEvent::None,
            },
            LineKind::Request { id, .. } => LineEvent::Request { id: id.to_owned() },
            LineKind::Answer { id } => LineEvent::Answer { id },
            LineKind::Unknown => LineEvent::None,
        }
    }
}

/// Types of items that name sub-agents.
const SUB_AGENT_ITEMS: [&str; 2] = ["collabAgentToolCall", "subAgentActivity"];

/// Whether a notification is a delta. Most are, and their thread comes first.
fn is_delta(method: &str) -> bool {
    method.ends_with("delta") || method.ends_with("Delta")
}

/// The longest prefix of the bytes that is UTF-8.
fn readable_prefix(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_kind_and_a_thread() {
        let notification = LineHeader::scan(r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"u"}}}"#);
        assert_eq!(notification.kind, LineKind::Notification("turn/started".into()));
        assert_eq!((notification.thread.as_deref(), notification.turn.as_deref()), (Some("t"), Some("u")));
        let answer = LineHeader::scan(r#"{"id":7,"result":{"thread":{"id":"t","parentThreadId":null}}}"#);
        assert_eq!(answer.kind, LineKind::Answer { id: 7 });
        assert_eq!(answer.thread.as_deref(), Some("t"));
        let refused = LineHeader::scan(r#"{"error":{"code":-32600,"message":"no"},"id":7}"#);
        assert_eq!(refused.kind, LineKind::Answer { id: 7 });
        let old = LineHeader::scan(r#"{"method":"execCommandApproval","id":"a","params":{"conversationId":"t"}}"#);
        assert_eq!((&old.kind, old.thread.as_deref()), (&request("execCommandApproval", r#""a""#), Some("t")));
    }

    fn request<'a>(method: &'a str, id: &'a str) -> LineKind<'a> {
        LineKind::Request { method: method.into(), id }
    }

    #[test]
    fn a_sub_agent_is_known_by_its_thread_or_by_the_call_that_spawns_it() {
        let started = r#"{"method":"thread/started","params":{"thread":{"id":"c","source":{"subAgent":{"thread_spawn":{"parent_thread_id":"t"}}}}}}"#;
        let started = LineHeader::scan(started);
        assert_eq!((started.thread.as_deref(), started.parent.as_deref()), (Some("c"), Some("t")));
        let call = r#"{"method":"item/completed","params":{"threadId":"t","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        let call = LineHeader::scan(call);
        assert_eq!((call.children, call.spawn), (vec!["c".into()], Some(SpawnProgress::Completed)));
    }

    #[test]
    fn a_request_with_unknown_parameters_is_a_request() {
        let unknown = LineHeader::scan(r#"{"method":"new/thing","id":3,"params":{"threadId":"t","turn":7}}"#);
        assert_eq!((&unknown.kind, unknown.thread.as_deref()), (&request("new/thing", "3"), Some("t")));
        assert_eq!(LineHeader::scan("garbage").kind, LineKind::Unknown);
        assert_eq!(LineHeader::scan(r#"{"id":1,"result":null}"#).kind, LineKind::Answer { id: 1 });
        assert_eq!(LineHeader::scan(r#"{"id":1,"result":[1]}"#).kind, LineKind::Answer { id: 1 });
    }

    #[test]
    fn the_start_of_a_too_long_line_is_scanned() {
        let unreadable = |line: &str| Input::Unreadable { bytes: line.into(), error: "too long".to_owned() };
        let answer = unreadable(r#"{"id":7,"result":{"thread":{"id":"t","turns":["#);
        assert_eq!(LineHeader::scan_input(&answer).kind, LineKind::Answer { id: 7 });
        let notification = unreadable(r#"{"method":"turn/diff/updated","params":{"threadId":"t","diff":"aaa"#);
        assert_eq!(LineHeader::scan_input(&notification).thread.as_deref(), Some("t"));
    }

    #[test]
    fn drivers_act_on_turns_requests_and_answers() {
        let event = |line: &str| LineHeader::scan(line).into_event();
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
