//! The order in which messages and parts were sent.
//!
//! Only their last states are stored. The times in them say when a text started and ended, when a tool ran, and when a
//! message was complete. Parts without a time have that of their id, which contains the time of its creation.

use serde::Deserialize;

use super::parts::is_added_by_agent;
use super::storage::{Row, Storage};
use crate::json::{Field, number, text};
use crate::{HistoryError, HistoryReport};

/// What happened at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A session was created.
    Session,
    /// A message was created.
    MessageStarted,
    /// A message is complete.
    MessageEnded,
    /// A text or reasoning started to stream.
    TextStarted,
    /// The model named a tool.
    ToolNamed,
    /// A tool was called.
    ToolStarted,
    /// A part has its last state.
    PartEnded,
    /// The agent begins to work on a prompt.
    Busy,
    /// A person interrupted the agent.
    Interrupted,
    /// The agent has nothing left to do.
    Idle,
    /// The agent stopped in the middle of a turn.
    CutOff,
}

/// An entry of the timeline.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: i64,
    /// Order at the same time: a call that waits for a sub-agent ends after it.
    rank: u8,
    pub(super) step: Step,
    /// Index of the session.
    pub(super) session: usize,
    pub(super) message: String,
    pub(super) part: String,
    /// Nothing follows in its session, so it is inferred.
    pub(super) is_last: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageHead<'a> {
    #[serde(borrow)]
    role: Field<'a>,
    #[serde(borrow)]
    time: MessageTime<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageTime<'a> {
    #[serde(borrow)]
    created: Field<'a>,
    #[serde(borrow)]
    completed: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PartHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    tool: Field<'a>,
    #[serde(borrow)]
    time: Span<'a>,
    #[serde(borrow)]
    state: State<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    time: Span<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Span<'a> {
    #[serde(borrow)]
    start: Field<'a>,
    #[serde(borrow)]
    end: Field<'a>,
}

fn millis(field: Field<'_>) -> Option<i64> {
    number(field).and_then(|time| i64::try_from(time).ok())
}

/// The time in an id: its first nine hexadecimal digits are the last bits of the milliseconds.
pub(super) fn time_of_id(id: &str, near: i64) -> Option<i64> {
    const BITS: u32 = 36;
    let digits = id.split_once('_')?.1.get(..9)?;
    let low = i64::from_str_radix(digits, 16).ok()?;
    let time = (near >> BITS << BITS) | low;
    // The upper bits may have changed between the two times.
    let candidates = [time - (1 << BITS), time, time + (1 << BITS)];
    candidates.into_iter().min_by_key(|candidate| (candidate - near).abs())
}

/// The entries of one session, in order. `deleted` are messages of which only parts are left.
pub(super) fn session_entries(
    storage: &dyn Storage,
    session: &str,
    index: usize,
    created: i64,
    deleted: &[Row],
    report: &mut HistoryReport,
) -> Result<Vec<Entry>, HistoryError> {
    let mut builder = Builder {
        index,
        created,
        entries: Vec::new(),
        busy_until: created,
        is_cut_off: false,
        latest: created,
        is_unanswered: false,
    };
    builder.add(created, 0, Step::Session, "", "");
    let mut messages = storage.messages(session, report)?;
    messages.extend(deleted.iter().cloned());
    messages.sort_by(|a, b| a.id.cmp(&b.id));
    for message in messages {
        let parts = storage.parts(session, &message.id, report)?;
        builder.add_message(&message, &parts);
    }
    builder.add_idle();
    if let Some(last) = builder.entries.last_mut() {
        last.is_last = true;
    }
    Ok(builder.entries)
}

struct Builder {
    index: usize,
    /// Time at which the session was created.
    created: i64,
    entries: Vec<Entry>,
    /// End of the last message of the agent.
    busy_until: i64,
    /// The last message of the agent is not complete.
    is_cut_off: bool,
    /// Time of the latest entry.
    latest: i64,
    /// The agent has not begun to answer the last prompt.
    is_unanswered: bool,
}

impl Builder {
    fn add(&mut self, at: i64, rank: u8, step: Step, message: &str, part: &str) {
        let session = self.index;
        // A fork has copies that are older than itself. They come after its start.
        let at = at.max(self.created);
        self.latest = self.latest.max(at);
        self.entries.push(Entry {
            at,
            rank,
            step,
            session,
            message: message.to_owned(),
            part: part.to_owned(),
            is_last: false,
        });
    }

    /// Ends the turn, unless it has ended.
    fn add_idle(&mut self) {
        let has_work = self.entries.iter().rev().find(|entry| entry.step != Step::Session);
        if has_work.is_some_and(|entry| !matches!(entry.step, Step::Idle | Step::CutOff)) {
            let at = self.latest;
            if self.is_unanswered {
                self.add(at, 2, Step::Busy, "", "");
            }
            let step = if self.is_cut_off { Step::CutOff } else { Step::Idle };
            self.add(at, 2, step, "", "");
        }
    }

    fn add_message(&mut self, message: &Row, parts: &[Row]) {
        let head: MessageHead<'_> = serde_json::from_str(&message.json).unwrap_or_default();
        let near = message.created.unwrap_or(self.busy_until);
        let created =
            millis(head.time.created).or(message.created).or_else(|| time_of_id(&message.id, near)).unwrap_or(near);
        if text(head.role).as_deref() == Some("user") {
            // A prompt that comes while the agent works joins the turn, and so does what the agent itself adds.
            if self.busy_until <= created && !is_added_by_agent(parts) {
                self.add_idle();
            }
            self.add(created, 0, Step::MessageStarted, &message.id, "");
            for part in parts {
                self.add(created, 0, Step::PartEnded, &message.id, &part.id);
            }
            (self.is_cut_off, self.is_unanswered) = (true, true);
            return;
        }
        self.add(created, 0, Step::MessageStarted, &message.id, "");
        self.is_unanswered = false;
        let mut last = created;
        let is_interrupted = head.error.is_some_and(|error| error.get().contains("\"MessageAbortedError\""));
        for (index, part) in parts.iter().enumerate() {
            last = last.max(self.add_part(message, part, created));
            // The text that was streaming is cut off.
            if is_interrupted
                && index + 1 == parts.len()
                && let Some(end) = self.entries.pop()
            {
                self.add(end.at, 0, Step::Interrupted, &message.id, "");
                self.entries.push(end);
            }
        }
        let completed = millis(head.time.completed);
        let is_complete = completed.is_some() || head.error.is_some();
        self.is_cut_off = !is_complete;
        if is_complete {
            last = last.max(completed.unwrap_or(last));
            self.add(last, 1, Step::MessageEnded, &message.id, "");
        }
        self.busy_until = self.busy_until.max(last);
    }

    /// Adds a part of an agent's message and returns its last time.
    fn add_part(&mut self, message: &Row, part: &Row, message_created: i64) -> i64 {
        let head: PartHead<'_> = serde_json::from_str(&part.json).unwrap_or_default();
        let created = part.created.or_else(|| time_of_id(&part.id, message_created)).unwrap_or(message_created);
        let created = created.max(message_created);
        match text(head.kind).as_deref() {
            Some("text" | "reasoning") => {
                // Up to 1.1, the stored start is that of the last change.
                let start = millis(head.time.start).map_or(created, |start| start.min(created));
                let end = millis(head.time.end).or(millis(head.time.start)).unwrap_or(start).max(start);
                if end > start {
                    self.add(start, 0, Step::TextStarted, &message.id, &part.id);
                }
                self.add(end, 0, Step::PartEnded, &message.id, &part.id);
                end
            }
            Some("tool") => {
                let start = millis(head.state.time.start).unwrap_or(created);
                let end = millis(head.state.time.end).unwrap_or(start).max(start);
                let is_ended = matches!(text(head.state.status).as_deref(), Some("completed" | "error"));
                if created < start {
                    self.add(created, 0, Step::ToolNamed, &message.id, &part.id);
                }
                if is_ended {
                    self.add(start, 0, Step::ToolStarted, &message.id, &part.id);
                }
                let rank = u8::from(text(head.tool).as_deref() == Some("task")) * 2;
                self.add(end, rank, Step::PartEnded, &message.id, &part.id);
                end
            }
            _ => {
                self.add(created, 0, Step::PartEnded, &message.id, &part.id);
                created
            }
        }
    }
}

/// Sorts the entries of several sessions by time. Each session keeps its order.
pub(super) fn merge(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|entry| (entry.at, entry.rank));
    // A text that ends before anything else happens needs no start.
    let mut merged: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        let starts_same =
            |last: &Entry| last.step == Step::TextStarted && last.part == entry.part && last.session == entry.session;
        if merged.last().is_some_and(starts_same) {
            merged.pop();
        }
        merged.push(entry);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_id_is_that_of_its_creation() {
        assert_eq!(time_of_id("prt_1ec3d4a1a001C17UEb71wipSdq", 1_794_964_801_062), Some(1_794_964_802_074));
        assert_eq!(time_of_id("nonsense", 0), None);
    }
}
