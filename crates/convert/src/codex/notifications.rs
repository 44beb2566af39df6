//! What the app server tells: one line per notification.

use interlingua_native::codex::{
    ErrorNotification, HookCompletedNotification, HookRunStatus, HookRunSummary, HookStartedNotification,
    ModelVerification, ServerNotification, ThreadStartedNotification, ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification, TurnDiffUpdatedNotification, TurnPlanStep, TurnPlanStepStatus,
    TurnPlanUpdatedNotification, TurnStartedNotification, TurnStatus as NativeStatus,
};
use interlingua_schema::{ContentPart, NativeMetadata, PlanStep, StopReason, TurnStatus};

use super::failures::{failure, retry, stop_reason};
use super::items::turn_metadata;
use super::realtime::WORDS;
use super::thread::Turn;
use super::{CodexConverter, legacy};
use crate::draft::UNCHANGED_PLAN;
use crate::{Drafts, MessageDraft, MessageEnd, Note, TurnEnd, plan_step};

/// What the agent says of its own state, and what nobody asked.
const STATE: &str = "an echo of state that other events tell of";
/// What the host asked for, apart from any conversation: a file search, a process, a catalogue.
const HOSTS_OWN: &str = "an answer to the host's own request";
const RAW: &str = "raw traffic with the model, which the items repeat";

impl CodexConverter {
    #[expect(clippy::match_same_arms, clippy::too_many_lines, reason = "a table in the order of the schema")]
    pub(super) fn notification(&mut self, message: ServerNotification, out: &mut Drafts) {
        match message {
            ServerNotification::Error(params) => self.error(params, out),
            ServerNotification::ThreadStarted(params) => self.thread_started(*params, out),
            ServerNotification::ThreadStatusChanged(_) | ServerNotification::ThreadReadStateChanged(_) => {
                out.dropped(STATE);
            }
            ServerNotification::ThreadArchived(params) => {
                self.notice(params.thread_id.as_deref(), "thread archived", out);
            }
            ServerNotification::ThreadDeleted(params) => {
                self.notice(params.thread_id.as_deref(), "thread deleted", out);
            }
            ServerNotification::ThreadUnarchived(params) => {
                self.notice(params.thread_id.as_deref(), "thread unarchived", out);
            }
            ServerNotification::ThreadClosed(params) => self.notice(params.thread_id.as_deref(), "thread closed", out),
            ServerNotification::ThreadReverted(params) => {
                self.notice(params.thread_id.as_deref(), "thread reverted", out);
            }
            ServerNotification::SkillsChanged(_) => out.dropped(STATE),
            ServerNotification::ThreadNameUpdated(params) => {
                let name = params.thread_name.unwrap_or_default();
                self.notice(params.thread_id.as_deref(), format!("thread name: {name}"), out);
            }
            ServerNotification::ThreadAttachmentUpdated(_) => out.dropped(STATE),
            ServerNotification::ThreadGoalUpdated(params) => self.goal_updated(params, out),
            ServerNotification::ThreadPredictionUpdated(params) => self.prediction(params, out),
            ServerNotification::ThreadGoalCleared(params) => self.goal_cleared(&params, out),
            ServerNotification::ThreadQueueChanged(_)
            | ServerNotification::ProjectChanged(_)
            | ServerNotification::ThreadProjectUpdated(_) => out.dropped(STATE),
            ServerNotification::ThreadEnvironmentConnected(params) => {
                let name = params.environment_id.unwrap_or_default();
                self.notice(params.thread_id.as_deref(), format!("environment connected: {name}"), out);
            }
            ServerNotification::ThreadEnvironmentDisconnected(params) => {
                let name = params.environment_id.unwrap_or_default();
                self.notice(params.thread_id.as_deref(), format!("environment disconnected: {name}"), out);
            }
            ServerNotification::ThreadSettingsUpdated(params) => self.settings_updated(*params, out),
            ServerNotification::ThreadTokenUsageUpdated(params) => self.token_usage(&params, out),
            ServerNotification::TurnStarted(params) => self.turn_started(*params, out),
            ServerNotification::HookStarted(params) => self.hook_started(*params, out),
            ServerNotification::TurnCompleted(params) => self.turn_completed(*params, out),
            ServerNotification::HookCompleted(params) => self.hook_completed(*params, out),
            ServerNotification::TurnDiffUpdated(params) => self.turn_diff(params, out),
            ServerNotification::TurnPlanUpdated(params) => self.plan_updated(params, out),
            ServerNotification::ItemStarted(params) => self.item_started(*params, out),
            ServerNotification::ItemAutoApprovalReviewStarted(params) => self.auto_review_started(*params, out),
            ServerNotification::ItemAutoApprovalReviewCompleted(params) => self.auto_review_completed(*params, out),
            ServerNotification::AutoApprovalReviewStrictReviewRequired(params) => {
                self.notice(params.thread_id.as_deref(), "the automatic review asks for a strict one", out);
            }
            ServerNotification::ItemCompleted(params) => self.item_completed(*params, out),
            ServerNotification::ItemAgentMessageDelta(params) => self.agent_message_delta(params, out),
            ServerNotification::ItemPlanDelta(params) => self.plan_delta(params, out),
            ServerNotification::CommandExecOutputDelta(_)
            | ServerNotification::ProcessOutputDelta(_)
            | ServerNotification::ProcessExited(_) => out.dropped(HOSTS_OWN),
            ServerNotification::ItemCommandExecutionOutputDelta(params) => self.command_output(params, out),
            ServerNotification::ItemCommandExecutionTerminalInteraction(params) => {
                self.terminal_interaction(params, out);
            }
            ServerNotification::ItemFileChangeOutputDelta(params) => self.file_change_output(params, out),
            ServerNotification::ItemFileChangePatchUpdated(params) => self.patch_updated(params, out),
            ServerNotification::ServerRequestResolved(params) => self.request_resolved(&params, out),
            ServerNotification::ItemMcpToolCallProgress(params) => self.mcp_progress(params, out),
            ServerNotification::McpServerOauthLoginCompleted(params) => {
                let name = params.name.unwrap_or_default();
                let what = outcome(&format!("login to MCP server {name}"), params.success, params.error);
                self.notice(params.thread_id.as_deref(), what, out);
            }
            ServerNotification::McpServerStartupStatusUpdated(params) => self.mcp_server_status(params, out),
            ServerNotification::McpServerEventStreamNotification(_) => out.dropped(HOSTS_OWN),
            ServerNotification::AccountUpdated(params) => {
                let mode = params.auth_mode.as_ref().map_or("logged out", |mode| mode.as_str());
                self.notice(None, format!("account: {mode}"), out);
            }
            ServerNotification::AccountGatewayOAuthChanged(params) => {
                let status = params.status.as_ref().map_or("changed", |status| status.as_str());
                let provider = params.provider_id.as_deref().unwrap_or("the gateway");
                let why = params.error.map(|error| format!(": {error}")).unwrap_or_default();
                self.notice(None, format!("login to {provider}: {status}{why}"), out);
            }
            ServerNotification::AccountRateLimitsUpdated(params) => self.rate_limits(*params, out),
            ServerNotification::AppListUpdated(_) | ServerNotification::RemoteControlStatusChanged(_) => {
                out.dropped(STATE);
            }
            ServerNotification::ExternalAgentConfigImportProgress(_)
            | ServerNotification::ExternalAgentConfigImportCompleted(_)
            | ServerNotification::FsChanged(_) => out.dropped(HOSTS_OWN),
            ServerNotification::ItemReasoningSummaryTextDelta(params) => self.reasoning_summary_delta(params, out),
            ServerNotification::ItemReasoningSummaryPartAdded(_) => {
                out.dropped("a part of a summary that begins; its text follows");
            }
            ServerNotification::ItemReasoningTextDelta(params) => self.reasoning_text_delta(params, out),
            ServerNotification::ThreadCompacted(params) => self.compacted(&params, out),
            ServerNotification::ModelRerouted(params) => self.model_rerouted(params, out),
            ServerNotification::ModelVerification(params) => {
                let what: Vec<&str> = params.verifications.iter().flatten().map(ModelVerification::as_str).collect();
                self.notice(
                    params.thread_id.as_deref(),
                    format!("the model asks for verification: {}", what.join(", ")),
                    out,
                );
            }
            ServerNotification::ModelProviderAuthRecoveryStarted(params)
            | ServerNotification::ModelProviderAuthRecoveryCompleted(params) => {
                let what = params.message.unwrap_or_else(|| "login is renewed".to_owned());
                self.notice(params.thread_id.as_deref(), what, out);
            }
            ServerNotification::TurnModerationMetadata(params) => {
                let metadata = params.metadata.map(|metadata| metadata.to_value()).unwrap_or_default();
                let note = Note::notice("Moderation");
                let note = note.with_part(ContentPart::Json { json: metadata });
                self.about(params.thread_id.as_deref(), out).note(note);
            }
            ServerNotification::ModelSafetyBufferingUpdated(params) => {
                let why = params.reasons.unwrap_or_default().join(", ");
                self.notice(
                    params.thread_id.as_deref(),
                    format!("the answer is held back for a safety check: {why}"),
                    out,
                );
            }
            ServerNotification::Warning(params) => {
                self.notice(params.thread_id.as_deref(), params.message.unwrap_or_default(), out);
            }
            ServerNotification::GuardianWarning(params) => {
                self.notice(params.thread_id.as_deref(), params.message.unwrap_or_default(), out);
            }
            ServerNotification::DeprecationNotice(params) => {
                self.notice(None, with_details(params.summary, params.details), out);
            }
            ServerNotification::ConfigWarning(params) => {
                self.notice(None, with_details(params.summary, params.details), out);
            }
            ServerNotification::FuzzyFileSearchSessionUpdated(_)
            | ServerNotification::FuzzyFileSearchSessionCompleted(_) => out.dropped(HOSTS_OWN),
            ServerNotification::ThreadRealtimeStarted(params) => self.realtime_started(&params, out),
            ServerNotification::ThreadRealtimeItemAdded(_) => out.dropped(RAW),
            ServerNotification::ThreadRealtimeItemStarted(params) => self.realtime_item_started(params, out),
            ServerNotification::ThreadRealtimeItemTranscriptDelta(params) => self.realtime_item_delta(params, out),
            ServerNotification::ThreadRealtimeItemCompleted(params) => self.realtime_item_completed(params, out),
            ServerNotification::ThreadRealtimeTranscriptDelta(_) => out.dropped(WORDS),
            ServerNotification::ThreadRealtimeTranscriptDone(params) => self.transcript_done(params, out),
            ServerNotification::ThreadRealtimeOutputAudioDelta(_) => {
                out.dropped("sound, whose transcript is told beside it");
            }
            ServerNotification::ThreadRealtimeSdp(_) => out.dropped("how a voice connection is set up"),
            ServerNotification::ThreadRealtimeError(params) => self.realtime_error(params, out),
            ServerNotification::ThreadRealtimeClosed(params) => self.realtime_closed(params, out),
            ServerNotification::WindowsWorldWritableWarning(params) => {
                let paths = params.sample_paths.unwrap_or_default().join(", ");
                self.notice(None, format!("folders that anybody may write to: {paths}"), out);
            }
            ServerNotification::WindowsSandboxSetupCompleted(params) => {
                self.notice(None, outcome("setting up the sandbox", params.success, params.error), out);
            }
            ServerNotification::AccountLoginCompleted(params) => {
                self.notice(None, outcome("login", params.success, params.error), out);
            }
            ServerNotification::RawResponseItemCompleted(_) | ServerNotification::RawResponseCompleted(_) => {
                out.dropped(RAW);
            }
            ServerNotification::Unknown { tag, .. } => legacy::notification(tag, out),
        }
    }

    fn error(&mut self, params: ErrorNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let error = params.error.unwrap_or_default();
        if params.will_retry != Some(true) {
            if let Some(turn) = &mut thread.turn {
                turn.failed = true;
                turn.error.clone_from(&error.message);
            }
            return thread.session(out).failed(failure(error));
        }
        thread.names.ask_again();
        thread.taken_back(out);
        let retry = retry(error, thread.turn.as_ref().map_or(0, |turn| turn.retries));
        if let Some(turn) = &mut thread.turn {
            turn.retries = retry.attempt;
        }
        thread.session(out).note(Note::retry(retry));
    }

    fn thread_started(&mut self, params: ThreadStartedNotification, out: &mut Drafts) {
        match params.thread {
            Some(thread) if self.threads.find(&thread.id).is_none() => self.thread_begins(thread, None, out),
            _ => out.dropped("the answer to the host's request told it already"),
        }
    }

    fn token_usage(&mut self, params: &ThreadTokenUsageUpdatedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let figures = params.token_usage.as_ref();
        let Some(total) = figures.and_then(|usage| usage.total.as_ref()) else {
            return out.dropped("counters without a figure");
        };
        match thread.used(total, figures.and_then(|usage| usage.last.as_ref())) {
            Some(usage) if usage.input_tokens + usage.output_tokens > 0 => thread.session(out).add_usage(usage),
            Some(_) => out.dropped("counters that are as before"),
            None => out.dropped("counters of turns that are over"),
        }
    }

    fn turn_started(&mut self, params: TurnStartedNotification, out: &mut Drafts) {
        let (id, root) = params.turn.map(|turn| (turn.id, turn.root_turn_id)).unwrap_or_default();
        // A sub-agent of the newer kind may speak before its call; its turn names the one that it works for.
        if let (Some(child), Some(root)) = (&params.thread_id, &root)
            && self.threads.find(child).is_none()
            && let Some(parent) = self.threads.running(root).map(str::to_owned)
        {
            self.adopt(&parent, child, out);
        }
        let thread = self.on(params.thread_id.as_deref(), out);
        match &thread.turn {
            // What the host says into a running turn is announced as one by older releases.
            Some(turn) if turn.steered.contains(&id) => return out.dropped("a turn that only goes on"),
            Some(turn) if turn.inferred => {}
            _ => {
                thread.turn = Some(Turn { id: id.clone(), ..Turn::default() });
                thread.names.turn_begins();
            }
        }
        // Newer releases have said so themselves by now.
        let next = std::mem::take(&mut thread.next);
        thread.settings.change(next, &mut thread.session(out).synthetic());
        let metadata = turn_metadata(thread);
        thread.session(out).turn_started(Some(id).filter(|id| !id.is_empty()), metadata);
    }

    fn turn_completed(&mut self, params: TurnCompletedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        if params.turn.is_none() && thread.turn.is_none() {
            return out.dropped("a turn without anything in it");
        }
        // The running turn is over, even where the rest cannot be read.
        let turn = params.turn.unwrap_or_default();
        let ran = thread.turn.take();
        thread.interrupts = 0;
        let ran = ran.unwrap_or_default();
        let id = if turn.id.is_empty() { ran.id } else { turn.id };
        let mut session = thread.session(out);
        // What the host said into this turn belongs to it, even where the agent did not get to it.
        for steer in ran.steers {
            session.prompt_accepted(Some(steer.into()));
        }
        if let Some(review) = ran.review {
            let key = format!("{id}#review");
            session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(review));
        }
        let words = ran.error.or_else(|| turn.error.as_ref().and_then(|error| error.message.clone()));
        if let Some((name, compaction)) = ran.compacting {
            let note = Note::compaction_failed(compaction, words.as_deref());
            session.note_finished(name, note, true);
        }
        if let Some(error) = turn.error.filter(|_| !ran.failed) {
            session.failed(failure(error));
        }
        let status = match turn.status {
            Some(NativeStatus::Interrupted) => TurnStatus::Interrupted,
            Some(NativeStatus::Completed) => TurnStatus::Completed,
            // A turn of which it is not understood how it went did not go well.
            Some(NativeStatus::Failed | NativeStatus::InProgress | NativeStatus::Unknown(_)) | None => {
                TurnStatus::Failed
            }
        };
        let stop_reason = match status {
            TurnStatus::Completed => Some(StopReason::EndTurn),
            _ => words.as_deref().and_then(stop_reason),
        };
        let mut end = TurnEnd::with_status(status).stop_reason(stop_reason);
        end.duration_ms = turn.duration_ms.and_then(|duration| u64::try_from(duration).ok());
        end.native = NativeMetadata::new().with("diff", ran.diff.filter(|diff| !diff.is_empty()));
        session.turn_ended(end);
        thread.last_turn = Some(id);
    }

    /// All that the turn changed so far is told again and again; its end carries the last of it.
    fn turn_diff(&mut self, params: TurnDiffUpdatedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        if let Some(turn) = &mut thread.turn {
            turn.diff = params.diff;
        }
        out.dropped("the turn's changes so far, which its end carries");
    }

    fn plan_updated(&mut self, params: TurnPlanUpdatedNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let step = |step: TurnPlanStep| {
            plan_step(step.step.unwrap_or_default(), step.status.as_ref().map(TurnPlanStepStatus::as_str))
        };
        let steps: Vec<PlanStep> = params.plan.into_iter().flatten().map(step).collect();
        let explanation = params.explanation.filter(|explanation| !explanation.is_empty());
        if !thread.plan.update(&steps) && explanation.is_none() {
            return out.dropped(UNCHANGED_PLAN);
        }
        let plan = Note::plan(steps);
        thread.session(out).note(match explanation {
            Some(explanation) => plan.with_part(ContentPart::text(explanation)),
            None => plan,
        });
    }

    fn hook_started(&mut self, params: HookStartedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let run = params.run.unwrap_or_default();
        thread.hook_count += 1;
        let key = format!("hook-{}", thread.hook_count);
        thread.hooks.push((run.id.clone().unwrap_or_default(), key.clone()));
        thread.session(out).note_started(key, hook(&run));
    }

    fn hook_completed(&mut self, params: HookCompletedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let run = params.run.unwrap_or_default();
        let begun = thread.hooks.iter().position(|(id, _)| Some(id) == run.id.as_ref());
        let key = if let Some(place) = begun {
            thread.hooks.remove(place).1
        } else {
            thread.hook_count += 1;
            format!("hook-{}", thread.hook_count)
        };
        let is_known =
            matches!(run.status, Some(HookRunStatus::Completed | HookRunStatus::Blocked | HookRunStatus::Stopped));
        thread.session(out).note_finished(key, hook(&run), !is_known);
    }
}

/// A hook's run: the event, what became of it, and what it says.
fn hook(run: &HookRunSummary) -> Note {
    let event = run.event_name.as_ref().map_or("hook", |event| event.as_str());
    let status = run.status.as_ref().map_or("running", |status| status.as_str());
    let said = run.entries.iter().flatten().filter_map(|entry| entry.text.as_deref());
    let said: Vec<&str> = run.status_message.as_deref().into_iter().chain(said).collect();
    let detail =
        if said.is_empty() { format!("{event}: {status}") } else { format!("{event}: {status}: {}", said.join("; ")) };
    let note = Note::hook(detail);
    match &run.id {
        Some(id) => note.native_id(id.as_str()),
        None => note,
    }
}

pub(super) fn with_details(summary: Option<String>, details: Option<String>) -> String {
    match (summary, details) {
        (Some(summary), Some(details)) => format!("{summary} ({details})"),
        (summary, details) => summary.or(details).unwrap_or_default(),
    }
}

pub(super) fn outcome(what: &str, success: Option<bool>, error: Option<String>) -> String {
    match (success, error) {
        (Some(true), _) => format!("{what} succeeded"),
        (_, Some(error)) => format!("{what} failed: {error}"),
        _ => format!("{what} failed"),
    }
}
