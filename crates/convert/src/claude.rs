//! Claude Code's events as drafts.
//!
//! Claude Code prints one line per content block and, on request, the deltas before it. It opens each turn with a
//! `system/init` and closes it with a `result`; what the host must decide comes as a `control_request`, and the host's
//! answer is seen as a sent line. A one-shot run has its prompt on the command line.

mod argv;
mod assistant;
mod briefs;
mod calls;
mod clean;
mod compaction;
mod content;
mod control;
mod facts;
mod failures;
mod files;
mod hosted;
mod inputs;
mod notices;
mod output;
mod plan;
mod prompts;
mod questions;
mod streaming;
mod system;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod usage;
mod user;

use interlingua_native::claude::StdoutMessage;
use interlingua_native::{DecodeError, Json, Native as _};
use interlingua_schema::{ContentPart, Timestamp};
use serde_json::Number;

use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Launch, SessionDrafts};
use briefs::Briefs;
use calls::Calls;
use compaction::Compaction;
use control::Requests;
use plan::Plan;
use prompts::Prompts;
use streaming::Streams;
use system::Settings;
use tasks::Tasks;
use turns::Turn;
use usage::Meter;

/// Who could not read a payload.
const HERE: &str = "claude";

/// Turns what Claude Code says into drafts.
#[derive(Debug, Default)]
pub struct ClaudeConverter {
    /// The session that began last.
    session: Option<String>,
    prompts: Prompts,
    turn: Turn,
    /// Numbers what has no name of its own.
    serial: u64,
    streams: Streams,
    calls: Calls,
    briefs: Briefs,
    /// Sub-agents name themselves by their task.
    tasks: Tasks,
    requests: Requests,
    settings: Settings,
    compaction: Compaction,
    plan: Plan,
    meter: Meter,
}

impl Converter for ClaudeConverter {
    fn agent(&self) -> &'static str {
        HERE
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        let started = argv::read(launch);
        self.meter.launched(started.resumed);
        self.prompts.launched(started.repeats_prompts);
        if let Some(prompt) = started.prompt {
            let prompt = self.prompts.sent(vec![ContentPart::text(prompt)], None, None, false);
            out.current_session().prompt_sent(prompt);
        }
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.sent(line, out),
            Input::Received(line) => self.received(line, out),
            Input::Close => self.requests.unanswerable(out),
            Input::Exit { .. } => self.process_gone(),
            // Standard error is kept for the session's end, and there is no HTTP interface.
            Input::Stderr(_) | Input::Unreadable { .. } | Input::Request { .. } => {}
            Input::Reply { .. } => out.dropped("answer to the host's own request"),
        }
    }
}

impl ClaudeConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        match StdoutMessage::decode(line) {
            Ok(decoded) => {
                self.message(decoded.value, out);
                report_losses(HERE, &decoded.losses, out);
            }
            // `--output-format json --verbose` prints all messages as one list.
            Err(_) if line.trim_start().starts_with('[') => self.list(line, out),
            Err(error) => unreadable(&error, out),
        }
    }

    fn list(&mut self, line: &str, out: &mut Drafts) {
        match serde_json::from_str::<Vec<Json>>(line) {
            Ok(messages) if !messages.is_empty() => {
                for message in messages {
                    match StdoutMessage::decode(message.get()) {
                        Ok(decoded) => {
                            self.message(decoded.value, out);
                            report_losses(HERE, &decoded.losses, out);
                        }
                        Err(error) => unreadable(&error, out),
                    }
                }
            }
            Ok(_) => out.current_session().unparsed(HERE, "an empty list", None),
            Err(error) => out.current_session().unparsed(HERE, format!("not JSON: {error}"), None),
        }
    }

    /// What each type of message means.
    #[allow(clippy::match_same_arms, reason = "every variant is named, in the order of the schema")]
    fn message(&mut self, message: StdoutMessage, out: &mut Drafts) {
        self.end_compaction_before(&message, out);
        match message {
            StdoutMessage::Assistant(line) => self.assistant(*line, out),
            StdoutMessage::User(line) => self.user(*line, out),
            StdoutMessage::ResultSuccess(result) => self.result_success(*result, out),
            StdoutMessage::ResultError(result) => self.result_error(*result, out),
            StdoutMessage::SystemInit(init) => self.init(*init, out),
            StdoutMessage::StreamEvent(event) => self.stream_event(*event, out),
            StdoutMessage::SystemCompactBoundary(boundary) => self.compact_boundary(&boundary, out),
            StdoutMessage::SystemStatus(status) => self.status(&status, out),
            StdoutMessage::SystemApiRetry(retry) => self.api_retry(&retry, out),
            StdoutMessage::SystemControlRequestProgress(_) => out.dropped("progress of the host's own request"),
            StdoutMessage::SystemModelRefusalFallback(fallback) => self.model_refusal_fallback(*fallback, out),
            StdoutMessage::SystemModelRefusalNoFallback(refusal) => self.model_refusal_no_fallback(refusal, out),
            StdoutMessage::SystemLocalCommandOutput(output) => self.local_command_output(output, out),
            StdoutMessage::SystemHookStarted(hook) => self.hook_started(hook, out),
            StdoutMessage::SystemHookProgress(_) => out.dropped("output of a hook that its response repeats"),
            StdoutMessage::SystemHookResponse(hook) => self.hook_response(hook, out),
            StdoutMessage::SystemPluginInstall(plugin) => self.plugin_install(&plugin, out),
            StdoutMessage::ToolProgress(progress) => self.tool_progress(&progress, out),
            StdoutMessage::AuthStatus(auth) => self.auth_status(auth, out),
            StdoutMessage::SystemTaskNotification(task) => self.task_notification(*task, out),
            StdoutMessage::SystemTaskStarted(task) => self.task_started(*task, out),
            StdoutMessage::SystemTaskUpdated(task) => self.task_updated(task, out),
            StdoutMessage::SystemTaskProgress(task) => self.task_progress(*task, out),
            StdoutMessage::SystemBackgroundTasksChanged(_) => {
                out.dropped("list of tasks that have events of their own");
            }
            StdoutMessage::SystemThinkingTokens(_) => out.dropped("progress counter"),
            StdoutMessage::SystemSessionStateChanged(_) => out.dropped("state echo"),
            StdoutMessage::SystemWorkerShuttingDown(worker) => self.worker_shutting_down(worker, out),
            StdoutMessage::SystemCommandsChanged(_) => out.dropped("state echo"),
            StdoutMessage::SystemNotification(notification) => self.notification(notification, out),
            StdoutMessage::SystemFilesPersisted(files) => self.files_persisted(&files, out),
            StdoutMessage::ToolUseSummary(summary) => self.tool_use_summary(summary, out),
            StdoutMessage::SystemMemoryRecall(recall) => self.memory_recall(&recall, out),
            StdoutMessage::RateLimitEvent(limit) => self.rate_limit(*limit, out),
            StdoutMessage::SystemElicitationComplete(elicitation) => self.elicitation_complete(&elicitation, out),
            StdoutMessage::SystemPermissionDenied(denied) => self.permission_denied(&denied, out),
            StdoutMessage::PromptSuggestion(suggestion) => self.prompt_suggestion(suggestion, out),
            StdoutMessage::SystemMirrorError(error) => self.mirror_error(error, out),
            StdoutMessage::SystemInformational(information) => self.informational(information, out),
            StdoutMessage::ConversationReset(reset) => self.conversation_reset(&reset, out),
            StdoutMessage::SystemSessionWritesLost(lost) => self.session_writes_lost(&lost, out),
            StdoutMessage::CommandLifecycle(command) => self.command_lifecycle(&command, out),
            StdoutMessage::SystemModelFallback(fallback) => self.model_fallback(fallback, out),
            StdoutMessage::ActiveGoal(goal) => self.active_goal(&goal, out),
            StdoutMessage::ControlResponse(response) => self.control_response(response, out),
            StdoutMessage::ControlRequest(request) => self.control_request(request, out),
            StdoutMessage::ControlCancelRequest(cancel) => self.control_cancel_request(&cancel, out),
            StdoutMessage::KeepAlive(_) => out.dropped("keep-alive"),
            StdoutMessage::Unknown { tag, raw } if tag == "result" || tag.starts_with("result/") => {
                self.unknown_result(tag, &raw, out);
            }
            StdoutMessage::Unknown { tag, .. } => out.current_session().unparsed(HERE, "unknown type", Some(tag)),
        }
    }

    /// Speaks of the session that a line names. One that comes before any `init` begins the session.
    fn open<'a>(&mut self, out: &'a mut Drafts, native: Option<&str>) -> SessionDrafts<'a> {
        if self.session.is_none() {
            self.session = native.map(str::to_owned);
        }
        out.session_or_current(native)
    }

    /// Speaks of the session that a line names, but leaves it to `init` or an answer to begin it. After a reset, lines
    /// may name the session that follows before its `init`.
    fn aside<'a>(&self, out: &'a mut Drafts, native: Option<&str>) -> SessionDrafts<'a> {
        match self.session {
            Some(_) if !self.turn.was_reset() => out.session_or_current(native),
            _ => out.current_session(),
        }
    }

    /// A key for something that is spoken of once, or remembered by whoever asks.
    fn new_key(&mut self) -> String {
        self.serial += 1;
        format!("#{}", self.serial)
    }

    /// A new process knows nothing of what the old one left open.
    fn process_gone(&mut self) {
        self.turn = Turn::default();
        self.streams = Streams::default();
        self.calls = Calls::default();
        self.briefs = Briefs::default();
        self.tasks = Tasks::default();
        self.requests = Requests::default();
        self.compaction = Compaction::default();
        self.prompts.process_gone();
    }
}

fn unreadable(error: &DecodeError, out: &mut Drafts) {
    let native_type = match error {
        DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag.clone()),
        DecodeError::Mismatch { .. } | DecodeError::NotJson { .. } => None,
    };
    out.current_session().unparsed(HERE, error.to_string(), native_type);
}

/// The line's own time, for logs that have no other.
fn at(out: &mut Drafts, timestamp: Option<&str>) {
    if let Some(Ok(time)) = timestamp.map(str::parse::<Timestamp>) {
        out.set_payload_time(time);
    }
}

/// A count that JSON may write as a fraction.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: Option<&Number>) -> Option<u64> {
    let number = number?;
    number.as_u64().or_else(|| number.as_f64().filter(|value| *value >= 0.0).map(|value| value as u64))
}
