//! Items that are tools: how each is called, and how it ends.

use interlingua_native::codex::{
    CollabAgentToolCallStatus, CollabAgentToolCallThreadItem, CommandAction, CommandExecutionStatus,
    CommandExecutionThreadItem, DynamicToolCallStatus, DynamicToolCallThreadItem, FileChangeThreadItem,
    FunctionCallOutputThreadItem, ImageGenerationFailureType, ImageGenerationThreadItem, ImageViewThreadItem,
    McpToolCallStatus, McpToolCallThreadItem, PatchApplyStatus, SleepThreadItem, SubAgentActivityKind,
    SubAgentActivityThreadItem, WebSearchThreadItem,
};
use interlingua_schema::{ContentPart, FileAction, ToolKind};
use serde_json::{Map, Value, json};

use super::command::unwrapped;
use super::content::{Output, file_change, image, json as to_json};
use super::thread::Open;
use crate::{ToolCall, ToolResult};

/// An item that is a tool: the native types have this in common and no trait for it.
pub(super) trait Tool {
    fn id(&self) -> &str;

    /// The tool's name and sort.
    fn name(&self) -> (String, ToolKind);

    /// Its arguments as JSON text.
    fn arguments(&self) -> String;

    /// Whether the arguments are all there when the item starts.
    fn starts_whole(&self) -> bool {
        true
    }

    /// How it ended.
    fn result(&self) -> ToolResult;

    /// What it does, for whoever asks permission.
    fn open(&self) -> Open {
        Open { action: self.name().0, ..Open::default() }
    }

    fn call(&self) -> ToolCall {
        let (name, kind) = self.name();
        ToolCall::new(self.id(), name).kind(kind).arguments(self.arguments()).native(self.id())
    }
}

impl Tool for CommandExecutionThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("commandExecution".to_owned(), ToolKind::Command)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        arguments.insert("command".to_owned(), unwrapped(self.command.as_deref().unwrap_or_default()).into());
        add(&mut arguments, "cwd", self.cwd.as_deref());
        Value::Object(arguments).to_string()
    }

    fn result(&self) -> ToolResult {
        let failed = matches!(self.status, Some(CommandExecutionStatus::Failed | CommandExecutionStatus::Declined));
        let mut result = ToolResult::ok(self.aggregated_output.as_deref().unwrap_or_default())
            .failed_if(failed)
            .exit_code(self.exit_code.and_then(|code| i32::try_from(code).ok()))
            .duration_ms(millis(self.duration_ms));
        if !failed {
            result.parts = self.command_actions.iter().flatten().filter_map(file_read).collect();
        }
        result
    }

    fn open(&self) -> Open {
        Open { action: unwrapped(self.command.as_deref().unwrap_or_default()).into_owned(), ..Open::default() }
    }
}

/// The file that a command reads, where Codex made that out.
fn file_read(action: &CommandAction) -> Option<ContentPart> {
    match action {
        CommandAction::Read(read) => {
            Some(ContentPart::FileRef { path: read.path.clone()?, action: FileAction::Read, diff: None })
        }
        _ => None,
    }
}

impl Tool for FileChangeThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("fileChange".to_owned(), ToolKind::FileChange)
    }

    fn arguments(&self) -> String {
        json!({ "changes": self.changes }).to_string()
    }

    /// Only a change that was made is told as one.
    fn result(&self) -> ToolResult {
        let failed = matches!(self.status, Some(PatchApplyStatus::Failed | PatchApplyStatus::Declined));
        let mut result = ToolResult::as_streamed().failed_if(failed);
        if !failed {
            result.parts = self.changes.iter().flatten().map(file_change).collect();
        }
        result
    }

    fn open(&self) -> Open {
        let paths: Vec<&str> = self.changes.iter().flatten().filter_map(|change| change.path.as_deref()).collect();
        let changes = self.changes.as_ref().map(to_json);
        Open { action: format!("change {}", paths.join(", ")), changes, ..Open::default() }
    }
}

impl Tool for McpToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        (qualified(self.server.as_deref(), self.tool.as_deref()), ToolKind::Mcp)
    }

    fn arguments(&self) -> String {
        self.arguments.as_ref().map(|arguments| arguments.get().to_owned()).unwrap_or_default()
    }

    fn result(&self) -> ToolResult {
        let mut output = match &self.result {
            Some(result) => Output::mcp(result.content.iter().flatten(), result.structured_content.as_ref()),
            None => Output::default(),
        };
        if let Some(message) = self.error.as_ref().and_then(|error| error.message.as_deref()) {
            output.say(message);
        }
        let failed = self.error.is_some() || self.status == Some(McpToolCallStatus::Failed);
        output.result().failed_if(failed).duration_ms(millis(self.duration_ms))
    }
}

impl Tool for DynamicToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        (qualified(self.namespace.as_deref(), self.tool.as_deref()), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        self.arguments.as_ref().map(|arguments| arguments.get().to_owned()).unwrap_or_default()
    }

    fn result(&self) -> ToolResult {
        let failed = self.success == Some(false) || self.status == Some(DynamicToolCallStatus::Failed);
        let output = Output::dynamic(self.content_items.clone().unwrap_or_default());
        output.result().failed_if(failed).duration_ms(millis(self.duration_ms))
    }
}

impl Tool for CollabAgentToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        let tool = self.tool.as_ref().map_or("collabAgentToolCall", |tool| tool.as_str());
        (tool.to_owned(), ToolKind::SubAgent)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "prompt", self.prompt.as_deref());
        add(&mut arguments, "model", self.model.as_deref().filter(|model| !model.is_empty()));
        add(&mut arguments, "reasoning_effort", self.reasoning_effort.as_deref());
        if let Some(agents) = self.receiver_thread_ids.as_ref().filter(|agents| !agents.is_empty()) {
            arguments.insert("agents".to_owned(), agents.as_slice().into());
        }
        Value::Object(arguments).to_string()
    }

    /// What the agents that it is about said last, or how they are.
    fn result(&self) -> ToolResult {
        let failed =
            matches!(self.status, Some(CollabAgentToolCallStatus::Failed | CollabAgentToolCallStatus::Interrupted));
        let mut output = Output::default();
        let alone = self.agents_states.as_ref().is_some_and(|states| states.len() == 1);
        for (agent, now) in self.agents_states.iter().flatten() {
            let status = now.status.as_ref().map_or("unknown", |status| status.as_str());
            match now.message.as_deref() {
                Some(message) if alone => output.say(message),
                Some(message) => output.say(&format!("{agent}: {message}")),
                None => output.say(&format!("{agent}: {status}")),
            }
        }
        output.result().failed_if(failed)
    }
}

/// What happened to a sub-agent of the newer kind, where the item stands for a call. That one is done is no call.
impl Tool for SubAgentActivityThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        let name = match &self.kind {
            Some(SubAgentActivityKind::Started) => "spawnAgent",
            Some(SubAgentActivityKind::Interrupted) => "interruptAgent",
            _ => "sendMessage",
        };
        (name.to_owned(), ToolKind::SubAgent)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "agent", self.agent_path.as_deref().or(self.agent_thread_id.as_deref()));
        add(&mut arguments, "model", self.model.as_deref());
        add(&mut arguments, "reasoning_effort", self.reasoning_effort.as_deref());
        Value::Object(arguments).to_string()
    }

    fn result(&self) -> ToolResult {
        ToolResult::ok("")
    }
}

impl Tool for WebSearchThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("webSearch".to_owned(), ToolKind::Web)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "query", self.query.as_deref().filter(|query| !query.is_empty()));
        if let Some(action) = &self.action {
            arguments.insert("action".to_owned(), to_json(action));
        }
        Value::Object(arguments).to_string()
    }

    /// What is searched for is known when it was found.
    fn starts_whole(&self) -> bool {
        self.query.as_ref().is_some_and(|query| !query.is_empty())
    }

    fn result(&self) -> ToolResult {
        let mut output = Output::default();
        for result in self.results.iter().flatten() {
            let result = result.to_value();
            let line: Vec<&str> =
                ["title", "url", "snippet"].into_iter().filter_map(|key| result.get(key)?.as_str()).collect();
            if line.is_empty() {
                output.say(&result.to_string());
            } else {
                output.say(&line.join(" "));
            }
        }
        output.result()
    }
}

impl Tool for ImageViewThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("imageView".to_owned(), ToolKind::FileRead)
    }

    fn arguments(&self) -> String {
        json!({ "path": self.path }).to_string()
    }

    fn result(&self) -> ToolResult {
        let mut result = ToolResult::ok("");
        result.parts.extend(self.path.clone().map(image));
        result
    }
}

impl Tool for SleepThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("sleep".to_owned(), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        json!({ "duration_ms": self.duration_ms }).to_string()
    }

    fn result(&self) -> ToolResult {
        ToolResult::ok("").duration_ms(self.duration_ms)
    }
}

impl Tool for ImageGenerationThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        ("imageGeneration".to_owned(), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "prompt", self.revised_prompt.as_deref());
        Value::Object(arguments).to_string()
    }

    /// The prompt is known when the picture is there.
    fn starts_whole(&self) -> bool {
        self.revised_prompt.is_some()
    }

    fn result(&self) -> ToolResult {
        let failed = self.failure.is_some() || self.status.as_deref() == Some("failed");
        let reason =
            self.failure.as_ref().and_then(|failure| failure.type_.as_ref()).map(ImageGenerationFailureType::as_str);
        let mut result = ToolResult::ok(reason.unwrap_or_default()).failed_if(failed);
        // The picture itself is base64, without a word on its type.
        let bytes = self.result.as_ref().filter(|bytes| !bytes.is_empty());
        let picture = self.saved_path.clone().or_else(|| bytes.map(|bytes| format!("data:image/png;base64,{bytes}")));
        result.parts.extend(picture.map(image));
        result
    }
}

/// A tool's output that the host told the agent of by itself: nobody called the tool.
impl Tool for FunctionCallOutputThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> (String, ToolKind) {
        (qualified(self.namespace.as_deref(), self.name.as_deref()), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        String::new()
    }

    fn result(&self) -> ToolResult {
        Output::function(self.output.clone()).result()
    }
}

/// A tool's name with that of the server or namespace it belongs to, as Codex itself writes it: `tiny/add`.
pub(super) fn qualified(server: Option<&str>, tool: Option<&str>) -> String {
    let tool = tool.unwrap_or("unknown");
    match server.filter(|server| !server.is_empty()) {
        Some(server) => format!("{server}/{tool}"),
        None => tool.to_owned(),
    }
}

fn add(arguments: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        arguments.insert(key.to_owned(), value.into());
    }
}

fn millis(duration: Option<i64>) -> Option<u64> {
    duration.and_then(|duration| u64::try_from(duration).ok())
}
