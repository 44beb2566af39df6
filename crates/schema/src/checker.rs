//! The lifecycle rules, as a machine that watches a stream.

mod asked;
mod items;
mod keys;
mod session;
mod status;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::event::WireEvent;
use crate::{SessionId, UniversalEvent};
use session::Session;

/// One of the rules that every stream keeps: its lifecycle (L1 to L14) and its vocabulary (L15 to L18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// `sequence` starts at 1 and has no gaps; event ids are unique.
    L1,
    /// The first event is `session.started`; at most one `session.ended`, and nothing follows it.
    L2,
    /// An item is started exactly once, before its first delta and before it completes.
    L3,
    /// An item completes at most once; when a turn or the session ends, no item is open. The result of a `command`
    /// call may stay open when its turn ends `completed`, until the session ends.
    L4,
    /// A message's deltas join to its final text; a synthetic delta stands directly before the completion.
    L5,
    /// `item.started` is `in_progress`, `item.completed` is `completed` or `failed`, and the result of a command
    /// that exits non-zero is `failed`.
    L6,
    /// A result names a tool call started earlier; a call gets at most one result.
    L7,
    /// `parent_id` names an earlier item; a tool call or result has one as soon as there is a message.
    L8,
    /// A permission or question is requested before it is resolved, resolved at most once, and before its turn ends.
    L9,
    /// `synthetic` is true exactly when `source` is `daemon`.
    L10,
    /// The `raw` key is always there; with raw on, every agent event has a payload.
    L11,
    /// A user's message stands inside a turn, before anything the agent says in it.
    L12,
    /// `turn.started` and `turn.ended` alternate, and a turn that began ends.
    L13,
    /// `time` never goes back.
    L14,
    /// A completed tool call has a title, and its `input`, if there is one, has the keys of its `tool_kind`.
    L15,
    /// `turn.started` and its `turn.ended` have the same `turn_id`; `turn.ended` has `duration_ms`.
    L16,
    /// The metadata of `permission.requested` has `call_id`, `tool_kind` and `scopes`; a call that it names was started
    /// earlier.
    L17,
    /// A status item has the `json` part of its label.
    L18,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A rule that a stream broke, and where. Displays as `L5 seq 17: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// The `sequence` of the event at which it shows.
    pub sequence: u64,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seq {}: {}", self.rule, self.sequence, self.message)
    }
}

/// A line that is not a universal event.
#[derive(Debug)]
pub struct LineError(String);

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a universal event: {}", self.0)
    }
}

impl std::error::Error for LineError {}

/// What a checker expects in `raw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RawMode {
    /// Whatever the session's first agent event has, all of them have.
    Detect,
    /// Every agent event has a payload.
    On,
}

/// Watches a stream of events, which may hold several sessions, and reports every broken rule.
///
/// It keeps the texts of open messages only. Of everything that is over it keeps hashes of ids, because the rules
/// are about ids for as long as the session lasts.
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
    raw: RawMode,
    sessions: HashMap<SessionId, Session>,
    event_ids: std::collections::HashSet<u64>,
}

impl Checker {
    /// A checker that finds out from each session's first agent event whether raw payloads are on.
    #[must_use]
    pub fn new() -> Self {
        Self { raw: RawMode::Detect, sessions: HashMap::new(), event_ids: std::collections::HashSet::new() }
    }

    /// A checker of streams for which raw payloads were asked.
    #[must_use]
    pub fn with_raw() -> Self {
        Self { raw: RawMode::On, ..Self::new() }
    }

    /// Takes the next event and returns the rules it breaks.
    pub fn push(&mut self, event: &UniversalEvent) -> Vec<Violation> {
        let mut report = Report { sequence: event.sequence, violations: Vec::new() };
        let raw = self.raw;
        if !self.sessions.contains_key(&event.session_id) {
            self.sessions.insert(event.session_id.clone(), Session::new(raw));
        }
        if !self.event_ids.insert(hash(&event.event_id)) {
            report.add(Rule::L1, format!("event id {} is used twice", event.event_id));
        }
        if let Some(session) = self.sessions.get_mut(&event.session_id) {
            session.push(event, &mut report);
        }
        report.violations
    }

    /// Takes the next event as a line of JSON. The line also shows whether keys are there that have a default when they
    /// are read: `raw` (L11), `duration_ms` (L16), `call_id` and `tool_kind` (L17).
    ///
    /// # Errors
    ///
    /// When the line is not a universal event.
    pub fn push_line(&mut self, line: &str) -> Result<Vec<Violation>, LineError> {
        let wire: WireEvent<'_> = serde_json::from_str(line).map_err(|error| LineError(error.to_string()))?;
        let has_raw_key = wire.has_raw_key();
        let missing_keys = keys::missing(wire.kind(), wire.data());
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

/// Collects what one event breaks.
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

/// Stands for an id that is over, in 8 bytes instead of its text.
fn hash(id: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
