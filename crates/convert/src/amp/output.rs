//! Tool results as a person would read them.
//!
//! Every result of Amp is a string. It is either the text that the tool returned, or JSON of an object or list that has
//! the text inside.

use interlingua_schema::ContentPart;
use serde_json::{Map, Value};

use super::mcp;
use super::tools::OpenCall;
use crate::ToolResult;

/// Parses the result of a call. `is_error` is `None` if Amp does not report it.
///
/// `is_error` is false for every command, even a failing one, so only the exit code decides.
pub(super) fn parse_result(content: String, is_error: Option<bool>, call: Option<OpenCall>) -> ToolResult {
    let is_rejected = is_rejection(&content);
    let ParsedOutput { text, parts, exit, diff } = ParsedOutput::parse(content, call.as_ref());
    let failed = is_rejected
        || match exit {
            ExitStatus::Code(code) => code != 0 || is_error == Some(true),
            ExitStatus::Unknown => true,
            ExitStatus::None => is_error != Some(false),
        };
    let mut result = ToolResult::ok(text).failed_if(failed).exit_code(exit.code());
    result.parts = parts;
    if let Some(call) = call.filter(|_| !failed) {
        let is_change = call.is_change();
        let files = call.files(diff);
        if is_change && !files.is_empty() {
            result = strip_confirmation(result);
        }
        result.parts.extend(files);
    }
    result
}

/// Whether a permission rule rejected the tool. Amp does not mark such a result as an error.
fn is_rejection(content: &str) -> bool {
    content.starts_with("Tool rejected by")
}

/// The result of a successful file change without its text: the file parts replace `Successfully created file …` and
/// the diff.
fn strip_confirmation(result: ToolResult) -> ToolResult {
    let mut stripped = ToolResult::ok("").exit_code(result.exit_code);
    stripped.parts = result.parts;
    stripped
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExitStatus {
    Code(i32),
    /// The exit code is not a number: the command was killed, or the code is unknown.
    Unknown,
    /// The result has no exit code.
    None,
}

impl ExitStatus {
    fn parse(code: Option<&Value>) -> Self {
        let Some(code) = code else { return Self::None };
        let signed = code.as_i64().and_then(|code| i32::try_from(code).ok());
        // Exit codes on Windows are unsigned: 4294967295 is -1.
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

/// Content of a result string.
#[derive(Debug, PartialEq)]
struct ParsedOutput {
    text: String,
    parts: Vec<ContentPart>,
    exit: ExitStatus,
    diff: Option<String>,
}

impl ParsedOutput {
    fn parse(content: String, call: Option<&OpenCall>) -> Self {
        let parsed = match content.as_bytes().first() {
            Some(b'[') => serde_json::from_str(&content).ok().and_then(|list: Vec<Value>| Self::from_list(&list, call)),
            Some(b'{') => serde_json::from_str(&content).ok().map(|fields| Self::from_object(&fields, &content)),
            _ => None,
        };
        parsed.unwrap_or_else(|| Self::text(content))
    }

    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), parts: Vec::new(), exit: ExitStatus::None, diff: None }
    }

    /// The blocks of an MCP tool, or the matches of a search.
    fn from_list(list: &[Value], call: Option<&OpenCall>) -> Option<Self> {
        let is_mcp = matches!(call, Some(OpenCall::Mcp));
        if list.is_empty() && !is_mcp && !matches!(call, Some(OpenCall::Search)) {
            return None;
        }
        match mcp::McpContent::parse(list) {
            // The list of another tool may only resemble blocks.
            Some(content) if is_mcp || content.is_known() => Some(Self::from_blocks(content)),
            _ => Some(Self::text(join_lines(list)?)),
        }
    }

    /// The object of one of Amp's own tools: a command, a file change, a read or a directory listing. Any other object
    /// is shown as JSON.
    fn from_object(fields: &Map<String, Value>, content: &str) -> Self {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let exit = ExitStatus::parse(fields.get("exitCode"));
        if let Some(output) = text("output") {
            return Self { exit, ..Self::text(output) };
        }
        if let Some(diff) = text("diff") {
            let diff = strip_fence(diff).to_owned();
            return Self { diff: Some(diff.clone()), ..Self::text(diff) };
        }
        let file_content = fields.get("content").filter(|_| fields.contains_key("absolutePath"));
        let entries = fields.get("directoryEntries").and_then(Value::as_array);
        let parsed = match (file_content, entries) {
            (Some(Value::String(text)), _) => Some(Self::from_file(text)),
            (Some(Value::Array(blocks)), _) => mcp::McpContent::parse(blocks).map(Self::from_blocks),
            (_, Some(entries)) => join_lines(entries).map(Self::text),
            _ => None,
        };
        parsed.unwrap_or_else(|| Self { exit, ..Self::text(content) })
    }

    fn from_blocks(mcp::McpContent { text, parts }: mcp::McpContent) -> Self {
        Self { parts, ..Self::text(text) }
    }

    /// Content of a file that was read.
    fn from_file(content: &str) -> Self {
        match parse_base64_image(content) {
            Some(image) => Self { parts: vec![image], ..Self::text("") },
            None => Self::text(strip_line_numbers(content)),
        }
    }
}

/// Joins a list of strings by newlines; `None` for any other list.
fn join_lines(list: &[Value]) -> Option<String> {
    let lines: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    lines.map(|lines| lines.join("\n"))
}

/// Strips the Markdown fence around a diff.
fn strip_fence(diff: &str) -> &str {
    let inner = diff.trim_end().strip_prefix("```diff\n").and_then(|inner| inner.strip_suffix("```"));
    inner.unwrap_or(diff)
}

/// Strips the number that Amp puts before each line of a file: `12: `. The numbers increase; a line in brackets says
/// that lines were left out. The text is unchanged if any other line has no number.
fn strip_line_numbers(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut previous = 0_u64;
    for (index, line) in content.split('\n').enumerate() {
        if index > 0 {
            plain.push('\n');
        }
        let numbered = line.split_once(':').and_then(|(number, rest)| Some((number.parse::<u64>().ok()?, rest)));
        match numbered {
            Some((number, rest)) if number > previous => {
                previous = number;
                plain.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            }
            _ if previous > 0 && line.starts_with('[') && line.ends_with(']') => plain.push_str(line),
            _ => return content.to_owned(),
        }
    }
    plain
}

/// The image in the content of a file, if that is an image in base64. The first bytes tell the image type.
fn parse_base64_image(content: &str) -> Option<ContentPart> {
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
        parse_result(content.to_owned(), Some(false), call)
    }

    fn output(content: &str) -> (String, Option<i32>) {
        let result = ok(content, None);
        (result.output.unwrap_or_default(), result.exit_code)
    }

    #[test]
    fn the_text_is_extracted_from_the_json() {
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
    fn an_mcp_result_has_text_for_every_type_of_block() {
        let content = r#"[{"type":"resource","resource":{"uri":"tiny://a","text":"the text"}},{"type":"resource_link","uri":"tiny://b","name":"b"},{"type":"audio","data":"AA==","mimeType":"audio/wav"}]"#;
        let result = ok(content, Some(OpenCall::Mcp));
        assert_eq!(result.output.as_deref(), Some("the text\nb (tiny://b)\n[audio: audio/wav]"));
        assert_eq!(result.parts.len(), 2);
        assert_eq!(ok("[]", Some(OpenCall::Mcp)).output.as_deref(), Some(""));
    }

    #[test]
    fn a_rejected_tool_is_failed_although_is_error_is_false() {
        assert!(ok("Tool rejected by plugin: rule 0", None).failed);
        assert!(!ok("rejected", None).failed);
    }

    #[test]
    fn an_unknown_outcome_is_a_failure() {
        let failed = |content: &str, is_error| {
            let result = parse_result(content.to_owned(), is_error, Some(OpenCall::Command));
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
    fn a_successful_change_has_no_output_and_a_failed_one_has_the_reason() {
        let call = || OpenCall::Create { path: "/w/a".to_owned(), content: "x\n".to_owned() };
        let succeeded = ok("Successfully created file /w/a", Some(call()));
        assert_eq!(succeeded.output.as_deref(), Some(""));
        assert!(matches!(succeeded.parts.as_slice(), [ContentPart::FileRef { action: FileAction::Write, .. }]));
        let failed = parse_result("no such directory".to_owned(), Some(true), Some(call()));
        assert_eq!(failed.output.as_deref(), Some("no such directory"));
        assert_eq!(failed.parts, []);
    }

    #[test]
    fn line_numbers_are_stripped_only_if_all_lines_have_them() {
        for (content, plain) in [
            ("1: a\n2: \n3:   b: c", "a\n\n  b: c"),
            ("9: a\n10:\n11: b", "a\n\nb"),
            ("1: a\n[... omitted lines 2 to 7 ...]\n8: b", "a\n[... omitted lines 2 to 7 ...]\nb"),
            ("1: a\nb", "1: a\nb"),
            ("2: a\n1: b", "2: a\n1: b"),
            ("key: value", "key: value"),
            ("", ""),
        ] {
            assert_eq!(strip_line_numbers(content), plain);
        }
    }

    #[test]
    fn an_image_file_is_an_image_part() {
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
