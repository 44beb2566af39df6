//! The output of a tool call.
//!
//! `content` is what a person sees, `rawOutput` what the tool returned, in the agent's own format. Before a call is
//! settled, its content describes the call; afterwards it is output.

use interlingua_native::Json;
use interlingua_native::acp::{ContentBlock, ToolCallContent};
use interlingua_schema::{ContentPart, FileAction};
use serde_json::Value;

use super::agent_requests::Terminal;
use super::content::{blocks_text, content_part};
use super::tool_input::Described;
use super::tools::ToolFields;
use crate::ToolResult;

/// Keys of an object that contain the text of the output, the most specific first.
const TEXT_KEYS: [&str; 10] = [
    "output",
    "formatted_output",
    "aggregated_output",
    "stdout",
    "content",
    "text",
    "result",
    "error",
    "message",
    "returnDisplay",
];

/// What a call has returned so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Text that was streamed.
    streamed: String,
    /// Text that is not streamed yet.
    delta: String,
    /// Text of the last content.
    text: Option<String>,
    /// Images and files of the last content.
    parts: Vec<ContentPart>,
    raw: Option<Value>,
    exit_code: Option<i32>,
    terminal: Option<String>,
}

/// Id of the terminal that a content shows.
pub(super) fn terminal_id(content: &[ToolCallContent]) -> Option<&str> {
    content.iter().find_map(|content| match content {
        ToolCallContent::Terminal(terminal) => terminal.terminal_id.as_deref(),
        _ => None,
    })
}

impl Progress {
    /// Takes over what an update says. `is_output` is false while the content only describes the call.
    pub(super) fn observe(&mut self, fields: &mut ToolFields, is_output: bool, terminal: Option<String>) {
        self.terminal = terminal.or(self.terminal.take());
        self.exit_code = fields.meta.terminal_exit.exit_code.or(self.exit_code);
        if let Some(raw) = fields.raw_output.take().as_ref().map(Json::to_value) {
            self.exit_code = exit_code(&raw).or(self.exit_code);
            self.raw = Some(raw);
        }
        let meta = &mut fields.meta;
        if let Some(data) = meta.terminal_output_delta.data.take().or(meta.terminal_output.data.take()) {
            self.delta.push_str(&data);
        }
        if let Some(content) = fields.content.take().filter(|_| is_output) {
            self.observe_content(content);
        }
    }

    /// Content replaces the content before it. Text that continues the streamed text is a delta.
    fn observe_content(&mut self, content: Vec<ToolCallContent>) {
        let mut blocks: Vec<ContentBlock> = Vec::new();
        let mut parts = Vec::new();
        for content in content {
            match content {
                ToolCallContent::Content(content) => match content.content {
                    Some(block @ (ContentBlock::Text(_) | ContentBlock::Resource(_))) => blocks.push(block),
                    block => parts.extend(block.and_then(content_part)),
                },
                // The description of the call has its diffs, and the host has its terminals.
                ToolCallContent::Diff(_) | ToolCallContent::Terminal(_) | ToolCallContent::Unknown { .. } => {}
            }
        }
        self.parts = parts;
        let text = blocks_text(blocks);
        if text.is_empty() {
            return;
        }
        if let Some(more) = text.strip_prefix(self.streamed.as_str()) {
            more.clone_into(&mut self.delta);
        }
        self.text = Some(text);
    }

    /// Takes the text that is to be streamed now.
    pub(super) fn take_delta(&mut self) -> Option<String> {
        let delta = std::mem::take(&mut self.delta);
        self.streamed.push_str(&delta);
        Some(delta).filter(|delta| !delta.is_empty())
    }

    /// Id of the terminal of the host that shows the output.
    pub(super) fn terminal(&self) -> Option<&str> {
        self.terminal.as_deref()
    }

    /// The result of the call.
    pub(super) fn result(&self, failed: bool, call: &Described, terminal: Option<&Terminal>) -> ToolResult {
        let raw_text = match &self.raw {
            // A list is content in the format of a model, which the content repeats for people.
            Some(Value::Array(_)) | None => None,
            Some(raw) => raw_text(raw),
        };
        let is_plain = matches!(self.raw, Some(Value::String(_)));
        let raw_first = raw_text.clone().filter(|_| is_plain);
        let output = raw_first
            .or_else(|| self.text.clone())
            .or(raw_text)
            .or_else(|| self.raw.as_ref().and_then(|raw| raw.as_array()).and_then(|list| list_text(list)))
            .or_else(|| terminal.map(|terminal| terminal.output.clone()))
            .unwrap_or_else(|| self.streamed.clone());
        let exit_code = self.exit_code.or_else(|| terminal.and_then(|terminal| terminal.exit_code));
        let mut result = if failed { ToolResult::failed(output) } else { ToolResult::ok(output) };
        result.exit_code = exit_code;
        if !failed {
            result.parts.extend(files(call));
        }
        result.parts.extend(self.parts.iter().cloned());
        result
    }
}

/// The files that a successful call has read or changed.
fn files(call: &Described) -> Vec<ContentPart> {
    let file = |path: String, action, diff| ContentPart::FileRef { path, action, diff };
    match call.kind() {
        Some("read") => call.path().map(|path| file(path, FileAction::Read, None)).into_iter().collect(),
        Some("edit" | "delete" | "move") if call.diffs().is_empty() => {
            call.path().map(|path| file(path, FileAction::Patch, None)).into_iter().collect()
        }
        _ => {
            let change = |diff: &super::tool_input::Diff| {
                let is_new = diff.old.as_ref().is_none_or(String::is_empty);
                let action = if is_new { FileAction::Write } else { FileAction::Patch };
                file(diff.path.clone(), action, diff.unified())
            };
            call.diffs().iter().map(change).collect()
        }
    }
}

/// The text of an output in the agent's own format.
fn raw_text(raw: &Value) -> Option<String> {
    match raw {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => list_text(list),
        Value::Object(fields) => {
            let texts = TEXT_KEYS.iter().filter_map(|key| fields.get(*key)).filter(|value| !value.is_null());
            texts.filter_map(raw_text).find(|text| !text.is_empty())
        }
        _ => None,
    }
}

/// The texts of a list of blocks.
fn list_text(list: &[Value]) -> Option<String> {
    let texts: Vec<&str> = list.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    (!texts.is_empty()).then(|| texts.concat())
}

/// The exit code of a command, wherever the agent puts it.
fn exit_code(raw: &Value) -> Option<i32> {
    let fields = raw.as_object()?;
    let code = ["exit_code", "exitCode", "exit"].iter().find_map(|key| fields.get(*key)?.as_i64());
    let nested = || fields.get("metadata").and_then(exit_code);
    let listed = || fields.get("contents")?.as_array()?.iter().find_map(exit_code);
    code.and_then(|code| i32::try_from(code).ok()).or_else(nested).or_else(listed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_an_output_is_found_in_the_formats_of_the_agents() {
        for (raw, text) in [
            (json!("plain"), Some("plain")),
            (json!({ "output": "", "error": "no file" }), Some("no file")),
            (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), Some("ab")),
            (json!({ "stdout": "out", "exit_code": 1 }), Some("out")),
            (json!({ "exit_code": 0 }), None),
            (json!(null), None),
        ] {
            assert_eq!(raw_text(&raw).as_deref(), text, "{raw}");
        }
    }

    #[test]
    fn the_exit_code_is_found_in_the_formats_of_the_agents() {
        for raw in [
            json!({ "exit_code": 3 }),
            json!({ "metadata": { "exit": 3 } }),
            json!({ "contents": [{ "type": "text" }, { "type": "shell_exit", "exitCode": 3 }] }),
        ] {
            assert_eq!(exit_code(&raw), Some(3), "{raw}");
        }
        assert_eq!(exit_code(&json!({ "output": "exit 3" })), None);
    }
}
