//! Inputs of Claude Code's tools, in the universal shape of the tool's kind.

use interlingua_native::Json;
use interlingua_schema::{
    AskedQuestion, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput, QuestionInput,
    SearchInput, SearchTarget, SubAgentInput, TextEdit, ToolInput, WebInput,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{ToolCall, plan_step_from_json};

/// The input and title of a call, from its arguments.
#[derive(Debug, Default)]
pub(super) struct CallInput {
    pub(super) input: Option<ToolInput>,
    /// One-line title, for arguments that do not have the shape of the tool's kind.
    pub(super) title: Option<String>,
}

impl CallInput {
    /// Sets the input and title of a call.
    pub(super) fn apply_to(self, call: ToolCall) -> ToolCall {
        let call = call.input(self.input);
        match self.title {
            Some(title) => call.title(title),
            None => call,
        }
    }

    fn with_title(title: String) -> Self {
        Self { input: None, title: Some(title) }
    }
}

impl From<Option<ToolInput>> for CallInput {
    fn from(input: Option<ToolInput>) -> Self {
        Self { input, title: None }
    }
}

/// Arguments of all tools in one. Text fields must be strings; numbers and flags may be of any type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    command: Option<String>,
    description: Option<String>,
    timeout: Value,
    run_in_background: Value,
    #[serde(alias = "notebook_path")]
    file_path: Option<String>,
    path: Option<String>,
    offset: Value,
    limit: Value,
    old_string: Option<String>,
    new_string: Option<String>,
    old_str: Option<String>,
    new_str: Option<String>,
    edits: Option<Vec<Edit>>,
    pattern: Option<String>,
    glob: Option<String>,
    query: Option<String>,
    url: Option<String>,
    prompt: Option<String>,
    subagent_type: Option<String>,
    todos: Option<Vec<Value>>,
    questions: Option<Vec<Question>>,
    #[serde(alias = "bash_id", alias = "shell_id", alias = "agentId")]
    task_id: Option<String>,
    #[serde(rename = "taskId")]
    step_id: Value,
    subject: Option<String>,
    server: Option<String>,
    uri: Option<String>,
}

#[derive(Deserialize)]
struct Edit {
    old_string: String,
    new_string: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Question {
    question: String,
    options: Vec<Value>,
}

/// Parses the arguments of a call. Arguments that do not fit give no input.
pub(super) fn parse(name: &str, input: Option<&Json>) -> CallInput {
    if let Some((server, tool)) = split_mcp_name(name) {
        return Some(mcp_input(server, tool, input)).into();
    }
    let Some(arguments) = input.and_then(|input| input.decode::<Arguments>().ok()) else {
        return CallInput::default();
    };
    match name {
        "Bash" | "PowerShell" | "bash_code_execution" => command(arguments).into(),
        "BashOutput" => task_title("Read output of command", arguments),
        "TaskOutput" | "AgentOutputTool" => task_title("Read output of task", arguments),
        "KillBash" | "KillShell" => task_title("Stop command", arguments),
        "TaskStop" => task_title("Stop task", arguments),
        "Read" | "NotebookRead" => file_read(arguments.file_path, &arguments.offset, &arguments.limit).into(),
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => file_change(arguments).into(),
        "text_editor_code_execution" => text_editor(arguments).into(),
        "Glob" => search(arguments.pattern, Some(SearchTarget::Names), arguments.path, None).into(),
        "Grep" => search(arguments.pattern, Some(SearchTarget::Contents), arguments.path, arguments.glob).into(),
        "ToolSearch" | "tool_search_tool_bm25" => search(arguments.query, None, None, None).into(),
        "tool_search_tool_regex" => search(arguments.pattern.or(arguments.query), None, None, None).into(),
        "LS" => arguments.path.map_or_else(CallInput::default, |path| CallInput::with_title(format!("List {path}"))),
        "WebFetch" | "web_fetch" => arguments.url.map(|url| ToolInput::Web(WebInput::fetch(url))).into(),
        "WebSearch" | "web_search" => arguments.query.map(|query| ToolInput::Web(WebInput::search(query))).into(),
        "Agent" | "Task" => sub_agent(arguments).into(),
        "TodoWrite" => {
            let steps = |todos: Vec<Value>| todos.into_iter().map(plan_step_from_json).collect();
            arguments.todos.map(|todos| ToolInput::Plan(PlanInput::new(steps(todos)))).into()
        }
        "TaskCreate" => {
            arguments.subject.map_or_else(CallInput::default, |step| CallInput::with_title(format!("Add step: {step}")))
        }
        "TaskUpdate" => step_title("Update step", &arguments.step_id),
        "TaskGet" => step_title("Read step", &arguments.step_id),
        "TaskList" => CallInput::with_title("List steps".to_owned()),
        "AskUserQuestion" => questions(arguments.questions).into(),
        "ReadMcpResourceTool" => match (arguments.server, arguments.uri) {
            (Some(server), Some(uri)) => CallInput::with_title(format!("{server}: read {uri}")),
            _ => CallInput::default(),
        },
        "ListMcpResourcesTool" => CallInput::with_title(match arguments.server {
            Some(server) => format!("{server}: list resources"),
            None => "List MCP resources".to_owned(),
        }),
        _ => CallInput::default(),
    }
}

/// Splits `mcp__<server>__<tool>` into the names of the server and the tool.
fn split_mcp_name(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("mcp__")?.split_once("__")
}

/// Input of an MCP tool. Missing arguments are an empty object.
pub(super) fn mcp_input(server: &str, tool: &str, input: Option<&Json>) -> ToolInput {
    let arguments = input.map_or_else(|| Value::Object(Map::new()), Json::to_value);
    ToolInput::Mcp(McpInput::new(server, tool, arguments))
}

fn command(arguments: Arguments) -> Option<ToolInput> {
    let mut input = CommandInput::new(arguments.command?);
    input.background = arguments.run_in_background.as_bool();
    input.timeout_ms = parse_count(&arguments.timeout);
    input.description = arguments.description;
    Some(ToolInput::Command(input))
}

fn file_read(path: Option<String>, offset: &Value, limit: &Value) -> Option<ToolInput> {
    let mut input = FileReadInput::new(path?);
    input.offset = parse_count(offset);
    input.limit = parse_count(limit);
    Some(ToolInput::FileRead(input))
}

fn file_change(arguments: Arguments) -> Option<ToolInput> {
    let mut change = FileChange::new(arguments.file_path.or(arguments.path)?);
    change.edits = match (arguments.edits, arguments.old_string, arguments.new_string) {
        (Some(edits), _, _) => {
            Some(edits.into_iter().map(|edit| TextEdit::new(edit.old_string, edit.new_string)).collect())
        }
        (None, Some(old), Some(new)) => Some(vec![TextEdit::new(old, new)]),
        // A whole file is written, or the arguments have only the new text of a notebook cell.
        _ => None,
    };
    Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
}

/// The text editor of the model's server, which shows, creates and changes files.
fn text_editor(mut arguments: Arguments) -> Option<ToolInput> {
    if arguments.command.as_deref() == Some("view") {
        return file_read(arguments.path, &Value::Null, &Value::Null);
    }
    arguments.old_string = arguments.old_str.take();
    arguments.new_string = arguments.new_str.take();
    file_change(arguments)
}

fn search(
    query: Option<String>,
    target: Option<SearchTarget>,
    path: Option<String>,
    glob: Option<String>,
) -> Option<ToolInput> {
    Some(ToolInput::Search(SearchInput::new(query?).target(target).path(path).glob(glob)))
}

fn sub_agent(arguments: Arguments) -> Option<ToolInput> {
    let input = SubAgentInput::new(arguments.prompt?);
    Some(ToolInput::SubAgent(input.description(arguments.description).agent(arguments.subagent_type)))
}

fn questions(questions: Option<Vec<Question>>) -> Option<ToolInput> {
    let questions = questions.filter(|questions| !questions.is_empty())?;
    let questions = questions.into_iter().map(|question| {
        AskedQuestion::new(question.question, question.options.iter().filter_map(option_label).collect())
    });
    Some(ToolInput::Question(QuestionInput::new(questions.collect())))
}

/// The label of an option. An option may be a plain string.
pub(super) fn option_label(option: &Value) -> Option<String> {
    option.get("label").unwrap_or(option).as_str().map(str::to_owned)
}

fn task_title(action: &str, arguments: Arguments) -> CallInput {
    arguments.task_id.map_or_else(CallInput::default, |id| CallInput::with_title(format!("{action} {id}")))
}

fn step_title(action: &str, id: &Value) -> CallInput {
    match id {
        Value::String(id) => CallInput::with_title(format!("{action} {id}")),
        Value::Number(id) => CallInput::with_title(format!("{action} {id}")),
        _ => CallInput::default(),
    }
}

/// A count, which may be a float or a string.
fn parse_count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => super::to_u64(Some(number)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(name: &str, arguments: &Value) -> Value {
        let arguments = Json::from_text(arguments.to_string()).unwrap();
        serde_json::to_value(parse(name, Some(&arguments)).input).unwrap()
    }

    fn title(name: &str, arguments: &Value) -> Option<String> {
        let arguments = Json::from_text(arguments.to_string()).unwrap();
        parse(name, Some(&arguments)).title
    }

    #[test]
    fn every_tool_has_the_input_of_its_kind() {
        let question = json!({ "question": "Which?", "header": "W", "options": [{ "label": "A" }, "B"] });
        for (name, arguments, expected) in [
            (
                "Bash",
                json!({ "command": "ls", "description": "List", "timeout": 2000, "run_in_background": true }),
                json!({ "command": "ls", "description": "List", "timeout_ms": 2000, "background": true }),
            ),
            (
                "Read",
                json!({ "file_path": "/f", "offset": "3", "limit": 2.0 }),
                json!({ "path": "/f", "offset": 3, "limit": 2 }),
            ),
            (
                "Edit",
                json!({ "file_path": "/f", "old_string": "a", "new_string": "b", "replace_all": false }),
                json!({ "changes": [{ "path": "/f", "edits": [{ "old": "a", "new": "b" }] }] }),
            ),
            (
                "MultiEdit",
                json!({ "file_path": "/f", "edits": [{ "old_string": "a", "new_string": "b" }] }),
                json!({ "changes": [{ "path": "/f", "edits": [{ "old": "a", "new": "b" }] }] }),
            ),
            ("Write", json!({ "file_path": "/f", "content": "x" }), json!({ "changes": [{ "path": "/f" }] })),
            (
                "NotebookEdit",
                json!({ "notebook_path": "/n", "new_source": "x" }),
                json!({ "changes": [{ "path": "/n" }] }),
            ),
            (
                "Glob",
                json!({ "pattern": "*.rs", "path": "src" }),
                json!({ "query": "*.rs", "in": "names", "path": "src" }),
            ),
            (
                "Grep",
                json!({ "pattern": "fn", "glob": "*.rs", "output_mode": "content" }),
                json!({ "query": "fn", "in": "contents", "glob": "*.rs" }),
            ),
            ("WebFetch", json!({ "url": "http://x", "prompt": "sum up" }), json!({ "url": "http://x" })),
            ("WebSearch", json!({ "query": "q" }), json!({ "query": "q" })),
            (
                "mcp__tiny__add_it",
                json!({ "a": 1 }),
                json!({ "server": "tiny", "tool": "add_it", "arguments": { "a": 1 } }),
            ),
            (
                "Agent",
                json!({ "prompt": "look", "description": "d", "subagent_type": "Explore", "run_in_background": false }),
                json!({ "prompt": "look", "description": "d", "agent": "Explore" }),
            ),
            (
                "TodoWrite",
                json!({ "todos": [{ "content": "Fix", "status": "in_progress", "activeForm": "Fixing" }] }),
                json!({ "steps": [{ "content": "Fix", "status": "in_progress" }] }),
            ),
            (
                "AskUserQuestion",
                json!({ "questions": [question] }),
                json!({ "questions": [{ "prompt": "Which?", "options": ["A", "B"] }] }),
            ),
            ("text_editor_code_execution", json!({ "command": "view", "path": "/f" }), json!({ "path": "/f" })),
        ] {
            assert_eq!(input(name, &arguments), expected, "{name}");
        }
    }

    #[test]
    fn a_call_without_the_keys_of_its_kind_has_no_input() {
        for (name, arguments, expected) in [
            ("Bash", json!({ "wrong": 1 }), None),
            ("Bash", json!({ "command": 1 }), None),
            ("Bash", json!([]), None),
            ("BashOutput", json!({ "bash_id": "b1" }), Some("Read output of command b1")),
            ("TaskOutput", json!({ "task_id": "b1" }), Some("Read output of task b1")),
            ("KillShell", json!({ "shell_id": "b1" }), Some("Stop command b1")),
            ("TaskStop", json!({ "task_id": "b1" }), Some("Stop task b1")),
            ("TaskUpdate", json!({ "taskId": "3", "status": "completed" }), Some("Update step 3")),
            ("TaskCreate", json!({ "subject": "Fix" }), Some("Add step: Fix")),
            ("LS", json!({ "path": "/w" }), Some("List /w")),
            ("ReadMcpResourceTool", json!({ "server": "s", "uri": "x://y" }), Some("s: read x://y")),
            ("AskUserQuestion", json!({ "questions": [] }), None),
            ("NoSuchTool", json!({ "path": "x" }), None),
        ] {
            assert_eq!(input(name, &arguments), Value::Null, "{name}");
            assert_eq!(title(name, &arguments).as_deref(), expected, "{name}");
        }
    }
}
