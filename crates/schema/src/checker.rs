//! The lifecycle checker: verifies the rules L1 to L18 of a stream.

mod items;
mod keys;
mod requests;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::event::WireEvent;
use crate::{SessionId, UniversalEvent};
use session::Session;

/// A rule that every stream follows. L1 to L14 are about the lifecycle, L15 to L18 about the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// `sequence` starts at 1 and has no gaps. Event ids are unique.
    L1,
    /// The first event is `session.started`. There is at most one `session.ended`, and no event follows it.
    L2,
    /// An item starts exactly once, before its first delta and before it completes.
    L3,
    /// An item completes at most once. When a turn or the session ends, no item is open. Exception: the result of a
    /// `command` call may stay open after a turn that ends `completed`, until the session ends.
    L4,
    /// The joined deltas of a message are its final text. A synthetic delta comes directly before the completion.
    L5,
    /// The item of `item.started` is `in_progress`, that of `item.completed` is `completed` or `failed`. The result of a
    /// command with a non-zero exit code is `failed`.
    L6,
    /// A result names a tool call that started earlier. A call has at most one result.
    L7,
    /// `parent_id` names an earlier item. A tool call or result has one as soon as the session has a message.
    L8,
    /// A permission or question is requested first, resolved at most once, and resolved before its turn ends.
    L9,
    /// `synthetic` is true exactly when `source` is `daemon`.
    L10,
    /// The `raw` key is always present. If raw payloads are on, every agent event has one.
    L11,
    /// A user's message is inside a turn, before the items of the agent.
    L12,
    /// `turn.started` and `turn.ended` alternate. Every turn ends before the session does.
    L13,
    /// `time` never decreases.
    L14,
    /// A completed tool call has a title. Its `input`, if present, has the keys of its `tool_kind`.
    L15,
    /// `turn.started` and its `turn.ended` have the same `turn_id`. `turn.ended` has `duration_ms`.
    L16,
    /// The metadata of `permission.requested` has `call_id`, `tool_kind` and `scopes`. A call that it names started
    /// earlier.
    L17,
    /// A status item has the data of its label in a `json` part.
    L18,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A breach of a rule. Displays as `L5 seq 17: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Sequence number of the event that breaks the rule.
    pub sequence: u64,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seq {}: {}", self.rule, self.sequence, self.message)
    }
}

/// The error for a line that is not a universal event.
#[derive(Debug)]
pub struct LineError(String);

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a universal event: {}", self.0)
    }
}

impl std::error::Error for LineError {}

/// Whether events must have raw payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawMode {
    /// The first agent event of a session decides for all its agent events.
    Detect,
    /// Every agent event has a raw payload.
    On,
}

/// Checks a stream of events, which may contain several sessions, and reports every violation.
///
/// It keeps the text of open messages only. Of everything else it keeps hashes of ids, because a rule about an id holds
/// until the session ends.
///
/// ```
/// use interlingua_schema::Checker;
///
/// let mut checker = Checker::new();
/// let broken = r#"{"event_id":"e","sequence":2,"time":"1970-01-01T00:00:00.000Z","session_id":"s",
///     "native_session_id":null,"source":"agent","synthetic":true,"type":"session.started","data":{},"raw":null}"#;
/// let found: Vec<String> = checker.push(&serde_json::from_str(broken)?).iter().map(ToString::to_string).collect();
/// assert_eq!(found, [
///     "L1 seq 2: expected sequence 1, found 2",
///     "L10 seq 2: source is agent but synthetic is true",
/// ]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Checker {
    raw_mode: RawMode,
    sessions: HashMap<SessionId, Session>,
    /// Hashes of all event ids.
    event_ids: HashSet<u64>,
}

impl Checker {
    /// A checker that detects from the first agent event of each session whether raw payloads are on.
    #[must_use]
    pub fn new() -> Self {
        Self { raw_mode: RawMode::Detect, sessions: HashMap::new(), event_ids: HashSet::new() }
    }

    /// A checker of streams that must have raw payloads.
    #[must_use]
    pub fn with_raw() -> Self {
        Self { raw_mode: RawMode::On, ..Self::new() }
    }

    /// Checks the next event and returns its violations.
    pub fn push(&mut self, event: &UniversalEvent) -> Vec<Violation> {
        let mut report = Report { sequence: event.sequence, violations: Vec::new() };
        let raw_mode = self.raw_mode;
        if !self.sessions.contains_key(&event.session_id) {
            self.sessions.insert(event.session_id.clone(), Session::new(raw_mode));
        }
        if !self.event_ids.insert(hash_id(&event.event_id)) {
            report.add(Rule::L1, format!("event id {} is used twice", event.event_id));
        }
        if let Some(session) = self.sessions.get_mut(&event.session_id) {
            session.observe(event, &mut report);
        }
        report.violations
    }

    /// Checks the next event, given as a line of JSON.
    ///
    /// This also finds missing keys that have a default value in [`UniversalEvent`], so that [`push`](Self::push) cannot
    /// see that they are missing: `raw` (L11), `duration_ms` (L16), `call_id` and `tool_kind` (L17).
    ///
    /// # Errors
    ///
    /// If the line is not a universal event.
    pub fn push_line(&mut self, line: &str) -> Result<Vec<Violation>, LineError> {
        let wire: WireEvent<'_> = serde_json::from_str(line).map_err(|error| LineError(error.to_string()))?;
        let has_raw_key = wire.has_raw_key();
        let missing_keys = keys::find_missing(wire.kind(), wire.data());
        let event = wire.into_event().map_err(LineError)?;
        let mut violations = self.push(&event);
        let sequence = event.sequence;
        if !has_raw_key {
            violations.push(Violation { rule: Rule::L11, sequence, message: "the raw key is missing".to_owned() });
        }
        violations.extend(missing_keys.into_iter().map(|(rule, message)| Violation { rule, sequence, message }));
        Ok(violations)
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

/// The violations of one event.
#[derive(Debug)]
struct Report {
    sequence: u64,
    violations: Vec<Violation>,
}

impl Report {
    fn add(&mut self, rule: Rule, message: String) {
        self.violations.push(Violation { rule, sequence: self.sequence, message });
    }
}

/// Hashes an id, so that ids that are only compared take 8 bytes each.
fn hash_id(id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
