//! What a tool gave back, as a person would read it.

use interlingua_native::Json;
use interlingua_native::claude::{
    ToolResultBlockParam, ToolResultBlockParamContent, ToolResultBlockParamContentListItem,
};
use interlingua_schema::{ContentPart, ToolKind};
use serde::Deserialize;

use super::calls::Call;
use super::{content, files};
use crate::ToolResult;

/// The figures in a tool's own record of its result, whatever the tool. The record is an object only when it worked.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    /// A command's output to standard error.
    #[serde(borrow)]
    stderr: Option<std::borrow::Cow<'a, str>>,
    stdout: Option<serde::de::IgnoredAny>,
    interrupted: bool,
    /// The command goes on in the background.
    #[serde(rename = "backgroundTaskId")]
    background: Option<serde::de::IgnoredAny>,
    /// What exit code 1 means for a command for which it is no failure (`grep`, `diff`).
    #[serde(rename = "returnCodeInterpretation")]
    meaning_of_one: Option<serde::de::IgnoredAny>,
    #[serde(rename = "durationMs")]
    duration_ms: Option<f64>,
    #[serde(rename = "totalDurationMs")]
    total_duration_ms: Option<f64>,
    #[serde(rename = "durationSeconds")]
    duration_seconds: Option<f64>,
}

/// The result of a call, with the tool's own record of it where that is known.
pub(super) fn result(block: ToolResultBlockParam, call: Option<&Call>, record: Option<&Json>) -> ToolResult {
    let failed = block.is_error == Some(true);
    let (output, parts) = block.content.map(read).unwrap_or_default();
    let record = record.filter(|record| record.get().starts_with('{'));
    // Records of files are long, and have no figures.
    let of_file = call.is_some_and(|call| matches!(call.kind, ToolKind::FileChange | ToolKind::FileRead));
    let figures = record.filter(|_| !of_file).and_then(|record| record.decode::<Record<'_>>().ok()).unwrap_or_default();
    let is_command = call.is_some_and(|call| call.kind == ToolKind::Command);
    let exit_code = if is_command { exit_code(failed, &output, &figures) } else { None };
    let mut result = ToolResult::ok(output)
        .failed_if(failed || figures.interrupted)
        .exit_code(exit_code)
        .stderr_bytes(figures.stderr.as_ref().map(|text| text.len() as u64))
        .duration_ms(figures.duration_ms());
    result.parts = parts;
    if !failed && let Some(call) = call {
        result.parts.extend(files::of(call, record));
    }
    result
}

impl Record<'_> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn duration_ms(&self) -> Option<u64> {
        let seconds = self.duration_seconds.map(|seconds| seconds * 1000.0);
        let duration = self.duration_ms.or(self.total_duration_ms).or(seconds)?;
        (duration >= 0.0).then_some(duration as u64)
    }
}

/// A failed command says its exit code in its first line. One that did not fail ended with 0, or with a 1 that the
/// record explains.
fn exit_code(failed: bool, output: &str, record: &Record<'_>) -> Option<i32> {
    if failed {
        return output.strip_prefix("Exit code ")?.split_whitespace().next()?.parse().ok();
    }
    let ended = record.stdout.is_some() && !record.interrupted && record.background.is_none();
    match record.meaning_of_one {
        Some(_) => Some(1),
        None if ended => Some(0),
        None => None,
    }
}

/// The text of a result, and what is no text.
fn read(content: ToolResultBlockParamContent) -> (String, Vec<ContentPart>) {
    let blocks = match content {
        ToolResultBlockParamContent::Text(text) => return (text, Vec::new()),
        ToolResultBlockParamContent::List(blocks) => blocks,
        ToolResultBlockParamContent::Unknown(raw) => return (raw.get().to_owned(), Vec::new()),
        _ => return <_>::default(),
    };
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        match block {
            ToolResultBlockParamContentListItem::Text(block) => texts.push(block.text.unwrap_or_default()),
            ToolResultBlockParamContentListItem::Image(block) => parts.push(content::image(block)),
            ToolResultBlockParamContentListItem::SearchResult(block) => texts.push(content::search_result(block)),
            ToolResultBlockParamContentListItem::Document(block) => match content::document(block) {
                ContentPart::Text { text } => texts.push(text),
                part => parts.push(part),
            },
            ToolResultBlockParamContentListItem::ToolReference(block) => {
                texts.push(block.tool_name.unwrap_or_default());
            }
            ToolResultBlockParamContentListItem::BrowserState(block) => {
                parts.extend(serde_json::to_value(block).ok().map(|json| ContentPart::Json { json }));
            }
            ToolResultBlockParamContentListItem::Unknown { raw, .. } => {
                parts.push(ContentPart::Json { json: raw.to_value() });
            }
            _ => {}
        }
    }
    (texts.join("\n"), parts)
}
