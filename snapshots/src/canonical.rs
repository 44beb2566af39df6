//! Canonical traces: the same scenario has the same trace with every agent.
//!
//! A [`trace`] is a turn without texts, ids and times: one line per step, with event types, kinds, roles, statuses and
//! the types of parts. Each [`CanonicalScenario`] has one trace for all agents. Where an agent cannot produce it, there
//! is a [`TraceException`], which names the recording that shows the difference.
//!
//! The snapshot tests compare recordings with these traces. `cargo xtask live` compares running agents with them.
//!
//! A trace leaves out what depends on the script, and what the schema leaves to the agent:
//!
//! * `status` items, because agents may send them at any point of a turn;
//! * the point at which an item ends: an item is one line, at the position where it starts, because items that run at
//!   the same time end in any order;
//! * all deltas of a message but the first, and all deltas of tool calls and results, because the schema does not
//!   require them;
//! * repetition: equal consecutive lines become one (two messages of the model, one request with two questions);
//! * where the scenario is about one tool call: all other calls of the turn with their results and requests, and the
//!   model's messages before the call (before the request, if there is no call).

mod exceptions;
mod scenario;
mod steps;

use interlingua_schema::{EventData, UniversalEvent};

use steps::TraceBuilder;

pub use exceptions::{EXCEPTIONS, Evidence, TraceException};
pub use scenario::CanonicalScenario;

/// The part of a session that a trace describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Focus {
    /// Index of the turn, from 0.
    pub turn: usize,
    /// The part of that turn.
    pub target: FocusTarget,
}

/// The part of a turn that a trace describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FocusTarget {
    /// All of it.
    #[default]
    WholeTurn,
    /// The tool call with this index, from 0.
    ToolCall(usize),
    /// The first permission or question. For requests that belong to no tool call.
    FirstRequest,
}

/// The canonical trace of one turn of a session, one line per step. Empty if the session has no such turn.
#[must_use]
pub fn trace<'a>(events: impl IntoIterator<Item = &'a UniversalEvent>, focus: Focus) -> Vec<String> {
    let mut builder = TraceBuilder::default();
    let mut turns = 0;
    for event in events {
        if matches!(event.data, EventData::TurnStarted(_)) {
            turns += 1;
        }
        if turns == focus.turn + 1 {
            builder.push(&event.data);
            if matches!(event.data, EventData::TurnEnded(_)) {
                break;
            }
        }
    }
    let mut lines = builder.into_lines(focus.target);
    lines.dedup();
    lines
}
