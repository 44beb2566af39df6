//! Tool calls and results of `codex exec --json`.

use interlingua_native::Json;
use interlingua_native::codex::exec::{
    CommandExecutionItem, CommandExecutionStatus, ContentBlock, FileChangeItem, FileUpdateChange, McpToolCallItem,
    McpToolCallStatus, PatchApplyStatus, PatchChangeKind, WebSearchItem,
};
use interlingua_schema::{
    ChangeKind, CommandInput, ContentPart, FileAction, FileChange, FileChangeInput, SubAgentInput, ToolInput, ToolKind,
};
use serde::Deserialize;
use serde_json::{Number, Value, json};

use crate::codex::command::typed_command;
use crate::codex::content::{Output, insert_text, to_json};
use crate::codex::tools::{mcp_input, qualified_name, sub_agent_tool_title, web_input};
use crate::{ToolCall, ToolResult};

/// Tool call about sub-agents.
#[derive(Deserialize)]
pub(super) struct CollabToolCallItem {
    id: String,
    tool: String,
    prompt: Option<String>,
    #[serde(default)]
    receiver_thread_ids: Vec<String>,
    #[serde(default)]
    agents_states: serde_json::Map<String, Value>,
    status: Option<String>,
}

impl CollabToolCallItem {
    pub(super) fn call(&self) -> (String, ToolCall) {
        let arguments = json!({ "prompt": self.prompt, "agents": self.receiver_thread_ids }).to_string();
        let mut call =
            ToolCall::new(self.id.as_str(), self.tool.as_str()).kind(ToolKind::SubAgent).arguments(arguments);
        if let Some(prompt) = self.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
            call = call.input(Some(ToolInput::SubAgent(SubAgentInput::new(prompt))));
        } else if let Some(title) = sub_agent_tool_title(&self.tool) {
            call = call.title(title);
        }
        (self.id.clone(), call.native_id(self.id.as_str()))
    }

    pub(super) fn result(&self) -> ToolResult {
        let mut output = Output::default();
        for (agent, state) in &self.agents_states {
            let text = |key: &str| state.get(key).and_then(Value::as_str);
            // An agent that has not started has no output.
            if text("message").is_none() && text("status") == Some("pending_init") {
                continue;
            }
            output.push_text(&format!("{agent}: {}", text("message").or_else(|| text("status")).unwrap_or("unknown")));
        }
        output.into_result().failed_if(self.status.as_deref() != Some("completed"))
    }
}

fn new_call(
    id: Option<&String>,
    name: impl Into<String>,
    kind: ToolKind,
    arguments: impl Into<String>,
    input: Option<ToolInput>,
) -> (String, ToolCall) {
    let id = id.cloned().unwrap_or_default();
    let call = ToolCall::new(id.as_str(), name).kind(kind).arguments(arguments).input(input);
    (id.clone(), call.native_id(id))
}

pub(super) fn command_call(item: &CommandExecutionItem) -> (String, ToolCall) {
    let command = item.command.as_deref().and_then(|command| typed_command(command, &[]));
    let input = command.as_deref().map(|command| ToolInput::Command(CommandInput::new(command)));
    let arguments = json!({ "command": command.unwrap_or_default() }).to_string();
    new_call(item.id.as_ref(), "command_execution", ToolKind::Command, arguments, input)
}

pub(super) fn command_result(item: CommandExecutionItem) -> ToolResult {
    let code = item.exit_code.as_ref().and_then(Number::as_i64).and_then(|code| i32::try_from(code).ok());
    let failed = match item.status {
        Some(CommandExecutionStatus::Completed) => false,
        Some(CommandExecutionStatus::Failed) => true,
        // The command is complete with an unknown status, so its exit code decides.
        Some(CommandExecutionStatus::InProgress | CommandExecutionStatus::Unknown(_)) | None => code != Some(0),
    };
    ToolResult::ok(item.aggregated_output.unwrap_or_default()).failed_if(failed).exit_code(code)
}

pub(super) fn file_change_call(item: &FileChangeItem) -> (String, ToolCall) {
    let arguments = json!({ "changes": item.changes }).to_string();
    let changes = item.changes.as_ref().map(|changes| changes.iter().map(change_input).collect());
    let input = changes.map(|changes| ToolInput::FileChange(FileChangeInput::new(changes)));
    new_call(item.id.as_ref(), "file_change", ToolKind::FileChange, arguments, input)
}

fn change_input(change: &FileUpdateChange) -> FileChange {
    let mut input = FileChange::new(change.path.as_deref().unwrap_or_default());
    input.change = match change.kind {
        Some(PatchChangeKind::Add) => Some(ChangeKind::Create),
        Some(PatchChangeKind::Delete) => Some(ChangeKind::Delete),
        Some(PatchChangeKind::Update) => Some(ChangeKind::Update),
        _ => None,
    };
    input
}

/// Result of a file change. `codex exec` reports which files changed, but no diffs.
pub(super) fn file_change_result(item: FileChangeItem) -> ToolResult {
    if item.status != Some(PatchApplyStatus::Completed) {
        return ToolResult::failed("");
    }
    let mut result = ToolResult::ok("");
    result.parts.extend(item.changes.into_iter().flatten().map(|change| ContentPart::FileRef {
        path: change.path.unwrap_or_default(),
        action: if change.kind == Some(PatchChangeKind::Add) { FileAction::Write } else { FileAction::Patch },
        diff: None,
    }));
    result
}

pub(super) fn mcp_call(item: &McpToolCallItem) -> (String, ToolCall) {
    let name = qualified_name(item.server.as_deref(), item.tool.as_deref());
    let arguments = item.arguments.as_ref().map(Json::get).unwrap_or_default();
    let input = mcp_input(item.server.as_deref(), item.tool.as_deref(), item.arguments.as_ref());
    new_call(item.id.as_ref(), name, ToolKind::Mcp, arguments, input.map(ToolInput::Mcp))
}

pub(super) fn mcp_result(item: McpToolCallItem) -> ToolResult {
    let failed = item.error.is_some() || item.status != Some(McpToolCallStatus::Completed);
    let result = item.result.unwrap_or_default();
    let blocks: Vec<Json> =
        result.content.into_iter().flatten().map(|block: ContentBlock| to_json(block).into()).collect();
    let mut output = Output::from_mcp(blocks.iter(), result.structured_content.as_ref());
    if let Some(message) = item.error.and_then(|error| error.message) {
        output.push_text(&message);
    }
    output.into_result().failed_if(failed)
}

pub(super) fn web_search_call(item: &WebSearchItem) -> (String, ToolCall) {
    let mut arguments = serde_json::Map::new();
    insert_text(&mut arguments, "query", item.query.as_deref().filter(|query| !query.is_empty()));
    let action = item.action.as_ref().map(to_json);
    let input = web_input(action.as_ref(), item.query.as_deref());
    if let Some(action) = action {
        arguments.insert("action".to_owned(), action);
    }
    let arguments = Value::Object(arguments).to_string();
    new_call(item.id.as_ref(), "web_search", ToolKind::Web, arguments, input.map(ToolInput::Web))
}
