//! Changes of state: the model, the mode, compaction, retries, hooks, tasks.

use interlingua_native::claude::{
    ApiRetryMessage, BackgroundTasksChangedMessage, CompactBoundaryMessage, HookResponseMessage,
    HookResponseMessageOutcome, HookStartedMessage, ModelFallbackMessage, ModelRefusalFallbackMessage, Status,
    StatusMessage, StatusMessageCompactResult, TaskNotificationMessage, TaskProgressMessage, TaskStartedMessage,
    TaskUpdatedMessage,
};
use interlingua_schema::{ContentPart, StatusLabel};
use serde_json::{Value, json};

use super::facts::facts;
use super::{ClaudeConverter, whole};
use crate::{Drafts, Note};

/// So many tasks are remembered that run.
const MOST_TASKS: usize = 1024;

/// The model and the mode in use, to notice when they change.
#[derive(Debug, Default)]
pub(super) struct Settings {
    model: Option<String>,
    mode: Option<String>,
}

impl Settings {
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// A session begins with these.
    pub(super) fn begin(&mut self, model: Option<&str>, mode: Option<&str>) {
        self.model = model.map(str::to_owned);
        self.mode = mode.map(str::to_owned);
    }

    /// This model is in use: news if it is another one.
    pub(super) fn model_in_use(&mut self, model: Option<&str>) -> Option<Note> {
        let model = model.filter(|model| self.model.as_deref() != Some(*model))?.to_owned();
        let before = self.model.clone();
        let note = self.model_is(before.as_deref(), Some(model), None);
        before.is_some().then_some(note)
    }

    /// This mode is in use: news if it is another one.
    pub(super) fn mode_in_use(&mut self, mode: Option<&str>) -> Option<Note> {
        let mode = mode.filter(|mode| self.mode.as_deref() != Some(*mode))?;
        self.mode.replace(mode.to_owned()).map(|_| mode_changed(mode))
    }

    /// The model changes, with the agent's words if it has any.
    pub(super) fn model_is(&mut self, from: Option<&str>, to: Option<String>, words: Option<String>) -> Note {
        let detail = words.unwrap_or_else(|| match (from, &to) {
            (Some(from), Some(to)) => format!("{from} → {to}"),
            (_, to) => to.clone().unwrap_or_default(),
        });
        let json = json!({ "from": from, "to": to });
        self.model = to.or(self.model.take());
        Note::status(StatusLabel::ModelChanged, Some(detail)).with(ContentPart::Json { json: facts(json) })
    }
}

/// A line for a person about a request that is made again.
pub(super) fn attempts(attempt: Option<u64>, most: Option<u64>, error: Option<&str>, status: Option<u64>) -> String {
    let error = error.map(|error| format!(": {error}")).unwrap_or_default();
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    format!("attempt {} of {}{error}{status}", attempt.unwrap_or(0), most.unwrap_or(0))
}

fn mode_changed(mode: &str) -> Note {
    Note::status(StatusLabel::ModeChanged, Some(mode.to_owned()))
}

/// A compaction from its announcement to the boundary it leaves.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    running: Option<String>,
    succeeded: bool,
}

impl Compaction {
    /// The turn ends: a compaction that is known to have worked ends with it, boundary or not.
    pub(super) fn succeeded_at_last(&mut self) -> Option<(String, Note)> {
        let succeeded = std::mem::take(&mut self.succeeded);
        self.running.take().filter(|_| succeeded).map(|key| (key, Note::status(StatusLabel::Compaction, None)))
    }
}

impl ClaudeConverter {
    pub(super) fn status(&mut self, status: StatusMessage, out: &mut Drafts) {
        let native = status.session_id.as_deref();
        if let Some(mode) = status.permission_mode {
            let note = self.settings.mode_in_use(Some(mode.as_str())).unwrap_or_else(|| mode_changed(mode.as_str()));
            self.aside(out, native).note(note);
        }
        if status.status == Some(Status::Compacting) {
            self.begin_early(native, out);
            let key = self.new_key();
            self.compaction = Compaction { running: Some(key.clone()), succeeded: false };
            let note = Note::status(StatusLabel::Compaction, Some("compacting".to_owned()));
            self.aside(out, native).note_started(key, note);
        }
        match status.compact_result {
            Some(StatusMessageCompactResult::Failed) => {
                let key = self.compaction.running.take().unwrap_or_else(|| self.new_key());
                let note = Note::status(StatusLabel::Compaction, status.compact_error);
                self.aside(out, native).note_finished(key, note, true);
            }
            // The boundary tells the rest.
            Some(_) => self.compaction.succeeded = true,
            None => {}
        }
        out.dropped("state echo");
    }

    pub(super) fn compact_boundary(&mut self, boundary: CompactBoundaryMessage, out: &mut Drafts) {
        let key = self.compaction.running.take().unwrap_or_else(|| self.new_key());
        self.compaction.succeeded = false;
        let metadata = boundary.compact_metadata;
        let tokens = metadata
            .as_ref()
            .map(|metadata| (whole(metadata.pre_tokens.as_ref()), whole(metadata.post_tokens.as_ref())));
        let detail = match tokens {
            Some((Some(before), Some(after))) => Some(format!("{before} → {after} tokens")),
            Some((Some(before), None)) => Some(format!("{before} tokens before")),
            _ => None,
        };
        let mut note = Note::status(StatusLabel::Compaction, detail);
        if let Some(json) = metadata.and_then(|metadata| serde_json::to_value(metadata).ok()) {
            note = note.with(ContentPart::Json { json: facts(json) });
        }
        self.aside(out, boundary.session_id.as_deref()).note_finished(key, note, false);
    }

    /// A request to the model failed and is made again: what was said of its answer is void.
    pub(super) fn api_retry(&mut self, retry: &ApiRetryMessage, out: &mut Drafts) {
        let (attempt, most) = (whole(retry.attempt.as_ref()), whole(retry.max_retries.as_ref()));
        let status = whole(retry.error_status.as_ref());
        let delay = whole(retry.retry_delay_ms.as_ref());
        let error = retry.error.as_ref().map(interlingua_native::claude::AssistantMessageError::as_str);
        let detail = attempts(attempt, most, error, status);
        let json = json!({
            "attempt": attempt, "max_retries": most, "retry_delay_ms": delay, "error": error, "error_status": status,
        });
        let note = Note::status(StatusLabel::Retry, Some(detail)).with(ContentPart::Json { json: facts(json) });
        let mut session = self.aside(out, retry.session_id.as_deref());
        self.streams.take_back(&mut session);
        session.note(note);
    }

    pub(super) fn model_fallback(&mut self, fallback: ModelFallbackMessage, out: &mut Drafts) {
        let note =
            self.settings.model_is(fallback.original_model.as_deref(), fallback.fallback_model, fallback.content);
        self.aside(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn model_refusal_fallback(&mut self, fallback: ModelRefusalFallbackMessage, out: &mut Drafts) {
        let note =
            self.settings.model_is(fallback.original_model.as_deref(), fallback.fallback_model, fallback.content);
        self.aside(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn hook_started(&mut self, hook: HookStartedMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let note = Note::status(StatusLabel::Hook, Some(name));
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.aside(out, hook.session_id.as_deref()).note_started(key, note);
    }

    pub(super) fn hook_response(&mut self, hook: HookResponseMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let exit_code = hook.exit_code.as_ref().and_then(serde_json::Number::as_i64);
        let worked = matches!(hook.outcome, Some(HookResponseMessageOutcome::Success) | None);
        let failed = !worked || exit_code.is_some_and(|code| code != 0);
        let outcome = hook.outcome.as_ref().map(interlingua_native::claude::HookResponseMessageOutcome::as_str);
        let json = json!({ "outcome": outcome, "exit_code": exit_code, "stderr": hook.stderr });
        let mut note = Note::status(StatusLabel::Hook, Some(name)).with(ContentPart::Json { json: facts(json) });
        if let Some(output) = hook.output.filter(|output| !output.is_empty()) {
            note = note.with(ContentPart::text(output));
        }
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.aside(out, hook.session_id.as_deref()).note_finished(key, note, failed);
    }

    pub(super) fn task_started(&mut self, task: TaskStartedMessage, out: &mut Drafts) {
        let description = task.description.unwrap_or_default();
        let json = json!({
            "task_id": task.task_id, "tool_use_id": task.tool_use_id, "task_type": task.task_type,
            "subagent_type": task.subagent_type, "is_backgrounded": task.is_backgrounded, "status": "started",
        });
        if let (Some(id), Some(call)) = (task.task_id, task.tool_use_id)
            && self.tasks.len() < MOST_TASKS
        {
            self.tasks.insert(id, call);
        }
        self.task(task.session_id.as_deref(), format!("started: {description}"), json, out);
    }

    pub(super) fn task_progress(&mut self, task: &TaskProgressMessage, out: &mut Drafts) {
        let what = task.summary.as_deref().or(task.description.as_deref()).unwrap_or_default();
        let json = json!({
            "task_id": task.task_id, "tool_use_id": task.tool_use_id, "subagent_type": task.subagent_type,
            "last_tool_name": task.last_tool_name, "usage": task.usage, "status": "progress",
        });
        self.task(task.session_id.as_deref(), format!("progress: {what}"), json, out);
    }

    pub(super) fn task_updated(&mut self, task: &TaskUpdatedMessage, out: &mut Drafts) {
        let patch = task.patch.as_ref();
        let status = patch
            .and_then(|patch| patch.status.as_ref())
            .map(interlingua_native::claude::TaskUpdatedMessagePatchStatus::as_str);
        let what = patch.and_then(|patch| patch.error.as_deref().or(patch.description.as_deref()));
        let detail = match (status, what) {
            (Some(status), Some(what)) => format!("{status}: {what}"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => "updated".to_owned(),
        };
        let json = json!({ "task_id": task.task_id, "status": status, "patch": task.patch });
        self.task(task.session_id.as_deref(), detail, json, out);
    }

    pub(super) fn task_notification(&mut self, task: &TaskNotificationMessage, out: &mut Drafts) {
        let status = task.status.as_ref().map_or("done", |status| status.as_str());
        let detail = format!("{status}: {}", task.summary.as_deref().unwrap_or_default());
        let json = json!({
            "task_id": task.task_id, "tool_use_id": task.tool_use_id, "status": status,
            "output_file": task.output_file, "usage": task.usage,
        });
        let started = task.task_id.as_ref().and_then(|id| self.tasks.remove(id));
        if let Some(call) = started.or_else(|| task.tool_use_id.clone()) {
            let mut session = self.aside(out, task.session_id.as_deref()).sub_agent(call.as_str());
            self.briefs.show(Some(&call), &mut session);
        }
        self.task(task.session_id.as_deref(), detail, json, out);
    }

    pub(super) fn background_tasks_changed(&mut self, changed: &BackgroundTasksChangedMessage, out: &mut Drafts) {
        let running = changed.tasks.as_ref().map_or(0, Vec::len);
        let detail = format!("{running} in the background");
        self.task(changed.session_id.as_deref(), detail, json!({ "background_tasks": changed.tasks }), out);
    }

    fn task(&mut self, native: Option<&str>, detail: String, json: Value, out: &mut Drafts) {
        let note = Note::status(StatusLabel::Task, Some(detail)).with(ContentPart::Json { json: facts(json) });
        self.aside(out, native).note(note);
    }
}
