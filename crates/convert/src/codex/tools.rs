//! Tool items: the call and the result of each kind.

mod sub_agents;

use interlingua_native::Json;
use interlingua_native::codex::{
    CommandAction, CommandExecutionStatus, CommandExecutionThreadItem, DynamicToolCallStatus,
    DynamicToolCallThreadItem, FileChangeThreadItem, FunctionCallOutputThreadItem, ImageGenerationFailureType,
    ImageGenerationThreadItem, ImageViewThreadItem, McpToolCallStatus, McpToolCallThreadItem, PatchApplyStatus,
    SleepThreadItem, WebSearchThreadItem,
};
use interlingua_schema::{
    CommandInput, ContentPart, FileAction, FileChangeInput, FileReadInput, McpInput, ToolInput, ToolKind, WebInput,
};
use serde_json::{Map, Value, json};

use super::command::typed_command;
use super::content::{Output, change_input, file_change_part, image_part, insert_json, insert_text, to_json};
use super::thread::OpenTool;
use crate::paths::absolute_path;
use crate::{ToolCall, ToolResult};
pub(super) use sub_agents::{sub_agent_name, sub_agent_tool_title};

/// A native item that is a tool call. The native types share these properties but no trait.
pub(super) trait Tool {
    fn id(&self) -> &str;

    fn name_and_kind(&self) -> (String, ToolKind);

    /// Arguments as JSON text.
    fn arguments(&self) -> String;

    /// Universal input of the call.
    fn input(&self) -> Option<ToolInput> {
        None
    }

    /// Title of the call, if the input does not determine it.
    fn title(&self) -> Option<String> {
        None
    }

    /// Whether the arguments are final when the item starts.
    fn has_final_arguments(&self) -> bool {
        true
    }

    fn result(&self) -> ToolResult;

    /// State to remember while the tool is running.
    fn open_tool(&self) -> OpenTool {
        OpenTool::default()
    }

    fn call(&self) -> ToolCall {
        let (name, kind) = self.name_and_kind();
        let call = ToolCall::new(self.id(), name).kind(kind).arguments(self.arguments()).native_id(self.id());
        let call = call.input(self.input());
        match self.title() {
            Some(title) => call.title(title),
            None => call,
        }
    }
}

impl Tool for CommandExecutionThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("commandExecution".to_owned(), ToolKind::Command)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        arguments.insert("command".to_owned(), shell_command(self).unwrap_or_default().into());
        insert_text(&mut arguments, "cwd", self.cwd.as_deref());
        Value::Object(arguments).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let mut input = CommandInput::new(shell_command(self)?);
        input.cwd.clone_from(&self.cwd);
        Some(ToolInput::Command(input))
    }

    fn result(&self) -> ToolResult {
        let failed = match &self.status {
            Some(CommandExecutionStatus::Completed) => false,
            Some(CommandExecutionStatus::Failed | CommandExecutionStatus::Declined) => true,
            // The command is complete with an unknown status, so its exit code decides.
            Some(CommandExecutionStatus::InProgress | CommandExecutionStatus::Unknown(_)) | None => {
                self.exit_code != Some(0)
            }
        };
        let mut result = ToolResult::ok(self.aggregated_output.as_deref().unwrap_or_default())
            .failed_if(failed)
            .exit_code(self.exit_code.and_then(|code| i32::try_from(code).ok()))
            .duration_ms(to_millis(self.duration_ms));
        if !failed {
            let read = |action: &CommandAction| file_read_part(action, self.cwd.as_deref());
            result.parts = self.command_actions.iter().flatten().filter_map(read).collect();
        }
        result
    }
}

/// Command as a person would type it.
fn shell_command(item: &CommandExecutionThreadItem) -> Option<String> {
    typed_command(item.command.as_deref()?, item.command_actions.as_deref().unwrap_or_default())
}

/// File that a command reads, if Codex detected it. Relative paths are relative to the command's directory.
fn file_read_part(action: &CommandAction, cwd: Option<&str>) -> Option<ContentPart> {
    match action {
        CommandAction::Read(read) => {
            let path = read.path.as_deref()?;
            let path = absolute_path(path, cwd).unwrap_or_else(|| path.to_owned());
            Some(ContentPart::FileRef { path, action: FileAction::Read, diff: None })
        }
        _ => None,
    }
}

impl Tool for FileChangeThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("fileChange".to_owned(), ToolKind::FileChange)
    }

    fn arguments(&self) -> String {
        json!({ "changes": self.changes }).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let changes = self.changes.as_ref()?.iter().map(change_input).collect();
        Some(ToolInput::FileChange(FileChangeInput::new(changes)))
    }

    /// Only applied changes become `file_ref` parts. The output of Codex merely lists the file names.
    fn result(&self) -> ToolResult {
        if self.status != Some(PatchApplyStatus::Completed) {
            return ToolResult::as_streamed().failed_if(true);
        }
        let mut result = ToolResult::ok("");
        result.parts = self.changes.iter().flatten().map(file_change_part).collect();
        result
    }
}

impl Tool for McpToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        (qualified_name(self.server.as_deref(), self.tool.as_deref()), ToolKind::Mcp)
    }

    fn arguments(&self) -> String {
        self.arguments.as_ref().map(|arguments| arguments.get().to_owned()).unwrap_or_default()
    }

    fn input(&self) -> Option<ToolInput> {
        mcp_input(self.server.as_deref(), self.tool.as_deref(), self.arguments.as_ref()).map(ToolInput::Mcp)
    }

    fn result(&self) -> ToolResult {
        let mut output = match &self.result {
            Some(result) => Output::from_mcp(result.content.iter().flatten(), result.structured_content.as_ref()),
            None => Output::default(),
        };
        if let Some(message) = self.error.as_ref().and_then(|error| error.message.as_deref()) {
            output.push_text(message);
        }
        let failed = self.error.is_some() || self.status != Some(McpToolCallStatus::Completed);
        output.into_result().failed_if(failed).duration_ms(to_millis(self.duration_ms))
    }

    fn open_tool(&self) -> OpenTool {
        OpenTool {
            mcp_input: mcp_input(self.server.as_deref(), self.tool.as_deref(), self.arguments.as_ref()),
            ..OpenTool::default()
        }
    }
}

impl Tool for DynamicToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        (qualified_name(self.namespace.as_deref(), self.tool.as_deref()), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        self.arguments.as_ref().map(|arguments| arguments.get().to_owned()).unwrap_or_default()
    }

    fn result(&self) -> ToolResult {
        let failed = match (&self.status, self.success) {
            (Some(DynamicToolCallStatus::Failed), _) | (_, Some(false)) => true,
            (_, Some(true)) => false,
            (status, None) => *status != Some(DynamicToolCallStatus::Completed),
        };
        let output = Output::from_dynamic(self.content_items.clone().unwrap_or_default());
        output.into_result().failed_if(failed).duration_ms(to_millis(self.duration_ms))
    }
}

impl Tool for WebSearchThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("webSearch".to_owned(), ToolKind::Web)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        insert_text(&mut arguments, "query", self.query.as_deref().filter(|query| !query.is_empty()));
        insert_json(&mut arguments, "action", self.action.as_ref());
        Value::Object(arguments).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let query = self.query.as_deref();
        web_input(self.action.as_ref().map(to_json).as_ref(), query).map(ToolInput::Web)
    }

    /// An empty query is known only when the search is complete.
    fn has_final_arguments(&self) -> bool {
        self.query.as_ref().is_some_and(|query| !query.is_empty())
    }

    fn result(&self) -> ToolResult {
        let mut output = Output::default();
        for result in self.results.iter().flatten() {
            let result = result.to_value();
            let line: Vec<&str> =
                ["title", "url", "snippet"].into_iter().filter_map(|key| result.get(key)?.as_str()).collect();
            if line.is_empty() {
                output.push_text(&result.to_string());
            } else {
                output.push_text(&line.join(" "));
            }
        }
        output.into_result()
    }
}

impl Tool for ImageViewThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("imageView".to_owned(), ToolKind::FileRead)
    }

    fn arguments(&self) -> String {
        json!({ "path": self.path }).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        self.path.as_deref().map(|path| ToolInput::FileRead(FileReadInput::new(path)))
    }

    fn result(&self) -> ToolResult {
        let mut result = ToolResult::ok("");
        result.parts.extend(self.path.clone().map(image_part));
        result
    }
}

impl Tool for SleepThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("sleep".to_owned(), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        json!({ "duration_ms": self.duration_ms }).to_string()
    }

    fn title(&self) -> Option<String> {
        self.duration_ms.map(|duration| format!("Sleep {duration} ms"))
    }

    fn result(&self) -> ToolResult {
        ToolResult::ok("").duration_ms(self.duration_ms)
    }
}

impl Tool for ImageGenerationThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        ("imageGeneration".to_owned(), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        insert_text(&mut arguments, "prompt", self.revised_prompt.as_deref());
        Value::Object(arguments).to_string()
    }

    fn title(&self) -> Option<String> {
        Some(match &self.revised_prompt {
            Some(prompt) => format!("Generate image: {prompt}"),
            None => "Generate image".to_owned(),
        })
    }

    /// The prompt is usually known only when the image is complete.
    fn has_final_arguments(&self) -> bool {
        self.revised_prompt.is_some()
    }

    fn result(&self) -> ToolResult {
        // The result is base64 without a media type.
        let bytes = self.result.as_ref().filter(|bytes| !bytes.is_empty());
        let image = self.saved_path.clone().or_else(|| bytes.map(|bytes| format!("data:image/png;base64,{bytes}")));
        let failed = match self.status.as_deref() {
            _ if self.failure.is_some() => true,
            Some("completed") => false,
            Some("failed") => true,
            // The status comes from the provider and may be outdated.
            _ => image.is_none(),
        };
        let reason =
            self.failure.as_ref().and_then(|failure| failure.type_.as_ref()).map(ImageGenerationFailureType::as_str);
        let mut result = ToolResult::ok(reason.unwrap_or_default()).failed_if(failed);
        result.parts.extend(image.map(image_part));
        result
    }
}

/// Tool output that the host passed to the agent without a call.
impl Tool for FunctionCallOutputThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        (qualified_name(self.namespace.as_deref(), self.name.as_deref()), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        String::new()
    }

    fn result(&self) -> ToolResult {
        Output::from_function(self.output.clone()).into_result()
    }
}

/// Name of a tool with its server or namespace, as Codex writes it: `tiny/add`.
pub(super) fn qualified_name(server: Option<&str>, tool: Option<&str>) -> String {
    let tool = tool.unwrap_or("unknown");
    match server.filter(|server| !server.is_empty()) {
        Some(server) => format!("{server}/{tool}"),
        None => tool.to_owned(),
    }
}

/// Input of an MCP tool.
pub(super) fn mcp_input(server: Option<&str>, tool: Option<&str>, arguments: Option<&Json>) -> Option<McpInput> {
    let arguments = arguments.map(Json::to_value).filter(|arguments| !arguments.is_null());
    Some(McpInput::new(server?, tool?, arguments.unwrap_or_else(|| json!({}))))
}

/// Input of a web search: the page or the query. App server and `codex exec` write the action in the same way.
pub(super) fn web_input(action: Option<&Value>, query: Option<&str>) -> Option<WebInput> {
    let text = |key: &str| action.and_then(|action| action.get(key)?.as_str()).filter(|text| !text.is_empty());
    let first = || action.and_then(|action| action.get("queries")?.get(0)?.as_str());
    if let Some(url) = text("url") {
        return Some(WebInput::fetch(url));
    }
    let query = text("query").or_else(first).or(query).filter(|query| !query.is_empty())?;
    Some(WebInput::search(query))
}

fn to_millis(duration: Option<i64>) -> Option<u64> {
    duration.and_then(|duration| u64::try_from(duration).ok())
}
