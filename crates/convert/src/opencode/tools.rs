//! Tools: pending while the arguments stream, running, completed or in error.

use std::borrow::Cow;

use interlingua_native::Json;
use interlingua_native::opencode::{
    QuestionInfo, QuestionTool, ToolPart, ToolState, ToolStateCompleted, ToolStateError, ToolStatePending,
    ToolStateRunning,
};
use interlingua_schema::ToolKind;
use serde::Deserialize;
use serde_json::json;

use super::changes::{Metadata, file_refs};
use super::session::Session;
use super::users::file_part;
use crate::{Drafts, ToolCall, ToolResult};

/// What a call becomes whose tool does not exist or whose arguments are no JSON.
const INVALID: &str = "invalid";
/// The tool that asks the user.
const QUESTION: &str = "question";

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

impl Session {
    pub(super) fn tool_part(&mut self, part: ToolPart, mcp_servers: Option<&[String]>, out: &mut Drafts) {
        let ToolPart { call_id, id, message_id, state, tool, metadata, .. } = part;
        let tool = tool.unwrap_or_default();
        let kinds = Kinds { mcp_servers, by_provider: is_run_by_provider(metadata.as_ref()) };
        let call = ToolCall::new(call_id.clone().unwrap_or_else(|| id.clone()), tool.as_str())
            .native(id.as_str())
            .of(message_id.as_deref().unwrap_or_default());
        let id = call_id.clone().filter(|call| self.asked_first.get(call).is_some()).unwrap_or(id);
        self.begun = true;
        if let Some(message) = &message_id {
            self.speaks_in(message, out);
        }
        if matches!(state, Some(ToolState::Pending(_) | ToolState::Running(_))) {
            self.tools.entry(id.clone()).or_default().call_id.clone_from(&call_id);
        }
        match state {
            Some(ToolState::Pending(state)) => {
                self.tool_pending(id, call.kind(kinds.of(&tool)), &state, out);
            }
            Some(ToolState::Running(state)) => {
                let call = with_input(call, &tool, state.input.as_ref(), kinds);
                self.tool_running(id, call, &state, out);
            }
            Some(ToolState::Completed(state)) => {
                let call = with_input(call, &tool, state.input.as_ref(), kinds);
                let diff = call_id.and_then(|call| self.diffs.remove(&call));
                self.tool_completed(id, call, &tool, state, diff, out);
            }
            Some(ToolState::Error(state)) => {
                let call = with_input(call, &tool, state.input.as_ref(), kinds);
                self.tool_failed(id, call, state, out);
            }
            _ => out.session(self.id.as_str()).unparsed("opencode", "unknown state of a tool", Some("tool".to_owned())),
        }
    }

    /// A question names its call. In older releases it may come before the part that tells of the call, which is then
    /// opened by what is known.
    pub(super) fn question_called(&mut self, tool: &QuestionTool, questions: &[QuestionInfo], out: &mut Drafts) {
        let Some(call_id) = &tool.call_id else { return };
        if self.tools.values().any(|open| open.call_id.as_ref() == Some(call_id)) {
            return;
        }
        self.asked_first.insert(call_id.clone(), ());
        let call = ToolCall::new(call_id.as_str(), QUESTION)
            .kind(ToolKind::Question)
            .arguments(json!({ "questions": questions }).to_string())
            .of(tool.message_id.as_deref().unwrap_or_default());
        out.session(self.id.as_str()).synthetic().tool_started(call_id.as_str(), call);
    }

    /// A tool of the v2 API is called.
    pub(super) fn next_called(&mut self, call: &str, name: String, input: Option<Json>) {
        let open = self.tools.entry(call.to_owned()).or_default();
        open.called = true;
        open.name = name;
        open.input = input;
    }

    fn tool_pending(&mut self, id: String, call: ToolCall, state: &ToolStatePending, out: &mut Drafts) {
        let call = match (&state.raw, &state.input) {
            (Some(raw), _) if !raw.is_empty() => call.arguments(raw.as_str()),
            (_, Some(input)) if input.get() != "{}" => call.arguments(input.get()),
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
        let mut result = ToolResult::ok(state.output.unwrap_or_default())
            .failed_if(tool == INVALID || metadata.cut_off || self.is_aborted_command(tool, &metadata))
            .exit_code(metadata.exit)
            .duration_ms(duration(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .of_call(call);
        result.parts = file_refs(tool, state.input.as_ref(), metadata, diff);
        result.parts.extend(state.attachments.into_iter().flatten().map(file_part));
        out.session(self.id.as_str()).tool_finished(id, result);
    }

    /// A command of the user's own has no exit code, so that only the abort tells that it was cut off.
    fn is_aborted_command(&self, tool: &str, metadata: &Metadata) -> bool {
        let aborted = self.run.interrupt_asked || self.run.interrupted;
        aborted && metadata.exit.is_none() && built_in(tool) == Some(ToolKind::Command)
    }

    fn tool_failed(&mut self, id: String, call: ToolCall, state: ToolStateError, out: &mut Drafts) {
        let metadata = Metadata::read(state.metadata.as_ref());
        let aborted = metadata.cut_off || state.error.as_deref() == Some(ABORTED);
        let without_input = state.input.as_ref().is_none_or(|input| input.get() == "{}");
        let never_called = self.tools.remove(&id).is_some_and(|open| !open.called);
        let time = state.time.as_ref();
        let result = ToolResult::failed(state.error.unwrap_or_default())
            .call_cut_off_if(aborted && without_input && never_called)
            .exit_code(metadata.exit)
            .duration_ms(duration(time.and_then(|time| time.start), time.and_then(|time| time.end)))
            .of_call(call);
        out.session(self.id.as_str()).tool_finished(id, result);
    }
}

/// The call with its final arguments. One that was not valid keeps the name that the model gave it.
fn with_input(call: ToolCall, tool: &str, input: Option<&Json>, kinds: Kinds<'_>) -> ToolCall {
    let invalid = if tool == INVALID { input.and_then(|input| input.decode::<Invalid>().ok()?.tool) } else { None };
    let mut call = call.kind(match &invalid {
        Some(tool) => built_in(tool).unwrap_or(ToolKind::Other),
        None => kinds.of(tool),
    });
    if let Some(tool) = invalid {
        call.name = tool;
    }
    match input {
        Some(input) => call.arguments(input.get()),
        None => call,
    }
}

/// What is known of a tool beside its name.
#[derive(Clone, Copy)]
pub(super) struct Kinds<'a> {
    /// The MCP servers, if the host has asked for them.
    pub(super) mcp_servers: Option<&'a [String]>,
    /// The model's provider runs it.
    pub(super) by_provider: bool,
}

impl Kinds<'_> {
    /// What sort of tool it is. OpenCode names those of an MCP server `server_tool`, and so may others be named; if
    /// the host has asked for the servers, it is known.
    pub(super) fn of(self, tool: &str) -> ToolKind {
        if let Some(kind) = built_in(tool) {
            return kind;
        }
        if self.by_provider {
            return if tool.starts_with("web") { ToolKind::Web } else { ToolKind::Other };
        }
        let is_mcp = match self.mcp_servers {
            Some(servers) => servers.iter().any(|server| is_of_server(tool, server)),
            None => tool.contains('_'),
        };
        if is_mcp { ToolKind::Mcp } else { ToolKind::Other }
    }
}

fn is_of_server(tool: &str, server: &str) -> bool {
    // Other characters than these become `_` in the names of tools.
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let server: String = server.chars().map(|c| if is_kept(c) { c } else { '_' }).collect();
    tool.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('_'))
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

/// What sort the tools are that OpenCode brings along; `None` for those it does not.
pub(super) fn built_in(tool: &str) -> Option<ToolKind> {
    Some(match tool {
        "bash" | "shell" => ToolKind::Command,
        "edit" | "write" | "multiedit" | "patch" | "apply_patch" => ToolKind::FileChange,
        "read" => ToolKind::FileRead,
        "glob" | "grep" | "list" | "ls" | "lsp" | "codesearch" => ToolKind::Search,
        "webfetch" | "websearch" => ToolKind::Web,
        "task" | "subagent" => ToolKind::SubAgent,
        "todowrite" | "todoread" | "plan_enter" | "plan_exit" => ToolKind::Plan,
        QUESTION => ToolKind::Question,
        "batch" | "skill" | "StructuredOutput" | INVALID => ToolKind::Other,
        _ => return None,
    })
}

pub(super) fn duration(start: Option<i64>, end: Option<i64>) -> Option<u64> {
    u64::try_from(end?.checked_sub(start?)?).ok()
}
