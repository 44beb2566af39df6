//! The same scenario, played by different agents, is the same stream.
//!
//! A [`trace`] is what is left of a turn's events when texts, ids and times are taken away: one line a step, with event
//! types, kinds, roles, statuses and the types of parts. Each [`Scenario`] says what its trace is, whoever plays it.
//! Where an agent truly cannot do it so, that is an [`Exception`], with the recording that shows it.
//!
//! Recordings are compared with these traces by the tests over them, and live agents when they are tried out.
//!
//! What is not part of a trace, because it is the script's doing or left to the agent by the schema:
//!
//! * `status` items, which are asides;
//! * when an item ends: it is one line, where it began, because things that run at the same time end in any order;
//! * deltas but the first of a message, and those of calls and results, which the schema leaves to the agent;
//! * repetition: equal lines in a row are one (a model that speaks twice, a request with two questions);
//! * where a scenario is about one tool call, the turn's other calls with all that belongs to them, and what the model
//!   says before the call (where there is only a request: before that).

mod exceptions;
mod scenario;
mod steps;

use interlingua_schema::{EventData, UniversalEvent};

use steps::Steps;

pub use exceptions::{EXCEPTIONS, Exception, Shown};
pub use scenario::Scenario;

/// What of a session is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Focus {
    /// Which of its turns; the first is 0.
    pub turn: usize,
    /// What it is about in the turn.
    pub about: About,
}

/// What a trace is about in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum About {
    /// All of it.
    #[default]
    Turn,
    /// One of its tool calls; the first is 0.
    Call(usize),
    /// Its first permission or question, where there is no call that it came with.
    Request,
}

/// The canonical trace of a turn of a session, a line for each step; empty when there is no such turn.
#[must_use]
pub fn trace<'a>(events: impl IntoIterator<Item = &'a UniversalEvent>, focus: Focus) -> Vec<String> {
    let mut steps = Steps::default();
    let mut turns = 0;
    for event in events {
        if matches!(event.data, EventData::TurnStarted(_)) {
            turns += 1;
        }
        if turns == focus.turn + 1 {
            steps.push(&event.data);
            if matches!(event.data, EventData::TurnEnded(_)) {
                break;
            }
        }
    }
    let mut lines = steps.lines(focus.about);
    lines.dedup();
    lines
}
