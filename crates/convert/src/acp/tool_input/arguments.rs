//! Typed inputs from arguments, under the keys on which agents agree.

use std::borrow::Cow;

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_schema::{
    AskedQuestion, ChangeKind, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput,
    QuestionInput, SearchInput, SearchTarget, SubAgentInput, TextEdit, ToolInput, WebInput,
};
use serde_json::{Map, Value};

use crate::opencode::adapter::parse_patch;
use crate::plan_step_from_json;
use crate::shell::unwrap_shell;

const COMMAND_KEYS: &[&str] = &["command", "cmd", "commandLine"];
const DIRECTORY_KEYS: &[&str] = &["cwd", "workdir", "directory", "dir_path", "working_directory"];
const TIMEOUT_KEYS: &[&str] = &["timeout_ms", "timeoutMs"];
const BACKGROUND_KEYS: &[&str] = &["run_in_background", "is_background", "background"];
pub(super) const PATH_KEYS: &[&str] =
    &["file_path", "filePath", "filepath", "path", "absolute_path", "target_file", "fileName", "notebook_path"];
const FIRST_LINE_KEYS: &[&str] = &["offset", "line", "start_line", "startLine"];
const LAST_LINE_KEYS: &[&str] = &["end_line", "endLine"];
const OLD_TEXT_KEYS: &[&str] = &["old_string", "oldString", "old_str", "oldText"];
const NEW_TEXT_KEYS: &[&str] = &["new_string", "newString", "new_str", "newText"];
const PATCH_KEYS: &[&str] = &["patchText", "patch", "input"];
const SOURCE_KEYS: &[&str] = &["source", "from", "old_path", "src"];
const TARGET_KEYS: &[&str] = &["destination", "to", "new_path", "dst"];
const QUERY_KEYS: &[&str] = &["pattern", "query", "regex", "search_query", "glob"];
const PROMPT_KEYS: &[&str] = &["prompt", "task", "message"];
const AGENT_KEYS: &[&str] = &["subagent_type", "agent_type", "agent", "agent_name"];
const STEP_KEYS: &[&str] = &["todos", "plan", "steps", "entries"];
const STEP_TEXT_KEYS: &[&str] = &["content", "step", "description", "title", "text"];
/// First line of a patch of several files.
const PATCH_START: &str = "*** Begin Patch";

type Arguments = Map<String, Value>;

/// A command; `of_title` is the command in the title, for agents that send no arguments.
pub(super) fn command(
    arguments: &Arguments,
    dialect: AcpDialect,
    of_title: impl FnOnce() -> Option<String>,
) -> Option<ToolInput> {
    let command = words(arguments, COMMAND_KEYS).or_else(of_title)?;
    let mut input = CommandInput::new(unwrap_shell(&command));
    input.cwd = text(arguments, DIRECTORY_KEYS);
    // Other agents count in seconds.
    let counts_milliseconds = dialect == AcpDialect::Qwen;
    let timeout = || number(arguments, &["timeout"]).filter(|_| counts_milliseconds);
    input.timeout_ms = number(arguments, TIMEOUT_KEYS).or_else(timeout);
    input.background = BACKGROUND_KEYS.iter().find_map(|key| arguments.get(*key)?.as_bool()).filter(|set| *set);
    input.description = text(arguments, &["description"]);
    Some(ToolInput::Command(input))
}

/// A file to read; `location` is the file and the line that the call is about.
pub(super) fn file_read(arguments: &Arguments, path: Option<String>, line: Option<u64>) -> Option<ToolInput> {
    let mut input = FileReadInput::new(text(arguments, PATH_KEYS).or(path)?);
    let range: Option<Vec<u64>> = arguments
        .get("view_range")
        .and_then(Value::as_array)
        .map(|range| range.iter().filter_map(Value::as_u64).collect());
    let (first, last) = match range.as_deref() {
        Some([first, last]) => (Some(*first), Some(*last)),
        Some([first]) => (Some(*first), None),
        _ => (number(arguments, FIRST_LINE_KEYS), number(arguments, LAST_LINE_KEYS)),
    };
    let first_line = line.filter(|line| *line > 1 && arguments.is_empty());
    input.offset = first.or(first_line);
    let of_range = last.map(|last| (last + 1).saturating_sub(first.unwrap_or(1)));
    input.limit = number(arguments, &["limit"]).or(of_range);
    Some(ToolInput::FileRead(input))
}

/// Changes with the replaced texts, if one file is changed.
pub(super) fn with_edits(arguments: &Arguments, mut changes: Vec<FileChange>) -> ToolInput {
    if let [only] = changes.as_mut_slice() {
        only.edits = edits(arguments);
    }
    ToolInput::FileChange(FileChangeInput::new(changes))
}

fn edits(arguments: &Arguments) -> Option<Vec<TextEdit>> {
    let edit = |fields: &Arguments| {
        let (old, new) = text(fields, OLD_TEXT_KEYS).zip(text(fields, NEW_TEXT_KEYS))?;
        Some(TextEdit::new(old, new))
    };
    let listed = arguments.get("edits").and_then(Value::as_array);
    match listed {
        Some(list) => list.iter().map(|item| item.as_object().and_then(edit)).collect(),
        None => edit(arguments).map(|edit| vec![edit]),
    }
}

/// The changes of a patch, which is the only argument or one of the arguments.
pub(super) fn patch(arguments: &Arguments, json: Option<&Json>) -> Option<ToolInput> {
    let whole = || json?.decode::<String>().ok();
    let patch = text(arguments, PATCH_KEYS).or_else(whole).filter(|text| text.contains(PATCH_START))?;
    let changes = parse_patch(&patch);
    (!changes.is_empty()).then(|| ToolInput::FileChange(FileChangeInput::new(changes)))
}

pub(super) fn deletion(arguments: &Arguments, path: Option<String>) -> Option<ToolInput> {
    let mut change = FileChange::new(text(arguments, PATH_KEYS).or(path)?);
    change.change = Some(ChangeKind::Delete);
    Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
}

pub(super) fn relocation(arguments: &Arguments, location: impl Fn(usize) -> Option<String>) -> Option<ToolInput> {
    let mut change = FileChange::new(text(arguments, SOURCE_KEYS).or_else(|| location(0))?);
    change.to = Some(text(arguments, TARGET_KEYS).or_else(|| location(1))?);
    change.change = Some(ChangeKind::Move);
    Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
}

/// Arguments that name server and tool.
pub(super) fn mcp(arguments: &Arguments) -> Option<ToolInput> {
    let (server, tool) = text(arguments, &["server"]).zip(text(arguments, &["tool"]))?;
    let inner = arguments.get("arguments").filter(|inner| !inner.is_null()).cloned();
    Some(ToolInput::Mcp(McpInput::new(server, tool, inner.unwrap_or_else(|| Value::Object(Map::new())))))
}

/// A list of steps with a status.
pub(super) fn plan(arguments: &Arguments) -> Option<ToolInput> {
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

/// A list of questions.
pub(super) fn questions(arguments: &Arguments) -> Option<ToolInput> {
    let questions = arguments.get("questions")?.as_array().filter(|questions| !questions.is_empty())?;
    let question = |question: &Value| {
        let fields = question.as_object()?;
        let options = fields.get("options").and_then(Value::as_array).into_iter().flatten();
        let label = |option: &Value| Some(option.get("label").unwrap_or(option).as_str()?.to_owned());
        Some(AskedQuestion::new(text(fields, &["question", "prompt"])?, options.filter_map(label).collect()))
    };
    let questions: Option<Vec<AskedQuestion>> = questions.iter().map(question).collect();
    Some(ToolInput::Question(QuestionInput::new(questions?)))
}

/// A search. Copilot CLI does not name its tools, but words the titles of the two differently.
pub(super) fn search(arguments: &Arguments, name: Option<&str>, title: Option<&str>) -> Option<ToolInput> {
    let mut input = SearchInput::new(text(arguments, QUERY_KEYS)?);
    let name: Cow<'_, str> = name.map_or(Cow::Borrowed(""), |name| name.to_lowercase().into());
    let title = title.unwrap_or_default();
    input.target = if name.contains("grep") || title.starts_with("Searching for ") {
        Some(SearchTarget::Contents)
    } else if name.contains("glob") || title.starts_with("Finding files ") {
        Some(SearchTarget::Names)
    } else {
        None
    };
    input.path = text(arguments, &["path", "dir_path", "directory"]);
    input.glob = text(arguments, &["include", "file_pattern", "glob"]).filter(|glob| *glob != input.query);
    Some(ToolInput::Search(input))
}

pub(super) fn web(arguments: &Arguments) -> Option<ToolInput> {
    let url = text(arguments, &["url", "uri"]);
    let input = url.map(WebInput::fetch);
    input.or_else(|| text(arguments, &["query", "search_query"]).map(WebInput::search)).map(ToolInput::Web)
}

/// What Codex does on the web: a search, or a page that it opens.
pub(super) fn web_action(arguments: &Arguments) -> Option<ToolInput> {
    let action = arguments.get("action")?.as_object()?;
    let query = || text(action, &["query"]).or_else(|| text(arguments, &["query"])).filter(|query| !query.is_empty());
    let input = match text(action, &["url"]) {
        Some(url) => WebInput::fetch(url),
        None => WebInput::search(query()?),
    };
    Some(ToolInput::Web(input))
}

/// A task, if the arguments have a prompt and say for whom.
pub(super) fn sub_agent(arguments: &Arguments) -> Option<ToolInput> {
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
pub(super) fn text(arguments: &Arguments, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str()).map(str::to_owned)
}

fn number(arguments: &Arguments, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_u64())
}

/// The first of these arguments that is a string, or a list of words.
fn words(arguments: &Arguments, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| match arguments.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            shlex::try_join(words?).ok()
        }
        _ => None,
    })
}
