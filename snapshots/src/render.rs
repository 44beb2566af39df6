//! Renders a universal stream as text for review: one block per event, with everything that matters.
//!
//! ```text
//! #7 00:00:02.282 item.completed itm_0002 message/assistant completed
//!      text: Hello.
//! ```
//!
//! The number is the event's sequence, followed by its time. `*` marks a synthetic event. Long texts are shortened in
//! the middle and show their length and a hash, so that every change is visible.

mod envelope;

use std::fmt::Write as _;

use interlingua_schema::{ContentPart, EventData, Item, ItemStatus, SessionId, UniversalEvent};
use serde::Serialize;
use serde_json::Value;

use crate::ConvertedRecording;

pub use envelope::render_envelope;

/// Longer texts are shortened. In characters, like the following two.
const MAX_TEXT: usize = 600;
/// Length of the start of a shortened text.
const HEAD: usize = 400;
/// Length of the end of a shortened text.
const TAIL: usize = 100;

/// Renders a stream, followed by the counts of converted, dropped, unparsed and unaccounted payloads.
#[must_use]
pub fn render(converted: &ConvertedRecording) -> String {
    let mut out = StreamText::default();
    for event in &converted.events {
        out.write_event(event);
    }
    out.write_stats(converted);
    out.text
}

#[derive(Default)]
struct StreamText {
    text: String,
    session: Option<(SessionId, Option<String>)>,
}

impl StreamText {
    fn write_event(&mut self, event: &UniversalEvent) {
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
            EventData::ItemStarted(data) | EventData::ItemCompleted(data) => self.write_item(&data.item),
            EventData::ItemDelta(data) => {
                let _ = writeln!(self.text, " {} {}", data.item_id, quoted(&data.delta));
            }
            EventData::SessionStarted(data) => self.write_fields(data),
            EventData::SessionEnded(data) => self.write_fields(data),
            EventData::TurnStarted(data) => self.write_fields(data),
            EventData::TurnEnded(data) => self.write_fields(data),
            EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => self.write_fields(data),
            EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => self.write_fields(data),
            EventData::Error(data) => self.write_fields(data),
            EventData::AgentUnparsed(data) => self.write_fields(data),
            other @ EventData::Unknown(_) => {
                let _ = writeln!(self.text, " {other:?}");
            }
        }
    }

    fn write_item(&mut self, item: &Item) {
        let _ = write!(self.text, " {} {}", item.item_id, wire_name(&item.kind));
        if let Some(role) = &item.role {
            let _ = write!(self.text, "/{}", wire_name(role));
        }
        if item.status != ItemStatus::InProgress {
            let _ = write!(self.text, " {}", wire_name(&item.status));
        }
        if let Some(parent) = &item.parent_id {
            let _ = write!(self.text, " under {parent}");
        }
        if let Some(native) = &item.native_item_id {
            let _ = write!(self.text, " native {native}");
        }
        self.text.push('\n');
        for part in &item.content {
            self.write_part(part);
        }
    }

    fn write_part(&mut self, part: &ContentPart) {
        match part {
            ContentPart::Text { text } => self.write_line(&format!("text: {}", quoted(text))),
            ContentPart::Reasoning { text, visibility } => {
                self.write_line(&format!("reasoning ({}): {}", wire_name(visibility), quoted(text)));
            }
            ContentPart::ToolCall { name: tool, arguments, call_id, tool_kind, title, input } => {
                let kind = tool_kind.as_ref().map_or_else(|| "null".to_owned(), wire_name);
                self.write_line(&format!("call {call_id}: {tool} ({kind}) {}", shortened(arguments)));
                if let Some(title) = title {
                    self.write_line(&format!("title: {}", quoted(title)));
                }
                if let Some(input) = input {
                    let input = serde_json::to_string(input).unwrap_or_default();
                    self.write_line(&format!("input: {}", shortened(&input)));
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
                self.write_field("     ", &format!("result {call_id}{extras}"), &Value::from(output.as_str()));
            }
            ContentPart::FileRef { path, action, diff } => {
                let diff = diff.as_deref().map_or(Value::Null, Value::from);
                self.write_field("     ", &format!("file {} {path}", wire_name(action)), &diff);
            }
            ContentPart::Status { label, detail } => {
                let detail = detail.as_deref().map_or_else(|| "null".to_owned(), quoted);
                self.write_line(&format!("status {}: {detail}", wire_name(label)));
            }
            other => self.write_line(&shortened(&serde_json::to_string(other).unwrap_or_default())),
        }
    }

    fn write_line(&mut self, text: &str) {
        let _ = writeln!(self.text, "     {text}");
    }

    fn write_fields(&mut self, data: &impl Serialize) {
        self.text.push('\n');
        if let Ok(Value::Object(fields)) = serde_json::to_value(data) {
            for (key, value) in fields {
                self.write_field("     ", &key, &value);
            }
        }
    }

    /// Writes text of several lines as a block, and everything else as JSON on one line.
    fn write_field(&mut self, indent: &str, key: &str, value: &Value) {
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

    fn write_stats(&mut self, converted: &ConvertedRecording) {
        let stats = &converted.stats;
        let _ = writeln!(self.text, "== {} payloads, {} converted", stats.payloads, stats.converted);
        for (reason, count) in &stats.dropped {
            let _ = writeln!(self.text, "   {count} dropped: {reason}");
        }
        if stats.unparsed > 0 {
            let _ = writeln!(self.text, "   {} unparsed", stats.unparsed);
        }
        if stats.unaccounted > 0 {
            let _ = writeln!(self.text, "   {} UNACCOUNTED", stats.unaccounted);
        }
    }
}

/// Shortens a text and quotes it as a JSON string, so that it fits on one line.
fn quoted(text: &str) -> String {
    Value::from(shortened(text)).to_string()
}

fn shortened(text: &str) -> String {
    let length = text.chars().count();
    if length <= MAX_TEXT {
        return text.to_owned();
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(length - TAIL).collect();
    format!("{head} […{length} characters, {:08x}…] {tail}", fnv1a(text))
}

/// FNV-1a. Unlike the hashes of std, it is the same with every compiler version.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The name of an enum value on the wire.
fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => "?".to_owned(),
    }
}
