//! Drafts of status items, system messages and unknown items.

use interlingua_schema::{
    Change, Compaction, ContentPart, NativeItemId, Plan, PlanStep, RateLimit, RawJson, Retry, StatusData, StatusLabel,
    StepStatus, Task, TaskState,
};
use serde_json::Value;

use crate::Key;

/// Kind of the item that a note becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    Status,
    System,
    Unknown,
}

/// An item that is neither a message nor a tool: a status, a system message, or something that the universal schema
/// does not know.
#[derive(Clone, Debug)]
pub struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) content: Vec<ContentPart>,
    /// Task and its state, for a note with the label `task`.
    pub(crate) task: Option<(Key, TaskState)>,
    /// Call that the note belongs to.
    pub(crate) call: Option<Key>,
    /// Payload that the note comes from, if that is not the payload that is being converted.
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

    /// A warning or other remark.
    #[must_use]
    pub fn notice(detail: impl Into<String>) -> Self {
        Self::plain(StatusLabel::Notice, detail)
    }

    /// Output of a call that has its result already.
    #[must_use]
    pub fn late_result(output: impl Into<String>) -> Self {
        let status = ContentPart::Status { label: StatusLabel::LateResult, detail: None };
        Self::new(NoteKind::Status, vec![status, ContentPart::text(output)])
    }

    fn plain(label: StatusLabel, detail: impl Into<String>) -> Self {
        Self::new(NoteKind::Status, vec![ContentPart::Status { label, detail: Some(detail.into()) }])
    }

    /// The agent retries a request by itself.
    #[must_use]
    pub fn retry(retry: Retry) -> Self {
        let Retry { attempt, max_attempts, delay_ms, reason, .. } = &retry;
        let max = max_attempts.map(|max| format!(" of {max}")).unwrap_or_default();
        let delay = delay_ms.map(|delay| format!(" in {delay} ms")).unwrap_or_default();
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let detail = format!("Retry {attempt}{max}{delay}{reason}");
        Self::with_data(&StatusData::Retry(retry), detail)
    }

    /// The conversation was compacted.
    #[must_use]
    pub fn compaction(compaction: Compaction) -> Self {
        let detail = match (compaction.tokens_before, compaction.tokens_after) {
            (Some(before), Some(after)) => format!("Compacted from {before} to {after} tokens"),
            (Some(before), None) => format!("Compacted from {before} tokens"),
            _ => "Compacted".to_owned(),
        };
        Self::with_data(&StatusData::Compaction(compaction), detail)
    }

    /// A compaction starts; [`compaction`](Self::compaction) finishes it.
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

    /// The model changed.
    #[must_use]
    pub fn model_changed(from: Option<String>, to: impl Into<String>) -> Self {
        let change = Change::new(to).from(from);
        let detail = change_detail("Model", &change);
        Self::with_data(&StatusData::ModelChanged(change), detail)
    }

    /// The mode changed: permission mode, plan mode, review mode.
    #[must_use]
    pub fn mode_changed(from: Option<String>, to: impl Into<String>) -> Self {
        let change = Change::new(to).from(from);
        let detail = change_detail("Mode", &change);
        Self::with_data(&StatusData::ModeChanged(change), detail)
    }

    /// State of a rate limit.
    #[must_use]
    pub fn rate_limit(limit: RateLimit) -> Self {
        let window = limit.window.as_ref().map(|window| format!(" ({window})")).unwrap_or_default();
        let resets = limit.resets_at.map(|time| format!(", resets at {time}")).unwrap_or_default();
        let detail = format!("Rate limit{window}: {}{resets}", limit.status);
        Self::with_data(&StatusData::RateLimit(limit), detail)
    }

    /// A task changed its state. The note is a child of the call with the key `call`, if given. The same state of the
    /// same task is shown once.
    #[must_use]
    pub fn task(task: Task, description: Option<&str>, call: Option<Key>) -> Self {
        let description = description.map(|description| format!(": {description}")).unwrap_or_default();
        let task_state = (Key::from(&task.task_id), task.state.clone());
        let detail = format!("Task {}{description}", task.state);
        let mut note = Self::with_data(&StatusData::Task(task), detail);
        note.task = Some(task_state);
        note.call = call;
        note
    }

    /// The whole plan in its current state.
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

    /// Something that the agent has and the universal schema does not know.
    #[must_use]
    pub fn unknown(json: Value) -> Self {
        Self::new(NoteKind::Unknown, vec![ContentPart::Json { json }])
    }

    /// Sets the call that the note belongs to, by its key.
    #[must_use]
    pub fn with_call(mut self, call: impl Into<Key>) -> Self {
        self.call = Some(call.into());
        self
    }

    /// Adds a part, such as the output of a hook.
    #[must_use]
    pub fn with_part(mut self, part: ContentPart) -> Self {
        self.content.push(part);
        self
    }

    /// Sets the native id of the item; null if not set.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Sets the payload that the note comes from, from [`Drafts::raw`](crate::Drafts::raw), if that is not the payload
    /// that is being converted.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }
}

fn change_detail(subject: &str, Change { from, to, .. }: &Change) -> String {
    match from {
        Some(from) => format!("{subject} changed from {from} to {to}"),
        None => format!("{subject} changed to {to}"),
    }
}
