//! Tool parts: pending while the arguments stream, then running, then completed or failed.

use std::borrow::Cow;

use interlingua_native::Json;
use interlingua_native::opencode::{
    QuestionInfo, ToolPart, ToolState, ToolStateCompleted, ToolStateError, ToolStatePending, ToolStateRunning,
};
use interlingua_schema::ToolKind;
use serde::Deserialize;
use serde_json::json;

use super::LOCATION;
use super::changes::{ToolMetadata, file_refs};
use super::inputs::built_in_input;
use super::kinds::{ToolKinds, built_in_kind};
use super::outputs::{clean_error, clean_output, task_failed};
use super::session::Session;
use super::user_messages::file_part;
use crate::{Drafts, ToolCall, ToolResult};

/// Tool that replaces an unavailable tool, or one whose arguments are not JSON.
pub(super) const INVALID: &str = "invalid";
/// Tool that asks the user.
const QUESTION: &str = "question";
/// Name of a tool that has none.
const UNNAMED_TOOL: &str = "unknown";
/// Native type of the events about tools.
const PART_UPDATED: &str = "message.part.updated";

/// Error of a tool that was aborted.
const ABORTED: &str = "Tool execution aborted";

/// A tool call without a result.
#[derive(Debug, Default)]
pub(super) struct OpenTool {
    call_id: Option<String>,
    /// Output so far. Each update repeats it from the start.
    output: String,
    /// The arguments are final.
    pub(super) is_called: bool,
    /// Name of the tool, for results that do not repeat it.
    pub(super) name: String,
    pub(super) kind: Option<ToolKind>,
    pub(super) input: Option<Json>,
}

impl OpenTool {
    /// Sets the output and returns what is new in it. An output over the limit loses its beginning; then nothing counts
    /// as new.
    pub(super) fn take_new_output(&mut self, output: String) -> String {
        let new = output.strip_prefix(self.output.as_str()).unwrap_or_default().to_owned();
        self.output = output;
        new
    }
}

/// Metadata of a running tool.
#[derive(Default, Deserialize)]
struct RunningMetadata<'a> {
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
    #[serde(rename = "sessionId", borrow)]
    session_id: Option<Cow<'a, str>>,
}

/// Input of the tool `invalid`.
#[derive(Default, Deserialize)]
struct InvalidInput {
    tool: Option<String>,
}

/// Fields that are read from an unknown state.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UnknownState {
    input: Option<Json>,
    output: Option<String>,
    error: Option<String>,
    time: Option<UnknownTime>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UnknownTime {
    end: Option<Json>,
}

impl UnknownState {
    /// Whether the tool has ended, whatever the name of the state.
    fn is_complete(&self) -> bool {
        let ended = self.time.as_ref().is_some_and(|time| time.end.is_some());
        ended || self.output.is_some() || self.error.is_some()
    }
}

impl Session {
    pub(super) fn tool_part(&mut self, part: ToolPart, mut kinds: ToolKinds<'_>, out: &mut Drafts) {
        let ToolPart { call_id, id, message_id, state, tool, metadata, .. } = part;
        let tool = self.tool_name(tool, call_id.as_deref());
        kinds.is_provider_executed = is_executed_by_provider(metadata.as_ref());
        let call = ToolCall::new(call_id.clone().unwrap_or_else(|| id.clone()), tool.as_str())
            .native_id(id.as_str())
            .in_message(message_id.as_deref().unwrap_or_default());
        let id = call_id.clone().filter(|call| self.calls_opened_by_request.get(call).is_some()).unwrap_or(id);
        self.is_started = true;
        if let Some(message) = &message_id {
            self.ensure_turn_for(message, out);
        }
        if let Some(call) = &call_id {
            self.known_call_ids.insert(call.clone(), ());
        }
        match state {
            Some(ToolState::Pending(state)) => self.tool_pending(id, call, &tool, &state, kinds, out),
            Some(ToolState::Running(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                self.tool_running(id, call, &state, out);
            }
            Some(ToolState::Completed(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                let diff = call_id.and_then(|call| self.permission_diffs.remove(&call));
                self.tool_completed(id, call, &tool, state, diff, out);
            }
            Some(ToolState::Error(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                self.tool_failed(id, call, state, out);
            }
            Some(ToolState::Unknown { tag, raw }) => {
                let state: UnknownState = raw.decode().unwrap_or_default();
                let error = format!("unknown state of a tool: {tag}");
                out.session(self.id.as_str()).unparsed(LOCATION, error, Some(PART_UPDATED.to_owned()));
                if state.is_complete() {
                    self.open_tools.remove(&id);
                    let call = final_call(call, &tool, state.input.as_ref(), kinds);
                    let result = ToolResult::failed(state.output.or(state.error).unwrap_or_default()).with_call(call);
                    out.session(self.id.as_str()).tool_finished(id, result);
                }
            }
            None => {
                out.session(self.id.as_str()).unparsed(
                    LOCATION,
                    "a tool without a state",
                    Some(PART_UPDATED.to_owned()),
                );
            }
        }
    }

    /// Opens the call of a question that precedes its tool part, as in older releases.
    pub(super) fn open_call_for_question(
        &mut self,
        call_id: &str,
        message: Option<&str>,
        questions: &[QuestionInfo],
        out: &mut Drafts,
    ) {
        if self.register_call(call_id) {
            let call = ToolCall::new(call_id, QUESTION)
                .kind(ToolKind::Question)
                .arguments(json!({ "questions": questions }).to_string())
                .in_message(message.unwrap_or_default());
            out.session(self.id.as_str()).synthetic().tool_started(call_id, call);
        }
    }

    /// As [`open_call_for_question`](Self::open_call_for_question), for a call that needs this permission.
    pub(super) fn open_call_for_permission(
        &mut self,
        call_id: &str,
        message: Option<&str>,
        permission: &str,
        kinds: ToolKinds<'_>,
        out: &mut Drafts,
    ) {
        if self.register_call(call_id) {
            let mut call = ToolCall::new(call_id, permission).in_message(message.unwrap_or_default());
            call.kind = kinds.pending_kind(permission);
            out.session(self.id.as_str()).synthetic().tool_started(call_id, call);
        }
    }

    /// Registers a call that a request names. Returns true if it is new; then its part will use the call id as key.
    fn register_call(&mut self, call_id: &str) -> bool {
        let is_new = self.known_call_ids.get(&call_id.to_owned()).is_none();
        if is_new {
            self.known_call_ids.insert(call_id.to_owned(), ());
            self.calls_opened_by_request.insert(call_id.to_owned(), ());
        }
        is_new
    }

    /// Name of a tool; if it is missing, the previous name of the call.
    pub(super) fn tool_name(&self, tool: Option<String>, call_id: Option<&str>) -> String {
        let known =
            || self.open_tools.values().find(|open| open.call_id.is_some() && open.call_id.as_deref() == call_id);
        let tool = tool.filter(|tool| !tool.is_empty()).or_else(|| known().map(|open| open.name.clone()));
        tool.unwrap_or_else(|| UNNAMED_TOOL.to_owned())
    }

    /// Kind of the tool of a call that is not final.
    pub(super) fn pending_kind(&self, call_id: &str) -> Option<ToolKind> {
        self.open_tools.values().find(|open| open.call_id.as_deref() == Some(call_id))?.kind.clone()
    }

    /// A tool of the v2 API is called.
    pub(super) fn mark_called(&mut self, call: &str, name: String, kind: Option<ToolKind>, input: Option<Json>) {
        let open = self.open_tools.entry(call.to_owned()).or_default();
        open.is_called = true;
        open.name = name;
        open.kind = kind;
        open.input = input;
    }

    fn tool_pending(
        &mut self,
        id: String,
        mut call: ToolCall,
        tool: &str,
        state: &ToolStatePending,
        kinds: ToolKinds<'_>,
        out: &mut Drafts,
    ) {
        call.kind = kinds.pending_kind(tool);
        let open = self.open_tools.entry(id.clone()).or_default();
        open.call_id = Some(call.call_id.clone());
        tool.clone_into(&mut open.name);
        open.kind.clone_from(&call.kind);
        let call = match (&state.raw, &state.input) {
            (Some(raw), _) if !raw.is_empty() => call.arguments(raw.as_str()),
            (_, Some(input)) if input.get() != "{}" => call.json_arguments(Some(input)),
            _ => call,
        };
        out.session(self.id.as_str()).tool_started(id, call);
    }

    fn tool_running(&mut self, id: String, call: ToolCall, state: &ToolStateRunning, out: &mut Drafts) {
        let running: RunningMetadata<'_> =
            state.metadata.as_ref().and_then(|metadata| metadata.decode().ok()).unwrap_or_default();
        let open = self.open_tools.entry(id.clone()).or_default();
        open.is_called = true;
        let new_output = running.output.map(|output| open.take_new_output(output.into_owned()));
        out.session(self.id.as_str()).tool_called(id.as_str(), call);
        if let Some(child) = running.session_id {
            out.session(&child).spawned_by(self.id.as_str(), id.as_str());
        }
        if let Some(new_output) = new_output {
            out.session(self.id.as_str()).tool_output(id, new_output);
        }
    }

    fn tool_completed(
        &mut self,
        id: String,
        call: ToolCall,
        tool: &str,
        state: ToolStateCompleted,
        diff: Option<String>,
        out: &mut Drafts,
    ) {
        self.open_tools.remove(&id);
        let metadata = ToolMetadata::parse(state.metadata.as_ref());
        if let Some(child) = &metadata.session_id {
            // The call has to be drafted before its sub-agent, even if it was never reported as running.
            out.session(self.id.as_str()).tool_called(id.as_str(), call.clone());
            out.session(child).spawned_by(self.id.as_str(), id.as_str());
        }
        let time = state.time.as_ref();
        let output = state.output.unwrap_or_default();
        let failed = tool == INVALID
            || metadata.is_cut_off
            || call.kind == Some(ToolKind::SubAgent) && task_failed(&output)
            || self.is_aborted_command(tool, &metadata);
        let failed = failed || self.report_invalid_exit(&metadata, PART_UPDATED, out);
        let mut result = ToolResult::ok(clean_output(tool, call.kind.as_ref(), output, metadata.is_truncated))
            .failed_if(failed)
            .exit_code(metadata.exit)
            .duration_ms(duration_ms(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .with_call(call);
        result.parts = file_refs(tool, state.input.as_ref(), metadata, diff);
        result.parts.extend(state.attachments.into_iter().flatten().map(file_part));
        out.session(self.id.as_str()).tool_finished(id, result);
    }

    /// Reports an invalid exit code. Returns whether there is one.
    pub(super) fn report_invalid_exit(&self, metadata: &ToolMetadata, native_type: &str, out: &mut Drafts) -> bool {
        if metadata.has_invalid_exit {
            let error = "the exit code of a tool is not a whole number";
            out.session(self.id.as_str()).partially_unparsed(LOCATION, error, Some(native_type.to_owned()));
        }
        metadata.has_invalid_exit
    }

    /// Whether an aborted shell command of the user was cut off. Such commands have no exit code, so only the abort
    /// shows it.
    fn is_aborted_command(&self, tool: &str, metadata: &ToolMetadata) -> bool {
        let is_aborted = self.turn.interrupt_requested || self.turn.interrupted;
        is_aborted && metadata.exit.is_none() && built_in_kind(tool) == Some(ToolKind::Command)
    }

    fn tool_failed(&mut self, id: String, call: ToolCall, state: ToolStateError, out: &mut Drafts) {
        let metadata = ToolMetadata::parse(state.metadata.as_ref());
        let is_aborted = metadata.is_cut_off || state.error.as_deref() == Some(ABORTED);
        let has_no_input = state.input.as_ref().is_none_or(|input| input.get() == "{}");
        let is_uncalled = self.open_tools.remove(&id).is_some_and(|open| !open.is_called);
        let time = state.time.as_ref();
        let result = if is_aborted && call.kind == Some(ToolKind::Command) {
            // The output until the abort.
            ToolResult::as_streamed().failed_if(true)
        } else {
            ToolResult::failed(clean_error(call.kind.as_ref(), &state.error.unwrap_or_default()))
        };
        let result = result
            .call_cut_off_if(is_aborted && has_no_input && is_uncalled)
            .exit_code(metadata.exit)
            .duration_ms(duration_ms(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .with_call(call);
        out.session(self.id.as_str()).tool_finished(id, result);
    }
}

/// Call with its final arguments. An invalid call keeps the tool name that the model used.
fn final_call(call: ToolCall, tool: &str, input: Option<&Json>, kinds: ToolKinds<'_>) -> ToolCall {
    let invalid =
        if tool == INVALID { input.and_then(|input| input.decode::<InvalidInput>().ok()?.tool) } else { None };
    let mut call = match &invalid {
        Some(tool) => call.kind(built_in_kind(tool).unwrap_or(ToolKind::Other)),
        None => with_input(call, tool, input, kinds),
    };
    if let Some(tool) = invalid {
        call.name = tool;
    }
    match input {
        Some(input) => call.json_arguments(Some(input)),
        None => call,
    }
}

/// Call with its kind, and with the universal input if the arguments have the fields of that kind.
pub(super) fn with_input(call: ToolCall, tool: &str, input: Option<&Json>, kinds: ToolKinds<'_>) -> ToolCall {
    let kind = kinds.kind(tool);
    let typed = match &kind {
        ToolKind::Mcp => kinds.mcp_input(tool, input),
        _ => input.and_then(|input| built_in_input(tool, input)),
    };
    let call = call.kind(kind).input(typed);
    match (tool, input.and_then(|input| input.decode::<ListInput>().ok()?.path)) {
        ("list" | "ls", Some(path)) => call.title(format!("List {path}")),
        _ => call,
    }
}

/// Input of `list`, which names a directory but has no query.
#[derive(Deserialize)]
struct ListInput {
    path: Option<String>,
}

/// Whether the metadata of a part says that the model's provider executes the tool.
fn is_executed_by_provider(metadata: Option<&Json>) -> bool {
    #[derive(Default, Deserialize)]
    struct PartMetadata {
        #[serde(rename = "providerExecuted", default)]
        executed: bool,
    }
    metadata.and_then(|metadata| metadata.decode::<PartMetadata>().ok()).unwrap_or_default().executed
}

pub(super) fn duration_ms(start: Option<i64>, end: Option<i64>) -> Option<u64> {
    u64::try_from(end?.checked_sub(start?)?).ok()
}
