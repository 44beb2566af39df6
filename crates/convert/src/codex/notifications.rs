//! Notifications of the app server, one match arm each.

use interlingua_native::codex::{
    ErrorNotification, HookCompletedNotification, HookRunStatus, HookRunSummary, HookStartedNotification,
    ModelVerification, ServerNotification, ThreadStartedNotification, ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification, TurnDiffUpdatedNotification, TurnPlanStep, TurnPlanStepStatus,
    TurnPlanUpdatedNotification, TurnStartedNotification, TurnStatus as NativeStatus,
};
use interlingua_schema::{ContentPart, NativeMetadata, PlanStep, StopReason, TurnStatus};

use super::failures::{parse_retry, parse_stop_reason, turn_failure};
use super::items::turn_metadata;
use super::realtime::TRANSCRIPT;
use super::thread::Turn;
use super::{CodexConverter, legacy};
use crate::draft::UNCHANGED_PLAN;
use crate::drop_reason::{HOST_RESPONSE, STATE_ECHO};
use crate::{Drafts, MessageDraft, MessageEnd, Note, TurnEnd, plan_step};

const RAW_TRAFFIC: &str = "raw model traffic; the items repeat it";

impl CodexConverter {
    #[expect(clippy::match_same_arms, clippy::too_many_lines, reason = "a table in the order of the schema")]
    pub(super) fn handle_notification(&mut self, message: ServerNotification, out: &mut Drafts) {
        match message {
            ServerNotification::Error(params) => self.error(params, out),
            ServerNotification::ThreadStarted(params) => self.thread_started(*params, out),
            ServerNotification::ThreadStatusChanged(_) | ServerNotification::ThreadReadStateChanged(_) => {
                out.dropped(STATE_ECHO);
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
            ServerNotification::SkillsChanged(_) => out.dropped(STATE_ECHO),
            ServerNotification::ThreadNameUpdated(params) => {
                let name = params.thread_name.unwrap_or_default();
                self.notice(params.thread_id.as_deref(), format!("thread name: {name}"), out);
            }
            ServerNotification::ThreadAttachmentUpdated(_) => out.dropped(STATE_ECHO),
            ServerNotification::ThreadGoalUpdated(params) => self.goal_updated(params, out),
            ServerNotification::ThreadPredictionUpdated(params) => self.prediction(params, out),
            ServerNotification::ThreadGoalCleared(params) => self.goal_cleared(&params, out),
            ServerNotification::ThreadQueueChanged(_)
            | ServerNotification::ThreadSectionChanged(_)
            | ServerNotification::ProjectChanged(_)
            | ServerNotification::ThreadProjectUpdated(_) => out.dropped(STATE_ECHO),
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
                self.notice(params.thread_id.as_deref(), "the automatic review requires a strict review", out);
            }
            ServerNotification::ItemCompleted(params) => self.item_completed(*params, out),
            ServerNotification::ItemAgentMessageDelta(params) => self.agent_message_delta(params, out),
            ServerNotification::ItemPlanDelta(params) => self.plan_delta(params, out),
            ServerNotification::CommandExecOutputDelta(_)
            | ServerNotification::ProcessOutputDelta(_)
            | ServerNotification::ProcessExited(_) => out.dropped(HOST_RESPONSE),
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
                let text = describe_outcome(&format!("login to MCP server {name}"), params.success, params.error);
                self.notice(params.thread_id.as_deref(), text, out);
            }
            ServerNotification::McpServerStartupStatusUpdated(params) => self.mcp_server_status(params, out),
            ServerNotification::McpServerEventStreamNotification(_) => out.dropped(HOST_RESPONSE),
            ServerNotification::AccountUpdated(params) => {
                let mode = params.auth_mode.as_ref().map_or("logged out", |mode| mode.as_str());
                self.notice(None, format!("account: {mode}"), out);
            }
            ServerNotification::AccountGatewayOAuthChanged(params) => {
                let status = params.status.as_ref().map_or("changed", |status| status.as_str());
                let provider = params.provider_id.as_deref().unwrap_or("the gateway");
                let reason = params.error.map(|error| format!(": {error}")).unwrap_or_default();
                self.notice(None, format!("login to {provider}: {status}{reason}"), out);
            }
            ServerNotification::AccountRateLimitsUpdated(params) => self.rate_limits(*params, out),
            ServerNotification::AppListUpdated(_) | ServerNotification::RemoteControlStatusChanged(_) => {
                out.dropped(STATE_ECHO);
            }
            ServerNotification::ExternalAgentConfigImportProgress(_)
            | ServerNotification::ExternalAgentConfigImportCompleted(_)
            | ServerNotification::FsChanged(_) => out.dropped(HOST_RESPONSE),
            ServerNotification::ItemReasoningSummaryTextDelta(params) => self.reasoning_summary_delta(params, out),
            ServerNotification::ItemReasoningSummaryPartAdded(_) => {
                out.dropped("start of a summary part; its text follows");
            }
            ServerNotification::ItemReasoningTextDelta(params) => self.reasoning_text_delta(params, out),
            ServerNotification::ThreadCompacted(params) => self.compacted(&params, out),
            ServerNotification::ModelRerouted(params) => self.model_rerouted(params, out),
            ServerNotification::ModelVerification(params) => {
                let kinds: Vec<&str> = params.verifications.iter().flatten().map(ModelVerification::as_str).collect();
                self.notice(
                    params.thread_id.as_deref(),
                    format!("the model asks for verification: {}", kinds.join(", ")),
                    out,
                );
            }
            ServerNotification::ModelProviderAuthRecoveryStarted(params)
            | ServerNotification::ModelProviderAuthRecoveryCompleted(params) => {
                let text = params.message.unwrap_or_else(|| "login is renewed".to_owned());
                self.notice(params.thread_id.as_deref(), text, out);
            }
            ServerNotification::TurnModerationMetadata(params) => {
                let metadata = params.metadata.map(|metadata| metadata.to_value()).unwrap_or_default();
                let note = Note::notice("Moderation");
                let note = note.with_part(ContentPart::Json { json: metadata });
                self.known_session(params.thread_id.as_deref(), out).note(note);
            }
            ServerNotification::ModelSafetyBufferingUpdated(params) => {
                let reasons = params.reasons.unwrap_or_default().join(", ");
                self.notice(
                    params.thread_id.as_deref(),
                    format!("the answer is held back for a safety check: {reasons}"),
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
            | ServerNotification::FuzzyFileSearchSessionCompleted(_) => out.dropped(HOST_RESPONSE),
            ServerNotification::ThreadRealtimeStarted(params) => self.realtime_started(&params, out),
            ServerNotification::ThreadRealtimeItemAdded(_) => out.dropped(RAW_TRAFFIC),
            ServerNotification::ThreadRealtimeItemStarted(params) => self.realtime_item_started(params, out),
            ServerNotification::ThreadRealtimeItemTranscriptDelta(params) => self.realtime_item_delta(params, out),
            ServerNotification::ThreadRealtimeItemCompleted(params) => self.realtime_item_completed(params, out),
            ServerNotification::ThreadRealtimeTranscriptDelta(_) => out.dropped(TRANSCRIPT),
            ServerNotification::ThreadRealtimeTranscriptDone(params) => self.transcript_done(params, out),
            ServerNotification::ThreadRealtimeOutputAudioDelta(_) => {
                out.dropped("audio, whose transcript is reported separately");
            }
            ServerNotification::ThreadRealtimeSdp(_) => out.dropped("setup of a voice connection"),
            ServerNotification::ThreadRealtimeError(params) => self.realtime_error(params, out),
            ServerNotification::ThreadRealtimeClosed(params) => self.realtime_closed(params, out),
            ServerNotification::WindowsWorldWritableWarning(params) => {
                let paths = params.sample_paths.unwrap_or_default().join(", ");
                self.notice(None, format!("world-writable directories: {paths}"), out);
            }
            ServerNotification::WindowsSandboxSetupCompleted(params) => {
                self.notice(None, describe_outcome("setting up the sandbox", params.success, params.error), out);
            }
            ServerNotification::AccountLoginCompleted(params) => {
                self.notice(None, describe_outcome("login", params.success, params.error), out);
            }
            ServerNotification::RawResponseItemCompleted(_) | ServerNotification::RawResponseCompleted(_) => {
                out.dropped(RAW_TRAFFIC);
            }
            ServerNotification::Unknown { tag, .. } => legacy::unknown_notification(tag, out),
        }
    }

    fn error(&mut self, params: ErrorNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let error = params.error.unwrap_or_default();
        if params.will_retry != Some(true) {
            if let Some(turn) = &mut thread.turn {
                turn.has_reported_error = true;
                turn.error_message.clone_from(&error.message);
            }
            return thread.session(out).failed(turn_failure(error));
        }
        thread.item_keys.start_retry();
        thread.abandon_streaming(out);
        let retry = parse_retry(error, thread.turn.as_ref().map_or(0, |turn| turn.last_retry));
        if let Some(turn) = &mut thread.turn {
            turn.last_retry = retry.attempt;
        }
        thread.session(out).note(Note::retry(retry));
    }

    fn thread_started(&mut self, params: ThreadStartedNotification, out: &mut Drafts) {
        match params.thread {
            Some(thread) if self.threads.find(&thread.id).is_none() => self.start_thread(thread, None, out),
            _ => out.dropped("already reported by the response"),
        }
    }

    fn token_usage(&mut self, params: &ThreadTokenUsageUpdatedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let usage = params.token_usage.as_ref();
        let Some(total) = usage.and_then(|usage| usage.total.as_ref()) else {
            return out.dropped("counters without a value");
        };
        match thread.usage_since_last_total(total, usage.and_then(|usage| usage.last.as_ref())) {
            Some(usage) if usage.input_tokens + usage.output_tokens > 0 => thread.session(out).add_usage(usage),
            Some(_) => out.dropped("unchanged counters"),
            None => out.dropped("counters of ended turns"),
        }
    }

    fn turn_started(&mut self, params: TurnStartedNotification, out: &mut Drafts) {
        let (id, root) = params.turn.map(|turn| (turn.id, turn.root_turn_id)).unwrap_or_default();
        // A `subAgentActivity` sub-agent may send payloads before its call. Its turn names the root turn it works for.
        if let (Some(child), Some(root)) = (&params.thread_id, &root)
            && self.threads.find(child).is_none()
            && let Some(parent) = self.threads.find_by_turn(root).map(str::to_owned)
        {
            self.add_sub_agent_thread(&parent, child, out);
        }
        let thread = self.thread(params.thread_id.as_deref(), out);
        match &thread.turn {
            // Older releases announce a turn for a prompt that joins the running one.
            Some(turn) if turn.phantom_turn_ids.contains(&id) => {
                return out.dropped("continuation of the running turn");
            }
            Some(turn) if turn.is_inferred => {}
            _ => {
                thread.turn = Some(Turn { id: id.clone(), ..Turn::default() });
                thread.item_keys.start_turn();
            }
        }
        // Newer releases have reported the change in `thread/settings/updated` by now, so nothing is drafted twice.
        let next = std::mem::take(&mut thread.next_settings);
        thread.settings.update(next, &mut thread.session(out).synthetic());
        let metadata = turn_metadata(thread);
        thread.session(out).turn_started(Some(id).filter(|id| !id.is_empty()), metadata);
    }

    fn turn_completed(&mut self, params: TurnCompletedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        if params.turn.is_none() && thread.turn.is_none() {
            return out.dropped("a turn without content");
        }
        // The running turn ends even if the payload cannot be decoded.
        let turn = params.turn.unwrap_or_default();
        let ended = thread.turn.take().unwrap_or_default();
        thread.pending_interrupts = 0;
        let id = if turn.id.is_empty() { ended.id } else { turn.id };
        let mut session = thread.session(out);
        // A prompt that the host sent into this turn belongs to it, even if the agent did not answer it.
        for prompt_id in ended.steered_prompts {
            session.prompt_accepted(Some(prompt_id.into()));
        }
        if let Some(review) = ended.review_result {
            let key = format!("{id}#review");
            session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(review));
        }
        let error_message = ended.error_message.or_else(|| turn.error.as_ref().and_then(|error| error.message.clone()));
        if let Some((key, compaction)) = ended.open_compaction {
            let note = Note::compaction_failed(compaction, error_message.as_deref());
            session.note_finished(key, note, true);
        }
        if let Some(error) = turn.error.filter(|_| !ended.has_reported_error) {
            session.failed(turn_failure(error));
        }
        let status = match turn.status {
            Some(NativeStatus::Interrupted) => TurnStatus::Interrupted,
            Some(NativeStatus::Completed) => TurnStatus::Completed,
            // A turn with an unknown outcome counts as failed.
            Some(NativeStatus::Failed | NativeStatus::InProgress | NativeStatus::Unknown(_)) | None => {
                TurnStatus::Failed
            }
        };
        let stop_reason = match status {
            TurnStatus::Completed => Some(StopReason::EndTurn),
            _ => error_message.as_deref().and_then(parse_stop_reason),
        };
        let mut end = TurnEnd::with_status(status).stop_reason(stop_reason);
        end.duration_ms = turn.duration_ms.and_then(|duration| u64::try_from(duration).ok());
        end.native = NativeMetadata::new().with("diff", ended.diff.filter(|diff| !diff.is_empty()));
        session.turn_ended(end);
        thread.last_turn_id = Some(id);
    }

    /// Remembers the changes of the turn so far. Each notification repeats them; the last one goes into `turn.ended`.
    fn turn_diff(&mut self, params: TurnDiffUpdatedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        if let Some(turn) = &mut thread.turn {
            turn.diff = params.diff;
        }
        out.dropped("changes of the turn so far; its end contains them");
    }

    fn plan_updated(&mut self, params: TurnPlanUpdatedNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let step = |step: TurnPlanStep| {
            plan_step(step.step.unwrap_or_default(), step.status.as_ref().map(TurnPlanStepStatus::as_str))
        };
        let steps: Vec<PlanStep> = params.plan.into_iter().flatten().map(step).collect();
        let explanation = params.explanation.filter(|explanation| !explanation.is_empty());
        if !thread.last_plan.update(&steps) && explanation.is_none() {
            return out.dropped(UNCHANGED_PLAN);
        }
        let plan = Note::plan(steps);
        thread.session(out).note(match explanation {
            Some(explanation) => plan.with_part(ContentPart::text(explanation)),
            None => plan,
        });
    }

    fn hook_started(&mut self, params: HookStartedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let run = params.run.unwrap_or_default();
        thread.hook_count += 1;
        let key = format!("hook-{}", thread.hook_count);
        thread.running_hooks.push((run.id.clone().unwrap_or_default(), key.clone()));
        thread.session(out).note_started(key, hook_note(&run));
    }

    fn hook_completed(&mut self, params: HookCompletedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let run = params.run.unwrap_or_default();
        let started = thread.running_hooks.iter().position(|(id, _)| Some(id) == run.id.as_ref());
        let key = if let Some(index) = started {
            thread.running_hooks.remove(index).1
        } else {
            thread.hook_count += 1;
            format!("hook-{}", thread.hook_count)
        };
        let is_finished =
            matches!(run.status, Some(HookRunStatus::Completed | HookRunStatus::Blocked | HookRunStatus::Stopped));
        thread.session(out).note_finished(key, hook_note(&run), !is_finished);
    }
}

/// Note for a hook run: its event, status and texts.
fn hook_note(run: &HookRunSummary) -> Note {
    let event = run.event_name.as_ref().map_or("hook", |event| event.as_str());
    let status = run.status.as_ref().map_or("running", |status| status.as_str());
    let entries = run.entries.iter().flatten().filter_map(|entry| entry.text.as_deref());
    let texts: Vec<&str> = run.status_message.as_deref().into_iter().chain(entries).collect();
    let detail = if texts.is_empty() {
        format!("{event}: {status}")
    } else {
        format!("{event}: {status}: {}", texts.join("; "))
    };
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

pub(super) fn describe_outcome(action: &str, success: Option<bool>, error: Option<String>) -> String {
    match (success, error) {
        (Some(true), _) => format!("{action} succeeded"),
        (_, Some(error)) => format!("{action} failed: {error}"),
        _ => format!("{action} failed"),
    }
}
