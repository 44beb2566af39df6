//! Changes of state: the model, the mode, retries, hooks.

use interlingua_native::claude::{
    ApiRetryMessage, AssistantMessageError, HookResponseMessage, HookResponseMessageOutcome, HookStartedMessage,
    ModelFallbackMessage, ModelRefusalFallbackMessage, PermissionMode, Status, StatusMessage,
};
use interlingua_schema::{ContentPart, Retry};

use super::{ClaudeConverter, failures, whole};
use crate::{Drafts, Note};

/// The model and the mode in use, to notice when they change.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The agent does not tell its version, as every one since 2.0 does.
    pub(super) hides_version: bool,
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
        let model = model.filter(|model| self.model.as_deref() != Some(*model))?;
        let before = self.model.replace(model.to_owned())?;
        Some(Note::model_changed(Some(before), model))
    }

    /// This mode is in use: news if it is another one.
    pub(super) fn mode_in_use(&mut self, mode: Option<&str>) -> Option<Note> {
        let mode = mode.filter(|mode| self.mode.as_deref() != Some(*mode))?;
        let before = self.mode.replace(mode.to_owned())?;
        Some(Note::mode_changed(Some(before), mode))
    }

    /// The agent says that it goes on with another model, perhaps why.
    pub(super) fn model_is(&mut self, from: Option<String>, to: Option<String>, words: Option<String>) -> Note {
        let Some(to) = to else {
            return Note::notice(words.unwrap_or_else(|| "Model changed".to_owned()));
        };
        self.model = Some(to.clone());
        let note = Note::model_changed(from, to);
        match words {
            Some(words) => note.with_part(ContentPart::text(words)),
            None => note,
        }
    }
}

/// A permission mode in our words.
pub(super) fn mode_name(mode: &PermissionMode) -> &str {
    match mode {
        PermissionMode::BypassPermissions => "bypass",
        mode => mode.as_str(),
    }
}

/// A request to the model that is made again.
pub(super) fn retry(
    attempt: Option<u64>,
    most: Option<u64>,
    delay: Option<u64>,
    error: Option<&str>,
    status: Option<u64>,
) -> Note {
    let retry = Retry::new(attempt.unwrap_or(1), error.unwrap_or_default());
    Note::retry(retry.max_attempts(most).delay_ms(delay).code(failures::retry_code(error, status)))
}

impl ClaudeConverter {
    pub(super) fn status(&mut self, status: &StatusMessage, out: &mut Drafts) {
        let native = status.session_id.as_deref();
        if let Some(mode) = status.permission_mode.as_ref().map(mode_name) {
            let note = self.settings.mode_in_use(Some(mode)).unwrap_or_else(|| Note::mode_changed(None, mode));
            self.aside(out, native).note(note);
        }
        match status.status {
            Some(Status::Compacting) => self.compacting(native, out),
            Some(Status::Requesting) => self.request_begins(out),
            _ => {}
        }
        self.compact_result(status, out);
        out.dropped("state echo");
    }

    /// A request to the model failed and is made again: what was said of its answer is void.
    pub(super) fn api_retry(&mut self, message: &ApiRetryMessage, out: &mut Drafts) {
        let note = retry(
            whole(message.attempt.as_ref()),
            whole(message.max_retries.as_ref()),
            whole(message.retry_delay_ms.as_ref()),
            message.error.as_ref().map(AssistantMessageError::as_str),
            whole(message.error_status.as_ref()),
        );
        let mut session = self.aside(out, message.session_id.as_deref());
        self.streams.take_back(&mut session);
        session.note(note);
    }

    pub(super) fn model_fallback(&mut self, fallback: ModelFallbackMessage, out: &mut Drafts) {
        let note = self.settings.model_is(fallback.original_model, fallback.fallback_model, fallback.content);
        self.aside(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn model_refusal_fallback(&mut self, fallback: ModelRefusalFallbackMessage, out: &mut Drafts) {
        let note = self.settings.model_is(fallback.original_model, fallback.fallback_model, fallback.content);
        self.aside(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn hook_started(&mut self, hook: HookStartedMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.aside(out, hook.session_id.as_deref()).note_started(key, Note::hook(name));
    }

    /// A hook is over. An outcome that is not understood is no success, unless the exit code says so.
    pub(super) fn hook_response(&mut self, hook: HookResponseMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let exit_code = hook.exit_code.as_ref().and_then(serde_json::Number::as_i64);
        let failed = match (&hook.outcome, exit_code) {
            (Some(HookResponseMessageOutcome::Error | HookResponseMessageOutcome::Cancelled), _) => true,
            (_, Some(code)) => code != 0,
            (outcome, None) => *outcome != Some(HookResponseMessageOutcome::Success),
        };
        let mut note = Note::hook(name);
        let printed = [hook.output, hook.stdout, hook.stderr].into_iter().flatten().find(|text| !text.is_empty());
        if let Some(printed) = printed {
            note = note.with_part(ContentPart::text(printed));
        }
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.aside(out, hook.session_id.as_deref()).note_finished(key, note, failed);
    }
}
