//! `result` lines: the end of a turn.

use interlingua_native::claude::{
    PermissionDenial, ResultError, ResultErrorSubtype, ResultSuccess, StdoutMessage, TerminalReason,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{NativeMetadata, StopReason, TurnMetadata, TurnStatus};
use serde_json::{Number, Value, json};

use super::turns::Turn;
use super::{AGENT, ClaudeConverter, failures, to_u64};
use crate::{Drafts, Failure, MessageDraft, MessageEnd, TurnEnd};

/// Prefix of the agent's internal diagnostics, which are among the errors of a turn that was cut off.
const DIAGNOSTIC_PREFIX: &str = "[ede_diagnostic]";

impl ClaudeConverter {
    pub(super) fn result_success(&mut self, result: ResultSuccess, out: &mut Drafts) {
        self.expect_model_usage(result.model_usage.is_some(), "result/success", out);
        let text = result.result.unwrap_or_default();
        // An unknown outcome is a failure.
        let failed = result.is_error != Some(false);
        let interrupted = is_interrupt(result.terminal_reason.as_ref()) || (failed && self.turn.is_interrupted);
        let info = ResultInfo {
            session_id: result.session_id,
            status: match (interrupted, failed) {
                (true, _) => TurnStatus::Interrupted,
                (false, true) => TurnStatus::Failed,
                (false, false) => TurnStatus::Completed,
            },
            prompt_uuids: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.usage_meter.turn_usage(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let is_local = to_u64(result.num_turns.as_ref()) == Some(0);
        let stop_reason = match result.stop_reason.as_deref() {
            // Older versions do not report why a turn that succeeded ended.
            None if info.status == TurnStatus::Completed && !is_local => Some(StopReason::EndTurn),
            _ if failed && self.turn.hit_token_limit => Some(StopReason::MaxTokens),
            reason => stop_reason(reason, &info.status),
        };
        let native = NativeMetadata::new()
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("local_command", result.local_command)
            .with("structured_output", result.structured_output.as_ref().map(Json::to_value))
            .with("permission_denials", permission_denials(result.permission_denials))
            .with("deferred_tool_use", result.deferred_tool_use.and_then(|tool| serde_json::to_value(tool).ok()));
        let end = TurnEnd { usage, stop_reason, native, ..turn_end(info.status.clone(), result.duration_ms.as_ref()) };
        let failure = failures::FailureInfo {
            api_type: result.api_error_type.as_deref(),
            status: to_u64(result.api_error_status.as_ref()),
            terminal_reason: result.terminal_reason.as_ref(),
            ..failures::FailureInfo::default()
        };
        let is_answer = !text.trim().is_empty() && result.structured_output.is_none();
        let unreported = if failed && !interrupted {
            (!self.turn.has_failure(&text)).then(|| Unreported::Failure(failure.to_failure(text)))
        } else if is_answer && !interrupted && !self.turn.has_text(&text) {
            Some(Unreported::Answer(text))
        } else {
            None
        };
        self.end_turn(&info, end, unreported, out);
    }

    /// Reports a missing `modelUsage`. Every version that reports its version also reports the usage of each model.
    fn expect_model_usage(&self, is_present: bool, native_type: &str, out: &mut Drafts) {
        if !is_present && !self.settings.omits_version {
            out.current_session().unparsed(AGENT, "the result lacks `modelUsage`", Some(native_type.to_owned()));
        }
    }

    pub(super) fn result_error(&mut self, result: ResultError, out: &mut Drafts) {
        self.expect_model_usage(result.model_usage.is_some(), "result/error", out);
        let interrupted = is_interrupt(result.terminal_reason.as_ref()) || self.turn.is_interrupted;
        let info = ResultInfo {
            session_id: result.session_id,
            status: if interrupted { TurnStatus::Interrupted } else { TurnStatus::Failed },
            prompt_uuids: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.usage_meter.turn_usage(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let stop_reason = stop_reason(result.stop_reason.as_deref(), &info.status);
        let native = NativeMetadata::new()
            .with("subtype", result.subtype.as_ref().map(ResultErrorSubtype::as_str))
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("permission_denials", permission_denials(result.permission_denials));
        let end = TurnEnd { usage, stop_reason, native, ..turn_end(info.status.clone(), result.duration_ms.as_ref()) };
        let failure = failures::FailureInfo {
            api_type: result.api_error_type.as_deref(),
            terminal_reason: result.terminal_reason.as_ref(),
            startup_failure: result.startup_failure_reason.as_ref(),
            subtype: result.subtype.as_ref().map(ResultErrorSubtype::as_str),
            is_limit: matches!(
                result.subtype,
                Some(ResultErrorSubtype::ErrorMaxTurns | ResultErrorSubtype::ErrorMaxBudgetUsd)
            ),
            ..failures::FailureInfo::default()
        };
        let message = error_message(result.errors.unwrap_or_default(), result.subtype.as_ref());
        let is_unreported = !interrupted && !self.turn.has_failure(&message);
        let unreported = is_unreported.then(|| Unreported::Failure(failure.to_failure(message)));
        self.end_turn(&info, end, unreported, out);
    }

    /// A `result` with an unknown subtype ends the turn as failed.
    pub(super) fn unknown_result(&mut self, tag: String, raw: &Json, out: &mut Drafts) {
        let mut line = raw.to_value();
        let subtype = tag.strip_prefix("result/").map(|subtype| ResultErrorSubtype::Unknown(subtype.to_owned()));
        out.current_session().unparsed(AGENT, "unknown type", Some(tag));
        let message = line.get("result").and_then(Value::as_str).map(str::to_owned);
        if let Some(fields) = line.as_object_mut() {
            fields.insert("subtype".to_owned(), json!("error_during_execution"));
        }
        let decoded = StdoutMessage::decode(&line.to_string()).map(|decoded| decoded.value);
        if let Ok(StdoutMessage::ResultError(mut result)) = decoded {
            result.subtype = subtype;
            result.errors = result.errors.take().or(message.map(|message| vec![message]));
            self.result_error(*result, out);
        }
    }

    fn end_turn(&mut self, info: &ResultInfo, end: TurnEnd, unreported: Option<Unreported>, out: &mut Drafts) {
        if self.turn.was_reset() && unreported.is_none() {
            self.turn = Turn::default();
            return out.dropped("result of a turn that was ended by a reset");
        }
        if self.turn.is_running() {
            self.accept_prompts(&info.prompt_uuids, out);
        } else {
            self.prompts.start_turn(false);
            let mut session = self.session(out, info.session_id.as_deref()).synthetic();
            session.turn_started(None, TurnMetadata::default());
        }
        let key = self.new_key();
        let mut session = self.session(out, info.session_id.as_deref());
        self.streams.close_all(&mut session);
        self.finish_compaction_at_turn_end(info.session_id.as_deref(), out);
        let mut session = self.session(out, info.session_id.as_deref());
        match unreported {
            Some(Unreported::Failure(failure)) => session.failed(failure),
            Some(Unreported::Answer(answer)) => {
                session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(answer));
            }
            None => {}
        }
        session.turn_ended(end);
        self.prompts.end_turn();
        self.turn = Turn::default();
    }
}

/// What a `result` says besides the metadata of the turn's end.
struct ResultInfo {
    session_id: Option<String>,
    status: TurnStatus,
    /// The host's ids of the prompts that the turn answered.
    prompt_uuids: Vec<String>,
}

/// What only the `result` reports.
enum Unreported {
    Failure(Failure),
    Answer(String),
}

fn is_interrupt(reason: Option<&TerminalReason>) -> bool {
    matches!(reason, Some(TerminalReason::AbortedStreaming | TerminalReason::AbortedTools))
}

/// Why the model stopped. Of a turn that did not complete, only the token limit and a refusal are certain.
fn stop_reason(reason: Option<&str>, status: &TurnStatus) -> Option<StopReason> {
    match reason? {
        "max_tokens" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        _ if *status != TurnStatus::Completed => None,
        "end_turn" => Some(StopReason::EndTurn),
        _ => Some(StopReason::Other),
    }
}

fn turn_end(status: TurnStatus, duration_ms: Option<&Number>) -> TurnEnd {
    let end = TurnEnd::with_status(status);
    match to_u64(duration_ms) {
        Some(duration_ms) => end.duration_ms(duration_ms),
        None => end,
    }
}

/// The agent's error message. Diagnostics count only if there are no other errors.
fn error_message(errors: Vec<String>, subtype: Option<&ResultErrorSubtype>) -> String {
    let (diagnostics, errors): (Vec<String>, Vec<String>) =
        errors.into_iter().partition(|error| error.starts_with(DIAGNOSTIC_PREFIX));
    let lines = if errors.is_empty() { diagnostics } else { errors };
    if lines.is_empty() { subtype.map_or("error", |subtype| subtype.as_str()).to_owned() } else { lines.join("\n") }
}

fn permission_denials(denials: Option<Vec<PermissionDenial>>) -> Option<Value> {
    let denials = denials.filter(|denials| !denials.is_empty())?;
    let to_json =
        |denial: PermissionDenial| json!({ "tool_name": denial.tool_name, "tool_use_id": denial.tool_use_id });
    Some(denials.into_iter().map(to_json).collect())
}
