//! Replays the stored events of a session and its sub-agents.
//!
//! The events are those of the server, without the deltas of texts and without the reports that a session is busy or idle.
//! The latter are inferred: a session is idle before the next prompt, and when there are no more events.

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};
use interlingua_convert::TurnEnd;
use interlingua_schema::{Timestamp, TurnStatus};
use serde::Deserialize;
use serde_json::json;

use super::parts::Part;
use super::storage::{EventRow, SessionRow, Storage};
use super::timeline::time_of_id;
use super::translate::{count, event_line, start_session};
use crate::HistoryError;
use crate::json::{Field, ObjectWriter, text, time};
use crate::output::Output;
use crate::session::HistoryFormat;

/// A prompt that comes this soon after a step of the agent joins the turn, because the next step has not begun.
const STEP_GAP_MILLIS: i64 = 1000;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties<'a> {
    #[serde(borrow)]
    info: Info<'a>,
    #[serde(borrow)]
    part: Field<'a>,
    #[serde(borrow)]
    timestamp: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    id: Field<'a>,
    #[serde(borrow)]
    role: Field<'a>,
    #[serde(borrow)]
    finish: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    time: InfoTime<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InfoTime<'a> {
    #[serde(borrow)]
    completed: Field<'a>,
}

/// For each session, the numbers of the last events about its messages.
pub(super) type LastUpdates = HashMap<String, i64>;

/// A session with the numbers of the last events about its messages, if all of its events are stored.
pub(super) fn read_updates(
    storage: &dyn Storage,
    sessions: &[SessionRow],
) -> Result<Option<Vec<LastUpdates>>, HistoryError> {
    sessions.iter().map(|session| storage.last_updates(&session.id)).collect()
}

/// Replays the events of a session and its sub-agents, in the order in which they happened.
pub(super) fn replay(
    storage: &dyn Storage,
    sessions: &[SessionRow],
    updates: Vec<LastUpdates>,
    format: HistoryFormat,
    out: &mut Output<'_>,
) -> Result<(), HistoryError> {
    let logs = sessions.iter().zip(updates).map(|(session, last_updates)| Log::new(session, last_updates));
    let mut logs: Vec<Log<'_>> = logs.collect();
    while let Some((index, event)) = next_event(storage, &mut logs)? {
        count(&event.data, out);
        let properties: Properties<'_> = serde_json::from_str(&event.data).unwrap_or_default();
        let ended = properties.part.map(|part| Part::parse(part.get())).filter(Part::has_ended);
        if let Some(child) = ended.and_then(|part| part.sub_agent())
            && let Some(log) = logs.iter_mut().find(|log| log.session.id == child)
        {
            // The sub-agent has ended before the call that started it.
            log.show_announced(out);
            log.end_turn(out);
        }
        if without_version(&event.kind) == "session.created" {
            let (log, is_root) = (&logs[index], index == 0);
            out.set_time(log.session.created);
            start_session(storage, log.session, format, is_root, out);
        } else {
            logs[index].push(storage, event, out)?;
        }
        out.end_record()?;
    }
    out.end_records()?;
    for log in logs.iter_mut().rev() {
        log.show_announced(out);
        log.end_turn(out);
    }
    Ok(())
}

/// The next event of all sessions, with the index of its session.
fn next_event(storage: &dyn Storage, logs: &mut [Log<'_>]) -> Result<Option<(usize, EventRow)>, HistoryError> {
    for log in logs.iter_mut().filter(|log| log.events.is_empty() && !log.is_read) {
        log.events = storage.events(&log.session.id, log.last_read)?.into();
        match log.events.back() {
            Some(last) => log.last_read = last.number,
            None => log.is_read = true,
        }
    }
    let heads = logs.iter().enumerate();
    let next = heads.filter_map(|(index, log)| Some((log.events.front()?.place, index))).min();
    Ok(next.and_then(|(_, index)| Some((index, logs.get_mut(index)?.events.pop_front()?))))
}

/// The type of an event ends with the version of its format.
fn without_version(kind: &str) -> &str {
    match kind.rsplit_once('.') {
        Some((kind, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => kind,
    }
}

/// The events of one session, and what they say about its turn.
struct Log<'a> {
    session: &'a SessionRow,
    events: VecDeque<EventRow>,
    /// Number of the last event that was read.
    last_read: i64,
    is_read: bool,
    last_updates: LastUpdates,
    /// Ids of the messages of the user.
    prompts: HashSet<String>,
    /// An announced message of the user. Its parts show whether the user wrote it.
    announced: Option<(EventRow, String)>,
    turn: Turn,
    /// Time of the last event.
    last: i64,
}

/// The running turn.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the turn")]
struct Turn {
    is_running: bool,
    /// The last message of the agent, if it has started one.
    answer: Option<String>,
    /// That message is complete.
    is_complete: bool,
    /// That message called tools, so another one may follow.
    has_calls: bool,
    /// A person declined what a tool of that message asked for, so none follows.
    was_declined: bool,
}

impl<'a> Log<'a> {
    fn new(session: &'a SessionRow, last_updates: LastUpdates) -> Self {
        Self {
            session,
            events: VecDeque::new(),
            last_read: -1,
            is_read: false,
            last_updates,
            prompts: HashSet::default(),
            announced: None,
            turn: Turn::default(),
            last: session.created.map_or(0, Timestamp::as_millis),
        }
    }

    fn push(&mut self, storage: &dyn Storage, event: EventRow, out: &mut Output<'_>) -> Result<(), HistoryError> {
        let properties: Properties<'_> = serde_json::from_str(&event.data).unwrap_or_default();
        let kind = without_version(&event.kind);
        let part = properties.part.map(|part| Part::parse(part.get()));
        if kind == "message.updated" && text(properties.info.role).as_deref() == Some("user") {
            let id = text(properties.info.id).unwrap_or_default().into_owned();
            if self.prompts.insert(id.clone()) {
                self.show_announced(out);
                self.announced = Some((event, id));
                return Ok(());
            }
        }
        if let Some((_, announced)) = &self.announced {
            let is_part = part.as_ref().is_some_and(|part| text(part.message_id).as_deref() == Some(announced));
            if is_part && part.as_ref().is_some_and(Part::is_added_by_agent) {
                self.turn.is_running = true;
                self.send_announced(out);
            } else {
                self.show_announced(out);
            }
        }
        self.last = time(properties.timestamp)
            .map(Timestamp::as_millis)
            .or_else(|| time_of_id(&event.id, self.last))
            .unwrap_or(self.last);
        out.set_time(Some(Timestamp::from_millis(self.last)));
        if let Some(plan) = part.as_ref().and_then(|part| part.plan_update(&self.session.id)) {
            out.receive(&event.data, &event_line("todo.updated", &plan));
        }
        if kind == "message.updated" && text(properties.info.role).as_deref() == Some("assistant") {
            self.turn.observe(&properties.info);
        }
        self.turn.was_declined |= part.as_ref().is_some_and(Part::was_declined);
        out.receive(&event.data, &event_line(kind, &event.data));
        match part.filter(Part::starts_text) {
            Some(part) => self.stream_text(storage, &event, &part, out),
            None => Ok(()),
        }
    }

    /// Sends a text when it starts to stream, because the deltas are not stored.
    fn stream_text(
        &self,
        storage: &dyn Storage,
        event: &EventRow,
        part: &Part<'_>,
        out: &mut Output<'_>,
    ) -> Result<(), HistoryError> {
        let id = text(part.id).unwrap_or_default();
        let Some(next) = storage.next_update(&self.session.id, &id, event.number)? else { return Ok(()) };
        let next: Properties<'_> = serde_json::from_str(&next.data).unwrap_or_default();
        let whole = next.part.map(|part| Part::parse(part.get())).unwrap_or_default();
        if let Some(whole) = whole.text.filter(|whole| whole.get().len() > 2) {
            let mut delta = ObjectWriter::with_capacity(whole.get().len() + 256);
            delta.text("sessionID", &self.session.id).raw("messageID", part.message_id).raw("partID", part.id);
            delta.text("field", "text").json("delta", whole.get());
            out.receive(&event.data, &event_line("message.part.delta", &delta.finish()));
        }
        Ok(())
    }

    /// Shows the announced message of the user, which starts a turn or joins the running one.
    fn show_announced(&mut self, out: &mut Output<'_>) {
        let Some((event, _)) = &self.announced else { return };
        let at = time_of_id(&event.id, self.last).unwrap_or(self.last);
        let number = event.number;
        if !self.joins_turn(at, number) {
            self.end_turn(out);
        }
        self.turn.is_running = true;
        self.send_announced(out);
    }

    fn send_announced(&mut self, out: &mut Output<'_>) {
        let Some((event, _)) = self.announced.take() else { return };
        self.last = time_of_id(&event.id, self.last).unwrap_or(self.last);
        out.set_time(Some(Timestamp::from_millis(self.last)));
        out.receive(&event.data, &event_line(without_version(&event.kind), &event.data));
    }

    /// Whether a prompt joins the running turn: the agent works on, or has only just begun.
    fn joins_turn(&self, at: i64, number: i64) -> bool {
        let follows_step = at - self.last <= STEP_GAP_MILLIS;
        match &self.turn.answer {
            None => follows_step,
            Some(_) if self.turn.is_complete => self.turn.has_calls && !self.turn.was_declined && follows_step,
            Some(answer) => self.last_updates.get(answer).is_some_and(|last| *last > number),
        }
    }

    /// Ends the turn: the agent is idle, or it was cut off.
    fn end_turn(&mut self, out: &mut Output<'_>) {
        let turn = std::mem::take(&mut self.turn);
        if !turn.is_running {
            return;
        }
        let id = &self.session.id;
        if turn.answer.is_none() {
            let busy = json!({ "sessionID": id, "status": { "type": "busy" } });
            out.receive("", &event_line("session.status", &busy.to_string()));
        }
        if turn.is_complete {
            let idle = json!({ "sessionID": id });
            out.receive("", &event_line("session.idle", &idle.to_string()));
        } else {
            let end = TurnEnd::with_status(TurnStatus::Failed);
            out.infer(|drafts| drafts.session(id).turn_ended(end));
        }
    }
}

impl Turn {
    fn observe(&mut self, info: &Info<'_>) {
        self.is_running = true;
        let id = text(info.id).unwrap_or_default();
        if self.answer.as_deref() != Some(&*id) {
            self.answer = Some(id.into_owned());
            (self.is_complete, self.was_declined) = (false, false);
        }
        self.is_complete |= info.time.completed.is_some() || info.error.is_some();
        self.has_calls = text(info.finish).as_deref() == Some("tool-calls") && info.error.is_none();
    }
}
