//! Notices, rate limits and other messages that belong to no item.

use interlingua_native::claude::{
    ActiveGoalMessage, AuthStatusMessage, CommandLifecycleMessage, ElicitationCompleteMessage, FilesPersistedEvent,
    InformationalMessage, LocalCommandOutputMessage, MemoryRecallMessage, MirrorErrorMessage,
    ModelRefusalNoFallbackMessage, NotificationMessage, PermissionDeniedMessage, PluginInstallMessage,
    PromptSuggestionMessage, RateLimitEvent, RateLimitInfoRateLimitType, RateLimitInfoStatus, SessionWritesLostMessage,
    ToolProgressMessage, ToolUseSummaryMessage, WorkerShuttingDownMessage,
};
use interlingua_schema::{ErrorCode, RateLimit, Timestamp};
use serde_json::json;

use super::{ClaudeConverter, native_details, system, to_u64};
use crate::drop_reason::STATE_ECHO;
use crate::{Drafts, Failure, Note};

impl ClaudeConverter {
    fn notice(&mut self, session_id: Option<&str>, detail: impl Into<String>, out: &mut Drafts) {
        self.session_if_started(out, session_id).note(Note::notice(detail));
    }

    pub(super) fn informational(&mut self, information: InformationalMessage, out: &mut Drafts) {
        self.notice(information.session_id.as_deref(), information.content.unwrap_or_default(), out);
    }

    pub(super) fn notification(&mut self, notification: NotificationMessage, out: &mut Drafts) {
        self.notice(notification.session_id.as_deref(), notification.text.unwrap_or_default(), out);
    }

    /// The output of a slash command that ran without the model.
    pub(super) fn local_command_output(&mut self, output: LocalCommandOutputMessage, out: &mut Drafts) {
        let text = output.content.unwrap_or_default();
        self.turn.observe_text(&text);
        self.session_if_started(out, output.session_id.as_deref()).note(Note::system(text));
    }

    pub(super) fn model_refusal_no_fallback(&mut self, refusal: ModelRefusalNoFallbackMessage, out: &mut Drafts) {
        let text = refusal.content.or(refusal.api_refusal_explanation);
        self.notice(refusal.session_id.as_deref(), text.unwrap_or_default(), out);
    }

    pub(super) fn plugin_install(&mut self, plugin: &PluginInstallMessage, out: &mut Drafts) {
        let status = plugin.status.as_ref().map_or("changed", |status| status.as_str());
        let error = plugin.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let detail = format!("plugin {}: {status}{error}", plugin.name.as_deref().unwrap_or_default());
        self.notice(plugin.session_id.as_deref(), detail, out);
    }

    /// Only retries of a sub-agent are shown; the running time of a tool is not.
    pub(super) fn tool_progress(&mut self, progress: &ToolProgressMessage, out: &mut Drafts) {
        let Some(retry) = &progress.subagent_retry else {
            return out.dropped("progress counter");
        };
        let mut note = system::retry_note(
            to_u64(retry.attempt.as_ref()),
            to_u64(retry.max_retries.as_ref()),
            to_u64(retry.retry_delay_ms.as_ref()),
            retry.error_category.as_deref(),
            to_u64(retry.error_status.as_ref()),
        );
        // The sub-agent's call is `parent_tool_use_id`; `tool_use_id` is the id of the heartbeat.
        if let Some(call) = progress.parent_tool_use_id.as_ref().or(progress.tool_use_id.as_ref()) {
            note = note.with_call(call.as_str());
        }
        self.session_if_started(out, progress.session_id.as_deref()).note(note);
    }

    pub(super) fn auth_status(&mut self, auth: AuthStatusMessage, out: &mut Drafts) {
        let output = auth.output.unwrap_or_default();
        if let Some(error) = auth.error {
            let failure =
                Failure::new(ErrorCode::Auth, error).native(native_details(json!({ "output": output }))).outside_turn();
            return self.session_if_started(out, auth.session_id.as_deref()).failed(failure);
        }
        let state = if auth.is_authenticating == Some(true) { "signing in" } else { "signed in" };
        let detail = if output.is_empty() { state.to_owned() } else { format!("{state}: {}", output.join("\n")) };
        self.notice(auth.session_id.as_deref(), detail, out);
    }

    pub(super) fn worker_shutting_down(&mut self, worker: WorkerShuttingDownMessage, out: &mut Drafts) {
        let detail = format!("shutting down: {}", worker.reason.unwrap_or_default());
        self.notice(worker.session_id.as_deref(), detail, out);
    }

    pub(super) fn files_persisted(&mut self, files: &FilesPersistedEvent, out: &mut Drafts) {
        let (saved, failed) = (files.files.as_ref().map_or(0, Vec::len), files.failed.as_ref().map_or(0, Vec::len));
        let detail = if failed == 0 {
            format!("{saved} files saved")
        } else {
            format!("{saved} files saved, {failed} not saved")
        };
        self.notice(files.session_id.as_deref(), detail, out);
    }

    pub(super) fn tool_use_summary(&mut self, summary: ToolUseSummaryMessage, out: &mut Drafts) {
        self.notice(summary.session_id.as_deref(), summary.summary.unwrap_or_default(), out);
    }

    pub(super) fn memory_recall(&mut self, recall: &MemoryRecallMessage, out: &mut Drafts) {
        let count = recall.memories.as_ref().map_or(0, Vec::len);
        self.notice(recall.session_id.as_deref(), format!("{count} memories recalled"), out);
    }

    pub(super) fn rate_limit(&mut self, event: RateLimitEvent, out: &mut Drafts) {
        let info = event.rate_limit_info.unwrap_or_default();
        let status = match &info.status {
            Some(RateLimitInfoStatus::AllowedWarning) => "warning",
            Some(status) => status.as_str(),
            None => "unknown",
        };
        let window = info.rate_limit_type.as_ref().map(|kind| match kind {
            RateLimitInfoRateLimitType::FiveHour => "5h".to_owned(),
            RateLimitInfoRateLimitType::SevenDay => "7d".to_owned(),
            kind => kind.as_str().to_owned(),
        });
        let resets_at = to_u64(info.resets_at.as_ref()).and_then(timestamp_from_seconds);
        let limit = RateLimit::new(status).resets_at(resets_at).window(window);
        self.session_if_started(out, event.session_id.as_deref()).note(Note::rate_limit(limit));
    }

    pub(super) fn elicitation_complete(&mut self, elicitation: &ElicitationCompleteMessage, out: &mut Drafts) {
        let detail =
            format!("{} received its answer", elicitation.mcp_server_name.as_deref().unwrap_or("the MCP server"));
        self.notice(elicitation.session_id.as_deref(), detail, out);
    }

    /// A rule or a mode denied a tool without asking the user.
    pub(super) fn permission_denied(&mut self, denied: &PermissionDeniedMessage, out: &mut Drafts) {
        let reason = denied.decision_reason.as_deref().or(denied.message.as_deref()).unwrap_or_default();
        let detail = format!("permission denied: {}: {reason}", denied.tool_name.as_deref().unwrap_or_default());
        let mut note = Note::notice(detail);
        if let Some(call) = &denied.tool_use_id {
            note = note.with_call(call.as_str());
        }
        self.session_if_started(out, denied.session_id.as_deref()).note(note);
    }

    pub(super) fn prompt_suggestion(&mut self, suggestion: PromptSuggestionMessage, out: &mut Drafts) {
        let detail = format!("suggested prompt: {}", suggestion.suggestion.unwrap_or_default());
        self.notice(suggestion.session_id.as_deref(), detail, out);
    }

    pub(super) fn mirror_error(&mut self, error: MirrorErrorMessage, out: &mut Drafts) {
        let detail = format!("transcript mirror: {}", error.error.unwrap_or_default());
        self.notice(error.session_id.as_deref(), detail, out);
    }

    pub(super) fn session_writes_lost(&mut self, lost: &SessionWritesLostMessage, out: &mut Drafts) {
        self.notice(lost.session_id.as_deref(), "the session could not be saved", out);
    }

    pub(super) fn active_goal(&mut self, goal: &ActiveGoalMessage, out: &mut Drafts) {
        let condition = goal.value.as_ref().and_then(|value| value.condition.as_deref());
        let detail = condition.map_or_else(|| "no goal".to_owned(), |condition| format!("goal: {condition}"));
        self.notice(goal.session_id.as_deref(), detail, out);
    }

    /// State of a message that the host sent with an id. A message that starts in a turn is part of it; one that starts
    /// between turns starts the next turn.
    pub(super) fn command_lifecycle(&mut self, command: &CommandLifecycleMessage, out: &mut Drafts) {
        let uuid = command.command_uuid.as_deref().unwrap_or_default();
        match command.state.as_deref() {
            Some("queued") => self.prompts.mark_queued(uuid),
            Some("started") if self.turn.has_started() => self.accept_prompts(&[uuid], out),
            Some("started") => self.prompts.mark_started(uuid),
            _ => {}
        }
        out.dropped(STATE_ECHO);
    }
}

fn timestamp_from_seconds(seconds: u64) -> Option<Timestamp> {
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)?;
    Some(Timestamp::from_millis(millis))
}
