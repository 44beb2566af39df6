//! Which session gets which line of a server that many sessions share.
//!
//! A session subscribes. Its threads, those of its sub-agents and the answers to its requests go to that subscriber; what
//! names no thread goes to all. A thread that nobody has heard of is a sub-agent whose parent is not told yet: its lines
//! are held until it is.

use std::collections::{HashMap, HashSet};

use interlingua_convert::Input;
use interlingua_protocol::codex::{parse_id, refuse_invalid, refuse_unsupported};

use super::line::{Head, Kind, LineEvent, Spawning};
use crate::batch_channel::{self, ByteLen, Receiver, Sender};

/// How many bytes can wait for a subscriber before the server has to wait.
const INBOX_CAPACITY: u32 = 64 << 10;
/// How many lines of unknown threads are held.
const MAX_HELD_LINES: usize = 4096;
/// How many startup notices are kept for later subscribers.
const MAX_STARTUP_NOTICES: usize = 16;
/// What the server finds when it starts and tells once.
const STARTUP_NOTICES: [&str; 2] = ["configWarning", "deprecationNotice"];

/// What the server sent to a subscriber, and what the driver has to act on.
#[derive(Clone, Debug)]
pub(super) struct RoutedInput {
    pub(super) input: Input,
    pub(super) event: LineEvent,
}

pub(super) type Inbox = Receiver<RoutedInput>;

impl From<Input> for RoutedInput {
    /// An input on which the driver does not act.
    fn from(input: Input) -> Self {
        Self { input, event: LineEvent::None }
    }
}

impl ByteLen for RoutedInput {
    fn byte_len(&self) -> usize {
        self.input.payload_bytes()
    }
}

/// What is to be done with what the server sent together.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    to: Vec<Delivery>,
    /// A line to send back, for each request that nobody answers.
    pub(super) refusals: Vec<String>,
}

/// What goes to a subscriber.
#[derive(Debug)]
struct Delivery {
    subscriber: u64,
    inbox: Sender<RoutedInput>,
    inputs: Vec<RoutedInput>,
}

impl Deliveries {
    /// Sends every subscriber its inputs, in one piece each. Waits for whoever is behind.
    pub(super) async fn send(self) {
        for Delivery { inbox, inputs, .. } in self.to {
            inbox.send(inputs).await;
        }
    }

    fn add(&mut self, number: u64, subscriber: &Subscriber, input: RoutedInput) {
        match self.to.iter_mut().find(|delivery| delivery.subscriber == number) {
            Some(delivery) => delivery.inputs.push(input),
            None => self.to.push(Delivery { subscriber: number, inbox: subscriber.inbox.clone(), inputs: vec![input] }),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Router {
    subscribers: HashMap<u64, Subscriber>,
    threads: HashMap<String, u64, foldhash::fast::RandomState>,
    /// Threads of sessions that have unsubscribed.
    abandoned: HashSet<String>,
    /// Our requests that are not answered yet, with their subscribers.
    open_requests: HashMap<u64, u64>,
    /// Lines of threads that nobody has heard of.
    held: HashMap<String, Vec<RoutedInput>>,
    startup_notices: Vec<RoutedInput>,
    /// The sessions that got the startup notices.
    informed: HashSet<String>,
    last_number: u64,
    /// The last lines of a server that is gone, and its exit.
    exit: Vec<RoutedInput>,
}

#[derive(Debug)]
struct Subscriber {
    inbox: Sender<RoutedInput>,
    /// How many sub-agents it is starting.
    spawning: u32,
}

impl Router {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Adds a subscriber: a session, or without a name whoever has a question.
    pub(super) fn subscribe(&mut self, session: Option<&str>) -> (u64, Inbox) {
        let (inbox, inputs) = batch_channel::channel(INBOX_CAPACITY);
        let is_new = session.is_some_and(|session| self.informed.insert(session.to_owned()));
        let notices = self.startup_notices.iter().filter(|_| is_new);
        // There is room: it is empty.
        inbox.try_send(notices.chain(&self.exit).cloned().collect());
        let number = self.next_number();
        self.subscribers.insert(number, Subscriber { inbox, spawning: 0 });
        (number, inputs)
    }

    /// Removes a subscriber. Its threads belong to nobody then.
    pub(super) fn unsubscribe(&mut self, subscriber: u64) {
        self.subscribers.remove(&subscriber);
        self.open_requests.retain(|_, of| *of != subscriber);
        let threads = self.threads.extract_if(|_, of| *of == subscriber);
        self.abandoned.extend(threads.map(|(thread, _)| thread));
    }

    /// The id of a request that is about to be made.
    pub(super) fn open_request(&mut self, subscriber: u64) -> u64 {
        let id = self.next_number();
        self.open_requests.insert(id, subscriber);
        id
    }

    /// The server is gone, after these lines on its standard error. Later subscribers are told, too.
    pub(super) fn close(&mut self, code: Option<i32>, stderr: Vec<String>, out: &mut Deliveries) {
        let last_lines = stderr.into_iter().map(Input::Stderr).chain([Input::Exit { code }]);
        self.exit = last_lines.map(RoutedInput::from).collect();
        for input in &self.exit {
            self.broadcast(input, out);
        }
    }

    fn broadcast(&self, input: &RoutedInput, out: &mut Deliveries) {
        for (number, subscriber) in &self.subscribers {
            out.add(*number, subscriber, input.clone());
        }
    }

    /// Routes a line, or what is unreadable.
    pub(super) fn route(&mut self, input: Input, out: &mut Deliveries) {
        let mut head = Head::scan_input(&input);
        if let (Kind::Request { id, .. }, Input::Unreadable { error, .. }) = (&head.kind, &input) {
            let reason = format!("the request cannot be read: {error}");
            out.refusals.extend(parse_id(id).map(|id| refuse_invalid(id, &reason)));
            head.kind = Kind::Unknown;
        }
        match self.owner(&head) {
            Some(owner) => {
                let event = head.into_event();
                self.deliver(owner, RoutedInput { input, event }, out);
            }
            None => self.route_unowned(head, &input, out),
        }
    }

    /// Routes a line that is no session's own, of which there are few.
    fn route_unowned(&mut self, head: Head<'_>, input: &Input, out: &mut Deliveries) {
        let routed = |head: Head<'_>| RoutedInput { input: input.clone(), event: head.into_event() };
        match (&head.kind, head.thread.as_deref()) {
            // Whoever asked is gone.
            (Kind::Answer { .. }, _) => {}
            (Kind::Request { method, id }, None) => {
                out.refusals.extend(parse_id(id).map(|id| refuse_unsupported(id, method)));
            }
            (Kind::Request { method, id }, Some(thread)) if !self.may_be_spawned(thread) => {
                tracing::warn!("refusing the request `{method}` of codex: its thread {thread} has no session");
                out.refusals.extend(parse_id(id).map(|id| refuse_invalid(id, "this thread has no host any more")));
            }
            (Kind::Notification(method), None) => {
                let is_kept = STARTUP_NOTICES.contains(&&**method) && self.startup_notices.len() < MAX_STARTUP_NOTICES;
                let routed = routed(head);
                self.broadcast(&routed, out);
                if is_kept {
                    self.startup_notices.push(routed);
                }
            }
            (Kind::Unknown, _) => self.broadcast(&routed(head), out),
            (_, Some(thread)) => {
                if !self.abandoned.contains(thread) {
                    self.hold(thread.to_owned(), routed(head));
                }
            }
        }
    }

    /// The subscriber that a line belongs to. Takes note of the threads that the line tells of.
    fn owner(&mut self, head: &Head<'_>) -> Option<u64> {
        let thread = head.thread.as_deref();
        if let Kind::Answer { id, .. } = &head.kind {
            let owner = self.open_requests.remove(id)?;
            if let Some(thread) = thread {
                self.abandoned.remove(thread);
                self.threads.insert(thread.to_owned(), owner);
            }
            return Some(owner);
        }
        let owner_of = |thread: &str| self.threads.get(thread).copied();
        let known = thread.and_then(owner_of);
        let owner = known.or_else(|| head.parent.as_deref().and_then(owner_of))?;
        let new = thread.filter(|_| known.is_none());
        for thread in new.into_iter().chain(head.children.iter().map(|child| &**child)) {
            if !self.threads.contains_key(thread) {
                self.threads.insert(thread.to_owned(), owner);
            }
        }
        if let (Some(spawning), Some(subscriber)) = (head.spawning, self.subscribers.get_mut(&owner)) {
            subscriber.spawning = match spawning {
                Spawning::Begins => subscriber.spawning + 1,
                Spawning::Ends => subscriber.spawning.saturating_sub(1),
            };
        }
        Some(owner)
    }

    /// Delivers an input, and what was held of the threads that it told of.
    fn deliver(&mut self, number: u64, input: RoutedInput, out: &mut Deliveries) {
        let Some(subscriber) = self.subscribers.get(&number) else { return };
        out.add(number, subscriber, input);
        if !self.held.is_empty() {
            let threads = &self.threads;
            let released = self.held.extract_if(|thread, _| threads.get(thread) == Some(&number));
            for held in released.flat_map(|(_, inputs)| inputs) {
                out.add(number, subscriber, held);
            }
        }
    }

    /// Whether the thread may be a sub-agent's that somebody is starting.
    fn may_be_spawned(&self, thread: &str) -> bool {
        !self.abandoned.contains(thread) && self.subscribers.values().any(|subscriber| subscriber.spawning > 0)
    }

    fn hold(&mut self, thread: String, input: RoutedInput) {
        let held: usize = self.held.values().map(Vec::len).sum();
        if held >= MAX_HELD_LINES {
            let threads = self.held.len();
            tracing::warn!("dropping {held} lines of {threads} codex threads that belong to no session");
            self.held.clear();
        }
        self.held.entry(thread).or_default().push(input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(inbox: &mut Inbox) -> Vec<String> {
        let lines = inbox.try_recv().into_iter().map(|routed| match routed.input {
            Input::Received(line) => line,
            input => panic!("no line: {input:?}"),
        });
        lines.collect()
    }

    fn say(router: &mut Router, line: &str) -> Option<String> {
        let mut out = Deliveries::default();
        router.route(Input::Received(line.to_owned()), &mut out);
        for Delivery { inbox, inputs, .. } in out.to {
            inbox.try_send(inputs);
        }
        out.refusals.pop()
    }

    /// Two sessions with a thread each.
    fn two() -> (Router, [Inbox; 2]) {
        let mut router = Router::default();
        let inboxes = ["a", "b"].map(|thread| {
            let (subscriber, mut inbox) = router.subscribe(Some(thread));
            let id = router.open_request(subscriber);
            say(&mut router, &format!(r#"{{"id":{id},"result":{{"thread":{{"id":"{thread}"}}}}}}"#));
            assert_eq!(heard(&mut inbox).len(), 1);
            inbox
        });
        (router, inboxes)
    }

    #[test]
    fn a_session_hears_of_its_own_thread_and_everybody_of_what_has_none() {
        let (mut router, [mut a, mut b]) = two();
        let own = r#"{"method":"turn/started","params":{"threadId":"a","turn":{"id":"1"}}}"#;
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in [own, all, "rubbish"] {
            say(&mut router, line);
        }
        assert_eq!(heard(&mut a), [own, all, "rubbish"]);
        assert_eq!(heard(&mut b), [all, "rubbish"]);
    }

    #[test]
    fn what_a_sub_agent_says_before_it_is_told_of_is_held() {
        let (mut router, [mut a, mut b]) = two();
        let early = r#"{"method":"thread/status/changed","params":{"threadId":"c"}}"#;
        let asks = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"c"}}"#;
        let begins = r#"{"method":"item/started","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":[]}}}"#;
        let told = r#"{"method":"item/completed","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        for line in [begins, early, asks, told] {
            assert_eq!(say(&mut router, line), None);
        }
        assert_eq!(heard(&mut b), [begins, told, early, asks]);
        assert!(heard(&mut a).is_empty());
    }

    #[test]
    fn a_request_that_is_nobodys_is_refused_at_once() {
        let (mut router, [_a, _b]) = two();
        let of_none = say(&mut router, r#"{"method":"attestation/generate","id":"x","params":{}}"#).unwrap();
        assert!(of_none.contains(r#""id":"x""#) && of_none.contains("-32601"), "{of_none}");
        assert!(say(&mut router, r#"{"method":"item/tool/call","id":4,"params":{"threadId":"z"}}"#).is_some());
        let subscriber = router.threads["a"];
        router.unsubscribe(subscriber);
        assert!(say(&mut router, r#"{"method":"item/tool/call","id":5,"params":{"threadId":"a"}}"#).is_some());
    }

    #[test]
    fn whoever_comes_late_is_told_what_the_server_told_once() {
        let (mut router, [_a, _b]) = two();
        let warning = r#"{"method":"configWarning","params":{"summary":"odd"}}"#;
        say(&mut router, warning);
        let (_, mut late) = router.subscribe(Some("late"));
        assert_eq!(heard(&mut late), [warning]);
        let (_, mut again) = router.subscribe(Some("late"));
        assert!(heard(&mut again).is_empty());
        router.close(Some(1), vec!["oops".to_owned()], &mut Deliveries::default());
        let (_, mut too_late) = router.subscribe(None);
        let told: Vec<Input> = too_late.try_recv().into_iter().map(|routed| routed.input).collect();
        assert_eq!(told, [Input::Stderr("oops".to_owned()), Input::Exit { code: Some(1) }]);
    }

    #[tokio::test]
    async fn what_is_said_together_goes_to_each_in_one_piece_and_in_order() {
        let (mut router, [mut a, mut b]) = two();
        let mut out = Deliveries::default();
        let lines = ["a", "b", "a"].map(|thread| format!(r#"{{"method":"x","params":{{"threadId":"{thread}"}}}}"#));
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in lines.iter().map(String::as_str).chain([all]) {
            router.route(Input::Received(line.to_owned()), &mut out);
        }
        assert_eq!(out.to.len(), 2);
        out.send().await;
        assert_eq!(heard(&mut a), [&lines[0], &lines[2], all]);
        assert_eq!(heard(&mut b), [&lines[1], all]);
    }

    #[test]
    fn an_answer_that_is_too_long_reaches_whoever_asked_and_an_unreadable_request_is_refused() {
        let (mut router, [mut a, mut b]) = two();
        let unreadable = |line: &str| Input::Unreadable { bytes: line.into(), error: "too long".to_owned() };
        let mut out = Deliveries::default();
        let id = router.open_request(router.threads["a"]);
        let answer = unreadable(&format!(r#"{{"id":{id},"result":{{"turns":["aaaa"#));
        router.route(answer.clone(), &mut out);
        let request =
            unreadable(r#"{"method":"applyPatchApproval","id":3,"params":{"conversationId":"b","patch":"aaaa"#);
        router.route(request.clone(), &mut out);
        router.route(unreadable("rubbish"), &mut out);
        let [refusal] = out.refusals.as_slice() else { panic!("{:?}", out.refusals) };
        assert!(refusal.contains(r#""id":3"#) && refusal.contains("too long"), "{refusal}");
        for Delivery { inbox, inputs, .. } in out.to {
            inbox.try_send(inputs);
        }
        let [failed, rubbish] = a.try_recv().try_into().unwrap();
        assert_eq!((failed.input, rubbish.input), (answer, unreadable("rubbish")));
        assert_eq!(failed.event, LineEvent::Answer { id });
        let of_b: Vec<Input> = b.try_recv().into_iter().map(|routed| routed.input).collect();
        assert_eq!(of_b, [request, unreadable("rubbish")]);
    }
}
