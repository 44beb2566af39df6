//! Changes of the model and mode, retries and hooks.

use interlingua_native::claude::{
    ApiRetryMessage, AssistantMessageError, HookResponseMessage, HookResponseMessageOutcome, HookStartedMessage,
    ModelFallbackMessage, ModelRefusalFallbackMessage, PermissionMode, Status, StatusMessage,
};
use interlingua_schema::{ContentPart, Retry};

use super::{ClaudeConverter, failures, to_u64};
use crate::drop_reason::STATE_ECHO;
use crate::{Drafts, Note};

/// The model and the mode in use.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The agent does not report its version. Every version since 2.0 does.
    pub(super) omits_version: bool,
    model: Option<String>,
    mode: Option<String>,
}

impl Settings {
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Sets the model and mode that a session starts with.
    pub(super) fn start_session(&mut self, model: Option<&str>, mode: Option<&str>) {
        self.model = model.map(str::to_owned);
        self.mode = mode.map(str::to_owned);
    }

    /// Sets the model. Returns a note if it changed.
    pub(super) fn update_model(&mut self, model: Option<&str>) -> Option<Note> {
        let model = model.filter(|model| self.model.as_deref() != Some(*model))?;
        let before = self.model.replace(model.to_owned())?;
        Some(Note::model_changed(Some(before), model))
    }

    /// Sets the mode. Returns a note if it changed.
    pub(super) fn update_mode(&mut self, mode: Option<&str>) -> Option<Note> {
        let mode = mode.filter(|mode| self.mode.as_deref() != Some(*mode))?;
        let before = self.mode.replace(mode.to_owned())?;
        Some(Note::mode_changed(Some(before), mode))
    }

    /// Sets the model after the agent reports a change, with the reason if it gives one.
    pub(super) fn change_model(&mut self, from: Option<String>, to: Option<String>, reason: Option<String>) -> Note {
        let Some(to) = to else {
            return Note::notice(reason.unwrap_or_else(|| "Model changed".to_owned()));
        };
        self.model = Some(to.clone());
        let note = Note::model_changed(from, to);
        match reason {
            Some(reason) => note.with_part(ContentPart::text(reason)),
            None => note,
        }
    }
}

/// The universal name of a permission mode.
pub(super) fn mode_name(mode: &PermissionMode) -> &str {
    match mode {
        PermissionMode::BypassPermissions => "bypass",
        mode => mode.as_str(),
    }
}

/// Status of a request to the model that is retried.
pub(super) fn retry_note(
    attempt: Option<u64>,
    max_attempts: Option<u64>,
    delay_ms: Option<u64>,
    error: Option<&str>,
    status: Option<u64>,
) -> Note {
    let retry = Retry::new(attempt.unwrap_or(1), error.unwrap_or_default());
    Note::retry(retry.max_attempts(max_attempts).delay_ms(delay_ms).code(failures::retry_code(error, status)))
}

impl ClaudeConverter {
    pub(super) fn status(&mut self, status: &StatusMessage, out: &mut Drafts) {
        let session_id = status.session_id.as_deref();
        if let Some(mode) = status.permission_mode.as_ref().map(mode_name) {
            let note = self.settings.update_mode(Some(mode)).unwrap_or_else(|| Note::mode_changed(None, mode));
            self.session_if_started(out, session_id).note(note);
        }
        match status.status {
            Some(Status::Compacting) => self.compaction_announced(session_id, out),
            Some(Status::Requesting) => self.start_model_request(out),
            _ => {}
        }
        self.compact_result(status, out);
        out.dropped(STATE_ECHO);
    }

    /// A request to the model failed and is retried: the deltas of its answer are void.
    pub(super) fn api_retry(&mut self, message: &ApiRetryMessage, out: &mut Drafts) {
        let note = retry_note(
            to_u64(message.attempt.as_ref()),
            to_u64(message.max_retries.as_ref()),
            to_u64(message.retry_delay_ms.as_ref()),
            message.error.as_ref().map(AssistantMessageError::as_str),
            to_u64(message.error_status.as_ref()),
        );
        let mut session = self.session_if_started(out, message.session_id.as_deref());
        self.streams.abandon(&mut session);
        session.note(note);
    }

    pub(super) fn model_fallback(&mut self, fallback: ModelFallbackMessage, out: &mut Drafts) {
        let note = self.settings.change_model(fallback.original_model, fallback.fallback_model, fallback.content);
        self.session_if_started(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn model_refusal_fallback(&mut self, fallback: ModelRefusalFallbackMessage, out: &mut Drafts) {
        let note = self.settings.change_model(fallback.original_model, fallback.fallback_model, fallback.content);
        self.session_if_started(out, fallback.session_id.as_deref()).note(note);
    }

    pub(super) fn hook_started(&mut self, hook: HookStartedMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.session_if_started(out, hook.session_id.as_deref()).note_started(key, Note::hook(name));
    }

    /// A hook ended. An unknown outcome is a failure unless the exit code is 0.
    pub(super) fn hook_response(&mut self, hook: HookResponseMessage, out: &mut Drafts) {
        let name = hook.hook_name.or(hook.hook_event).unwrap_or_default();
        let exit_code = hook.exit_code.as_ref().and_then(serde_json::Number::as_i64);
        let failed = match (&hook.outcome, exit_code) {
            (Some(HookResponseMessageOutcome::Error | HookResponseMessageOutcome::Cancelled), _) => true,
            (_, Some(code)) => code != 0,
            (outcome, None) => *outcome != Some(HookResponseMessageOutcome::Success),
        };
        let mut note = Note::hook(name);
        let output = [hook.output, hook.stdout, hook.stderr].into_iter().flatten().find(|text| !text.is_empty());
        if let Some(output) = output {
            note = note.with_part(ContentPart::text(output));
        }
        let key = hook.hook_id.unwrap_or_else(|| self.new_key());
        self.session_if_started(out, hook.session_id.as_deref()).note_finished(key, note, failed);
    }
}
