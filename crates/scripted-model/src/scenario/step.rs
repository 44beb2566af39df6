//! The keys of a step in a scenario file.

use std::time::Duration;

use serde::Deserialize;

use super::{FileChange, Question, Step, StopReason, StreamedText, Todo, ToolAction};

/// All keys that a step may have. Exactly one of the keys without a "With …" comment is present: the kind of the step.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct StepKeys {
    say: Option<TextValue>,
    think: Option<TextValue>,
    /// With `say` and `think`.
    drip_ms: Option<u64>,
    run: Option<String>,
    read: Option<String>,
    write: Option<String>,
    /// With `write`.
    content: Option<String>,
    edit: Option<String>,
    /// With `edit`.
    old: Option<String>,
    /// With `edit`.
    new: Option<String>,
    patch: Option<Vec<FileChange>>,
    search: Option<String>,
    ask: Option<Vec<Question>>,
    plan: Option<String>,
    todo: Option<Vec<Todo>>,
    delegate: Option<String>,
    mcp: Option<String>,
    tool: Option<String>,
    /// With `mcp` and `tool`.
    args: Option<serde_json::Value>,
    /// With `tool`.
    args_text: Option<String>,
    status: Option<u16>,
    /// With `status`.
    message: Option<String>,
    /// With `status`.
    retry_after: Option<u64>,
    /// With `status`.
    times: Option<u32>,
    fail: Option<String>,
    cut: Option<bool>,
    stall: Option<StallValue>,
    until: Option<String>,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or the list of pieces that it is streamed in")]
enum TextValue {
    Whole(String),
    Chunks(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected milliseconds, or true for as long as the agent waits")]
enum StallValue {
    Milliseconds(u64),
    Forever(bool),
}

const KINDS: &str = "say, think, run, read, write, edit, patch, search, ask, plan, todo, delegate, mcp, tool, status, \
                     fail, cut, stall, until, stop";

impl StepKeys {
    /// Names of the keys that are present: kinds of step, and companions.
    fn present(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let present = |keys: &[(&'static str, bool)]| keys.iter().filter(|key| key.1).map(|key| key.0).collect();
        let kinds = present(&[
            ("say", self.say.is_some()),
            ("think", self.think.is_some()),
            ("run", self.run.is_some()),
            ("read", self.read.is_some()),
            ("write", self.write.is_some()),
            ("edit", self.edit.is_some()),
            ("patch", self.patch.is_some()),
            ("search", self.search.is_some()),
            ("ask", self.ask.is_some()),
            ("plan", self.plan.is_some()),
            ("todo", self.todo.is_some()),
            ("delegate", self.delegate.is_some()),
            ("mcp", self.mcp.is_some()),
            ("tool", self.tool.is_some()),
            ("status", self.status.is_some()),
            ("fail", self.fail.is_some()),
            ("cut", self.cut.is_some()),
            ("stall", self.stall.is_some()),
            ("until", self.until.is_some()),
            ("stop", self.stop.is_some()),
        ]);
        let companions = present(&[
            ("drip_ms", self.drip_ms.is_some()),
            ("content", self.content.is_some()),
            ("old", self.old.is_some()),
            ("new", self.new.is_some()),
            ("args", self.args.is_some()),
            ("args_text", self.args_text.is_some()),
            ("message", self.message.is_some()),
            ("retry_after", self.retry_after.is_some()),
            ("times", self.times.is_some()),
        ]);
        (kinds, companions)
    }
}

/// Companion keys that a kind of step requires, and those that it allows.
fn allowed_companions(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "say" | "think" => (&[], &["drip_ms"]),
        "write" => (&["content"], &[]),
        "edit" => (&["old", "new"], &[]),
        "mcp" => (&[], &["args"]),
        "tool" => (&[], &["args", "args_text"]),
        "status" => (&[], &["message", "retry_after", "times"]),
        _ => (&[], &[]),
    }
}

impl TryFrom<StepKeys> for Step {
    type Error = String;

    fn try_from(keys: StepKeys) -> Result<Self, String> {
        let (kinds, companions) = keys.present();
        let [kind] = kinds[..] else {
            let found = if kinds.is_empty() { "none of them".to_owned() } else { kinds.join(" and ") };
            return Err(format!("expected a step with exactly one of {KINDS}; found {found}"));
        };
        let (required, optional) = allowed_companions(kind);
        if let Some(missing) = required.iter().find(|key| !companions.contains(key)) {
            return Err(format!("expected `{missing}` with `{kind}`"));
        }
        if let Some(stray) = companions.iter().find(|key| !required.contains(key) && !optional.contains(key)) {
            return Err(format!("`{stray}` is not allowed with `{kind}`"));
        }
        keys.into_step(kind)
    }
}

impl StepKeys {
    /// Builds the step from keys that were checked.
    fn into_step(self, kind: &str) -> Result<Step, String> {
        let text = |value: Option<String>| value.unwrap_or_default();
        let action = match kind {
            "say" => return Ok(Step::Text(streamed_text(self.say, self.drip_ms))),
            "think" => return Ok(Step::Reasoning(streamed_text(self.think, self.drip_ms))),
            "status" => {
                let status = self.status.unwrap_or_default();
                if !(400..600).contains(&status) {
                    return Err(format!("expected a status from 400 to 599, found {status}"));
                }
                return Ok(Step::HttpError {
                    status,
                    message: self.message.unwrap_or_else(|| format!("Scripted refusal with status {status}")),
                    retry_after: self.retry_after,
                    times: self.times.unwrap_or(1),
                });
            }
            "fail" => return Ok(Step::StreamError { message: text(self.fail) }),
            "cut" => return Ok(Step::Disconnect),
            "stall" => {
                return Ok(Step::Stall(match self.stall {
                    Some(StallValue::Milliseconds(ms)) => Some(Duration::from_millis(ms)),
                    Some(StallValue::Forever(true)) => None,
                    _ => return Err("expected `stall = true` or milliseconds, found false".to_owned()),
                }));
            }
            "until" => return Ok(Step::WaitForTurn(text(self.until))),
            "stop" => return self.stop.map(Step::Stop).ok_or_else(|| "expected a reason to stop".to_owned()),
            "run" => ToolAction::Run { command: text(self.run) },
            "read" => ToolAction::Read { path: text(self.read) },
            "write" => ToolAction::Write { path: text(self.write), content: text(self.content) },
            "edit" => ToolAction::Edit { path: text(self.edit), old: text(self.old), new: text(self.new) },
            "patch" => ToolAction::Patch(self.patch.unwrap_or_default()),
            "search" => ToolAction::Search { pattern: text(self.search) },
            "ask" => ToolAction::Ask(self.ask.unwrap_or_default()),
            "plan" => ToolAction::Plan { text: text(self.plan) },
            "todo" => ToolAction::Todo(self.todo.unwrap_or_default()),
            "delegate" => ToolAction::Delegate { name: text(self.delegate) },
            "mcp" => {
                let name = text(self.mcp);
                let (server, tool) =
                    name.split_once('.').ok_or_else(|| format!("expected \"server.tool\", found {name:?}"))?;
                ToolAction::Mcp { server: server.to_owned(), tool: tool.to_owned(), arguments: object(self.args) }
            }
            _ => ToolAction::Tool {
                name: text(self.tool),
                arguments: self.args_text.unwrap_or_else(|| object(self.args).to_string()),
            },
        };
        Ok(Step::ToolCall(action))
    }
}

/// Tool arguments; an empty object if there are none.
fn object(arguments: Option<serde_json::Value>) -> serde_json::Value {
    arguments.unwrap_or_else(|| serde_json::json!({}))
}

fn streamed_text(value: Option<TextValue>, interval_ms: Option<u64>) -> StreamedText {
    let text = match value {
        Some(TextValue::Whole(text)) => StreamedText::word_by_word(&text),
        Some(TextValue::Chunks(chunks)) => StreamedText { chunks, interval: Duration::ZERO },
        None => StreamedText::word_by_word(""),
    };
    StreamedText { interval: Duration::from_millis(interval_ms.unwrap_or(0)), ..text }
}
