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
use super::content::json as to_json;
use super::items::compaction;
use super::thread::Settings;
use crate::{Drafts, Note};

impl CodexConverter {
    /// A remark about a thread, or about nothing in particular.
    pub(super) fn notice(&mut self, thread: Option<&str>, text: impl Into<String>, out: &mut Drafts) {
        self.about(thread, out).note(Note::notice(text));
    }

    /// A goal is told again whenever its counters move; only the goal and how it stands are news.
    pub(super) fn goal_updated(&mut self, params: ThreadGoalUpdatedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let goal = params.goal.unwrap_or_default();
        let status = goal.status.as_ref().map_or("set", |status| status.as_str());
        let text = format!("goal {status}: {}", goal.objective.unwrap_or_default());
        if thread.goal.as_ref() == Some(&text) {
            return out.dropped("counters of a goal that stands as before");
        }
        thread.goal = Some(text.clone());
        thread.session(out).note(Note::notice(text));
    }

    pub(super) fn goal_cleared(&mut self, params: &ThreadGoalClearedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        if thread.goal.take().is_none() {
            return out.dropped("no goal, where there was none");
        }
        thread.session(out).note(Note::notice("goal cleared"));
    }

    /// What the user might want to say next.
    pub(super) fn prediction(&mut self, params: ThreadPredictionUpdatedNotification, out: &mut Drafts) {
        match params.result {
            Some(ThreadPredictionResult::Completed(result)) => {
                let text = format!("suggestion: {}", result.text.unwrap_or_default());
                self.notice(params.thread_id.as_deref(), text, out);
            }
            _ => out.dropped("a suggestion that came to nothing"),
        }
    }

    pub(super) fn settings_updated(&mut self, params: ThreadSettingsUpdatedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let new = params.thread_settings.unwrap_or_default();
        let mode = new.collaboration_mode.and_then(|mode| mode.mode);
        let new = Settings {
            model: new.model,
            mode: mode.map(|mode| mode.as_str().to_owned()),
            approval: new.approval_policy.as_ref().map(approval),
            sandbox: new.sandbox_policy.as_ref().map(sandbox),
            effort: new.effort,
        };
        if !thread.settings.change(new, &mut thread.session(out)) {
            out.dropped("settings that are as before");
        }
    }

    /// Limits are told after every answer of the model; they are news when they show a figure, and another one.
    pub(super) fn rate_limits(&mut self, params: AccountRateLimitsUpdatedNotification, out: &mut Drafts) {
        let limits = params.rate_limits.unwrap_or_default();
        let Some(detail) = figures(&limits) else {
            return out.dropped("limits without a figure");
        };
        if self.limits.as_ref() == Some(&detail) {
            return out.dropped("limits that are as before");
        }
        self.limits = Some(detail.clone());
        out.current_session().note(Note::rate_limit(rate_limit(&limits)).with_part(ContentPart::text(detail)));
    }

    pub(super) fn mcp_server_status(&mut self, params: McpServerStatusUpdatedNotification, out: &mut Drafts) {
        let name = params.name.unwrap_or_default();
        let state = match &params.status {
            Some(McpServerStartupState::Starting) | None => {
                return out.dropped("a server that starts; whether it did follows");
            }
            Some(state) => state.as_str(),
        };
        let why = params.error.map(|error| format!(": {error}")).unwrap_or_default();
        self.notice(params.thread_id.as_deref(), format!("MCP server {name} {state}{why}"), out);
    }

    /// Older releases tell of a compaction only so; newer ones have an item for it as well.
    pub(super) fn compacted(&mut self, params: &ContextCompactedNotification, out: &mut Drafts) {
        let has_sent = self.sent > 0;
        let thread = self.on(params.thread_id.as_deref(), out);
        if thread.turn.as_ref().is_some_and(|turn| turn.compacted) {
            return out.dropped("a compaction that is an item too");
        }
        let compaction = compaction(thread, has_sent);
        thread.session(out).note(Note::compaction(compaction));
    }

    pub(super) fn model_rerouted(&mut self, params: ModelReroutedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
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
        let thread = self.on(params.thread_id.as_deref(), out);
        let note = auto_review(params.action.as_ref(), params.review.as_ref());
        thread.session(out).note_started(params.review_id.unwrap_or_default(), note);
    }

    pub(super) fn auto_review_completed(
        &mut self,
        params: ItemGuardianApprovalReviewCompletedNotification,
        out: &mut Drafts,
    ) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let note = auto_review(params.action.as_ref(), params.review.as_ref());
        let status = params.review.as_ref().and_then(|review| review.status.as_ref());
        let is_decided =
            matches!(status, Some(GuardianApprovalReviewStatus::Approved | GuardianApprovalReviewStatus::Denied));
        thread.session(out).note_finished(params.review_id.unwrap_or_default(), note, !is_decided);
    }
}

/// An approval that another model gives or refuses in the user's place.
fn auto_review(action: Option<&GuardianApprovalReviewAction>, review: Option<&GuardianApprovalReview>) -> Note {
    let status = review.and_then(|review| review.status.as_ref()).map_or("inProgress", |status| status.as_str());
    let why = review.and_then(|review| review.rationale.as_deref());
    let detail = match why {
        Some(why) => format!("automatic review: {status}: {why}"),
        None => format!("automatic review: {status}"),
    };
    let note = Note::notice(detail);
    match action {
        Some(action) => note.with_part(ContentPart::Json { json: to_json(action) }),
        None => note,
    }
}

/// The limit that is nearest: the window of which most is used.
fn rate_limit(limits: &RateLimitSnapshot) -> RateLimit {
    let windows = [limits.primary.as_ref(), limits.secondary.as_ref()].into_iter().flatten();
    // The first of two that are as near.
    let nearest = windows.rev().max_by_key(|window| window.used_percent);
    let is_reached = limits.rate_limit_reached_type.is_some()
        || limits.spend_control_reached == Some(true)
        || nearest.and_then(|window| window.used_percent).is_some_and(|used| used >= 100);
    let millis = |seconds: i64| seconds.checked_mul(1000).map(Timestamp::from_millis);
    RateLimit::new(if is_reached { "rejected" } else { "allowed" })
        .resets_at(nearest.and_then(|window| window.resets_at).and_then(millis))
        .window(nearest.and_then(|window| window.window_duration_mins).map(window_name))
}

/// The period of a limit: `5h`, `7d`.
fn window_name(minutes: i64) -> String {
    const HOUR: i64 = 60;
    const DAY: i64 = 24 * HOUR;
    match minutes {
        minutes if minutes > 0 && minutes % DAY == 0 => format!("{}d", minutes / DAY),
        minutes if minutes > 0 && minutes % HOUR == 0 => format!("{}h", minutes / HOUR),
        minutes => format!("{minutes}m"),
    }
}

/// The figures in a line; `None` when there are none.
fn figures(limits: &RateLimitSnapshot) -> Option<String> {
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

/// A policy of approvals as a word.
pub(super) fn approval(policy: &AskForApproval) -> String {
    match policy {
        AskForApproval::Text(policy) => policy.as_str().to_owned(),
        AskForApproval::Object(_) => "granular".to_owned(),
        AskForApproval::Unknown(json) => json.get().to_owned(),
    }
}

/// A sandbox as a word.
pub(super) fn sandbox(policy: &SandboxPolicy) -> String {
    let name = match policy {
        SandboxPolicy::DangerFullAccess(_) => "dangerFullAccess",
        SandboxPolicy::ReadOnly(_) => "readOnly",
        SandboxPolicy::ExternalSandbox(_) => "externalSandbox",
        SandboxPolicy::WorkspaceWrite(_) => "workspaceWrite",
        SandboxPolicy::Unknown { tag, .. } => tag,
    };
    name.to_owned()
}
