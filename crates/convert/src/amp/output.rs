//! A tool's result as a person would read it.
//!
//! Amp gives every result as a string. What a tool returned as text is in it as it was; an object or a list is in it
//! as JSON, and the text stands somewhere inside.

use interlingua_schema::ContentPart;
use serde::Deserialize;

use super::tools::OpenCall;
use crate::ToolResult;

/// The fields of the objects that Amp's own tools return.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fields {
    output: Option<String>,
    exit_code: Option<i32>,
    content: Option<String>,
    absolute_path: Option<String>,
    directory_entries: Option<Vec<String>>,
    diff: Option<String>,
}

/// An element of the list that an MCP tool returns.
#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    #[serde(rename = "mimeType")]
    mime: Option<String>,
}

/// What a tool gave. `call` is what is known of its arguments.
pub(super) fn result(content: String, is_error: bool, call: Option<OpenCall>) -> ToolResult {
    let failed = is_error || is_refusal(&content);
    let (mut result, diff) = read(content);
    if !failed && result.exit_code.is_none_or(|code| code == 0) {
        result.parts.extend(call.map(|call| call.files(diff)).unwrap_or_default());
    }
    result.failed_if(failed)
}

/// A tool that was not allowed to run says so in its result, which is then not marked as an error.
fn is_refusal(content: &str) -> bool {
    content.starts_with("Tool rejected by")
}

/// The text of a result, and the diff where there is one.
fn read(content: String) -> (ToolResult, Option<String>) {
    if content.starts_with('[')
        && let Ok(blocks) = serde_json::from_str::<Vec<Block>>(&content)
        && !blocks.is_empty()
    {
        return (list(blocks, &content), None);
    }
    if content.starts_with('{')
        && let Ok(fields) = serde_json::from_str::<Fields>(&content)
    {
        let Fields { output, exit_code, content: text, absolute_path, directory_entries, diff } = fields;
        if let Some(output) = output {
            return (ToolResult::ok(output).exit_code(exit_code), None);
        }
        if let Some(diff) = diff {
            let diff = unfenced(&diff).to_owned();
            return (ToolResult::ok(diff.as_str()), Some(diff));
        }
        if let Some(text) = text.filter(|_| absolute_path.is_some()) {
            return (ToolResult::ok(text), None);
        }
        if let Some(entries) = directory_entries {
            return (ToolResult::ok(entries.join("\n")), None);
        }
        return (ToolResult::ok(content).exit_code(exit_code), None);
    }
    (ToolResult::ok(content), None)
}

fn list(blocks: Vec<Block>, content: &str) -> ToolResult {
    if blocks.iter().any(|block| !matches!(block.kind.as_str(), "text" | "image")) {
        return ToolResult::ok(content);
    }
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        texts.extend(block.text);
        if let Some(data) = block.data {
            let mime = block.mime.as_deref().unwrap_or("application/octet-stream");
            parts.push(ContentPart::Image { path: format!("data:{mime};base64,{data}"), mime: block.mime });
        }
    }
    let mut result = ToolResult::ok(texts.join("\n"));
    result.parts = parts;
    result
}

/// A diff without the Markdown fence around it.
fn unfenced(diff: &str) -> &str {
    let inner = diff.trim_end().strip_prefix("```diff\n").and_then(|inner| inner.strip_suffix("```"));
    inner.unwrap_or(diff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(content: &str) -> (String, Option<i32>) {
        let result = result(content.to_owned(), false, None);
        (result.output.unwrap_or_default(), result.exit_code)
    }

    #[test]
    fn the_text_is_found_inside_the_json() {
        for (content, text, exit_code) in [
            (r#"{"output":"hi\n","exitCode":3}"#, "hi\n", Some(3)),
            (r#"{"absolutePath":"/a","content":"1: x"}"#, "1: x", None),
            (r#"{"diff":"```diff\n--- a\n+++ a\n```","lineRange":[1,2]}"#, "--- a\n+++ a\n", None),
            (r#"[{"type":"text","text":"42"},{"type":"text","text":"43"}]"#, "42\n43", None),
            ("Successfully created file", "Successfully created file", None),
            (r#"{"name":"some tool's own JSON"}"#, r#"{"name":"some tool's own JSON"}"#, None),
            ("{not json", "{not json", None),
            ("[1, 2]", "[1, 2]", None),
        ] {
            assert_eq!(output(content), (text.to_owned(), exit_code));
        }
    }

    #[test]
    fn a_rejected_tool_is_failed_though_not_marked() {
        assert!(result("Tool rejected by plugin: rule 0".to_owned(), false, None).failed);
        assert!(!result("rejected".to_owned(), false, None).failed);
    }
}
