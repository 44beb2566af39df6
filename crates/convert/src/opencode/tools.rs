//! Tools: pending while the arguments stream, running, completed or in error.

use std::borrow::Cow;

use interlingua_native::Json;
use interlingua_native::opencode::{
    QuestionInfo, ToolPart, ToolState, ToolStateCompleted, ToolStateError, ToolStatePending, ToolStateRunning,
};
use interlingua_schema::ToolKind;
use serde::Deserialize;
use serde_json::json;

use super::HERE;
use super::changes::{Metadata, file_refs};
use super::inputs::built_in_input;
use super::kinds::{Kinds, built_in};
use super::outputs::{clean_error, clean_output, task_failed};
use super::session::Session;
use super::users::file_part;
use crate::{Drafts, ToolCall, ToolResult};

/// What a call becomes whose tool does not exist or whose arguments are no JSON.
const INVALID: &str = "invalid";
/// The tool that asks the user.
const QUESTION: &str = "question";
/// What a tool is called that nobody named.
const NAMELESS: &str = "unknown";
/// The type of the payloads that tell of tools.
const PART_UPDATED: &str = "message.part.updated";

/// How OpenCode words the end of a tool that was cut off.
const ABORTED: &str = "Tool execution aborted";

/// A tool that is not done.
#[derive(Debug, Default)]
pub(super) struct OpenTool {
    /// The agent's id of the call.
    call_id: Option<String>,
    /// The output so far, which each update tells from the start.
    output: String,
    /// Its arguments are final.
    pub(super) called: bool,
    /// What was called, where the result does not repeat it.
    pub(super) name: String,
    pub(super) kind: Option<ToolKind>,
    pub(super) input: Option<Json>,
}

impl OpenTool {
    /// What is new in an output. One that outgrew its limit loses its beginning; what is new cannot be told then.
    pub(super) fn grown(&mut self, output: String) -> String {
        let new = output.strip_prefix(self.output.as_str()).unwrap_or_default().to_owned();
        self.output = output;
        new
    }
}

/// What is read of the metadata of a tool that runs.
#[derive(Default, Deserialize)]
struct Running<'a> {
    #[serde(borrow)]
    output: Option<Cow<'a, str>>,
    #[serde(rename = "sessionId", borrow)]
    session_id: Option<Cow<'a, str>>,
}

/// What is read of the input of a call that was not valid.
#[derive(Default, Deserialize)]
struct Invalid {
    tool: Option<String>,
}

/// What is read of a state that is not known.
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
    /// Whether the tool is over, whatever the state is called.
    fn is_over(&self) -> bool {
        let ended = self.time.as_ref().is_some_and(|time| time.end.is_some());
        ended || self.output.is_some() || self.error.is_some()
    }
}

impl Session {
    pub(super) fn tool_part(&mut self, part: ToolPart, mut kinds: Kinds<'_>, out: &mut Drafts) {
        let ToolPart { call_id, id, message_id, state, tool, metadata, .. } = part;
        let tool = self.tool_name(tool, call_id.as_deref());
        kinds.by_provider = is_run_by_provider(metadata.as_ref());
        let call = ToolCall::new(call_id.clone().unwrap_or_else(|| id.clone()), tool.as_str())
            .native_id(id.as_str())
            .in_message(message_id.as_deref().unwrap_or_default());
        let id = call_id.clone().filter(|call| self.asked_first.get(call).is_some()).unwrap_or(id);
        self.begun = true;
        if let Some(message) = &message_id {
            self.speaks_in(message, out);
        }
        if let Some(call) = &call_id {
            self.known_calls.insert(call.clone(), ());
        }
        match state {
            Some(ToolState::Pending(state)) => self.tool_pending(id, call, &tool, &state, kinds, out),
            Some(ToolState::Running(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                self.tool_running(id, call, &state, out);
            }
            Some(ToolState::Completed(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                let diff = call_id.and_then(|call| self.diffs.remove(&call));
                self.tool_completed(id, call, &tool, state, diff, out);
            }
            Some(ToolState::Error(state)) => {
                let call = final_call(call, &tool, state.input.as_ref(), kinds);
                self.tool_failed(id, call, state, out);
            }
            Some(ToolState::Unknown { tag, raw }) => {
                let state: UnknownState = raw.decode().unwrap_or_default();
                let error = format!("unknown state of a tool: {tag}");
                out.session(self.id.as_str()).unparsed(HERE, error, Some(PART_UPDATED.to_owned()));
                if state.is_over() {
                    self.tools.remove(&id);
                    let call = final_call(call, &tool, state.input.as_ref(), kinds);
                    let result = ToolResult::failed(state.output.or(state.error).unwrap_or_default()).with_call(call);
                    out.session(self.id.as_str()).tool_finished(id, result);
                }
            }
            None => {
                out.session(self.id.as_str()).unparsed(HERE, "a tool without a state", Some(PART_UPDATED.to_owned()));
            }
        }
    }

    /// A question names its call. In older releases it may come before the part that tells of the call, which is then
    /// opened by what is known.
    pub(super) fn question_called(
        &mut self,
        call_id: &str,
        message: Option<&str>,
        questions: &[QuestionInfo],
        out: &mut Drafts,
    ) {
        if self.open_asked_call(call_id) {
            let call = ToolCall::new(call_id, QUESTION)
                .kind(ToolKind::Question)
                .arguments(json!({ "questions": questions }).to_string())
                .in_message(message.unwrap_or_default());
            out.session(self.id.as_str()).synthetic().tool_started(call_id, call);
        }
    }

    /// As [`question_called`](Self::question_called), for a call that waits for a permission with this name.
    pub(super) fn permission_called(
        &mut self,
        call_id: &str,
        message: Option<&str>,
        permission: &str,
        kinds: Kinds<'_>,
        out: &mut Drafts,
    ) {
        if self.open_asked_call(call_id) {
            let mut call = ToolCall::new(call_id, permission).in_message(message.unwrap_or_default());
            call.kind = kinds.while_pending(permission);
            out.session(self.id.as_str()).synthetic().tool_started(call_id, call);
        }
    }

    /// Whether nobody has told of a call yet. Its part will be known by the call's own id.
    fn open_asked_call(&mut self, call_id: &str) -> bool {
        let is_new = self.known_calls.get(&call_id.to_owned()).is_none();
        if is_new {
            self.known_calls.insert(call_id.to_owned(), ());
            self.asked_first.insert(call_id.to_owned(), ());
        }
        is_new
    }

    /// The name of a tool; where it is missing, the name that the call had before.
    pub(super) fn tool_name(&self, tool: Option<String>, call_id: Option<&str>) -> String {
        let known = || self.tools.values().find(|open| open.call_id.is_some() && open.call_id.as_deref() == call_id);
        let tool = tool.filter(|tool| !tool.is_empty()).or_else(|| known().map(|open| open.name.clone()));
        tool.unwrap_or_else(|| NAMELESS.to_owned())
    }

    /// What sort of tool a call is for that is not final.
    pub(super) fn pending_kind(&self, call_id: &str) -> Option<ToolKind> {
        self.tools.values().find(|open| open.call_id.as_deref() == Some(call_id))?.kind.clone()
    }

    /// A tool of the v2 API is called.
    pub(super) fn next_called(&mut self, call: &str, name: String, kind: Option<ToolKind>, input: Option<Json>) {
        let open = self.tools.entry(call.to_owned()).or_default();
        open.called = true;
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
        kinds: Kinds<'_>,
        out: &mut Drafts,
    ) {
        call.kind = kinds.while_pending(tool);
        let open = self.tools.entry(id.clone()).or_default();
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
        let running: Running<'_> =
            state.metadata.as_ref().and_then(|metadata| metadata.decode().ok()).unwrap_or_default();
        let open = self.tools.entry(id.clone()).or_default();
        open.called = true;
        let new = running.output.map(|output| open.grown(output.into_owned()));
        out.session(self.id.as_str()).tool_called(id.as_str(), call);
        if let Some(child) = running.session_id {
            out.session(&child).spawned_by(self.id.as_str(), id.as_str());
        }
        if let Some(new) = new {
            out.session(self.id.as_str()).tool_output(id, new);
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
        self.tools.remove(&id);
        let metadata = Metadata::read(state.metadata.as_ref());
        if let Some(child) = &metadata.session_id {
            // The call is told first where it was never seen running.
            out.session(self.id.as_str()).tool_called(id.as_str(), call.clone());
            out.session(child).spawned_by(self.id.as_str(), id.as_str());
        }
        let time = state.time.as_ref();
        let said = state.output.unwrap_or_default();
        let failed = tool == INVALID
            || metadata.cut_off
            || call.kind == Some(ToolKind::SubAgent) && task_failed(&said)
            || self.is_aborted_command(tool, &metadata);
        let failed = failed || self.is_damaged_exit(&metadata, PART_UPDATED, out);
        let mut result = ToolResult::ok(clean_output(tool, call.kind.as_ref(), said, metadata.truncated))
            .failed_if(failed)
            .exit_code(metadata.exit)
            .duration_ms(duration(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .with_call(call);
        result.parts = file_refs(tool, state.input.as_ref(), metadata, diff);
        result.parts.extend(state.attachments.into_iter().flatten().map(file_part));
        out.session(self.id.as_str()).tool_finished(id, result);
    }

    /// Whether a command has an exit code that is not understood, which is reported.
    pub(super) fn is_damaged_exit(&self, metadata: &Metadata, native_type: &str, out: &mut Drafts) -> bool {
        if metadata.exit_is_damaged {
            let error = "the exit code of a tool is not a whole number";
            out.session(self.id.as_str()).partially_unparsed(HERE, error, Some(native_type.to_owned()));
        }
        metadata.exit_is_damaged
    }

    /// A command of the user's own has no exit code, so that only the abort tells that it was cut off.
    fn is_aborted_command(&self, tool: &str, metadata: &Metadata) -> bool {
        let aborted = self.run.interrupt_requested || self.run.interrupted;
        aborted && metadata.exit.is_none() && built_in(tool) == Some(ToolKind::Command)
    }

    fn tool_failed(&mut self, id: String, call: ToolCall, state: ToolStateError, out: &mut Drafts) {
        let metadata = Metadata::read(state.metadata.as_ref());
        let aborted = metadata.cut_off || state.error.as_deref() == Some(ABORTED);
        let without_input = state.input.as_ref().is_none_or(|input| input.get() == "{}");
        let never_called = self.tools.remove(&id).is_some_and(|open| !open.called);
        let time = state.time.as_ref();
        let result = if aborted && call.kind == Some(ToolKind::Command) {
            // What it printed until then.
            ToolResult::as_streamed().failed_if(true)
        } else {
            ToolResult::failed(clean_error(call.kind.as_ref(), &state.error.unwrap_or_default()))
        };
        let result = result
            .call_cut_off_if(aborted && without_input && never_called)
            .exit_code(metadata.exit)
            .duration_ms(duration(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .with_call(call);
        out.session(self.id.as_str()).tool_finished(id, result);
    }
}

/// The call with its final arguments. One that was not valid keeps the name that the model gave it.
fn final_call(call: ToolCall, tool: &str, input: Option<&Json>, kinds: Kinds<'_>) -> ToolCall {
    let invalid = if tool == INVALID { input.and_then(|input| input.decode::<Invalid>().ok()?.tool) } else { None };
    let mut call = match &invalid {
        Some(tool) => call.kind(built_in(tool).unwrap_or(ToolKind::Other)),
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

/// The call with its kind, and with the input of that kind if the arguments have its keys.
pub(super) fn with_input(call: ToolCall, tool: &str, input: Option<&Json>, kinds: Kinds<'_>) -> ToolCall {
    let kind = kinds.of(tool);
    let typed = match &kind {
        ToolKind::Mcp => kinds.mcp_input(tool, input),
        _ => input.and_then(|input| built_in_input(tool, input)),
    };
    let call = call.kind(kind).input(typed);
    match (tool, input.and_then(|input| input.decode::<Listed>().ok()?.path)) {
        ("list" | "ls", Some(path)) => call.title(format!("List {path}")),
        _ => call,
    }
}

/// What is read of the input of `list`, which names a directory but nothing to search for.
#[derive(Deserialize)]
struct Listed {
    path: Option<String>,
}

/// Whether the metadata of a part says that the model's provider runs the tool.
fn is_run_by_provider(metadata: Option<&Json>) -> bool {
    #[derive(Default, Deserialize)]
    struct ByProvider {
        #[serde(rename = "providerExecuted", default)]
        executed: bool,
    }
    metadata.and_then(|metadata| metadata.decode::<ByProvider>().ok()).unwrap_or_default().executed
}

pub(super) fn duration(start: Option<i64>, end: Option<i64>) -> Option<u64> {
    u64::try_from(end?.checked_sub(start?)?).ok()
}
