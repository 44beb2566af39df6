//! Tool results as a person would read them.

use std::borrow::Cow;

use interlingua_native::Json;
use interlingua_native::claude::{
    ToolResultBlockParam, ToolResultBlockParamContent, ToolResultBlockParamContentListItem,
};
use interlingua_schema::{ContentPart, ToolKind};
use serde::Deserialize;

use super::calls::OpenCall;
use super::{clean, content, files};
use crate::ToolResult;

/// Fields of `tool_use_result`, the structured record of a result, for all tools in one. The record is an object only
/// if the tool succeeded.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResultRecord<'a> {
    /// A command's output.
    #[serde(borrow)]
    stdout: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stderr: Option<Cow<'a, str>>,
    /// The output is an image; `stdout` has its bytes.
    #[serde(rename = "isImage")]
    is_image: bool,
    interrupted: bool,
    /// Present if the command continues in the background.
    #[serde(rename = "backgroundTaskId")]
    background_task_id: Option<serde::de::IgnoredAny>,
    /// The meaning of exit code 1, for commands for which it is not a failure (`grep`, `diff`).
    #[serde(rename = "returnCodeInterpretation")]
    return_code_interpretation: Option<serde::de::IgnoredAny>,
    #[serde(rename = "durationMs")]
    duration_ms: Option<f64>,
    #[serde(rename = "totalDurationMs")]
    total_duration_ms: Option<f64>,
    #[serde(rename = "durationSeconds")]
    duration_seconds: Option<f64>,
}

/// Parses the result of a call. `record` is the line's `tool_use_result`, if it belongs to this result.
pub(super) fn parse_result(block: ToolResultBlockParam, call: Option<&OpenCall>, record: Option<&Json>) -> ToolResult {
    let failed = block.is_error == Some(true);
    let (output, parts) = block.content.map(split_content).unwrap_or_default();
    let record = record.filter(|record| record.get().starts_with('{'));
    // Records of file tools are long and have none of these fields.
    let is_file_tool = call.is_some_and(|call| matches!(call.kind, ToolKind::FileChange | ToolKind::FileRead));
    let fields = record.filter(|_| !is_file_tool).and_then(|record| record.decode::<ResultRecord<'_>>().ok());
    let fields = fields.unwrap_or_default();
    let is_command = call.is_some_and(|call| matches!(call.name.as_str(), "Bash" | "PowerShell"));
    let (printed_code, _) = clean::split_exit_code(&output);
    let exit_code = if is_command { exit_code(failed, printed_code, &fields) } else { None };
    let output = match call {
        _ if failed => clean_failure(&output, is_command),
        Some(call) => clean_output(call, &output, record, &fields),
        None => clean::strip_reminders(&output).to_owned(),
    };
    let mut result = ToolResult::ok(output)
        .failed_if(failed || fields.interrupted)
        .exit_code(exit_code)
        .stderr_bytes(fields.stderr.as_ref().map(|text| text.len() as u64))
        .duration_ms(fields.duration_ms());
    result.parts = parts;
    if !failed && let Some(call) = call {
        result.parts.extend(files::file_ref(call, record));
    }
    result
}

impl ResultRecord<'_> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn duration_ms(&self) -> Option<u64> {
        let seconds = self.duration_seconds.map(|seconds| seconds * 1000.0);
        let duration = self.duration_ms.or(self.total_duration_ms).or(seconds)?;
        (duration >= 0.0).then_some(duration as u64)
    }

    /// Output of a command according to the record.
    fn command_output(&self) -> Option<String> {
        let stdout = self.stdout.as_deref().filter(|_| !self.is_image)?;
        let stderr = clean::strip_cwd_note(self.stderr.as_deref().unwrap_or_default());
        let streams = [stdout, stderr].into_iter().filter(|text| !text.is_empty());
        Some(streams.collect::<Vec<_>>().join("\n"))
    }
}

/// Exit code of a command. A failed command prints it in its first line. A command that did not fail exited with 0, or
/// with a 1 that the record explains.
fn exit_code(failed: bool, printed_code: Option<i32>, record: &ResultRecord<'_>) -> Option<i32> {
    if failed {
        return printed_code;
    }
    let has_exited = record.stdout.is_some() && !record.interrupted && record.background_task_id.is_none();
    match record.return_code_interpretation {
        Some(_) => Some(1),
        None if has_exited => Some(0),
        None => None,
    }
}

/// Output of a tool that failed or did not run.
fn clean_failure(output: &str, is_command: bool) -> String {
    let output = clean::strip_error_tags(clean::strip_reminders(output));
    if let Some(reason) = clean::refusal_reason(output) {
        return reason.to_owned();
    }
    if is_command {
        let (_, printed) = clean::split_exit_code(output);
        return clean::strip_error_tags(clean::strip_cwd_note(clean::strip_placeholder(printed))).to_owned();
    }
    clean::strip_cwd_hint(output).to_owned()
}

/// Output of a tool that succeeded.
fn clean_output(call: &OpenCall, output: &str, record: Option<&Json>, fields: &ResultRecord<'_>) -> String {
    match call.name.as_str() {
        "Bash" | "PowerShell" => clean_command_output(output, fields),
        "BashOutput" | "TaskOutput" | "AgentOutputTool" => {
            let output = clean::strip_reminders(output);
            clean::extract_command_output(output).unwrap_or_else(|| output.to_owned())
        }
        "Read" | "NotebookRead" => record.and_then(files::text_content).unwrap_or_else(|| clean_file_content(output)),
        // Their `file_ref` or plan shows what they did.
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" | "TodoWrite" => String::new(),
        "Glob" | "Grep" => clean::strip_search_notes(clean::strip_reminders(output)).into_owned(),
        "WebSearch" => clean::strip_source_reminder(clean::strip_reminders(output)).to_owned(),
        "Agent" | "Task" => sub_agent_report(output, record),
        "AskUserQuestion" => clean::extract_answers(clean::strip_reminders(output)).to_owned(),
        "EnterPlanMode" | "ExitPlanMode" => clean::first_sentence(output).to_owned(),
        // The output of other tools is unchanged except for what the agent appends.
        _ => clean::strip_reminders(output).to_owned(),
    }
}

/// Output of a command, or the sentence that says that it continues in the background.
fn clean_command_output(output: &str, record: &ResultRecord<'_>) -> String {
    let output = clean::strip_reminders(output);
    let background_prefixes =
        ["Command running in background", "Command did not complete within", "Command was manually backgrounded"];
    if record.background_task_id.is_some() || background_prefixes.iter().any(|prefix| output.starts_with(prefix)) {
        return clean::first_sentence(output).to_owned();
    }
    record.command_output().unwrap_or_else(|| {
        let output = clean::strip_cwd_note(clean::strip_placeholder(output));
        clean::extract_preview(output).unwrap_or(output).to_owned()
    })
}

/// Content of a file, from the text for the model.
fn clean_file_content(output: &str) -> String {
    if clean::is_empty_file_note(output) {
        return String::new();
    }
    let output = clean::strip_reminders(output);
    if output.starts_with("File unchanged since last read") {
        return clean::first_sentence(output).to_owned();
    }
    clean::strip_line_numbers(output).into_owned()
}

/// The report of a sub-agent. The record has it as blocks and says how many of them are notes around the report.
fn sub_agent_report(output: &str, record: Option<&Json>) -> String {
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
        _ => clean::extract_report(clean::strip_reminders(output)).trim_end().to_owned(),
    }
}

/// Splits the content of a result into its text and its other parts.
fn split_content(content: ToolResultBlockParamContent) -> (String, Vec<ContentPart>) {
    let blocks = match content {
        ToolResultBlockParamContent::Text(text) => return (text, Vec::new()),
        ToolResultBlockParamContent::List(blocks) => blocks,
        ToolResultBlockParamContent::Unknown(raw) => return (raw.get().to_owned(), Vec::new()),
    };
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        match block {
            ToolResultBlockParamContentListItem::Text(block) => {
                texts.extend(block.text.filter(|text| !clean::is_image_note(text)));
            }
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
