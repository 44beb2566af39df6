//! The parts of an item's content.

use super::{Json, object};
use crate::ContentPart;

impl Json for ContentPart {
    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text { text } => object!(out, { "type" = "text", "text": text, }),
            Self::Json { json } => object!(out, { "type" = "json", "json": json, }),
            Self::ToolCall { name, arguments, call_id, tool_kind, title, input } => object!(out, {
                "type" = "tool_call",
                "name": name,
                "arguments": arguments,
                "call_id": call_id,
                "tool_kind"?: tool_kind,
                "title"?: title,
                "input"?: input,
            }),
            Self::ToolResult { call_id, output, exit_code, duration_ms, stderr_bytes } => object!(out, {
                "type" = "tool_result",
                "call_id": call_id,
                "output": output,
                "exit_code"?: exit_code,
                "duration_ms"?: duration_ms,
                "stderr_bytes"?: stderr_bytes,
            }),
            Self::FileRef { path, action, diff } => {
                object!(out, { "type" = "file_ref", "path": path, "action": action, "diff": diff, });
            }
            Self::Reasoning { text, visibility } => {
                object!(out, { "type" = "reasoning", "text": text, "visibility": visibility, });
            }
            Self::Image { path, mime } => object!(out, { "type" = "image", "path": path, "mime": mime, }),
            Self::Status { label, detail } => {
                object!(out, { "type" = "status", "label": label, "detail": detail, });
            }
            Self::Unknown(members) => members.json(out),
        }
    }
}
