//! What a tool gave back, as a person would read it.

use std::borrow::Cow;

use interlingua_native::Json;
use interlingua_native::claude::{
    ToolResultBlockParam, ToolResultBlockParamContent, ToolResultBlockParamContentListItem,
};
use interlingua_schema::{ContentPart, ToolKind};
use serde::Deserialize;

use super::calls::Call;
use super::{clean, content, files};
use crate::ToolResult;

/// A tool's own record of its result, whatever the tool. The record is an object only when it worked.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    /// A command's output.
    #[serde(borrow)]
    stdout: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stderr: Option<Cow<'a, str>>,
    /// The output is an image, and `stdout` its bytes.
    #[serde(rename = "isImage")]
    is_image: bool,
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
    let is_run = call.is_some_and(|call| matches!(call.name.as_str(), "Bash" | "PowerShell"));
    let (said_code, _) = clean::exit_code_line(&output);
    let exit_code = if is_run { exit_code(failed, said_code, &figures) } else { None };
    let output = match call {
        _ if failed => failure(&output, is_run),
        Some(call) => produced(call, &output, record, &figures),
        None => clean::without_reminders(&output).to_owned(),
    };
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

    /// A command's output as it stands in the record.
    fn printed(&self) -> Option<String> {
        let stdout = self.stdout.as_deref().filter(|_| !self.is_image)?;
        let stderr = clean::without_cwd_note(self.stderr.as_deref().unwrap_or_default());
        let streams = [stdout, stderr].into_iter().filter(|text| !text.is_empty());
        Some(streams.collect::<Vec<_>>().join("\n"))
    }
}

/// A failed command says its exit code in its first line. One that did not fail ended with 0, or with a 1 that the
/// record explains.
fn exit_code(failed: bool, said: Option<i32>, record: &Record<'_>) -> Option<i32> {
    if failed {
        return said;
    }
    let ended = record.stdout.is_some() && !record.interrupted && record.background.is_none();
    match record.meaning_of_one {
        Some(_) => Some(1),
        None if ended => Some(0),
        None => None,
    }
}

/// What a tool that failed, or did not run, says to a person.
fn failure(output: &str, is_run: bool) -> String {
    let output = clean::without_error_tags(clean::without_reminders(output));
    if let Some(reason) = clean::refusal(output) {
        return reason.to_owned();
    }
    if is_run {
        let (_, printed) = clean::exit_code_line(output);
        return clean::without_error_tags(clean::without_cwd_note(clean::without_placeholder(printed))).to_owned();
    }
    clean::without_directory_hint(output).to_owned()
}

/// What a tool that worked has produced.
fn produced(call: &Call, output: &str, record: Option<&Json>, figures: &Record<'_>) -> String {
    match call.name.as_str() {
        "Bash" | "PowerShell" => run(output, figures),
        "BashOutput" | "TaskOutput" | "AgentOutputTool" => {
            let output = clean::without_reminders(output);
            clean::command_output(output).unwrap_or_else(|| output.to_owned())
        }
        "Read" | "NotebookRead" => record.and_then(files::content).unwrap_or_else(|| file_content(output)),
        // Their `file_ref` and their plan say what they did.
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" | "TodoWrite" => String::new(),
        "Glob" | "Grep" => clean::search_matches(clean::without_reminders(output)).into_owned(),
        "WebSearch" => clean::without_source_reminder(clean::without_reminders(output)).to_owned(),
        "Agent" | "Task" => sub_agent(output, record),
        "AskUserQuestion" => clean::answers(clean::without_reminders(output)).to_owned(),
        "EnterPlanMode" | "ExitPlanMode" => clean::first_sentence(output).to_owned(),
        // What others give back is theirs; only what the agent appends is taken away.
        _ => clean::without_reminders(output).to_owned(),
    }
}

/// What a command printed. One that goes on in the background says so.
fn run(output: &str, record: &Record<'_>) -> String {
    let output = clean::without_reminders(output);
    let starts =
        ["Command running in background", "Command did not complete within", "Command was manually backgrounded"];
    if record.background.is_some() || starts.iter().any(|start| output.starts_with(start)) {
        return clean::first_sentence(output).to_owned();
    }
    record.printed().unwrap_or_else(|| {
        let output = clean::without_cwd_note(clean::without_placeholder(output));
        clean::preview(output).unwrap_or(output).to_owned()
    })
}

/// The content of a file, of which there is only the text for the model.
fn file_content(output: &str) -> String {
    if clean::is_empty_file_note(output) {
        return String::new();
    }
    let output = clean::without_reminders(output);
    if output.starts_with("File unchanged since last read") {
        return clean::first_sentence(output).to_owned();
    }
    clean::without_gutter(output).into_owned()
}

/// The report of a sub-agent. The record has it without the notes around it, and says how many these are.
fn sub_agent(output: &str, record: Option<&Json>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Report {
        status: String,
        content: Option<Vec<Text>>,
        harness_note_count: usize,
        harness_tail_count: usize,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Text {
        text: String,
    }
    let report: Report = record.and_then(|record| record.decode().ok()).unwrap_or_default();
    match report.content {
        Some(blocks) if report.status == "completed" => {
            let count = blocks.len().saturating_sub(report.harness_note_count + report.harness_tail_count);
            let texts = blocks.into_iter().skip(report.harness_note_count).take(count).map(|block| block.text);
            texts.collect::<Vec<_>>().join("\n")
        }
        _ if report.status == "async_launched" || output.starts_with("Async agent launched") => {
            clean::first_sentence(output).to_owned()
        }
        _ => clean::report(clean::without_reminders(output)).trim_end().to_owned(),
    }
}

/// The text of a result, and what is no text.
fn read(content: ToolResultBlockParamContent) -> (String, Vec<ContentPart>) {
    let blocks = match content {
        ToolResultBlockParamContent::Text(text) => return (text, Vec::new()),
        ToolResultBlockParamContent::List(blocks) => blocks,
        ToolResultBlockParamContent::Unknown(raw) => return (raw.get().to_owned(), Vec::new()),
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
        }
    }
    (texts.join("\n"), parts)
}
