//! Assigns the lines of a shared app server to sessions.
//!
//! A session subscribes. Lines of its threads, of the threads of its sub-agents, and answers to its requests go to that
//! subscriber. Lines without a thread go to all. An unknown thread belongs to a sub-agent whose parent is not known
//! yet: its lines are held until the parent is known.

use std::collections::{HashMap, HashSet};

use interlingua_convert::Input;
use interlingua_protocol::codex::{parse_id, refuse_invalid, refuse_unsupported};

use super::line_header::{LineEvent, LineHeader, LineKind, SpawnProgress};
use crate::batch_channel::{self, ByteLen, Receiver, Sender};

/// Bytes that can wait for a subscriber before the app server has to wait.
const INBOX_CAPACITY: u32 = 64 << 10;
/// Maximum number of held lines of unknown threads.
const MAX_HELD_LINES: usize = 4096;
/// Maximum number of startup notices that are kept for later subscribers.
const MAX_STARTUP_NOTICES: usize = 16;
/// Notifications about problems that the app server finds at its start and reports once.
const STARTUP_NOTICES: [&str; 2] = ["configWarning", "deprecationNotice"];

/// An input for a subscriber, and what the driver has to act on.
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

/// The deliveries of inputs that the server sent together.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    to: Vec<Delivery>,
    /// Lines to send back to the server: one for each request that no session can answer.
    pub(super) refusals: Vec<String>,
}

/// The inputs for one subscriber.
#[derive(Debug)]
struct Delivery {
    subscriber: u64,
    inbox: Sender<RoutedInput>,
    inputs: Vec<RoutedInput>,
}

impl Deliveries {
    /// Sends every subscriber its inputs, all at once. Waits for subscribers that are behind.
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
    /// Subscribers of our requests that are not answered yet, by request id.
    open_requests: HashMap<u64, u64>,
    /// Lines of unknown threads.
    held: HashMap<String, Vec<RoutedInput>>,
    startup_notices: Vec<RoutedInput>,
    /// Sessions that got the startup notices.
    informed: HashSet<String>,
    last_number: u64,
    /// The last lines of a server that has exited, and its exit.
    exit: Vec<RoutedInput>,
}

#[derive(Debug)]
struct Subscriber {
    inbox: Sender<RoutedInput>,
    /// How many sub-agents the session is spawning.
    spawning: u32,
}

impl Router {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Adds a subscriber: a session, or `None` for a caller that only makes requests.
    pub(super) fn subscribe(&mut self, session: Option<&str>) -> (u64, Inbox) {
        let (inbox, inputs) = batch_channel::channel(INBOX_CAPACITY);
        let is_new = session.is_some_and(|session| self.informed.insert(session.to_owned()));
        let notices = self.startup_notices.iter().filter(|_| is_new);
        // There is room: the inbox is empty.
        inbox.try_send(notices.chain(&self.exit).cloned().collect());
        let number = self.next_number();
        self.subscribers.insert(number, Subscriber { inbox, spawning: 0 });
        (number, inputs)
    }

    /// Removes a subscriber. Its threads are then abandoned.
    pub(super) fn unsubscribe(&mut self, subscriber: u64) {
        self.subscribers.remove(&subscriber);
        self.open_requests.retain(|_, owner| *owner != subscriber);
        let threads = self.threads.extract_if(|_, owner| *owner == subscriber);
        self.abandoned.extend(threads.map(|(thread, _)| thread));
    }

    /// Registers a request that is about to be sent, and returns its id.
    pub(super) fn open_request(&mut self, subscriber: u64) -> u64 {
        let id = self.next_number();
        self.open_requests.insert(id, subscriber);
        id
    }

    /// The server has exited, after these lines on its standard error. Later subscribers get them, too.
    pub(super) fn close(&mut self, code: Option<i32>, stderr: Vec<String>, deliveries: &mut Deliveries) {
        let last_lines = stderr.into_iter().map(Input::Stderr).chain([Input::Exit { code }]);
        self.exit = last_lines.map(RoutedInput::from).collect();
        for input in &self.exit {
            self.broadcast(input, deliveries);
        }
    }

    fn broadcast(&self, input: &RoutedInput, deliveries: &mut Deliveries) {
        for (number, subscriber) in &self.subscribers {
            deliveries.add(*number, subscriber, input.clone());
        }
    }

    /// Routes an input of the server.
    pub(super) fn route(&mut self, input: Input, deliveries: &mut Deliveries) {
        let mut header = LineHeader::scan_input(&input);
        if let (LineKind::Request { id, .. }, Input::Unreadable { error, .. }) = (&header.kind, &input) {
            let reason = format!("the request cannot be read: {error}");
            deliveries.refusals.extend(parse_id(id).map(|id| refuse_invalid(id, &reason)));
            header.kind = LineKind::Unknown;
        }
        match self.owner(&header) {
            Some(owner) => {
                let event = header.into_event();
                self.deliver(owner, RoutedInput { input, event }, deliveries);
            }
            None => self.handle_unrouted(header, &input, deliveries),
        }
    }

    /// Handles an unrouted line: broadcasts, holds, refuses or drops it.
    fn handle_unrouted(&mut self, header: LineHeader<'_>, input: &Input, deliveries: &mut Deliveries) {
        let routed = |header: LineHeader<'_>| RoutedInput { input: input.clone(), event: header.into_event() };
        match (&header.kind, header.thread.as_deref()) {
            (LineKind::Answer { id, .. }, _) => {
                tracing::debug!(agent = "codex", ?id, "dropping the answer to a request of a session that is gone");
            }
            (LineKind::Request { method, id }, None) => {
                deliveries.refusals.extend(parse_id(id).map(|id| refuse_unsupported(id, method)));
            }
            (LineKind::Request { method, id }, Some(thread)) if !self.may_be_spawned(thread) => {
                tracing::warn!(agent = "codex", %method, thread, "refusing a request for a thread without a session");
                deliveries
                    .refusals
                    .extend(parse_id(id).map(|id| refuse_invalid(id, "no session is attached to this thread")));
            }
            (LineKind::Notification(method), None) => {
                let is_kept = STARTUP_NOTICES.contains(&&**method) && self.startup_notices.len() < MAX_STARTUP_NOTICES;
                let routed = routed(header);
                self.broadcast(&routed, deliveries);
                if is_kept {
                    self.startup_notices.push(routed);
                }
            }
            (LineKind::Unknown, _) => self.broadcast(&routed(header), deliveries),
            (_, Some(thread)) => {
                if self.abandoned.contains(thread) {
                    let method = header.kind.method();
                    tracing::debug!(
                        agent = "codex",
                        thread,
                        method,
                        "dropping a line for a thread whose session is gone"
                    );
                } else {
                    let method = header.kind.method();
                    tracing::debug!(agent = "codex", thread, method, "holding a line: no session owns its thread yet");
                    self.hold(thread.to_owned(), routed(header));
                }
            }
        }
    }

    /// Finds the subscriber that a line belongs to. Records the threads that the line names.
    fn owner(&mut self, header: &LineHeader<'_>) -> Option<u64> {
        let thread = header.thread.as_deref();
        if let LineKind::Answer { id, .. } = &header.kind {
            let owner = self.open_requests.remove(id)?;
            if let Some(thread) = thread {
                self.abandoned.remove(thread);
                self.threads.insert(thread.to_owned(), owner);
            }
            return Some(owner);
        }
        let owner_of = |thread: &str| self.threads.get(thread).copied();
        let known = thread.and_then(owner_of);
        let owner = known.or_else(|| header.parent.as_deref().and_then(owner_of))?;
        let new = thread.filter(|_| known.is_none());
        for thread in new.into_iter().chain(header.children.iter().map(|child| &**child)) {
            if !self.threads.contains_key(thread) {
                self.threads.insert(thread.to_owned(), owner);
            }
        }
        if let (Some(spawn), Some(subscriber)) = (header.spawn, self.subscribers.get_mut(&owner)) {
            subscriber.spawning = match spawn {
                SpawnProgress::Started => subscriber.spawning + 1,
                SpawnProgress::Completed => subscriber.spawning.saturating_sub(1),
            };
        }
        Some(owner)
    }

    /// Delivers an input, and the held lines of the threads that it named.
    fn deliver(&mut self, number: u64, input: RoutedInput, deliveries: &mut Deliveries) {
        let Some(subscriber) = self.subscribers.get(&number) else { return };
        deliveries.add(number, subscriber, input);
        if !self.held.is_empty() {
            let threads = &self.threads;
            let released = self.held.extract_if(|thread, _| threads.get(thread) == Some(&number));
            for held in released.flat_map(|(_, inputs)| inputs) {
                deliveries.add(number, subscriber, held);
            }
        }
    }

    /// Whether the thread may belong to a sub-agent that a session is spawning.
    fn may_be_spawned(&self, thread: &str) -> bool {
        !self.abandoned.contains(thread) && self.subscribers.values().any(|subscriber| subscriber.spawning > 0)
    }

    fn hold(&mut self, thread: String, input: RoutedInput) {
        let held: usize = self.held.values().map(Vec::len).sum();
        if held >= MAX_HELD_LINES {
            let threads = self.held.len();
            tracing::warn!(
                agent = "codex",
                lines = held,
                threads,
                "dropping lines for unknown threads; too many are held"
            );
            self.held.clear();
        }
        self.held.entry(thread).or_default().push(input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received_lines(inbox: &mut Inbox) -> Vec<String> {
        let lines = inbox.try_recv().into_iter().map(|routed| match routed.input {
            Input::Received(line) => line,
            input => panic!("expected a line, found {input:?}"),
        });
        lines.collect()
    }

    fn route_line(router: &mut Router, line: &str) -> Option<String> {
        let mut deliveries = Deliveries::default();
        router.route(Input::Received(line.to_owned()), &mut deliveries);
        for Delivery { inbox, inputs, .. } in deliveries.to {
            inbox.try_send(inputs);
        }
        deliveries.refusals.pop()
    }

    /// Two sessions with a thread each.
    fn router_with_two_sessions() -> (Router, [Inbox; 2]) {
        let mut router = Router::default();
        let inboxes = ["a", "b"].map(|thread| {
            let (subscriber, mut inbox) = router.subscribe(Some(thread));
            let id = router.open_request(subscriber);
            route_line(&mut router, &format!(r#"{{"id":{id},"result":{{"thread":{{"id":"{thread}"}}}}}}"#));
            assert_eq!(received_lines(&mut inbox).len(), 1);
            inbox
        });
        (router, inboxes)
    }

    #[test]
    fn a_line_goes_to_the_session_of_its_thread_and_without_a_thread_to_all() {
        let (mut router, [mut a, mut b]) = router_with_two_sessions();
        let of_a = r#"{"method":"turn/started","params":{"threadId":"a","turn":{"id":"1"}}}"#;
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in [of_a, all, "garbage"] {
            route_line(&mut router, line);
        }
        assert_eq!(received_lines(&mut a), [of_a, all, "garbage"]);
        assert_eq!(received_lines(&mut b), [all, "garbage"]);
    }

    #[test]
    fn lines_of_a_sub_agent_are_held_until_its_parent_is_known() {
        let (mut router, [mut a, mut b]) = router_with_two_sessions();
        let early = r#"{"method":"thread/status/changed","params":{"threadId":"c"}}"#;
        let approval = r#"{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"c"}}"#;
        let spawn_started = r#"{"method":"item/started","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":[]}}}"#;
        let spawn_completed = r#"{"method":"item/completed","params":{"threadId":"b","item":{"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["c"]}}}"#;
        for line in [spawn_started, early, approval, spawn_completed] {
            assert_eq!(route_line(&mut router, line), None);
        }
        assert_eq!(received_lines(&mut b), [spawn_started, spawn_completed, early, approval]);
        assert!(received_lines(&mut a).is_empty());
    }

    #[test]
    fn a_request_without_a_session_is_refused_at_once() {
        let (mut router, [_a, _b]) = router_with_two_sessions();
        let refusal = route_line(&mut router, r#"{"method":"attestation/generate","id":"x","params":{}}"#).unwrap();
        assert!(refusal.contains(r#""id":"x""#) && refusal.contains("-32601"), "{refusal}");
        assert!(route_line(&mut router, r#"{"method":"item/tool/call","id":4,"params":{"threadId":"z"}}"#).is_some());
        let subscriber = router.threads["a"];
        router.unsubscribe(subscriber);
        assert!(route_line(&mut router, r#"{"method":"item/tool/call","id":5,"params":{"threadId":"a"}}"#).is_some());
    }

    #[test]
    fn a_late_subscriber_gets_startup_notices_once_and_the_exit() {
        let (mut router, [_a, _b]) = router_with_two_sessions();
        let warning = r#"{"method":"configWarning","params":{"summary":"x"}}"#;
        route_line(&mut router, warning);
        let (_, mut late) = router.subscribe(Some("late"));
        assert_eq!(received_lines(&mut late), [warning]);
        let (_, mut again) = router.subscribe(Some("late"));
        assert!(received_lines(&mut again).is_empty());
        router.close(Some(1), vec!["oops".to_owned()], &mut Deliveries::default());
        let (_, mut too_late) = router.subscribe(None);
        let inputs: Vec<Input> = too_late.try_recv().into_iter().map(|routed| routed.input).collect();
        assert_eq!(inputs, [Input::Stderr("oops".to_owned()), Input::Exit { code: Some(1) }]);
    }

    #[tokio::test]
    async fn inputs_that_arrive_together_are_delivered_together_and_in_order() {
        let (mut router, [mut a, mut b]) = router_with_two_sessions();
        let mut deliveries = Deliveries::default();
        let lines = ["a", "b", "a"].map(|thread| format!(r#"{{"method":"x","params":{{"threadId":"{thread}"}}}}"#));
        let all = r#"{"method":"account/updated","params":{}}"#;
        for line in lines.iter().map(String::as_str).chain([all]) {
            router.route(Input::Received(line.to_owned()), &mut deliveries);
        }
        assert_eq!(deliveries.to.len(), 2);
        deliveries.send().await;
        assert_eq!(received_lines(&mut a), [&lines[0], &lines[2], all]);
        assert_eq!(received_lines(&mut b), [&lines[1], all]);
    }

    #[test]
    fn a_too_long_answer_is_delivered_and_an_unreadable_request_is_refused() {
        let (mut router, [mut a, mut b]) = router_with_two_sessions();
        let unreadable = |line: &str| Input::Unreadable { bytes: line.into(), error: "too long".to_owned() };
        let mut deliveries = Deliveries::default();
        let id = router.open_request(router.threads["a"]);
        let answer = unreadable(&format!(r#"{{"id":{id},"result":{{"turns":["aaaa"#));
        router.route(answer.clone(), &mut deliveries);
        let request =
            unreadable(r#"{"method":"applyPatchApproval","id":3,"params":{"conversationId":"b","patch":"aaaa"#);
        router.route(request.clone(), &mut deliveries);
        router.route(unreadable("garbage"), &mut deliveries);
        let [refusal] = deliveries.refusals.as_slice() else { panic!("{:?}", deliveries.refusals) };
        assert!(refusal.contains(r#""id":3"#) && refusal.contains("too long"), "{refusal}");
        for Delivery { inbox, inputs, .. } in deliveries.to {
            inbox.try_send(inputs);
        }
        let [failed, garbage] = a.try_recv().try_into().unwrap();
        assert_eq!((failed.input, garbage.input), (answer, unreadable("garbage")));
        assert_eq!(failed.event, LineEvent::Answer { id });
        let inputs_of_b: Vec<Input> = b.try_recv().into_iter().map(|routed| routed.input).collect();
        assert_eq!(inputs_of_b, [request, unreadable("garbage")]);
    }
}
