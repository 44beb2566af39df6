//! Changes of state, system messages and failures.

use interlingua_schema::{
    Change, Compaction, ContentPart, ErrorCode, ErrorDetails, NativeItemId, Plan, PlanStep, RateLimit, RawJson, Retry,
    StatusData, StatusLabel, StepStatus, Task, TaskState,
};
use serde_json::Value;

use crate::Key;

/// What a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    Status,
    System,
    Unknown,
}

/// An item that nobody says: a change of state, a system message, something there is no word for.
#[derive(Clone, Debug)]
pub struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) content: Vec<ContentPart>,
    /// The task that a note of the label `task` is about, and how far it is.
    pub(crate) task: Option<(Key, TaskState)>,
    /// The call that the note belongs to.
    pub(crate) call: Option<Key>,
    /// The payload that says it, where that is not the payload at hand.
    pub(crate) raw: Option<RawJson>,
}

impl Note {
    fn new(kind: NoteKind, content: Vec<ContentPart>) -> Self {
        Self { kind, native_id: None, content, task: None, call: None, raw: None }
    }

    fn with_data(data: &StatusData, detail: String) -> Self {
        let status = ContentPart::Status { label: data.label(), detail: Some(detail) };
        Self::new(NoteKind::Status, vec![status, data.to_part()])
    }

    /// A hook that ran, with a line for a person.
    #[must_use]
    pub fn hook(detail: impl Into<String>) -> Self {
        Self::plain(StatusLabel::Hook, detail)
    }

    /// A warning or a remark.
    #[must_use]
    pub fn notice(detail: impl Into<String>) -> Self {
        Self::plain(StatusLabel::Notice, detail)
    }

    fn plain(label: StatusLabel, detail: impl Into<String>) -> Self {
        Self::new(NoteKind::Status, vec![ContentPart::Status { label, detail: Some(detail.into()) }])
    }

    /// The agent makes a request again by itself.
    #[must_use]
    pub fn retry(retry: Retry) -> Self {
        let Retry { attempt, max_attempts, delay_ms, reason, .. } = &retry;
        let of = max_attempts.map(|max| format!(" of {max}")).unwrap_or_default();
        let delay = delay_ms.map(|delay| format!(" in {delay} ms")).unwrap_or_default();
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let detail = format!("Retry {attempt}{of}{delay}{reason}");
        Self::with_data(&StatusData::Retry(retry), detail)
    }

    /// The conversation is shortened, or was.
    #[must_use]
    pub fn compaction(compaction: Compaction) -> Self {
        let detail = match (compaction.tokens_before, compaction.tokens_after) {
            (Some(before), Some(after)) => format!("Compacted from {before} to {after} tokens"),
            (Some(before), None) => format!("Compacted from {before} tokens"),
            _ => "Compacted".to_owned(),
        };
        Self::with_data(&StatusData::Compaction(compaction), detail)
    }

    /// A compaction begins; [`compaction`](Self::compaction) finishes it.
    #[must_use]
    pub fn compacting(compaction: Compaction) -> Self {
        Self::with_data(&StatusData::Compaction(compaction), "Compacting".to_owned())
    }

    /// A compaction failed, for this reason.
    #[must_use]
    pub fn compaction_failed(compaction: Compaction, reason: Option<&str>) -> Self {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        Self::with_data(&StatusData::Compaction(compaction), format!("Compaction failed{reason}"))
    }

    /// Another model goes on.
    #[must_use]
    pub fn model_changed(from: Option<String>, to: impl Into<String>) -> Self {
        let change = Change::new(to).from(from);
        let detail = changed("Model", &change);
        Self::with_data(&StatusData::ModelChanged(change), detail)
    }

    /// Another mode: permission, plan, review.
    #[must_use]
    pub fn mode_changed(from: Option<String>, to: impl Into<String>) -> Self {
        let change = Change::new(to).from(from);
        let detail = changed("Mode", &change);
        Self::with_data(&StatusData::ModeChanged(change), detail)
    }

    /// How much of a limit is used.
    #[must_use]
    pub fn rate_limit(limit: RateLimit) -> Self {
        let window = limit.window.as_ref().map(|window| format!(" ({window})")).unwrap_or_default();
        let resets = limit.resets_at.map(|time| format!(", resets at {time}")).unwrap_or_default();
        let detail = format!("Rate limit{window}: {}{resets}", limit.status);
        Self::with_data(&StatusData::RateLimit(limit), detail)
    }

    /// A task moved on. It is a child of the call with the key `call`, where there is one. The same state of the same
    /// task is shown once.
    #[must_use]
    pub fn task(task: Task, description: Option<&str>, call: Option<Key>) -> Self {
        let description = description.map(|description| format!(": {description}")).unwrap_or_default();
        let about = (Key::from(&task.task_id), task.state.clone());
        let detail = format!("Task {}{description}", task.state);
        let mut note = Self::with_data(&StatusData::Task(task), detail);
        note.task = Some(about);
        note.call = call;
        note
    }

    /// The plan as it is now, whole.
    #[must_use]
    pub fn plan(steps: Vec<PlanStep>) -> Self {
        let done = steps.iter().filter(|step| step.status == StepStatus::Completed).count();
        let detail = format!("{done} of {} done", steps.len());
        Self::with_data(&StatusData::Plan(Plan::new(steps)), detail)
    }

    /// A system message.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(NoteKind::System, vec![ContentPart::text(text)])
    }

    /// Something the agent has and the universal schema has no word for.
    #[must_use]
    pub fn unknown(json: Value) -> Self {
        Self::new(NoteKind::Unknown, vec![ContentPart::Json { json }])
    }

    /// The call that the note belongs to, by its key.
    #[must_use]
    pub fn with_call(mut self, call: impl Into<Key>) -> Self {
        self.call = Some(call.into());
        self
    }

    /// Adds a part: the words of a hook, for one.
    #[must_use]
    pub fn with_part(mut self, part: ContentPart) -> Self {
        self.content.push(part);
        self
    }

    /// Sets the agent's own id of the item; without one it is null.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Sets the payload that says it, from [`Drafts::raw`](crate::Drafts::raw), where that is not the payload at
    /// hand.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }
}

/// A failure the user must know of. The turn it happens in ends `failed`, unless the agent says otherwise.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) details: ErrorDetails,
    pub(crate) outside_turn: bool,
    /// The payload that tells of it, where that is not the payload at hand.
    pub(crate) raw: Option<RawJson>,
}

impl Failure {
    /// A failure of this kind, in the agent's own words.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: ErrorDetails::default(), outside_turn: false, raw: None }
    }

    /// Sets the HTTP status that the agent was answered with, if there was one.
    #[must_use]
    pub fn status(mut self, status: Option<u16>) -> Self {
        self.details.status = status;
        self
    }

    /// Sets the agent's own name for the failure, if it has one.
    #[must_use]
    pub fn kind(mut self, kind: Option<impl Into<String>>) -> Self {
        self.details.kind = kind.map(Into::into);
        self
    }

    /// Sets whether trying again may help, if the agent says so.
    #[must_use]
    pub fn retryable(mut self, retryable: Option<bool>) -> Self {
        self.details.retryable = retryable;
        self
    }

    /// Adds the rest, as the agent says it.
    #[must_use]
    pub fn native(mut self, native: Option<Value>) -> Self {
        self.details.native = native;
        self
    }

    /// It happened beside the turn and says nothing about it: a request of the host's own that was refused. It does
    /// not fail the turn, and no prompt is shown before it.
    #[must_use]
    pub fn outside_turn(mut self) -> Self {
        self.outside_turn = true;
        self
    }

    /// Sets the payload that tells of it, from [`Drafts::raw`](crate::Drafts::raw), where that is not the payload
    /// at hand.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }
}

fn changed(what: &str, Change { from, to, .. }: &Change) -> String {
    match from {
        Some(from) => format!("{what} changed from {from} to {to}"),
        None => format!("{what} changed to {to}"),
    }
}

/// A payload that does not fit what is known of the agent.
#[derive(Clone, Debug)]
pub(crate) struct Unparsed {
    /// The payload is of a known type and lost a part, so that the outcome of its turn is no longer certain.
    pub(crate) damaged: bool,
    pub(crate) location: &'static str,
    pub(crate) error: String,
    pub(crate) native_type: Option<String>,
    /// Filled in by whoever has the payload.
    pub(crate) hash: String,
}
