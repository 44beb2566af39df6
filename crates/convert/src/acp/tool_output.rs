//! The output of a tool call.
//!
//! `content` is what a person sees, `rawOutput` what the tool returned, in the agent's own format. Before a call is
//! settled, its content describes the call; afterwards it is output. A result is made from the most faithful of them:
//! the terminal of the host, the output that `rawOutput` has of a command, the texts of the content, then anything else.

mod raw_output;

use interlingua_agents::AcpDialect;
use interlingua_native::Json;
use interlingua_native::acp::{ContentBlock, ToolCallContent};
use interlingua_schema::{ContentPart, FileAction, ToolKind};

use super::agent_requests::Terminal;
use super::cleaning::{clean_output, describes_changes, strip_fence};
use super::content::{Meta, blocks_text, content_part};
use super::tool_input::{Described, Diff};
use crate::{ToolResult, claude, opencode};
use raw_output::{command_output, exit_code, raw_text, text_of_other};

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
    raw: Option<Json>,
    /// The structured result of a tool of Claude Code.
    record: Option<Json>,
    exit_code: Option<i32>,
    terminal: Option<String>,
}

/// What a result is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinishedCall<'a> {
    pub(super) dialect: AcpDialect,
    pub(super) name: Option<&'a str>,
    pub(super) kind: &'a ToolKind,
    pub(super) described: &'a Described,
    /// The terminal of the host that shows the output.
    pub(super) terminal: Option<&'a Terminal>,
    pub(super) failed: bool,
}

/// Id of the terminal that a content shows.
pub(super) fn terminal_id(content: &[ToolCallContent]) -> Option<&str> {
    content.iter().find_map(|content| match content {
        ToolCallContent::Terminal(terminal) => terminal.terminal_id.as_deref(),
        _ => None,
    })
}

impl Progress {
    /// Takes over the raw output and what `_meta` says about it.
    pub(super) fn observe_raw(&mut self, raw: Option<Json>, meta: &mut Meta, terminal: Option<String>) {
        self.terminal = terminal.or(self.terminal.take());
        self.record = meta.claude_code.tool_response.take().or(self.record.take());
        self.exit_code = meta.terminal_exit.exit_code.or(self.exit_code);
        if let Some(raw) = raw {
            self.exit_code = exit_code(&raw.to_value()).or(self.exit_code);
            self.raw = Some(raw);
        }
        if let Some(data) = meta.terminal_output_delta.data.take().or(meta.terminal_output.data.take()) {
            self.delta.push_str(&data);
        }
    }

    /// Takes over content, which replaces the content before it. Text that continues the streamed text is a delta.
    pub(super) fn observe_content(&mut self, content: Vec<ToolCallContent>) {
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
        let text = strip_fence(&text).map(str::to_owned).unwrap_or(text);
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

    /// Text of the last content.
    pub(super) fn content_text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Id of the terminal of the host that shows the output.
    pub(super) fn terminal(&self) -> Option<&str> {
        self.terminal.as_deref()
    }

    /// The result of the call.
    pub(super) fn result(&self, call: FinishedCall<'_>) -> ToolResult {
        let mut result = match call.dialect {
            _ if call.terminal.is_some() => self.other_result(call),
            AcpDialect::Claude => self.claude_result(call),
            AcpDialect::OpenCode => self.opencode_result(call),
            AcpDialect::Standard | AcpDialect::Codex | AcpDialect::Copilot | AcpDialect::Gemini | AcpDialect::Qwen => {
                self.other_result(call)
            }
        };
        result.exit_code = self.exit_code.or(result.exit_code);
        if !call.failed && !result.parts.iter().any(is_file) {
            result.parts.extend(files(call));
        }
        let images = result.parts.iter().any(|part| matches!(part, ContentPart::Image { .. }));
        result.parts.extend(self.parts.iter().filter(|part| !images || is_file(part)).cloned());
        result
    }

    /// A result of a tool of Claude Code: `rawOutput` is the content of its tool result.
    fn claude_result(&self, call: FinishedCall<'_>) -> ToolResult {
        // A list or a text; without one, the text of the content, or what was streamed.
        let raw = self.raw.as_ref().filter(|raw| raw.get().starts_with(['"', '['])).cloned();
        let text = || self.text.clone().or_else(|| self.streamed_text()).unwrap_or_default();
        let output = raw.unwrap_or_else(|| serde_json::Value::from(text()).into());
        let name = call.name.unwrap_or_default();
        let arguments = call.described.arguments();
        let record = self.record.as_ref();
        let mut result = claude::adapter::tool_result(name, arguments.as_ref(), &output, record, call.failed);
        let text = result.output.take().unwrap_or_default();
        let cleaned = clean_output(call.dialect, call.kind, &text);
        result.exit_code = result.exit_code.or(cleaned.exit_code);
        result.output = Some(cleaned.text);
        result
    }

    /// A result of a tool of OpenCode: `rawOutput` is the state of its tool.
    fn opencode_result(&self, call: FinishedCall<'_>) -> ToolResult {
        let is_invalid = call.described.is_invalid(call.dialect);
        let name = if is_invalid { opencode::adapter::INVALID } else { call.name.unwrap_or_default() };
        let output: opencode::adapter::ToolOutput =
            self.raw.as_ref().and_then(|raw| raw.decode().ok()).unwrap_or_default();
        let arguments = call.described.arguments();
        let permitted_diff = call.described.diffs().first().and_then(Diff::unified);
        let text = self.text.clone();
        opencode::adapter::tool_result(name, call.kind, arguments.as_ref(), output, text, permitted_diff, call.failed)
    }

    fn other_result(&self, call: FinishedCall<'_>) -> ToolResult {
        let text = match call.terminal {
            Some(terminal) => terminal.output.clone(),
            None => self.text(call),
        };
        let cleaned = clean_output(call.dialect, call.kind, &text);
        let has_other_code =
            self.exit_code.is_some_and(|code| cleaned.exit_code.is_some_and(|printed| printed != code));
        let (text, printed_code) = if has_other_code { (text, None) } else { (cleaned.text, cleaned.exit_code) };
        let is_described = !call.failed
            && *call.kind == ToolKind::FileChange
            && describes_changes(call.dialect)
            && !call.described.diffs().is_empty();
        let text = if is_described { String::new() } else { text };
        let mut result = ToolResult::ok(text).failed_if(call.failed);
        result.exit_code = call.terminal.and_then(|terminal| terminal.exit_code).or(printed_code);
        result
    }

    /// What was streamed, and what would be streamed next.
    fn streamed_text(&self) -> Option<String> {
        Some(format!("{}{}", self.streamed, self.delta)).filter(|text| !text.is_empty())
    }

    /// The most faithful text.
    fn text(&self, call: FinishedCall<'_>) -> String {
        let raw = self.raw.as_ref().map(Json::to_value);
        let of_command = || command_output(raw.as_ref()?).filter(|_| *call.kind == ToolKind::Command);
        let shows_nothing = || self.parts.is_empty() && call.described.diffs().is_empty() && self.exit_code.is_none();
        of_command()
            .or_else(|| self.text.clone())
            .or_else(|| raw_text(raw.as_ref()?))
            .or_else(|| self.streamed_text())
            .or_else(|| text_of_other(raw.as_ref()?).filter(|_| shows_nothing()))
            .unwrap_or_default()
    }
}

fn is_file(part: &ContentPart) -> bool {
    matches!(part, ContentPart::FileRef { .. })
}

/// The files that a successful call has read or changed.
fn files(call: FinishedCall<'_>) -> Vec<ContentPart> {
    let file = |path: String, action, diff| ContentPart::FileRef { path, action, diff };
    let described = call.described;
    let changed = |diff: &Diff| {
        let is_new = diff.old.as_ref().is_none_or(String::is_empty);
        let action = if is_new { FileAction::Write } else { FileAction::Patch };
        file(diff.path.clone(), action, diff.unified())
    };
    match call.kind {
        ToolKind::FileRead => described.path().map(|path| file(path, FileAction::Read, None)).into_iter().collect(),
        ToolKind::FileChange if described.diffs().is_empty() => {
            described.path().map(|path| file(path, FileAction::Patch, None)).into_iter().collect()
        }
        _ => described.diffs().iter().map(changed).collect(),
    }
}
