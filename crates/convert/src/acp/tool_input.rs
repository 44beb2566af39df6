//! The typed input of a call, from whatever the agent says about it.
//!
//! `rawInput` has the arguments under the keys of the agent's own tool. Agents agree on a few spellings of each key. An
//! agent that sends no `rawInput` still has the kind, the locations, the diffs and a title.

use interlingua_native::Json;
use interlingua_native::acp::{ToolCallContent, ToolKind as NativeKind};
use interlingua_schema::{
    ChangeKind, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput, SearchInput,
    SearchTarget, SubAgentInput, TextEdit, ToolInput, ToolKind, WebInput,
};
use serde_json::{Map, Value};

use super::tools::ToolFields;
use crate::shell::unwrap_shell;
use crate::{plan_step_from_json, unified_diff};

/// Prefix of the name of a tool of an MCP server.
const MCP_PREFIX: &str = "mcp__";

const COMMAND_KEYS: &[&str] = &["command", "cmd", "commandLine"];
const DIRECTORY_KEYS: &[&str] = &["cwd", "workdir", "directory", "dir_path", "working_directory"];
const TIMEOUT_KEYS: &[&str] = &["timeout_ms", "timeoutMs"];
const BACKGROUND_KEYS: &[&str] = &["run_in_background", "is_background", "background"];
const PATH_KEYS: &[&str] =
    &["file_path", "filePath", "filepath", "path", "absolute_path", "target_file", "fileName", "notebook_path"];
const OLD_TEXT_KEYS: &[&str] = &["old_string", "oldString", "old_str", "oldText"];
const NEW_TEXT_KEYS: &[&str] = &["new_string", "newString", "new_str", "newText"];
const SOURCE_KEYS: &[&str] = &["source", "from", "old_path", "src"];
const TARGET_KEYS: &[&str] = &["destination", "to", "new_path", "dst"];
const QUERY_KEYS: &[&str] = &["pattern", "query", "regex", "search_query", "glob"];
const PROMPT_KEYS: &[&str] = &["prompt", "task", "message"];
const AGENT_KEYS: &[&str] = &["subagent_type", "agent_type", "agent", "agent_name"];
const STEP_KEYS: &[&str] = &["todos", "plan", "steps", "entries"];
const STEP_TEXT_KEYS: &[&str] = &["content", "step", "description", "title", "text"];

/// What an agent says about a call.
#[derive(Debug, Default)]
pub(super) struct Described {
    kind: Option<NativeKind>,
    pub(super) title: Option<String>,
    arguments: Option<Json>,
    locations: Vec<String>,
    diffs: Vec<Diff>,
}

/// A change of a file, as an agent shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Diff {
    pub(super) path: String,
    /// The old text; `None` if the file is new.
    pub(super) old: Option<String>,
    pub(super) new: String,
}

impl Diff {
    pub(super) fn unified(&self) -> Option<String> {
        unified_diff(&self.path, self.old.as_deref(), Some(&self.new))
    }
}

impl Described {
    /// Takes over what an update says.
    pub(super) fn merge(&mut self, fields: &mut ToolFields) {
        self.kind = fields.kind.take().or(self.kind.take());
        self.title = fields.title.take().or(self.title.take());
        if let Some(arguments) = fields.raw_input.take() {
            self.arguments = Some(arguments);
        }
        let locations = fields.locations.take().unwrap_or_default();
        let paths: Vec<String> = locations.into_iter().filter_map(|location| location.path).collect();
        if !paths.is_empty() {
            self.locations = paths;
        }
        let diffs: Vec<Diff> = fields.content.iter().flatten().filter_map(diff).collect();
        if !diffs.is_empty() {
            self.diffs = diffs;
        }
    }

    /// Uses the input of a permission request, if the call's own arguments do not have the keys of its kind.
    pub(super) fn complete_with(&mut self, request_input: Option<Json>, name: Option<&str>) {
        let Some(input) = request_input else { return };
        let is_complete = self.has_arguments() && self.input_from_arguments(name).is_some();
        if !is_complete {
            let own = self.arguments.replace(input);
            if self.input_from_arguments(name).is_none() {
                self.arguments = own.or(self.arguments.take());
            }
        }
    }

    /// The kind of the tool on the wire.
    pub(super) fn kind(&self) -> Option<&str> {
        self.kind.as_ref().map(NativeKind::as_str)
    }

    pub(super) fn arguments(&self) -> Option<&Json> {
        self.arguments.as_ref()
    }

    /// Whether the call has arguments: an object or list that is not empty, or another value.
    pub(super) fn has_arguments(&self) -> bool {
        self.arguments.as_ref().is_some_and(|json| !matches!(json.get().trim(), "{}" | "[]" | "\"\""))
    }

    pub(super) fn diffs(&self) -> &[Diff] {
        &self.diffs
    }

    /// The path of the file that is read or changed.
    pub(super) fn path(&self) -> Option<String> {
        let arguments = self.argument_map();
        text(&arguments, PATH_KEYS).or_else(|| self.locations.first().cloned())
    }

    fn argument_map(&self) -> Map<String, Value> {
        match self.arguments.as_ref().map(Json::to_value) {
            Some(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        }
    }

    fn input_from_arguments(&self, name: Option<&str>) -> Option<ToolInput> {
        let arguments = self.argument_map();
        let without_title = Self { kind: self.kind.clone(), arguments: self.arguments.clone(), ..Self::default() };
        without_title.typed_input(&arguments, name)
    }

    /// The typed input, if what is known has the keys of the kind.
    pub(super) fn input(&self, name: Option<&str>) -> Option<ToolInput> {
        self.typed_input(&self.argument_map(), name)
    }

    fn typed_input(&self, arguments: &Map<String, Value>, name: Option<&str>) -> Option<ToolInput> {
        if let Some(input) = mcp(arguments, name).or_else(|| plan(arguments)) {
            return Some(input);
        }
        match self.kind.as_ref()? {
            NativeKind::Execute => self.command(arguments),
            NativeKind::Read => self.file_read(arguments),
            NativeKind::Edit => self.file_change(arguments),
            NativeKind::Delete => self.deletion(arguments),
            NativeKind::Move => self.relocation(arguments),
            NativeKind::Search => search(arguments, name),
            NativeKind::Fetch => web(arguments),
            NativeKind::Think | NativeKind::Other | NativeKind::SwitchMode | NativeKind::Unknown(_) => {
                sub_agent(arguments)
            }
        }
    }

    /// An agent that sends no arguments shows the command as the title.
    fn command(&self, arguments: &Map<String, Value>) -> Option<ToolInput> {
        let command = words(arguments, COMMAND_KEYS);
        let title = || self.title.clone().filter(|_| !self.has_arguments());
        let mut input = CommandInput::new(unwrap_shell(&command.or_else(title)?));
        input.cwd = text(arguments, DIRECTORY_KEYS);
        input.timeout_ms = number(arguments, TIMEOUT_KEYS);
        input.background = BACKGROUND_KEYS.iter().find_map(|key| arguments.get(*key)?.as_bool()).filter(|set| *set);
        input.description = text(arguments, &["description"]);
        Some(ToolInput::Command(input))
    }

    fn file_read(&self, arguments: &Map<String, Value>) -> Option<ToolInput> {
        let path = text(arguments, PATH_KEYS).or_else(|| self.locations.first().cloned());
        let mut input = FileReadInput::new(path?);
        input.offset = number(arguments, &["offset"]);
        input.limit = number(arguments, &["limit"]);
        Some(ToolInput::FileRead(input))
    }

    fn file_change(&self, arguments: &Map<String, Value>) -> Option<ToolInput> {
        let edit = text(arguments, OLD_TEXT_KEYS).zip(text(arguments, NEW_TEXT_KEYS));
        let edits = edit.map(|(old, new)| vec![TextEdit::new(old, new)]);
        if self.diffs.is_empty() {
            let path = text(arguments, PATH_KEYS).or_else(|| self.locations.first().cloned());
            let mut change = FileChange::new(path?);
            change.edits = edits;
            return Some(ToolInput::FileChange(FileChangeInput::new(vec![change])));
        }
        let mut changes: Vec<FileChange> = self.diffs.iter().map(change).collect();
        if let [only] = changes.as_mut_slice() {
            only.edits = edits;
        }
        Some(ToolInput::FileChange(FileChangeInput::new(changes)))
    }

    fn deletion(&self, arguments: &Map<String, Value>) -> Option<ToolInput> {
        let mut change = FileChange::new(text(arguments, PATH_KEYS).or_else(|| self.locations.first().cloned())?);
        change.change = Some(ChangeKind::Delete);
        Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
    }

    fn relocation(&self, arguments: &Map<String, Value>) -> Option<ToolInput> {
        let location = |index: usize| self.locations.get(index).cloned();
        let mut change = FileChange::new(text(arguments, SOURCE_KEYS).or_else(|| location(0))?);
        change.to = Some(text(arguments, TARGET_KEYS).or_else(|| location(1))?);
        change.change = Some(ChangeKind::Move);
        Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
    }
}

/// The universal kind of a tool, by its kind on the wire. A tool of an MCP server is known by its name.
pub(super) fn tool_kind(kind: Option<&str>, name: Option<&str>) -> ToolKind {
    if name.is_some_and(|name| name.starts_with(MCP_PREFIX)) {
        return ToolKind::Mcp;
    }
    match kind.map(NativeKind::from) {
        Some(NativeKind::Execute) => ToolKind::Command,
        Some(NativeKind::Read) => ToolKind::FileRead,
        Some(NativeKind::Edit | NativeKind::Delete | NativeKind::Move) => ToolKind::FileChange,
        Some(NativeKind::Search) => ToolKind::Search,
        Some(NativeKind::Fetch) => ToolKind::Web,
        Some(NativeKind::Think | NativeKind::SwitchMode | NativeKind::Other | NativeKind::Unknown(_)) | None => {
            ToolKind::Other
        }
    }
}

fn diff(content: &ToolCallContent) -> Option<Diff> {
    let ToolCallContent::Diff(diff) = content else { return None };
    Some(Diff { path: diff.path.clone()?, old: diff.old_text.clone(), new: diff.new_text.clone()? })
}

fn change(diff: &Diff) -> FileChange {
    let mut change = FileChange::new(diff.path.as_str());
    change.change = diff.old.is_none().then_some(ChangeKind::Create);
    change.diff = diff.unified();
    change
}

/// The tool `mcp__<server>__<tool>`, or arguments that name server and tool.
fn mcp(arguments: &Map<String, Value>, name: Option<&str>) -> Option<ToolInput> {
    if let Some((server, tool)) = name.and_then(|name| name.strip_prefix(MCP_PREFIX)?.split_once("__")) {
        return Some(ToolInput::Mcp(McpInput::new(server, tool, Value::Object(arguments.clone()))));
    }
    let (server, tool) = text(arguments, &["server"]).zip(text(arguments, &["tool"]))?;
    let inner = arguments.get("arguments").filter(|inner| !inner.is_null()).cloned();
    Some(ToolInput::Mcp(McpInput::new(server, tool, inner.unwrap_or_else(|| Value::Object(Map::new())))))
}

/// A list of steps with a status.
fn plan(arguments: &Map<String, Value>) -> Option<ToolInput> {
    let steps = STEP_KEYS.iter().find_map(|key| arguments.get(*key)?.as_array())?;
    let with_content = |step: &Value| {
        let fields = step.as_object()?;
        let content = text(fields, STEP_TEXT_KEYS)?;
        let status = fields.get("status")?.clone();
        Some(serde_json::json!({ "content": content, "status": status }))
    };
    let steps: Option<Vec<Value>> = steps.iter().map(with_content).collect();
    let steps = steps?.into_iter().map(plan_step_from_json).collect();
    Some(ToolInput::Plan(PlanInput::new(steps)))
}

fn search(arguments: &Map<String, Value>, name: Option<&str>) -> Option<ToolInput> {
    let mut input = SearchInput::new(text(arguments, QUERY_KEYS)?);
    let name = name.unwrap_or_default().to_lowercase();
    input.target = match name.as_str() {
        name if name.contains("grep") => Some(SearchTarget::Contents),
        name if name.contains("glob") => Some(SearchTarget::Names),
        _ => None,
    };
    input.path = text(arguments, &["path", "dir_path", "directory"]);
    input.glob = text(arguments, &["include", "file_pattern", "glob"]).filter(|glob| *glob != input.query);
    Some(ToolInput::Search(input))
}

fn web(arguments: &Map<String, Value>) -> Option<ToolInput> {
    let url = text(arguments, &["url", "uri"]);
    let input = url.map(WebInput::fetch);
    input.or_else(|| text(arguments, &["query", "search_query"]).map(WebInput::search)).map(ToolInput::Web)
}

/// A task, if the arguments have a prompt and say for whom.
fn sub_agent(arguments: &Map<String, Value>) -> Option<ToolInput> {
    let agent = text(arguments, AGENT_KEYS);
    let description = text(arguments, &["description"]);
    if agent.is_none() && description.is_none() {
        return None;
    }
    let mut input = SubAgentInput::new(text(arguments, PROMPT_KEYS)?);
    input.description = description;
    input.agent = agent;
    Some(ToolInput::SubAgent(input))
}

/// The first of these arguments that is a string.
fn text(arguments: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str()).map(str::to_owned)
}

fn number(arguments: &Map<String, Value>, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_u64())
}

/// The first of these arguments that is a string, or a list of words.
fn words(arguments: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match arguments.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            shlex::try_join(words?).ok()
        }
        _ => None,
    })
}
