//! Changes of state that a client should see: settings, goals, limits, servers, automatic reviews.

use interlingua_native::codex::{
    AccountRateLimitsUpdatedNotification, AskForApproval, ContextCompactedNotification, GuardianApprovalReview,
    GuardianApprovalReviewAction, GuardianApprovalReviewStatus, ItemGuardianApprovalReviewCompletedNotification,
    ItemGuardianApprovalReviewStartedNotification, McpServerStartupState, McpServerStatusUpdatedNotification,
    ModelReroutedNotification, RateLimitSnapshot, RateLimitWindow, SandboxPolicy, ThreadGoalClearedNotification,
    ThreadGoalUpdatedNotification, ThreadPredictionResult, ThreadPredictionUpdatedNotification,
    ThreadSettingsUpdatedNotification,
};
use interlingua_schema::{ContentPart, RateLimit, Timestamp};

use super::CodexConverter;
use super::content::to_json;
use super::items::new_compaction;
use super::thread::Settings;
use crate::{Drafts, Note};

impl CodexConverter {
    /// Drafts a notice about a thread, or about the current session if the thread is unknown.
    pub(super) fn notice(&mut self, thread: Option<&str>, text: impl Into<String>, out: &mut Drafts) {
        self.known_session(thread, out).note(Note::notice(text));
    }

    /// A goal is reported whenever its counters change. Only a new objective or status is drafted.
    pub(super) fn goal_updated(&mut self, params: ThreadGoalUpdatedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let goal = params.goal.unwrap_or_default();
        let status = goal.status.as_ref().map_or("set", |status| status.as_str());
        let text = format!("goal {status}: {}", goal.objective.unwrap_or_default());
        if thread.last_goal.as_ref() == Some(&text) {
            return out.dropped("counters of an unchanged goal");
        }
        thread.last_goal = Some(text.clone());
        thread.session(out).note(Note::notice(text));
    }

    pub(super) fn goal_cleared(&mut self, params: &ThreadGoalClearedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        if thread.last_goal.take().is_none() {
            return out.dropped("still no goal");
        }
        thread.session(out).note(Note::notice("goal cleared"));
    }

    /// Suggestion for the next user message.
    pub(super) fn prediction(&mut self, params: ThreadPredictionUpdatedNotification, out: &mut Drafts) {
        match params.result {
            Some(ThreadPredictionResult::Completed(result)) => {
                let text = format!("suggestion: {}", result.text.unwrap_or_default());
                self.notice(params.thread_id.as_deref(), text, out);
            }
            _ => out.dropped("incomplete suggestion"),
        }
    }

    pub(super) fn settings_updated(&mut self, params: ThreadSettingsUpdatedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let new = params.thread_settings.unwrap_or_default();
        let mode = new.collaboration_mode.and_then(|mode| mode.mode);
        let new = Settings {
            model: new.model,
            mode: mode.map(|mode| mode.as_str().to_owned()),
            approval: new.approval_policy.as_ref().map(approval_name),
            sandbox: new.sandbox_policy.as_ref().map(sandbox_name),
            effort: new.effort,
        };
        if !thread.settings.update(new, &mut thread.session(out)) {
            out.dropped("unchanged settings");
        }
    }

    /// Limits are reported after every response of the model. They are drafted if they contain numbers that have
    /// changed.
    pub(super) fn rate_limits(&mut self, params: AccountRateLimitsUpdatedNotification, out: &mut Drafts) {
        let limits = params.rate_limits.unwrap_or_default();
        let Some(detail) = describe_limits(&limits) else {
            return out.dropped("limits without a value");
        };
        if self.last_rate_limits.as_ref() == Some(&detail) {
            return out.dropped("unchanged limits");
        }
        self.last_rate_limits = Some(detail.clone());
        out.current_session().note(Note::rate_limit(nearest_limit(&limits)).with_part(ContentPart::text(detail)));
    }

    pub(super) fn mcp_server_status(&mut self, params: McpServerStatusUpdatedNotification, out: &mut Drafts) {
        let name = params.name.unwrap_or_default();
        let state = match &params.status {
            Some(McpServerStartupState::Starting) | None => {
                return out.dropped("starting server; its result follows");
            }
            Some(state) => state.as_str(),
        };
        let reason = params.error.map(|error| format!(": {error}")).unwrap_or_default();
        self.notice(params.thread_id.as_deref(), format!("MCP server {name} {state}{reason}"), out);
    }

    /// Older releases report a compaction only by this notification; newer ones also have an item for it.
    pub(super) fn compacted(&mut self, params: &ContextCompactedNotification, out: &mut Drafts) {
        let log_has_requests = self.sent_requests > 0;
        let thread = self.thread(params.thread_id.as_deref(), out);
        if thread.turn.as_ref().is_some_and(|turn| turn.has_compaction_item) {
            return out.dropped("compaction that is also an item");
        }
        let compaction = new_compaction(thread, log_has_requests);
        thread.session(out).note(Note::compaction(compaction));
    }

    pub(super) fn model_rerouted(&mut self, params: ModelReroutedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let to = params.to_model.unwrap_or_default();
        thread.settings.model = Some(to.clone());
        let note = Note::model_changed(params.from_model, to);
        thread.session(out).note(match params.reason {
            Some(reason) => note.with_part(ContentPart::text(reason.as_str())),
            None => note,
        });
    }

    pub(super) fn auto_review_started(
        &mut self,
        params: ItemGuardianApprovalReviewStartedNotification,
        out: &mut Drafts,
    ) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let note = auto_review_note(params.action.as_ref(), params.review.as_ref());
        thread.session(out).note_started(params.review_id.unwrap_or_default(), note);
    }

    pub(super) fn auto_review_completed(
        &mut self,
        params: ItemGuardianApprovalReviewCompletedNotification,
        out: &mut Drafts,
    ) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let note = auto_review_note(params.action.as_ref(), params.review.as_ref());
        let status = params.review.as_ref().and_then(|review| review.status.as_ref());
        let is_decided =
            matches!(status, Some(GuardianApprovalReviewStatus::Approved | GuardianApprovalReviewStatus::Denied));
        thread.session(out).note_finished(params.review_id.unwrap_or_default(), note, !is_decided);
    }
}

/// Note for an approval that another model gives or refuses on behalf of the user.
fn auto_review_note(action: Option<&GuardianApprovalReviewAction>, review: Option<&GuardianApprovalReview>) -> Note {
    let status = review.and_then(|review| review.status.as_ref()).map_or("inProgress", |status| status.as_str());
    let rationale = review.and_then(|review| review.rationale.as_deref());
    let detail = match rationale {
        Some(rationale) => format!("automatic review: {status}: {rationale}"),
        None => format!("automatic review: {status}"),
    };
    let note = Note::notice(detail);
    match action {
        Some(action) => note.with_part(ContentPart::Json { json: to_json(action) }),
        None => note,
    }
}

/// Rate limit of the window with the highest usage.
fn nearest_limit(limits: &RateLimitSnapshot) -> RateLimit {
    let windows = [limits.primary.as_ref(), limits.secondary.as_ref()].into_iter().flatten();
    // Of two equal windows the first one counts.
    let nearest = windows.rev().max_by_key(|window| window.used_percent);
    let is_reached = limits.rate_limit_reached_type.is_some()
        || limits.spend_control_reached == Some(true)
        || nearest.and_then(|window| window.used_percent).is_some_and(|used| used >= 100);
    let millis = |seconds: i64| seconds.checked_mul(1000).map(Timestamp::from_millis);
    RateLimit::new(if is_reached { "rejected" } else { "allowed" })
        .resets_at(nearest.and_then(|window| window.resets_at).and_then(millis))
        .window(nearest.and_then(|window| window.window_duration_mins).map(format_window))
}

/// Length of a window: `5h`, `7d`.
fn format_window(minutes: i64) -> String {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    match minutes {
        minutes if minutes > 0 && minutes % DAY == 0 => format!("{}d", minutes / DAY),
        minutes if minutes > 0 && minutes % HOUR == 0 => format!("{}h", minutes / HOUR),
        minutes => format!("{minutes}m"),
    }
}

/// All numbers in one line; `None` if there are none.
fn describe_limits(limits: &RateLimitSnapshot) -> Option<String> {
    let window = |name: &str, window: &RateLimitWindow| Some(format!("{name} {}% used", window.used_percent?));
    let mut parts: Vec<String> = Vec::new();
    parts.extend(limits.primary.as_ref().and_then(|primary| window("primary", primary)));
    parts.extend(limits.secondary.as_ref().and_then(|secondary| window("secondary", secondary)));
    parts.extend(
        limits
            .individual_limit
            .as_ref()
            .and_then(|limit| limit.remaining_percent.map(|left| format!("own limit {left}% left"))),
    );
    parts.extend(
        limits
            .credits
            .as_ref()
            .and_then(|credits| credits.balance.as_ref().map(|balance| format!("credits {balance}"))),
    );
    parts.extend(limits.rate_limit_reached_type.as_ref().map(|reached| reached.as_str().to_owned()));
    parts.extend(limits.spend_control_reached.filter(|reached| *reached).map(|_| "spend limit reached".to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Name of an approval policy.
pub(super) fn approval_name(policy: &AskForApproval) -> String {
    match policy {
        AskForApproval::Text(policy) => policy.as_str().to_owned(),
        AskForApproval::Object(_) => "granular".to_owned(),
        AskForApproval::Unknown(json) => json.get().to_owned(),
    }
}

/// Name of a sandbox policy.
pub(super) fn sandbox_name(policy: &SandboxPolicy) -> String {
    let name = match policy {
        SandboxPolicy::DangerFullAccess(_) => "dangerFullAccess",
        SandboxPolicy::ReadOnly(_) => "readOnly",
        SandboxPolicy::ExternalSandbox(_) => "externalSandbox",
        SandboxPolicy::WorkspaceWrite(_) => "workspaceWrite",
        SandboxPolicy::Unknown { tag, .. } => tag,
    };
    name.to_owned()
}
