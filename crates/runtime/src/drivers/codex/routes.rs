//! Who gets which line of a server that many sessions share.
//!
//! A session has a seat. Its threads, those of its sub-agents and the answers to its requests go to that seat; what
//! names no thread goes to everybody. A thread that nobody has heard of is a sub-agent whose parent is not told yet: its
//! lines are held until it is.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::line::{Head, Kind, News, Spawning};
use crate::batches::{self, Bytes, Receiver, Sender};

/// So many bytes wait for a session before the server has to.
const MOST_UNREAD: u32 = 64 << 10;
/// So many lines of a thread are held that nobody has heard of.
const MOST_HELD: usize = 4096;
/// So many remarks are kept for those who come later.
const MOST_REMARKS: usize = 16;
/// What a request is refused with that this host cannot answer.
const NO_SUCH_METHOD: i32 = -32601;
/// What a request is refused with whose thread is nobody's.
const NOBODYS: i32 = -32600;
/// What the server finds when it starts and tells once.
const REMARKS: [&str; 2] = ["configWarning", "deprecationNotice"];

/// What a session hears.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    Line {
        text: String,
        news: News,
    },
    Garbled {
        bytes: Vec<u8>,
        reason: String,
    },
    /// The server is gone; what it last wrote to its standard error.
    Exited {
        code: Option<i32>,
        stderr: Vec<String>,
    },
}

pub(super) type Inbox = Receiver<Heard>;

impl Bytes for Heard {
    fn bytes(&self) -> usize {
        match self {
            Self::Line { text, .. } => text.len(),
            Self::Garbled { bytes, .. } => bytes.len(),
            Self::Exited { stderr, .. } => stderr.iter().map(String::len).sum(),
        }
    }
}

/// What is to be done with what the server said together.
#[derive(Debug, Default)]
pub(super) struct Routed {
    to: Vec<Delivery>,
    /// A line to send back, for each request that nobody answers.
    pub(super) refusals: Vec<String>,
}

/// What goes to a seat.
#[derive(Debug)]
struct Delivery {
    seat: u64,
    inbox: Sender<Heard>,
    heard: Vec<Heard>,
}

impl Routed {
    /// Hands everybody what is theirs, in one piece each. Waits for whoever is behind.
    pub(super) async fn deliver(self) {
        for Delivery { inbox, heard, .. } in self.to {
            inbox.send(heard).await;
        }
    }

    fn add(&mut self, number: u64, seat: &Seat, heard: Heard) {
        match self.to.iter_mut().find(|delivery| delivery.seat == number) {
            Some(delivery) => delivery.heard.push(heard),
            None => self.to.push(Delivery { seat: number, inbox: seat.inbox.clone(), heard: vec![heard] }),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Routes {
    seats: HashMap<u64, Seat>,
    threads: HashMap<String, u64, foldhash::fast::RandomState>,
    /// Threads of sessions that have let go.
    parted: HashSet<String>,
    /// Our requests that are not answered yet, and whose they are.
    asked: HashMap<u64, u64>,
    held: HashMap<String, Vec<Heard>>,
    remarks: Vec<Heard>,
    /// Those who know the remarks.
    informed: HashSet<String>,
    count: u64,
    exited: Option<Heard>,
}

#[derive(Debug)]
struct Seat {
    inbox: Sender<Heard>,
    /// Sub-agents that it is starting.
    spawning: u32,
}

impl Routes {
    /// A number that nobody has.
    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A seat for a session, or for whoever has a question.
    pub(super) fn sit_down(&mut self, session: Option<&str>) -> (u64, Inbox) {
        let (inbox, heard) = batches::channel(MOST_UNREAD);
        let is_new = session.is_some_and(|session| self.informed.insert(session.to_owned()));
        let remarks = self.remarks.iter().filter(|_| is_new);
        // There is room: it is empty.
        inbox.try_send(remarks.chain(&self.exited).cloned().collect());
        let seat = self.number();
        self.seats.insert(seat, Seat { inbox, spawning: 0 });
        (seat, heard)
    }

    /// Whoever had the seat is gone, and its threads are nobody's.
    pub(super) fn stand_up(&mut self, seat: u64) {
        self.seats.remove(&seat);
        self.asked.retain(|_, of| *of != seat);
        let theirs = self.threads.extract_if(|_, of| *of == seat);
        self.parted.extend(theirs.map(|(thread, _)| thread));
    }

    /// The id of a request that is about to be made.
    pub(super) fn ask(&mut self, seat: u64) -> u64 {
        let id = self.number();
        self.asked.insert(id, seat);
        id
    }

    /// The server is gone, as whoever comes late is told, too.
    pub(super) fn close(&mut self, exited: Heard, due: &mut Routed) {
        self.everybody(&exited, due);
        self.exited = Some(exited);
    }

    /// Something that cannot be told whose it is.
    pub(super) fn everybody(&self, heard: &Heard, due: &mut Routed) {
        for (number, seat) in &self.seats {
            due.add(*number, seat, heard.clone());
        }
    }

    /// A line.
    pub(super) fn line(&mut self, text: String, due: &mut Routed) {
        let head = Head::of(&text);
        match self.whose(&head) {
            Some(seat) => {
                let news = head.into_news();
                self.deliver(seat, Heard::Line { text, news }, due);
            }
            None => self.nobodys(head, &text, due),
        }
    }

    /// A line that is no session's own, of which there are few.
    fn nobodys(&mut self, head: Head<'_>, text: &str, due: &mut Routed) {
        let line = |head: Head<'_>| Heard::Line { text: text.to_owned(), news: head.into_news() };
        match (&head.kind, head.thread.as_deref()) {
            // Whoever asked is gone.
            (Kind::Answer { .. }, _) => {}
            (Kind::Request { method, id }, None) => due.refusals.push(unsupported(id, method)),
            (Kind::Request { method, id }, Some(thread)) if !self.may_be_spawned(thread) => {
                tracing::warn!("codex asks `{}` in thread {thread}, which is nobody's", &**method);
                due.refusals.push(refusal(id, NOBODYS, "this thread has no host any more"));
            }
            (Kind::Notice(method), None) => {
                let is_kept = REMARKS.contains(&&**method) && self.remarks.len() < MOST_REMARKS;
                let line = line(head);
                self.everybody(&line, due);
                if is_kept {
                    self.remarks.push(line);
                }
            }
            (Kind::Strange, _) => self.everybody(&line(head), due),
            (_, Some(thread)) => {
                if !self.parted.contains(thread) {
                    self.hold(thread.to_owned(), line(head));
                }
            }
        }
    }

    /// Whose a line is. Takes note of the threads that it tells of.
    fn whose(&mut self, head: &Head<'_>) -> Option<u64> {
        let thread = head.thread.as_deref();
        if let Kind::Answer { id, .. } = &head.kind {
            let seat = self.asked.remove(id)?;
            if let Some(thread) = thread {
                self.parted.remove(thread);
                self.threads.insert(thread.to_owned(), seat);
            }
            return Some(seat);
        }
        let of_thread = |thread: &str| self.threads.get(thread).copied();
        let known = thread.and_then(of_thread);
        let seat = known.or_else(|| head.parent.as_deref().and_then(of_thread))?;
        let new = thread.filter(|_| known.is_none());
        for thread in new.into_iter().chain(head.children.iter().map(|child| &**child)) {
            if !self.threads.contains_key(thread) {
                self.threads.insert(thread.to_owned(), seat);
            }
        }
        if let (Some(spawning), Some(seat)) = (head.spawning, self.seats.get_mut(&seat)) {
            seat.spawning = match spawning {
                Spawning::Begins => seat.spawning + 1,
                Spawning::Ends => seat.spawning.saturating_sub(1),
            };
        }
        Some(seat)
    }

    /// Delivers a line, and what was held of the threads that it told of.
    fn deliver(&mut self, number: u64, heard: Heard, due: &mut Routed) {
        let Some(seat) = self.seats.get(&number) else { return };
        due.add(number, seat, heard);
        if !self.held.is_empty() {
            let threads = &self.threads;
            let released = self.held.extract_if(|thread, _| threads.get(thread) == Some(&number));
            for held in released.flat_map(|(_, lines)| lines) {
                due.add(number, seat, held);
            }
        }
    }

    /// Whether the thread may be a sub-agent's that somebody is starting.
    fn may_be_spawned(&self, thread: &str) -> bool {
        !self.parted.contains(thread) && self.seats.values().any(|seat| seat.spawning > 0)
    }

    fn hold(&mut self, thread: String, heard: Heard) {
        let held: usize = self.held.values().map(Vec::len).sum();
        if held >= MOST_HELD {
            tracing::warn!("codex speaks of threads that are nobody's");
            self.held.clear();
        }
        self.held.entry(thread).or_default().push(heard);
    }
}

/// The answer to a request that this host does not know.
pub(super) fn unsupported(id: &str, method: &str) -> String {
    refusal(id, NO_SUCH_METHOD, &format!("this host cannot answer `{method}`"))
}

fn refusal(id: &str, code: i32, message: &str) -> String {
    format!(r#"{{"id":{id},"error":{}}}"#, json!({"code": code, "message": message}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(inbox: &mut Inbox) -> Vec<String> {
        let lines = inbox.at_hand().into_iter().map(|heard| match heard {
            Heard::Line { text, .. } => text,
            heard => panic!("no line: {heard:?}"),
        });
        lines.collect()
    }

    fn say(routes: &mut Routes, line: &str) -> Option<String> {
        let mut due = Routed::default();
        routes.line(line.to_owned(), &mut due);
        for Delivery { inbox, heard, .. } in due.to {
            inbox.try_send(heard);
        }
        due.refusals.pop()
    }

    /// Two sessions with a thread each.
    fn two() -> (Routes, [Inbox; 2]) {
        let mut routes = Routes::default();
        let inboxes = ["a", "b"].map(|thread| {
            let (seat, mut inbox) = routes.sit_down(Some(thread));
            let id = routes.ask(seat);
            say(&mut routes, &format!(r#"{{"id":{id},"result":{{"thread":{{"id":"{thread}"}}}}}}"#));
            assert_eq!(heard(&mut inbox).len(), 1);
            inbox
        });
        (routes, inboxes)
    }

    #[test]
    fn a_session_hears_of_its_own_thread_and_everybody_of_what_has_none() {
        let (mut routes, [mut a, mut b]) = two();
        let own = r#"{"method":"turn/started","params":{"threadId":"a","turn":{"id":"1"}}}"#;
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in [own, all, "rubbish"] {
            say(&mut routes, line);
        }
        assert_eq!(heard(&mut a), [own, all, "rubbish"]);
        assert_eq!(heard(&mut b), [all, "rubbish"]);
    }

    #[test]
    fn what_a_sub_agent_says_before_it_is_told_of_is_held() {
        let (mut routes, [mut a, mut b]) = two();
        let early = r#"{"method":"thread/status/changed","params":{"threadId":"c"}}"#;
        let asks = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"c"}}"#;
        let begins = r#"{"method":"item/started","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":[]}}}"#;
        let told = r#"{"method":"item/completed","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        for line in [begins, early, asks, told] {
            assert_eq!(say(&mut routes, line), None);
        }
        assert_eq!(heard(&mut b), [begins, told, early, asks]);
        assert!(heard(&mut a).is_empty());
    }

    #[test]
    fn a_request_that_is_nobodys_is_refused_at_once() {
        let (mut routes, [_a, _b]) = two();
        let of_none = say(&mut routes, r#"{"method":"attestation/generate","id":"x","params":{}}"#).unwrap();
        assert!(of_none.contains(r#""id":"x""#) && of_none.contains("-32601"), "{of_none}");
        assert!(say(&mut routes, r#"{"method":"item/tool/call","id":4,"params":{"threadId":"z"}}"#).is_some());
        let seat = routes.threads["a"];
        routes.stand_up(seat);
        assert!(say(&mut routes, r#"{"method":"item/tool/call","id":5,"params":{"threadId":"a"}}"#).is_some());
    }

    #[test]
    fn whoever_comes_late_is_told_what_the_server_told_once() {
        let (mut routes, [_a, _b]) = two();
        let warning = r#"{"method":"configWarning","params":{"summary":"odd"}}"#;
        say(&mut routes, warning);
        let (_, mut late) = routes.sit_down(Some("late"));
        assert_eq!(heard(&mut late), [warning]);
        let (_, mut again) = routes.sit_down(Some("late"));
        assert!(heard(&mut again).is_empty());
        routes.close(Heard::Exited { code: Some(1), stderr: Vec::new() }, &mut Routed::default());
        let (_, mut too_late) = routes.sit_down(None);
        assert!(matches!(too_late.at_hand().as_slice(), [Heard::Exited { code: Some(1), .. }]));
    }

    #[tokio::test]
    async fn what_is_said_together_goes_to_each_in_one_piece_and_in_order() {
        let (mut routes, [mut a, mut b]) = two();
        let mut due = Routed::default();
        let lines = ["a", "b", "a"].map(|thread| format!(r#"{{"method":"x","params":{{"threadId":"{thread}"}}}}"#));
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in lines.iter().map(String::as_str).chain([all]) {
            routes.line(line.to_owned(), &mut due);
        }
        assert_eq!(due.to.len(), 2);
        due.deliver().await;
        assert_eq!(heard(&mut a), [&lines[0], &lines[2], all]);
        assert_eq!(heard(&mut b), [&lines[1], all]);
    }
}
