//! A step as it is written.

use std::time::Duration;

use serde::Deserialize;

use super::{FileChange, Question, Step, StopReason, StreamedText, Todo, ToolAction};

/// Every key that a step may have; exactly one of those without "with" is its kind.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    say: Option<Words>,
    think: Option<Words>,
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
    stall: Option<Stall>,
    until: Option<String>,
    stop: Option<StopReason>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or the list of pieces that it is streamed in")]
enum Words {
    Whole(String),
    Pieces(Vec<String>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected milliseconds, or true for as long as the agent waits")]
enum Stall {
    For(u64),
    Ever(bool),
}

const KINDS: &str = "say, think, run, read, write, edit, patch, search, ask, plan, todo, delegate, mcp, tool, status, \
                     fail, cut, stall, until, stop";

impl Written {
    /// The keys that are there: kinds of step, and what goes with them.
    fn keys(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        let there = |keys: &[(&'static str, bool)]| keys.iter().filter(|key| key.1).map(|key| key.0).collect();
        let kinds = there(&[
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
        let with = there(&[
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
        (kinds, with)
    }
}

/// What must and what may go with a kind of step.
fn companions(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
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

impl TryFrom<Written> for Step {
    type Error = String;

    fn try_from(step: Written) -> Result<Self, String> {
        let (kinds, with) = step.keys();
        let [kind] = kinds[..] else {
            let found = if kinds.is_empty() { "none of them".to_owned() } else { kinds.join(" and ") };
            return Err(format!("expected a step with exactly one of {KINDS}; found {found}"));
        };
        let (must, may) = companions(kind);
        if let Some(missing) = must.iter().find(|key| !with.contains(key)) {
            return Err(format!("expected `{missing}` beside `{kind}`"));
        }
        if let Some(stray) = with.iter().find(|key| !must.contains(key) && !may.contains(key)) {
            return Err(format!("`{stray}` means nothing beside `{kind}`"));
        }
        step.read(kind)
    }
}

impl Written {
    /// The step, now that its keys fit together.
    fn read(self, kind: &str) -> Result<Step, String> {
        let text = |value: Option<String>| value.unwrap_or_default();
        let role = match kind {
            "say" => return Ok(Step::Text(speech(self.say, self.drip_ms))),
            "think" => return Ok(Step::Reasoning(speech(self.think, self.drip_ms))),
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
                    Some(Stall::For(ms)) => Some(Duration::from_millis(ms)),
                    Some(Stall::Ever(true)) => None,
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
        Ok(Step::ToolCall(role))
    }
}

fn object(arguments: Option<serde_json::Value>) -> serde_json::Value {
    arguments.unwrap_or_else(|| serde_json::json!({}))
}

fn speech(words: Option<Words>, drip_ms: Option<u64>) -> StreamedText {
    let speech = match words {
        Some(Words::Whole(text)) => StreamedText::word_by_word(&text),
        Some(Words::Pieces(chunks)) => StreamedText { chunks, interval: Duration::ZERO },
        None => StreamedText::word_by_word(""),
    };
    StreamedText { interval: Duration::from_millis(drip_ms.unwrap_or(0)), ..speech }
}
