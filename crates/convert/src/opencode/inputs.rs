//! Universal inputs of OpenCode's tools. Fields that a call does not have are left out.

use interlingua_native::Json;
use interlingua_schema::{
    AskedQuestion, CommandInput, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput, QuestionInput,
    SearchInput, SearchTarget, SubAgentInput, TextEdit, ToolInput, WebInput,
};
use serde_json::{Map, Value};

use super::patch::parse_patch;
use crate::draft::plan_step_from_json;

/// Fields of an input. The v2 tools use other names for some of them.
type Fields = Map<String, Value>;

/// Input of a built-in tool; `None` if it lacks the fields of its kind.
pub(super) fn built_in_input(tool: &str, input: &Json) -> Option<ToolInput> {
    let Value::Object(mut fields) = input.to_value() else { return None };
    let fields = &mut fields;
    Some(match tool {
        "bash" | "shell" => ToolInput::Command(command(fields)?),
        "read" => ToolInput::FileRead(file_read(fields)?),
        "write" => file_changes(vec![FileChange::new(path(fields)?)]),
        "edit" => file_changes(vec![edit(fields)?]),
        "multiedit" => file_changes(vec![edits(fields)?]),
        "patch" | "apply_patch" => {
            let changes = parse_patch(&text(fields, &["patchText", "patch"])?);
            file_changes(Some(changes).filter(|changes| !changes.is_empty())?)
        }
        "glob" => ToolInput::Search(search(fields, SearchTarget::Names)?),
        "grep" => ToolInput::Search(search(fields, SearchTarget::Contents)?),
        "codesearch" => ToolInput::Search(SearchInput::new(text(fields, &["query"])?)),
        "webfetch" => ToolInput::Web(WebInput::fetch(text(fields, &["url"])?)),
        "websearch" | "web_search" => ToolInput::Web(WebInput::search(text(fields, &["query"])?)),
        "task" | "subagent" => ToolInput::SubAgent(sub_agent(fields)?),
        "todowrite" => {
            let Value::Array(steps) = fields.remove("todos")? else { return None };
            ToolInput::Plan(PlanInput::new(steps.into_iter().map(plan_step_from_json).collect()))
        }
        "question" => ToolInput::Question(questions(fields)?),
        _ => return None,
    })
}

/// Input of an MCP tool.
pub(super) fn mcp_input(server: &str, tool: &str, input: Option<&Json>) -> ToolInput {
    let arguments = input.map_or_else(|| Value::Object(Map::new()), Json::to_value);
    ToolInput::Mcp(McpInput::new(server, tool, arguments))
}

/// Input that a permission request describes. It is used while the call is not final.
pub(super) fn permission_input(permission: &str, patterns: &[String], metadata: Option<&Json>) -> Option<ToolInput> {
    let mut fields = match metadata.map(Json::to_value) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let fields = &mut fields;
    Some(match permission {
        "bash" | "shell" => ToolInput::Command(command(fields)?),
        "edit" => {
            let mut change = FileChange::new(text(fields, &["filepath", "filePath"])?);
            change.diff = text(fields, &["diff"]);
            file_changes(vec![change])
        }
        "read" => ToolInput::FileRead(FileReadInput::new(patterns.first()?)),
        "glob" => ToolInput::Search(search(fields, SearchTarget::Names)?),
        "grep" => ToolInput::Search(search(fields, SearchTarget::Contents)?),
        "webfetch" => ToolInput::Web(WebInput::fetch(text(fields, &["url"])?)),
        "websearch" => ToolInput::Web(WebInput::search(text(fields, &["query"])?)),
        _ => return None,
    })
}

fn command(fields: &mut Fields) -> Option<CommandInput> {
    let mut input = CommandInput::new(text(fields, &["command"])?);
    input.cwd = text(fields, &["workdir", "cwd"]);
    input.timeout_ms = number(fields, "timeout");
    input.description = text(fields, &["description"]);
    input.background = fields.get("background").and_then(Value::as_bool);
    Some(input)
}

fn file_read(fields: &mut Fields) -> Option<FileReadInput> {
    let mut input = FileReadInput::new(path(fields)?);
    input.offset = number(fields, "offset");
    input.limit = number(fields, "limit");
    Some(input)
}

fn file_changes(changes: Vec<FileChange>) -> ToolInput {
    ToolInput::FileChange(FileChangeInput::new(changes))
}

fn edit(fields: &mut Fields) -> Option<FileChange> {
    let mut change = FileChange::new(path(fields)?);
    change.edits = Some(vec![text_edit(fields)?]);
    Some(change)
}

fn edits(fields: &mut Fields) -> Option<FileChange> {
    let mut change = FileChange::new(path(fields)?);
    let Value::Array(edits) = fields.remove("edits")? else { return None };
    let edits = edits.into_iter().map(|edit| match edit {
        Value::Object(mut fields) => text_edit(&mut fields),
        _ => None,
    });
    change.edits = Some(edits.collect::<Option<_>>()?);
    Some(change)
}

fn text_edit(fields: &mut Fields) -> Option<TextEdit> {
    let old = text(fields, &["oldString", "old_string"])?;
    Some(TextEdit::new(old, text(fields, &["newString", "new_string"])?))
}

fn search(fields: &mut Fields, target: SearchTarget) -> Option<SearchInput> {
    let input = SearchInput::new(text(fields, &["pattern"])?);
    Some(input.target(target).path(text(fields, &["path"])).glob(text(fields, &["include"])))
}

fn sub_agent(fields: &mut Fields) -> Option<SubAgentInput> {
    let input = SubAgentInput::new(text(fields, &["prompt"])?);
    Some(input.description(text(fields, &["description"])).agent(text(fields, &["subagent_type", "agent"])))
}

fn questions(fields: &mut Fields) -> Option<QuestionInput> {
    let Value::Array(questions) = fields.remove("questions")? else { return None };
    let questions = questions.into_iter().map(|question| {
        let Value::Object(mut fields) = question else { return None };
        let prompt = text(&mut fields, &["question"])?;
        let options = match fields.remove("options") {
            Some(Value::Array(options)) => options.iter().filter_map(label).collect(),
            _ => Vec::new(),
        };
        Some(AskedQuestion::new(prompt, options))
    });
    Some(QuestionInput::new(questions.collect::<Option<_>>()?))
}

fn label(option: &Value) -> Option<String> {
    option.get("label").unwrap_or(option).as_str().map(str::to_owned)
}

fn path(fields: &mut Fields) -> Option<String> {
    text(fields, &["filePath", "file_path", "path"])
}

/// First of these fields that is a text.
fn text(fields: &mut Fields, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match fields.get_mut(*name) {
        Some(Value::String(text)) => Some(std::mem::take(text)),
        _ => None,
    })
}

/// Field that is a whole number, also if it is written as a float.
fn number(fields: &Fields, name: &str) -> Option<u64> {
    let value = fields.get(name)?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small whole number")]
    let whole = || value.as_f64().filter(|it| it.fract() == 0.0 && (0.0..1e15).contains(it)).map(|it| it as u64);
    value.as_u64().or_else(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn convert(tool: &str, input: Value) -> Value {
        let json: Json = serde_json::from_value(input).unwrap();
        serde_json::to_value(built_in_input(tool, &json)).unwrap()
    }

    #[test]
    fn every_tool_has_the_input_of_its_kind() {
        for (tool, input, expected) in [
            (
                "bash",
                json!({ "command": "make", "description": "d", "timeout": 400.0, "workdir": "sub" }),
                json!({ "command": "make", "cwd": "sub", "timeout_ms": 400, "description": "d" }),
            ),
            ("bash", json!({ "wrong": "args" }), Value::Null),
            (
                "read",
                json!({ "filePath": "/w/a", "offset": 1, "limit": 2 }),
                json!({ "path": "/w/a", "offset": 1, "limit": 2 }),
            ),
            ("read", json!({ "path": "a" }), json!({ "path": "a" })),
            ("write", json!({ "filePath": "/w/a", "content": "x" }), json!({ "changes": [{ "path": "/w/a" }] })),
            (
                "edit",
                json!({ "filePath": "/w/a", "oldString": "x", "newString": "y" }),
                json!({ "changes": [{ "path": "/w/a", "edits": [{ "old": "x", "new": "y" }] }] }),
            ),
            (
                "multiedit",
                json!({ "filePath": "/w/a", "edits": [{ "oldString": "x", "newString": "" }] }),
                json!({ "changes": [{ "path": "/w/a", "edits": [{ "old": "x", "new": "" }] }] }),
            ),
            (
                "apply_patch",
                json!({ "patchText": "*** Begin Patch\n*** Delete File: a\n*** End Patch" }),
                json!({ "changes": [{ "path": "a", "change": "delete" }] }),
            ),
            ("apply_patch", json!({ "patchText": "nonsense" }), Value::Null),
            ("glob", json!({ "pattern": "*.py" }), json!({ "query": "*.py", "in": "names" })),
            (
                "grep",
                json!({ "pattern": "x", "path": "src", "include": "*.py" }),
                json!({ "query": "x", "in": "contents", "path": "src", "glob": "*.py" }),
            ),
            ("list", json!({ "path": "src" }), Value::Null),
            ("webfetch", json!({ "url": "https://example.com" }), json!({ "url": "https://example.com" })),
            ("websearch", json!({ "query": "q" }), json!({ "query": "q" })),
            (
                "task",
                json!({ "description": "d", "prompt": "p", "subagent_type": "general" }),
                json!({ "prompt": "p", "description": "d", "agent": "general" }),
            ),
            (
                "todowrite",
                json!({ "todos": [{ "content": "c", "status": "in_progress", "priority": "high", "id": "1" }] }),
                json!({ "steps": [{ "content": "c", "status": "in_progress" }] }),
            ),
            (
                "question",
                json!({ "questions": [{ "question": "?", "options": [{ "label": "A", "description": "a" }] }] }),
                json!({ "questions": [{ "prompt": "?", "options": ["A"] }] }),
            ),
            ("skill", json!({ "name": "x" }), Value::Null),
        ] {
            assert_eq!(convert(tool, input), expected, "{tool}");
        }
    }

    #[test]
    fn a_permission_has_the_input_that_its_request_describes() {
        let convert = |permission, metadata: Value| {
            let metadata: Json = serde_json::from_value(metadata).unwrap();
            serde_json::to_value(permission_input(permission, &["p".to_owned()], Some(&metadata))).unwrap()
        };
        assert_eq!(convert("bash", json!({ "command": "ls" })), json!({ "command": "ls" }));
        assert_eq!(convert("bash", json!({})), Value::Null);
        assert_eq!(
            convert("edit", json!({ "filepath": "/w/a", "diff": "@@" })),
            json!({ "changes": [{ "path": "/w/a", "diff": "@@" }] })
        );
        assert_eq!(convert("read", json!({})), json!({ "path": "p" }));
        assert_eq!(convert("external_directory", json!({ "filepath": "/x" })), Value::Null);
    }
}
