//! A universal stream as text that a reviewer can read: one event a block, nothing that matters left out.
//!
//! ```text
//! #7 00:00:02.282 item.completed itm_0002 message/assistant completed
//!      text: Hello.
//! ```
//!
//! The number is the event's sequence, then comes the time; `*` marks what is synthetic. Long texts are cut in the
//! middle, with their length and a hash, so that no change goes unseen.

mod envelope;

use std::fmt::Write as _;

use interlingua_schema::{ContentPart, EventData, Item, ItemStatus, SessionId, UniversalEvent};
use serde::Serialize;
use serde_json::Value;

use crate::Converted;

pub use envelope::render_envelope;

/// Texts up to this long are shown whole.
const WHOLE: usize = 600;
/// Of longer ones, so much of the beginning …
const HEAD: usize = 400;
/// … and so much of the end.
const TAIL: usize = 100;

/// The stream for reading, with what became of the payloads at its end.
#[must_use]
pub fn render(converted: &Converted) -> String {
    let mut out = Page::default();
    for event in &converted.events {
        out.event(event);
    }
    out.tally(converted);
    out.text
}

#[derive(Default)]
struct Page {
    text: String,
    session: Option<(SessionId, Option<String>)>,
}

impl Page {
    fn event(&mut self, event: &UniversalEvent) {
        let session = (event.session_id.clone(), event.native_session_id.as_ref().map(|id| id.as_str().to_owned()));
        if self.session.as_ref() != Some(&session) {
            let native = session.1.as_deref().unwrap_or("null");
            let _ = writeln!(self.text, "== session {}, native {native}", session.0);
            self.session = Some(session);
        }
        let time = event.time.to_string();
        let synthetic = if event.origin.is_synthetic() { " *" } else { "" };
        let _ = write!(
            self.text,
            "#{} {}{synthetic} {}",
            event.sequence,
            time.get(11..23).unwrap_or(&time),
            event.data.kind()
        );
        match &event.data {
            EventData::ItemStarted(data) | EventData::ItemCompleted(data) => self.item(&data.item),
            EventData::ItemDelta(data) => {
                let _ = writeln!(self.text, " {} {}", data.item_id, quoted(&data.delta));
            }
            EventData::SessionStarted(data) => self.fields(data),
            EventData::SessionEnded(data) => self.fields(data),
            EventData::TurnStarted(data) => self.fields(data),
            EventData::TurnEnded(data) => self.fields(data),
            EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => self.fields(data),
            EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => self.fields(data),
            EventData::Error(data) => self.fields(data),
            EventData::AgentUnparsed(data) => self.fields(data),
            other @ EventData::Unknown(_) => {
                let _ = writeln!(self.text, " {other:?}");
            }
        }
    }

    fn item(&mut self, item: &Item) {
        let _ = write!(self.text, " {} {}", item.item_id, name(&item.kind));
        if let Some(role) = &item.role {
            let _ = write!(self.text, "/{}", name(role));
        }
        if item.status != ItemStatus::InProgress {
            let _ = write!(self.text, " {}", name(&item.status));
        }
        if let Some(parent) = &item.parent_id {
            let _ = write!(self.text, " under {parent}");
        }
        if let Some(native) = &item.native_item_id {
            let _ = write!(self.text, " native {native}");
        }
        self.text.push('\n');
        for part in &item.content {
            self.part(part);
        }
    }

    fn part(&mut self, part: &ContentPart) {
        match part {
            ContentPart::Text { text } => self.line(&format!("text: {}", quoted(text))),
            ContentPart::Reasoning { text, visibility } => {
                self.line(&format!("reasoning ({}): {}", name(visibility), quoted(text)));
            }
            ContentPart::ToolCall { name: tool, arguments, call_id, tool_kind, title, input } => {
                let kind = tool_kind.as_ref().map_or_else(|| "null".to_owned(), name);
                self.line(&format!("call {call_id}: {tool} ({kind}) {}", shortened(arguments)));
                if let Some(title) = title {
                    self.line(&format!("title: {}", quoted(title)));
                }
                if let Some(input) = input {
                    let input = serde_json::to_string(input).unwrap_or_default();
                    self.line(&format!("input: {}", shortened(&input)));
                }
            }
            ContentPart::ToolResult { call_id, output, exit_code, duration_ms, stderr_bytes } => {
                let extra = |label: &str, value: Option<String>| value.map(|value| format!(", {label} {value}"));
                let extras = [
                    extra("exit code", exit_code.map(|code| code.to_string())),
                    extra("ms", duration_ms.map(|ms| ms.to_string())),
                    extra("bytes of stderr", stderr_bytes.map(|bytes| bytes.to_string())),
                ];
                let extras: String = extras.into_iter().flatten().collect();
                self.field("     ", &format!("result {call_id}{extras}"), &Value::from(output.as_str()));
            }
            ContentPart::FileRef { path, action, diff } => {
                let diff = diff.as_deref().map_or(Value::Null, Value::from);
                self.field("     ", &format!("file {} {path}", name(action)), &diff);
            }
            ContentPart::Status { label, detail } => {
                let detail = detail.as_deref().map_or_else(|| "null".to_owned(), quoted);
                self.line(&format!("status {}: {detail}", name(label)));
            }
            other => self.line(&shortened(&serde_json::to_string(other).unwrap_or_default())),
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "     {text}");
    }

    fn fields(&mut self, data: &impl Serialize) {
        self.text.push('\n');
        if let Ok(Value::Object(fields)) = serde_json::to_value(data) {
            for (key, value) in fields {
                self.field("     ", &key, &value);
            }
        }
    }

    /// Text over several lines is shown so; everything else is JSON on one line.
    fn field(&mut self, indent: &str, key: &str, value: &Value) {
        match value {
            Value::String(text) if text.trim_end().contains('\n') => {
                let _ = writeln!(self.text, "{indent}{key}:");
                for line in shortened(text).split('\n') {
                    let _ = writeln!(self.text, "{indent}  |{line}");
                }
            }
            Value::String(text) => {
                let _ = writeln!(self.text, "{indent}{key}: {}", quoted(text));
            }
            Value::Object(fields) if !fields.is_empty() => {
                let _ = writeln!(self.text, "{indent}{key}:");
                for (key, value) in fields {
                    let _ = writeln!(self.text, "{indent}  {key}: {}", shortened(&value.to_string()));
                }
            }
            other => {
                let _ = writeln!(self.text, "{indent}{key}: {}", shortened(&other.to_string()));
            }
        }
    }

    fn tally(&mut self, converted: &Converted) {
        let tally = &converted.tally;
        let _ = writeln!(self.text, "== {} payloads, {} converted", tally.payloads, tally.converted);
        for (reason, count) in &tally.dropped {
            let _ = writeln!(self.text, "   {count} dropped: {reason}");
        }
        if tally.unparsed > 0 {
            let _ = writeln!(self.text, "   {} unparsed", tally.unparsed);
        }
        if tally.unaccounted > 0 {
            let _ = writeln!(self.text, "   {} UNACCOUNTED", tally.unaccounted);
        }
    }
}

/// A text on one line.
fn quoted(text: &str) -> String {
    Value::from(shortened(text)).to_string()
}

fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= WHOLE {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(length - TAIL).collect();
    format!("{head} […{length} characters, {:08x}…] {tail}", fingerprint(text))
}

/// A hash that is the same with every compiler (FNV-1a).
fn fingerprint(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The wire's name for a value of a small enum.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => "?".to_owned(),
    }
}
