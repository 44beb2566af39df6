//! Converter for Claude Code.
//!
//! Claude Code prints one line per content block and, on request, the deltas before it. Each turn starts with a
//! `system/init` line and ends with a `result` line. Permissions and questions are `control_request` lines; the host's
//! answers are lines that it sends. The prompt of a one-shot run is on the command line.
//!
//! The method that handles a native message has the name of that message.

#[cfg(feature = "acp")]
pub(crate) mod adapter;
mod argv;
mod assistant;
mod calls;
mod clean;
mod compaction;
mod content;
mod control;
mod failures;
mod files;
mod host;
mod inputs;
mod notices;
mod output;
mod plan;
mod prompts;
mod questions;
mod results;
mod server_tools;
mod streaming;
mod sub_agent_prompts;
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
use serde_json::{Number, Value};

use crate::drop_reason::{HOST_RESPONSE, KEEP_ALIVE, STATE_ECHO};
use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Launch, SessionDrafts};
use calls::OpenCalls;
use compaction::OpenCompaction;
use control::PendingRequests;
use plan::Plan;
use prompts::Prompts;
use streaming::StreamedMessages;
use sub_agent_prompts::SubAgentPrompts;
use system::Settings;
use tasks::RunningTasks;
use turns::Turn;
use usage::UsageMeter;

/// Id of the agent, also the `location` of its `agent.unparsed` events.
const AGENT: &str = "claude";

/// Whether a user's message is the agent's marker for an interrupt.
#[must_use]
pub fn is_interrupt_marker(text: &str) -> bool {
    clean::INTERRUPT_MARKERS.contains(&text.trim())
}

/// Whether a user's message is the summary of a compaction.
#[must_use]
pub fn is_compaction_summary(text: &str) -> bool {
    clean::extract_summary(text).is_some()
}

/// Converts the input and output of Claude Code into drafts.
#[derive(Debug, Default)]
pub struct ClaudeConverter {
    /// Native id of the session that started last.
    session_id: Option<String>,
    prompts: Prompts,
    turn: Turn,
    /// Number of keys that `new_key` has made.
    key_count: u64,
    streams: StreamedMessages,
    calls: OpenCalls,
    sub_agent_prompts: SubAgentPrompts,
    /// Permission requests of sub-agents name the task, not the tool call.
    tasks: RunningTasks,
    requests: PendingRequests,
    settings: Settings,
    compaction: OpenCompaction,
    plan: Plan,
    usage_meter: UsageMeter,
}

impl Converter for ClaudeConverter {
    fn agent(&self) -> &'static str {
        AGENT
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        let arguments = argv::parse(launch);
        self.usage_meter.process_started(arguments.resumes);
        self.prompts.process_started(arguments.echoes_prompts);
        if let Some(prompt) = arguments.prompt {
            let prompt = self.prompts.push(vec![ContentPart::text(prompt)], None, None, false);
            out.current_session().prompt_sent(prompt);
        }
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.convert_sent(line, out),
            Input::Received(line) => self.convert_received(line, out),
            Input::Close => self.requests.withdraw_all(out),
            Input::Exit { .. } => self.process_exited(),
            // The sequencer reports standard error when the session ends. Claude Code has no HTTP interface.
            Input::Stderr(_) | Input::Unreadable { .. } | Input::Request { .. } => {}
            Input::Reply { .. } => out.dropped(HOST_RESPONSE),
        }
    }
}

impl ClaudeConverter {
    fn convert_received(&mut self, line: &str, out: &mut Drafts) {
        match StdoutMessage::decode(line) {
            Ok(decoded) => {
                self.convert_message(decoded.value, out);
                report_losses(AGENT, &decoded.losses, out);
            }
            // `--output-format json --verbose` prints all messages as one list.
            Err(_) if line.trim_start().starts_with('[') => self.convert_list(line, out),
            Err(error) => report_decode_error(&error, out),
        }
    }

    fn convert_list(&mut self, line: &str, out: &mut Drafts) {
        match serde_json::from_str::<Vec<Json>>(line) {
            Ok(messages) if !messages.is_empty() => {
                for message in messages {
                    match StdoutMessage::decode(message.get()) {
                        Ok(decoded) => {
                            self.convert_message(decoded.value, out);
                            report_losses(AGENT, &decoded.losses, out);
                        }
                        Err(error) => report_decode_error(&error, out),
                    }
                }
            }
            Ok(_) => out.current_session().unparsed(AGENT, "the list of messages is empty", None),
            Err(error) => out.current_session().unparsed(AGENT, format!("not JSON: {error}"), None),
        }
    }

    /// Handles one message by its type.
    #[allow(clippy::match_same_arms, reason = "every variant is named, in the order of the schema")]
    fn convert_message(&mut self, message: StdoutMessage, out: &mut Drafts) {
        self.finish_compaction_before(&message, out);
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
            StdoutMessage::SystemHookProgress(_) => out.dropped("hook output that its response repeats"),
            StdoutMessage::SystemHookResponse(hook) => self.hook_response(hook, out),
            StdoutMessage::SystemPluginInstall(plugin) => self.plugin_install(&plugin, out),
            StdoutMessage::ToolProgress(progress) => self.tool_progress(&progress, out),
            StdoutMessage::AuthStatus(auth) => self.auth_status(auth, out),
            StdoutMessage::SystemTaskNotification(task) => self.task_notification(*task, out),
            StdoutMessage::SystemTaskStarted(task) => self.task_started(*task, out),
            StdoutMessage::SystemTaskUpdated(task) => self.task_updated(task, out),
            StdoutMessage::SystemTaskProgress(task) => self.task_progress(*task, out),
            StdoutMessage::SystemBackgroundTasksChanged(_) => {
                out.dropped("list of tasks that have their own events");
            }
            StdoutMessage::SystemThinkingTokens(_) => out.dropped("progress counter"),
            StdoutMessage::SystemSessionStateChanged(_) => out.dropped(STATE_ECHO),
            StdoutMessage::SystemWorkerShuttingDown(worker) => self.worker_shutting_down(worker, out),
            StdoutMessage::SystemCommandsChanged(_) => out.dropped(STATE_ECHO),
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
            StdoutMessage::KeepAlive(_) => out.dropped(KEEP_ALIVE),
            StdoutMessage::Unknown { tag, raw } if tag == "result" || tag.starts_with("result/") => {
                self.unknown_result(tag, &raw, out);
            }
            StdoutMessage::Unknown { tag, .. } => out.current_session().unparsed(AGENT, "unknown type", Some(tag)),
        }
    }

    /// Drafts for the session that a line names. A line that comes before any `init` starts the session.
    fn session<'a>(&mut self, out: &'a mut Drafts, session_id: Option<&str>) -> SessionDrafts<'a> {
        if self.session_id.is_none() {
            self.session_id = session_id.map(str::to_owned);
        }
        out.session_or_current(session_id)
    }

    /// Drafts for the session that a line names if it has started, else for the current session. Only `init` or an
    /// answer starts a session. After a reset, lines may name the next session before its `init`.
    fn session_if_started<'a>(&self, out: &'a mut Drafts, session_id: Option<&str>) -> SessionDrafts<'a> {
        match self.session_id {
            Some(_) if !self.turn.was_reset() => out.session_or_current(session_id),
            _ => out.current_session(),
        }
    }

    /// A new key for something without a native id.
    fn new_key(&mut self) -> String {
        self.key_count += 1;
        format!("#{}", self.key_count)
    }

    /// Forgets what the process left open: the next process does not continue it.
    fn process_exited(&mut self) {
        self.turn = Turn::default();
        self.streams = StreamedMessages::default();
        self.calls = OpenCalls::default();
        self.sub_agent_prompts = SubAgentPrompts::default();
        self.tasks = RunningTasks::default();
        self.requests = PendingRequests::default();
        self.compaction = OpenCompaction::default();
        self.prompts.process_exited();
    }
}

/// Reports a line that is not one of Claude Code's messages.
fn report_decode_error(error: &DecodeError, out: &mut Drafts) {
    let native_type = match error {
        DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag.clone()),
        DecodeError::Mismatch { .. } | DecodeError::NotJson { .. } => None,
    };
    out.current_session().unparsed(AGENT, error.to_string(), native_type);
}

/// Sets the time of the line, for logs that record no time.
fn set_payload_time(out: &mut Drafts, timestamp: Option<&str>) {
    if let Some(Ok(time)) = timestamp.map(str::parse::<Timestamp>) {
        out.set_payload_time(time);
    }
}

/// Converts a JSON number to `u64`: counts may be written as floats.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn to_u64(number: Option<&Number>) -> Option<u64> {
    let number = number?;
    number.as_u64().or_else(|| number.as_f64().filter(|value| *value >= 0.0).map(|value| value as u64))
}

/// The `native` object of an item or error: the entries that are not null, or `None` if there are none.
fn native_details(mut details: Value) -> Option<Value> {
    let entries = details.as_object_mut()?;
    entries.retain(|_, value| !value.is_null());
    (!entries.is_empty()).then_some(details)
}
