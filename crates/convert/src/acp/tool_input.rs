//! What a call does: its kind, its typed input and its title, from whatever the agent says about it.
//!
//! `rawInput` has the arguments under the keys of the agent's own tool. Tools of Claude Code and OpenCode are described as on
//! their own wires. Other agents agree on a few spellings of each key. An agent that sends no `rawInput` still has the
//! kind, the locations, the diffs and a title.

mod arguments;
mod titles;

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_native::acp::{ContentBlock, ToolCallContent, ToolCallLocation, ToolKind as NativeKind};
use interlingua_schema::{ChangeKind, FileChange, McpInput, ToolInput, ToolKind};
use serde_json::{Map, Value};

use super::tool_names::{McpTool, approves_plan, kind_of_name};
use super::tools::ToolFields;
use crate::{claude, opencode, unified_diff};
use arguments::text;

/// Title of a call that OpenCode has replaced, because its tool does not exist or its arguments are not valid.
const INVALID_TITLES: [&str; 2] = [opencode::adapter::INVALID, "Invalid Tool"];

/// What is known about the tool of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolIdentity<'a> {
    pub(super) dialect: AcpDialect,
    pub(super) name: Option<&'a str>,
    pub(super) mcp: Option<&'a McpTool>,
    /// The agent sends arguments. If it does not, the title of a command is the command.
    pub(super) sends_arguments: bool,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallDescription {
    pub(super) kind: ToolKind,
    pub(super) input: Option<ToolInput>,
    /// One line for a person, if it is not made from the input or the name of the tool.
    pub(super) title: Option<String>,
}

impl CallDescription {
    fn new(kind: ToolKind, input: Option<ToolInput>) -> Self {
        let kind = input.as_ref().and_then(ToolInput::kind).unwrap_or(kind);
        Self { kind, input, title: None }
    }
}

/// What an agent says about a call.
#[derive(Debug, Default)]
pub(super) struct Described {
    kind: Option<NativeKind>,
    title: Option<String>,
    arguments: Option<Json>,
    locations: Vec<Location>,
    diffs: Vec<Diff>,
    /// Texts that describe the call, such as the purpose of a command.
    texts: Vec<String>,
}

/// A file that a call is about.
#[derive(Debug)]
struct Location {
    path: String,
    line: Option<u64>,
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

    fn change(&self) -> FileChange {
        let mut change = FileChange::new(self.path.as_str());
        change.change = self.old.is_none().then_some(ChangeKind::Create);
        change.diff = self.unified();
        change
    }
}

impl Described {
    /// Takes over what an update says. `is_output`: the texts in its content are output of the tool.
    pub(super) fn merge(&mut self, fields: &mut ToolFields, is_output: bool) {
        self.kind = fields.kind.take().or(self.kind.take());
        self.title = fields.title.take().or(self.title.take());
        if let Some(arguments) = fields.raw_input.take() {
            self.arguments = Some(arguments);
        }
        let locations: Vec<Location> = fields.locations.take().into_iter().flatten().filter_map(location).collect();
        if !locations.is_empty() {
            self.locations = locations;
        }
        let diffs: Vec<Diff> = fields.content.iter().flatten().filter_map(diff).collect();
        if !diffs.is_empty() {
            self.diffs = diffs;
        }
        let texts: Vec<String> = fields.content.iter().flatten().filter_map(description_text).collect();
        if !is_output && !texts.is_empty() {
            self.texts = texts;
        }
    }

    /// Uses the arguments of a permission request, if the call's own do not describe it.
    pub(super) fn complete_with(&mut self, request: Option<Json>, identity: ToolIdentity<'_>) {
        let Some(request) = request.filter(has_content) else { return };
        let own = self.arguments.take();
        let describes = |arguments: &Json| self.describe_with(Some(arguments), identity).input.is_some();
        let keeps_own = own.as_ref().is_some_and(|own| has_content(own) && (describes(own) || !describes(&request)));
        self.arguments = if keeps_own { own } else { Some(request) };
    }

    /// The kind of the tool on the wire.
    pub(super) fn native_kind(&self) -> Option<&NativeKind> {
        self.kind.as_ref()
    }

    /// The arguments. Some agents send them as a text of JSON.
    pub(super) fn arguments(&self) -> Option<Json> {
        let arguments = self.arguments.as_ref()?;
        let inner = arguments.get().starts_with('"').then(|| arguments.decode::<String>().ok()).flatten();
        let object =
            inner.filter(|inner| inner.trim_start().starts_with('{')).and_then(|inner| Json::from_text(inner).ok());
        Some(object.unwrap_or_else(|| arguments.clone()))
    }

    /// Whether the call has arguments besides the directory, which OpenCode sends first.
    pub(super) fn has_arguments(&self) -> bool {
        match self.arguments.as_ref().map(Json::to_value) {
            Some(Value::Object(fields)) => fields.keys().any(|key| key != "cwd"),
            Some(Value::Array(list)) => !list.is_empty(),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Null) | None => false,
            Some(_) => true,
        }
    }

    pub(super) fn diffs(&self) -> &[Diff] {
        &self.diffs
    }

    /// The path of the file that is read or changed.
    pub(super) fn path(&self) -> Option<String> {
        text(&argument_map(self.arguments().as_ref()), arguments::PATH_KEYS).or_else(|| self.first_path())
    }

    fn first_path(&self) -> Option<String> {
        self.locations.first().map(|location| location.path.clone())
    }

    /// The plan that the user is asked to approve; `None` if the call is about something else.
    pub(super) fn plan_to_approve(&self, name: Option<&str>) -> Option<String> {
        let plan = text(&argument_map(self.arguments().as_ref()), &["plan"]);
        let texts = || Some(self.texts.join("\n")).filter(|text| !text.is_empty());
        if name.is_some_and(approves_plan) {
            return Some(plan.or_else(texts).or_else(|| self.title.clone()).unwrap_or_default());
        }
        plan.filter(|_| self.kind == Some(NativeKind::SwitchMode))
    }

    /// Whether OpenCode has replaced the call, because its tool does not exist or its arguments are not valid.
    pub(super) fn is_invalid(&self, dialect: AcpDialect) -> bool {
        let has_invalid_title = || self.title.as_deref().is_some_and(|title| INVALID_TITLES.contains(&title));
        let arguments = || argument_map(self.arguments().as_ref());
        dialect == AcpDialect::OpenCode && has_invalid_title() && arguments().contains_key("error")
    }

    /// What the call does.
    pub(super) fn describe(&self, identity: ToolIdentity<'_>) -> CallDescription {
        self.describe_with(self.arguments().as_ref(), identity)
    }

    fn describe_with(&self, arguments: Option<&Json>, identity: ToolIdentity<'_>) -> CallDescription {
        let ToolIdentity { dialect, name, mcp, .. } = identity;
        if self.is_invalid(dialect) {
            let kind = name.and_then(opencode::adapter::tool_kind).unwrap_or(ToolKind::Other);
            return CallDescription { kind, input: None, title: None };
        }
        let mut map = argument_map(arguments);
        if let Some(McpTool { server, tool }) = mcp {
            let shown = || self.texts.iter().find_map(|text| serde_json::from_str(text).ok());
            let arguments = Value::Object(if map.is_empty() { shown().unwrap_or_default() } else { map });
            let input = ToolInput::Mcp(McpInput::new(server.as_str(), tool.as_str(), arguments));
            return CallDescription::new(ToolKind::Mcp, Some(input));
        }
        if let Some(description) = name.and_then(|name| self.describe_known(name, arguments, dialect)) {
            return description;
        }
        let kind = self.universal_kind(name);
        if map.is_empty() && !identity.sends_arguments {
            map = titles::arguments_in_texts(&self.texts);
        }
        let input = self.input(&map, arguments, &kind, identity);
        let mut description = CallDescription::new(kind, input);
        if description.input.is_none() {
            description.title.clone_from(&self.title);
        }
        description
    }

    /// A call of a tool of Claude Code or OpenCode, as on its own wire.
    fn describe_known(&self, name: &str, arguments: Option<&Json>, dialect: AcpDialect) -> Option<CallDescription> {
        let (kind, input, title) = match dialect {
            AcpDialect::Claude => {
                let (input, title) = claude::adapter::describe_call(name, arguments);
                (claude::adapter::tool_kind(name)?, input, title)
            }
            AcpDialect::OpenCode => {
                let kind = opencode::adapter::tool_kind(name)?;
                (kind, arguments.and_then(|arguments| opencode::adapter::tool_input(name, arguments)), None)
            }
            AcpDialect::Standard | AcpDialect::Codex | AcpDialect::Copilot | AcpDialect::Gemini | AcpDialect::Qwen => {
                return None;
            }
        };
        let input = input.map(|input| self.with_diffs(input));
        Some(CallDescription { title, ..CallDescription::new(kind, input) })
    }

    /// The universal kind of the tool, by its kind on the wire, or by its name if that says more.
    fn universal_kind(&self, name: Option<&str>) -> ToolKind {
        match &self.kind {
            Some(NativeKind::Execute) => ToolKind::Command,
            Some(NativeKind::Read) => ToolKind::FileRead,
            Some(NativeKind::Edit | NativeKind::Delete | NativeKind::Move) => ToolKind::FileChange,
            // Gemini CLI counts a web search as a search.
            Some(NativeKind::Search) => {
                name.and_then(kind_of_name).filter(|kind| *kind == ToolKind::Web).unwrap_or(ToolKind::Search)
            }
            Some(NativeKind::Fetch) => ToolKind::Web,
            Some(NativeKind::Think | NativeKind::SwitchMode | NativeKind::Other | NativeKind::Unknown(_)) | None => {
                let of_name = name.and_then(kind_of_name);
                of_name.or_else(|| self.plan_to_approve(name).map(|_| ToolKind::Plan)).unwrap_or(ToolKind::Other)
            }
        }
    }

    /// The typed input, if what is known has the keys of the kind.
    fn input(
        &self,
        map: &Map<String, Value>,
        json: Option<&Json>,
        kind: &ToolKind,
        identity: ToolIdentity<'_>,
    ) -> Option<ToolInput> {
        let any_kind = arguments::mcp(map).or_else(|| arguments::plan(map)).or_else(|| arguments::questions(map));
        if any_kind.is_some() {
            return any_kind;
        }
        match kind {
            ToolKind::Command => {
                let of_title =
                    || titles::command(self.title.as_deref()?, identity.sends_arguments || !map_is_title(map));
                arguments::command(map, identity.dialect, of_title)
            }
            ToolKind::FileRead => arguments::search(map, identity.name, self.title.as_deref()).or_else(|| {
                arguments::file_read(map, self.first_path(), self.locations.first().and_then(|at| at.line))
            }),
            ToolKind::FileChange => match self.kind {
                Some(NativeKind::Delete) => arguments::deletion(map, self.first_path()),
                Some(NativeKind::Move) => {
                    arguments::relocation(map, |index| self.locations.get(index).map(|at| at.path.clone()))
                }
                _ => self.file_change(map, json),
            },
            ToolKind::Search => arguments::web_action(map)
                .or_else(|| arguments::search(map, identity.name, self.title.as_deref()))
                .or_else(|| titles::search(identity.name?, self.title.as_deref()?)),
            ToolKind::Web => arguments::web_action(map)
                .or_else(|| arguments::web(map))
                .or_else(|| titles::web_search(self.title.as_deref()?)),
            _ => arguments::sub_agent(map),
        }
    }

    fn file_change(&self, map: &Map<String, Value>, json: Option<&Json>) -> Option<ToolInput> {
        if !self.diffs.is_empty() {
            let changes = self.diffs.iter().map(Diff::change).collect();
            return Some(arguments::with_edits(map, changes));
        }
        if let Some(changes) = arguments::patch(map, json) {
            return Some(changes);
        }
        let path = text(map, arguments::PATH_KEYS).or_else(|| self.first_path())?;
        Some(arguments::with_edits(map, vec![FileChange::new(path)]))
    }

    /// Adds the diffs that the agent shows to the input of a change.
    fn with_diffs(&self, mut input: ToolInput) -> ToolInput {
        if let ToolInput::FileChange(changed) = &mut input {
            for change in changed.changes.iter_mut().filter(|change| change.diff.is_none()) {
                if let Some(diff) = self.diffs.iter().find(|diff| diff.path == change.path) {
                    let shown = diff.change();
                    (change.diff, change.change) = (shown.diff, change.change.take().or(shown.change));
                }
            }
        }
        input
    }
}

/// The arguments by name.
fn argument_map(arguments: Option<&Json>) -> Map<String, Value> {
    match arguments.map(Json::to_value) {
        Some(Value::Object(arguments)) => arguments,
        _ => Map::new(),
    }
}

/// Whether nothing but the text around the title describes a command.
fn map_is_title(map: &Map<String, Value>) -> bool {
    map.keys().all(|key| matches!(key.as_str(), "cwd" | "description"))
}

/// Whether arguments say anything.
fn has_content(arguments: &Json) -> bool {
    !matches!(arguments.get().trim(), "{}" | "[]" | "\"\"")
}

fn location(location: ToolCallLocation) -> Option<Location> {
    Some(Location { path: location.path?, line: location.line.and_then(|line| u64::try_from(line).ok()) })
}

fn diff(content: &ToolCallContent) -> Option<Diff> {
    let ToolCallContent::Diff(diff) = content else { return None };
    Some(Diff { path: diff.path.clone()?, old: diff.old_text.clone(), new: diff.new_text.clone()? })
}

pub(super) fn description_text(content: &ToolCallContent) -> Option<String> {
    let ToolCallContent::Content(content) = content else { return None };
    match content.content.as_ref()? {
        ContentBlock::Text(block) => block.text.clone().filter(|text| !text.trim().is_empty()),
        _ => None,
    }
}
