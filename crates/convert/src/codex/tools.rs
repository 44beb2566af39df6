//! Items that are tools: how each is called, and how it ends.

use interlingua_native::Json;
use interlingua_native::codex::{
    CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus, CollabAgentToolCallThreadItem, CommandAction,
    CommandExecutionStatus, CommandExecutionThreadItem, DynamicToolCallStatus, DynamicToolCallThreadItem,
    FileChangeThreadItem, FunctionCallOutputThreadItem, ImageGenerationFailureType, ImageGenerationThreadItem,
    ImageViewThreadItem, McpToolCallStatus, McpToolCallThreadItem, PatchApplyStatus, SleepThreadItem,
    SubAgentActivityKind, SubAgentActivityThreadItem, WebSearchThreadItem,
};
use interlingua_schema::{
    CommandInput, ContentPart, FileAction, FileChangeInput, FileReadInput, McpInput, SubAgentInput, ToolInput,
    ToolKind, WebInput,
};
use serde_json::{Map, Value, json};

use super::command::as_typed;
use super::content::{Output, change_input, file_change, image, json as to_json};
use super::thread::Open;
use crate::paths::absolute_path;
use crate::{ToolCall, ToolResult};

/// An item that is a tool: the native types have this in common and no trait for it.
pub(super) trait Tool {
    fn id(&self) -> &str;

    /// The tool's name and sort.
    fn name(&self) -> (String, ToolKind);

    /// Its arguments as JSON text.
    fn arguments(&self) -> String;

    /// What it is called with, in the shape of its sort.
    fn input(&self) -> Option<ToolInput> {
        None
    }

    /// What it does, where the input does not say so.
    fn title(&self) -> Option<String> {
        None
    }

    /// Whether the arguments are all there when the item starts.
    fn starts_whole(&self) -> bool {
        true
    }

    /// How it ended.
    fn result(&self) -> ToolResult;

    /// What has to be known of it while it runs.
    fn open(&self) -> Open {
        Open::default()
    }

    fn call(&self) -> ToolCall {
        let (name, kind) = self.name();
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

    fn name(&self) -> (String, ToolKind) {
        ("commandExecution".to_owned(), ToolKind::Command)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        arguments.insert("command".to_owned(), typed(self).unwrap_or_default().into());
        add(&mut arguments, "cwd", self.cwd.as_deref());
        Value::Object(arguments).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let mut input = CommandInput::new(typed(self)?);
        input.cwd.clone_from(&self.cwd);
        Some(ToolInput::Command(input))
    }

    fn result(&self) -> ToolResult {
        let failed = match &self.status {
            Some(CommandExecutionStatus::Completed) => false,
            Some(CommandExecutionStatus::Failed | CommandExecutionStatus::Declined) => true,
            // The command is over, and how it went is not understood.
            Some(CommandExecutionStatus::InProgress | CommandExecutionStatus::Unknown(_)) | None => {
                self.exit_code != Some(0)
            }
        };
        let mut result = ToolResult::ok(self.aggregated_output.as_deref().unwrap_or_default())
            .failed_if(failed)
            .exit_code(self.exit_code.and_then(|code| i32::try_from(code).ok()))
            .duration_ms(millis(self.duration_ms));
        if !failed {
            let read = |action: &CommandAction| file_read(action, self.cwd.as_deref());
            result.parts = self.command_actions.iter().flatten().filter_map(read).collect();
        }
        result
    }
}

/// The command as a person would type it.
fn typed(item: &CommandExecutionThreadItem) -> Option<String> {
    as_typed(item.command.as_deref()?, item.command_actions.as_deref().unwrap_or_default())
}

/// The file that a command reads in its directory, where Codex made that out.
fn file_read(action: &CommandAction, cwd: Option<&str>) -> Option<ContentPart> {
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

    fn name(&self) -> (String, ToolKind) {
        ("fileChange".to_owned(), ToolKind::FileChange)
    }

    fn arguments(&self) -> String {
        json!({ "changes": self.changes }).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let changes = self.changes.as_ref()?.iter().map(change_input).collect();
        Some(ToolInput::FileChange(FileChangeInput::new(changes)))
    }

    /// A change becomes a `file_ref` only if it was applied. What Codex prints only repeats the files' names.
    fn result(&self) -> ToolResult {
        if self.status != Some(PatchApplyStatus::Completed) {
            return ToolResult::as_streamed().failed_if(true);
        }
        let mut result = ToolResult::ok("");
        result.parts = self.changes.iter().flatten().map(file_change).collect();
        result
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

    fn input(&self) -> Option<ToolInput> {
        mcp_input(self.server.as_deref(), self.tool.as_deref(), self.arguments.as_ref()).map(ToolInput::Mcp)
    }

    fn result(&self) -> ToolResult {
        let mut output = match &self.result {
            Some(result) => Output::mcp(result.content.iter().flatten(), result.structured_content.as_ref()),
            None => Output::default(),
        };
        if let Some(message) = self.error.as_ref().and_then(|error| error.message.as_deref()) {
            output.say(message);
        }
        let failed = self.error.is_some() || self.status != Some(McpToolCallStatus::Completed);
        output.result().failed_if(failed).duration_ms(millis(self.duration_ms))
    }

    fn open(&self) -> Open {
        Open {
            mcp: mcp_input(self.server.as_deref(), self.tool.as_deref(), self.arguments.as_ref()),
            ..Open::default()
        }
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
        let failed = match (&self.status, self.success) {
            (Some(DynamicToolCallStatus::Failed), _) | (_, Some(false)) => true,
            (_, Some(true)) => false,
            (status, None) => *status != Some(DynamicToolCallStatus::Completed),
        };
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

    fn input(&self) -> Option<ToolInput> {
        let mut input = SubAgentInput::new(self.prompt.as_deref().filter(|prompt| !prompt.is_empty())?);
        // Until it is there, an agent that is started has no name.
        if !matches!(self.tool, Some(CollabAgentTool::SpawnAgent)) {
            input.agent = self.receiver_thread_ids.iter().flatten().next().cloned();
        }
        Some(ToolInput::SubAgent(input))
    }

    fn title(&self) -> Option<String> {
        let prompt_sent = self.prompt.as_ref().is_some_and(|prompt| !prompt.is_empty());
        let tool = self.tool.as_ref().filter(|_| !prompt_sent)?;
        collab_title(tool.as_str())
    }

    /// What the agents that it is about said last, or how they are. That one is yet to begin is no output.
    fn result(&self) -> ToolResult {
        let failed = self.status != Some(CollabAgentToolCallStatus::Completed);
        let mut output = Output::default();
        let alone = self.agents_states.as_ref().is_some_and(|states| states.len() == 1);
        for (agent, now) in self.agents_states.iter().flatten() {
            let status = now.status.as_ref().map_or("unknown", |status| status.as_str());
            match now.message.as_deref() {
                Some(message) if alone => output.say(message),
                Some(message) => output.say(&format!("{agent}: {message}")),
                None if now.status == Some(CollabAgentStatus::PendingInit) => {}
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
            Some(SubAgentActivityKind::Interacted) => "sendMessage",
            Some(kind) => kind.as_str(),
            None => "subAgentActivity",
        };
        (name.to_owned(), ToolKind::SubAgent)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "agent", agent_of(self));
        add(&mut arguments, "model", self.model.as_deref());
        add(&mut arguments, "reasoning_effort", self.reasoning_effort.as_deref());
        Value::Object(arguments).to_string()
    }

    /// The item does not have the prompt.
    fn title(&self) -> Option<String> {
        let title = collab_title(&self.name().0)?;
        Some(agent_of(self).map_or_else(|| title.clone(), |agent| format!("{title} {agent}")))
    }

    /// It is there only when it was done; an activity that is not known may be anything.
    fn result(&self) -> ToolResult {
        let known = matches!(
            self.kind,
            Some(
                SubAgentActivityKind::Started
                    | SubAgentActivityKind::Interacted
                    | SubAgentActivityKind::Interrupted
                    | SubAgentActivityKind::Completed
            )
        );
        ToolResult::ok("").failed_if(!known)
    }
}

/// The sub-agent that an activity is about.
pub(super) fn agent_of(item: &SubAgentActivityThreadItem) -> Option<&str> {
    item.agent_path.as_deref().or(item.agent_thread_id.as_deref())
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

    fn input(&self) -> Option<ToolInput> {
        let query = self.query.as_deref();
        web_input(self.action.as_ref().map(to_json).as_ref(), query).map(ToolInput::Web)
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

    fn input(&self) -> Option<ToolInput> {
        self.path.as_deref().map(|path| ToolInput::FileRead(FileReadInput::new(path)))
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

    fn name(&self) -> (String, ToolKind) {
        ("imageGeneration".to_owned(), ToolKind::Other)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        add(&mut arguments, "prompt", self.revised_prompt.as_deref());
        Value::Object(arguments).to_string()
    }

    fn title(&self) -> Option<String> {
        Some(match &self.revised_prompt {
            Some(prompt) => format!("Generate image: {prompt}"),
            None => "Generate image".to_owned(),
        })
    }

    /// The prompt is known when the picture is there.
    fn starts_whole(&self) -> bool {
        self.revised_prompt.is_some()
    }

    fn result(&self) -> ToolResult {
        // The picture itself is base64, without a word on its type.
        let bytes = self.result.as_ref().filter(|bytes| !bytes.is_empty());
        let picture = self.saved_path.clone().or_else(|| bytes.map(|bytes| format!("data:image/png;base64,{bytes}")));
        let failed = match self.status.as_deref() {
            _ if self.failure.is_some() => true,
            Some("completed") => false,
            Some("failed") => true,
            // The status is the provider's, and not always the last one.
            _ => picture.is_none(),
        };
        let reason =
            self.failure.as_ref().and_then(|failure| failure.type_.as_ref()).map(ImageGenerationFailureType::as_str);
        let mut result = ToolResult::ok(reason.unwrap_or_default()).failed_if(failed);
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

/// What a tool of an MCP server is called with.
pub(super) fn mcp_input(server: Option<&str>, tool: Option<&str>, arguments: Option<&Json>) -> Option<McpInput> {
    let arguments = arguments.map(Json::to_value).filter(|arguments| !arguments.is_null());
    Some(McpInput::new(server?, tool?, arguments.unwrap_or_else(|| json!({}))))
}

/// The page or the words that a search of the web is for. Both dialects write the action alike.
pub(super) fn web_input(action: Option<&Value>, query: Option<&str>) -> Option<WebInput> {
    let text = |key: &str| action.and_then(|action| action.get(key)?.as_str()).filter(|text| !text.is_empty());
    let first = || action.and_then(|action| action.get("queries")?.get(0)?.as_str());
    if let Some(url) = text("url") {
        return Some(WebInput::fetch(url));
    }
    let query = text("query").or_else(first).or(query).filter(|query| !query.is_empty())?;
    Some(WebInput::search(query))
}

/// What a call about sub-agents does, where it has no prompt.
pub(super) fn collab_title(tool: &str) -> Option<String> {
    let title = match tool {
        "spawnAgent" | "spawn_agent" => "Start sub-agent",
        "sendInput" | "send_input" | "sendMessage" | "send_message" | "followupTask" | "followup_task" => {
            "Message sub-agent"
        }
        "resumeAgent" | "resume_agent" => "Resume sub-agent",
        "wait" | "wait_agent" => "Wait for sub-agent",
        "closeAgent" | "close_agent" => "Close sub-agent",
        "interruptAgent" | "interrupt_agent" => "Interrupt sub-agent",
        "listAgents" | "list_agents" => "List sub-agents",
        _ => return None,
    };
    Some(title.to_owned())
}

fn add(arguments: &mut Map<String, Value>, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        arguments.insert(key.to_owned(), value.into());
    }
}

fn millis(duration: Option<i64>) -> Option<u64> {
    duration.and_then(|duration| u64::try_from(duration).ok())
}
