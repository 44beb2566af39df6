//! A tool's result as a person would read it.
//!
//! Amp gives every result as a string. What a tool returned as text is in it as it was; an object or a list is in it
//! as JSON, and the text stands somewhere inside.

use interlingua_schema::ContentPart;
use serde_json::{Map, Value};

use super::mcp;
use super::tools::OpenCall;
use crate::ToolResult;

/// What a tool gave. `call` is what is known of its arguments; `is_error` is absent where Amp does not say.
///
/// Amp says of every command that it is no error, so that the exit code alone tells how it went.
pub(super) fn result(content: String, is_error: Option<bool>, call: Option<OpenCall>) -> ToolResult {
    let refused = is_refusal(&content);
    let Reading { text, parts, exit, diff } = Reading::new(content, call.as_ref());
    let failed = refused
        || match exit {
            Exit::Code(code) => code != 0 || is_error == Some(true),
            Exit::Unknown => true,
            Exit::None => is_error != Some(false),
        };
    let mut result = ToolResult::ok(text).failed_if(failed).exit_code(exit.code());
    result.parts = parts;
    if let Some(call) = call.filter(|_| !failed) {
        let is_change = call.is_change();
        let files = call.files(diff);
        if is_change && !files.is_empty() {
            result = without_confirmation(result);
        }
        result.parts.extend(files);
    }
    result
}

/// A tool that was not allowed to run says so in its result, which is then not marked as an error.
fn is_refusal(content: &str) -> bool {
    content.starts_with("Tool rejected by")
}

/// A change that worked has nothing to say: `Successfully created file …` and the diff are in its files.
fn without_confirmation(result: ToolResult) -> ToolResult {
    let mut silent = ToolResult::ok("").exit_code(result.exit_code);
    silent.parts = result.parts;
    silent
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Exit {
    Code(i32),
    /// The exit code is not a number: the command was killed, or its code is unknown.
    Unknown,
    /// The result is no command's, or does not say.
    None,
}

impl Exit {
    fn read(code: Option<&Value>) -> Self {
        let Some(code) = code else { return Self::None };
        let signed = code.as_i64().and_then(|code| i32::try_from(code).ok());
        // Windows counts above what fits: its code for a failure is 4294967295, which is -1.
        let unsigned = || code.as_u64().and_then(|code| u32::try_from(code).ok()).map(u32::cast_signed);
        signed.or_else(unsigned).map_or(Self::Unknown, Self::Code)
    }

    fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Unknown | Self::None => None,
        }
    }
}

/// What stands in a result.
#[derive(Debug, PartialEq)]
struct Reading {
    text: String,
    parts: Vec<ContentPart>,
    exit: Exit,
    diff: Option<String>,
}

impl Reading {
    fn new(content: String, call: Option<&OpenCall>) -> Self {
        let read = match content.as_bytes().first() {
            Some(b'[') => serde_json::from_str(&content).ok().and_then(|list: Vec<Value>| Self::list(&list, call)),
            Some(b'{') => serde_json::from_str(&content).ok().map(|fields| Self::object(&fields, &content)),
            _ => None,
        };
        read.unwrap_or_else(|| Self::text(content))
    }

    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), parts: Vec::new(), exit: Exit::None, diff: None }
    }

    /// The blocks that an MCP tool gave, or the lines that a search found.
    fn list(list: &[Value], call: Option<&OpenCall>) -> Option<Self> {
        let is_mcp = matches!(call, Some(OpenCall::Mcp));
        if list.is_empty() && !is_mcp && !matches!(call, Some(OpenCall::Search)) {
            return None;
        }
        match mcp::Content::read(list) {
            // Another tool's list may only look like blocks.
            Some(content) if is_mcp || content.is_known() => Some(Self::blocks(content)),
            _ => Some(Self::text(lines(list)?)),
        }
    }

    /// The object that one of Amp's own tools gave: of a command, a change, a read or a directory. That of any other
    /// tool stays as it is.
    fn object(fields: &Map<String, Value>, content: &str) -> Self {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let exit = Exit::read(fields.get("exitCode"));
        if let Some(output) = text("output") {
            return Self { exit, ..Self::text(output) };
        }
        if let Some(diff) = text("diff") {
            let diff = without_fence(diff).to_owned();
            return Self { diff: Some(diff.clone()), ..Self::text(diff) };
        }
        let of_file = fields.get("content").filter(|_| fields.contains_key("absolutePath"));
        let entries = fields.get("directoryEntries").and_then(Value::as_array);
        let read = match (of_file, entries) {
            (Some(Value::String(text)), _) => Some(Self::file(text)),
            (Some(Value::Array(blocks)), _) => mcp::Content::read(blocks).map(Self::blocks),
            (_, Some(entries)) => lines(entries).map(Self::text),
            _ => None,
        };
        read.unwrap_or_else(|| Self { exit, ..Self::text(content) })
    }

    fn blocks(mcp::Content { text, parts }: mcp::Content) -> Self {
        Self { parts, ..Self::text(text) }
    }

    /// The content of a file that was read.
    fn file(content: &str) -> Self {
        match image_in_base64(content) {
            Some(image) => Self { parts: vec![image], ..Self::text("") },
            None => Self::text(without_line_numbers(content)),
        }
    }
}

/// A list of texts as lines; `None` for any other list.
fn lines(list: &[Value]) -> Option<String> {
    let lines: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    lines.map(|lines| lines.join("\n"))
}

/// A diff without the Markdown fence around it.
fn without_fence(diff: &str) -> &str {
    let inner = diff.trim_end().strip_prefix("```diff\n").and_then(|inner| inner.strip_suffix("```"));
    inner.unwrap_or(diff)
}

/// A file's content without the number that Amp puts before each line: `12: `. Numbers only grow; a line in brackets
/// says that some were left out. A text of which that is not true has no numbers.
fn without_line_numbers(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut before = 0_u64;
    for (index, line) in content.split('\n').enumerate() {
        if index > 0 {
            plain.push('\n');
        }
        let numbered = line.split_once(':').and_then(|(number, rest)| Some((number.parse::<u64>().ok()?, rest)));
        match numbered {
            Some((number, rest)) if number > before => {
                before = number;
                plain.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            }
            _ if before > 0 && line.starts_with('[') && line.ends_with(']') => plain.push_str(line),
            _ => return content.to_owned(),
        }
    }
    plain
}

/// The image that a file is, where its content is base64: images begin with bytes that tell what they are.
fn image_in_base64(content: &str) -> Option<ContentPart> {
    let kinds = [("iVBORw0KGgo", "png"), ("/9j/", "jpeg"), ("R0lGOD", "gif"), ("UklGR", "webp")];
    let (_, kind) = kinds.iter().find(|(magic, _)| content.starts_with(magic))?;
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    content.bytes().all(is_base64).then(|| mcp::image(content, Some(format!("image/{kind}"))))
}

#[cfg(test)]
mod tests {
    use interlingua_schema::FileAction;

    use super::*;

    fn ok(content: &str, call: Option<OpenCall>) -> ToolResult {
        result(content.to_owned(), Some(false), call)
    }

    fn output(content: &str) -> (String, Option<i32>) {
        let result = ok(content, None);
        (result.output.unwrap_or_default(), result.exit_code)
    }

    #[test]
    fn the_text_is_found_inside_the_json() {
        for (content, text, exit_code) in [
            (r#"{"output":"hi\n","exitCode":3}"#, "hi\n", Some(3)),
            (r#"{"output":"hi\n","exitCode":4294967295}"#, "hi\n", Some(-1)),
            (r#"{"absolutePath":"/a","content":"1: x\n2: y"}"#, "x\ny", None),
            (r#"{"absolutePath":"/a","directoryEntries":["b/","c"]}"#, "b/\nc", None),
            (r#"{"diff":"```diff\n--- a\n+++ a\n```","lineRange":[1,2]}"#, "--- a\n+++ a\n", None),
            (r#"[{"type":"text","text":"42"},{"type":"text","text":"43"}]"#, "42\n43", None),
            (r#"["src/a.rs","src/b.rs"]"#, "src/a.rs\nsrc/b.rs", None),
            ("Successfully created file", "Successfully created file", None),
            (r#"{"name":"some tool's own JSON"}"#, r#"{"name":"some tool's own JSON"}"#, None),
            ("{not json", "{not json", None),
            ("[1, 2]", "[1, 2]", None),
            ("[]", "[]", None),
        ] {
            assert_eq!(output(content), (text.to_owned(), exit_code));
        }
    }

    #[test]
    fn an_mcp_result_is_readable_whatever_blocks_it_has() {
        let content = r#"[{"type":"resource","resource":{"uri":"tiny://a","text":"the text"}},{"type":"resource_link","uri":"tiny://b","name":"b"},{"type":"audio","data":"AA==","mimeType":"audio/wav"}]"#;
        let result = ok(content, Some(OpenCall::Mcp));
        assert_eq!(result.output.as_deref(), Some("the text\nb (tiny://b)\n[audio: audio/wav]"));
        assert_eq!(result.parts.len(), 2);
        assert_eq!(ok("[]", Some(OpenCall::Mcp)).output.as_deref(), Some(""));
    }

    #[test]
    fn a_rejected_tool_is_failed_though_not_marked() {
        assert!(ok("Tool rejected by plugin: rule 0", None).failed);
        assert!(!ok("rejected", None).failed);
    }

    #[test]
    fn an_outcome_that_is_not_known_is_no_success() {
        let failed = |content: &str, is_error| {
            let result = result(content.to_owned(), is_error, Some(OpenCall::Command));
            result.failed || result.exit_code.is_some_and(|code| code != 0)
        };
        assert!(failed("text", None));
        assert!(failed(r#"{"output":"x"}"#, None));
        assert!(!failed(r#"{"output":"x","exitCode":0}"#, None));
        assert!(failed(r#"{"output":"x","exitCode":0}"#, Some(true)));
        for code in ["null", "\"0\"", "1.5", "99999999999"] {
            assert!(failed(&format!(r#"{{"output":"x","exitCode":{code}}}"#), Some(false)), "{code}");
        }
    }

    #[test]
    fn a_change_that_worked_has_no_output_and_one_that_failed_has_the_reason() {
        let call = || OpenCall::Create { path: "/w/a".to_owned(), content: "x\n".to_owned() };
        let worked = ok("Successfully created file /w/a", Some(call()));
        assert_eq!(worked.output.as_deref(), Some(""));
        assert!(matches!(worked.parts.as_slice(), [ContentPart::FileRef { action: FileAction::Write, .. }]));
        let failed = result("no such directory".to_owned(), Some(true), Some(call()));
        assert_eq!(failed.output.as_deref(), Some("no such directory"));
        assert_eq!(failed.parts, []);
    }

    #[test]
    fn line_numbers_are_taken_away_only_where_all_lines_have_them() {
        for (content, plain) in [
            ("1: a\n2: \n3:   b: c", "a\n\n  b: c"),
            ("9: a\n10:\n11: b", "a\n\nb"),
            ("1: a\n[... omitted lines 2 to 7 ...]\n8: b", "a\n[... omitted lines 2 to 7 ...]\nb"),
            ("1: a\nb", "1: a\nb"),
            ("2: a\n1: b", "2: a\n1: b"),
            ("key: value", "key: value"),
            ("", ""),
        ] {
            assert_eq!(without_line_numbers(content), plain);
        }
    }

    #[test]
    fn an_image_that_was_read_is_an_image() {
        let call = || Some(OpenCall::Read { path: "/w/a.png".to_owned() });
        let result = ok(r#"{"absolutePath":"/w/a.png","content":"iVBORw0KGgoAAAANSUhEUg=="}"#, call());
        assert_eq!(result.output.as_deref(), Some(""));
        assert!(
            matches!(&result.parts[0], ContentPart::Image { path, .. } if path.starts_with("data:image/png;base64,iVB"))
        );
        let text = ok(r#"{"absolutePath":"/w/a.txt","content":"1: iVBORw0KGgo"}"#, call());
        assert_eq!(text.output.as_deref(), Some("iVBORw0KGgo"));
    }
}
