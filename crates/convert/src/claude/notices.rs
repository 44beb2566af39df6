//! What the agent mentions: notices, limits, and other news that belongs to no item.

use interlingua_native::claude::{
    ActiveGoalMessage, AuthStatusMessage, CommandLifecycleMessage, ElicitationCompleteMessage, FilesPersistedEvent,
    InformationalMessage, LocalCommandOutputMessage, MemoryRecallMessage, MirrorErrorMessage,
    ModelRefusalNoFallbackMessage, NotificationMessage, PermissionDeniedMessage, PluginInstallMessage,
    PromptSuggestionMessage, RateLimitEvent, SessionWritesLostMessage, ToolProgressMessage, ToolUseSummaryMessage,
    WorkerShuttingDownMessage,
};
use interlingua_schema::{ContentPart, ErrorCode, StatusLabel};
use serde_json::{Value, json};

use super::facts::facts;
use super::system::attempts;
use super::{ClaudeConverter, whole};
use crate::{Drafts, Failure, Note};

impl ClaudeConverter {
    fn notice(&mut self, native: Option<&str>, detail: String, json: Option<Value>, out: &mut Drafts) {
        let mut note = Note::status(StatusLabel::Notice, Some(detail));
        if let Some(json) = json {
            note = note.with(ContentPart::Json { json: facts(json) });
        }
        self.aside(out, native).note(note);
    }

    pub(super) fn informational(&mut self, information: InformationalMessage, out: &mut Drafts) {
        let level = information.level.as_ref().map(|level| level.as_str().to_owned());
        let json = level.map(|level| json!({ "level": level }));
        self.notice(information.session_id.as_deref(), information.content.unwrap_or_default(), json, out);
    }

    pub(super) fn notification(&mut self, notification: NotificationMessage, out: &mut Drafts) {
        let priority = notification.priority.as_ref().map(|priority| priority.as_str().to_owned());
        let json = json!({ "key": notification.key, "priority": priority });
        self.notice(notification.session_id.as_deref(), notification.text.unwrap_or_default(), Some(json), out);
    }

    /// The output of a slash command that ran without the model.
    pub(super) fn local_command_output(&mut self, output: LocalCommandOutputMessage, out: &mut Drafts) {
        let text = output.content.unwrap_or_default();
        self.turn.said(&text);
        self.aside(out, output.session_id.as_deref()).note(Note::system(text));
    }

    pub(super) fn model_refusal_no_fallback(&mut self, refusal: ModelRefusalNoFallbackMessage, out: &mut Drafts) {
        let json = json!({
            "model": refusal.original_model, "category": refusal.api_refusal_category,
            "explanation": refusal.api_refusal_explanation,
        });
        self.notice(refusal.session_id.as_deref(), refusal.content.unwrap_or_default(), Some(json), out);
    }

    pub(super) fn plugin_install(&mut self, plugin: &PluginInstallMessage, out: &mut Drafts) {
        let status = plugin.status.as_ref().map_or("changed", |status| status.as_str());
        let error = plugin.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let detail = format!("plugin {}: {status}{error}", plugin.name.as_deref().unwrap_or_default());
        self.notice(plugin.session_id.as_deref(), detail, None, out);
    }

    /// How long a tool has run says nothing lasting; that its sub-agent tries again does.
    pub(super) fn tool_progress(&mut self, progress: &ToolProgressMessage, out: &mut Drafts) {
        let Some(retry) = &progress.subagent_retry else {
            return out.dropped("progress counter");
        };
        let (attempt, most) = (whole(retry.attempt.as_ref()), whole(retry.max_retries.as_ref()));
        let detail = attempts(attempt, most, retry.error_category.as_deref(), None);
        let json = json!({
            "attempt": attempt, "max_retries": most, "error": retry.error_category, "tool_use_id": progress.tool_use_id,
            "error_status": whole(retry.error_status.as_ref()),
            "retry_delay_ms": whole(retry.retry_delay_ms.as_ref()),
        });
        let note = Note::status(StatusLabel::Retry, Some(detail)).with(ContentPart::Json { json: facts(json) });
        self.aside(out, progress.session_id.as_deref()).note(note);
    }

    pub(super) fn auth_status(&mut self, auth: AuthStatusMessage, out: &mut Drafts) {
        let output = auth.output.unwrap_or_default();
        if let Some(error) = auth.error {
            let failure = Failure::new(ErrorCode::Auth, error).details(json!({ "output": output })).aside();
            return self.aside(out, auth.session_id.as_deref()).failed(failure);
        }
        let state = if auth.is_authenticating == Some(true) { "signing in" } else { "signed in" };
        let detail = if output.is_empty() { state.to_owned() } else { format!("{state}: {}", output.join("\n")) };
        self.notice(auth.session_id.as_deref(), detail, None, out);
    }

    pub(super) fn worker_shutting_down(&mut self, worker: WorkerShuttingDownMessage, out: &mut Drafts) {
        let detail = format!("shutting down: {}", worker.reason.unwrap_or_default());
        self.notice(worker.session_id.as_deref(), detail, None, out);
    }

    pub(super) fn files_persisted(&mut self, files: &FilesPersistedEvent, out: &mut Drafts) {
        let (kept, failed) = (files.files.as_ref().map_or(0, Vec::len), files.failed.as_ref().map_or(0, Vec::len));
        let detail =
            if failed == 0 { format!("{kept} files kept") } else { format!("{kept} files kept, {failed} not") };
        let json = json!({ "files": files.files, "failed": files.failed });
        self.notice(files.session_id.as_deref(), detail, Some(json), out);
    }

    pub(super) fn tool_use_summary(&mut self, summary: ToolUseSummaryMessage, out: &mut Drafts) {
        let json = json!({ "tool_use_ids": summary.preceding_tool_use_ids });
        self.notice(summary.session_id.as_deref(), summary.summary.unwrap_or_default(), Some(json), out);
    }

    pub(super) fn memory_recall(&mut self, recall: &MemoryRecallMessage, out: &mut Drafts) {
        let count = recall.memories.as_ref().map_or(0, Vec::len);
        let json = json!({ "memories": recall.memories });
        self.notice(recall.session_id.as_deref(), format!("{count} memories recalled"), Some(json), out);
    }

    pub(super) fn rate_limit(&mut self, limit: &RateLimitEvent, out: &mut Drafts) {
        let info = limit.rate_limit_info.as_ref();
        let status =
            info.and_then(|info| info.status.as_ref()).map(interlingua_native::claude::RateLimitInfoStatus::as_str);
        let kind = info
            .and_then(|info| info.rate_limit_type.as_ref())
            .map(interlingua_native::claude::RateLimitInfoRateLimitType::as_str);
        let detail = [kind, status].into_iter().flatten().collect::<Vec<_>>().join(": ");
        let mut note = Note::status(StatusLabel::RateLimit, Some(detail).filter(|detail| !detail.is_empty()));
        if let Some(json) = info.and_then(|info| serde_json::to_value(info).ok()) {
            note = note.with(ContentPart::Json { json: facts(json) });
        }
        self.aside(out, limit.session_id.as_deref()).note(note);
    }

    pub(super) fn elicitation_complete(&mut self, elicitation: &ElicitationCompleteMessage, out: &mut Drafts) {
        let detail = format!("{} has its answer", elicitation.mcp_server_name.as_deref().unwrap_or("the MCP server"));
        let json = json!({ "elicitation_id": elicitation.elicitation_id });
        self.notice(elicitation.session_id.as_deref(), detail, Some(json), out);
    }

    /// A rule or a mode denied a tool, and nobody was asked.
    pub(super) fn permission_denied(&mut self, denied: &PermissionDeniedMessage, out: &mut Drafts) {
        let why = denied.message.as_deref().or(denied.decision_reason.as_deref()).unwrap_or_default();
        let detail = format!("permission denied: {}: {why}", denied.tool_name.as_deref().unwrap_or_default());
        let json = json!({
            "tool_name": denied.tool_name, "tool_use_id": denied.tool_use_id, "agent_id": denied.agent_id,
            "reason": denied.decision_reason, "reason_type": denied.decision_reason_type,
        });
        self.notice(denied.session_id.as_deref(), detail, Some(json), out);
    }

    pub(super) fn prompt_suggestion(&mut self, suggestion: PromptSuggestionMessage, out: &mut Drafts) {
        let detail = format!("suggested prompt: {}", suggestion.suggestion.unwrap_or_default());
        self.notice(suggestion.session_id.as_deref(), detail, None, out);
    }

    pub(super) fn mirror_error(&mut self, error: MirrorErrorMessage, out: &mut Drafts) {
        let detail = format!("transcript mirror: {}", error.error.unwrap_or_default());
        self.notice(error.session_id.as_deref(), detail, None, out);
    }

    pub(super) fn session_writes_lost(&mut self, lost: &SessionWritesLostMessage, out: &mut Drafts) {
        let json = json!({ "lost": lost.lost, "error_code": lost.error_code });
        self.notice(lost.session_id.as_deref(), "the session could not be saved".to_owned(), Some(json), out);
    }

    pub(super) fn active_goal(&mut self, goal: &ActiveGoalMessage, out: &mut Drafts) {
        let condition = goal.value.as_ref().and_then(|value| value.condition.as_deref());
        let detail = condition.map_or_else(|| "no goal".to_owned(), |condition| format!("goal: {condition}"));
        self.notice(goal.session_id.as_deref(), detail, Some(json!({ "goal": goal.value })), out);
    }

    /// A message the host sent with an id is taken up. Only inside a turn is that news: a turn says itself what it
    /// answers.
    pub(super) fn command_lifecycle(&mut self, command: CommandLifecycleMessage, out: &mut Drafts) {
        if command.state.as_deref() == Some("started")
            && let Some(uuid) = command.command_uuid
        {
            self.taken_up(&[uuid], out);
        }
        out.dropped("state echo");
    }
}
