//! The data of each event type, key by key in the order of its declaration.

use super::{Json, object};
use crate::{
    AgentUnparsed, ErrorEvent, EventData, Item, ItemId, ItemStatus, NativeItemId, Permission, Question, SessionEnded,
    SessionMetadata, StderrOutput, TurnEnded, TurnMetadata, Usage,
};

/// Appends the members `type` and `data` of an event.
macro_rules! typed {
    ($out:ident, $kind:literal, $data:expr) => {{
        $out.extend_from_slice(concat!(",\"type\":\"", $kind, "\",\"data\":").as_bytes());
        $crate::write::Json::json($data, $out);
    }};
}

/// Appends the type of an event and its data.
pub(super) fn with_type(out: &mut Vec<u8>, data: &EventData) {
    match data {
        EventData::SessionStarted(data) => session_started(out, data.metadata.as_deref()),
        EventData::SessionEnded(data) => typed!(out, "session.ended", data),
        EventData::TurnStarted(data) => turn_started(out, &data.turn_id, data.metadata.as_deref()),
        EventData::TurnEnded(data) => typed!(out, "turn.ended", data),
        EventData::ItemStarted(data) => started(out, &data.item, data.item.status),
        EventData::ItemDelta(data) => delta(out, &data.item_id, data.native_item_id.as_ref(), &data.delta),
        EventData::ItemCompleted(data) => completed(out, &data.item, data.item.status),
        EventData::PermissionRequested(data) => typed!(out, "permission.requested", data),
        EventData::PermissionResolved(data) => typed!(out, "permission.resolved", data),
        EventData::QuestionRequested(data) => typed!(out, "question.requested", data),
        EventData::QuestionResolved(data) => typed!(out, "question.resolved", data),
        EventData::Error(data) => typed!(out, "error", data),
        EventData::AgentUnparsed(data) => typed!(out, "agent.unparsed", data),
        EventData::Unknown(event) => {
            out.extend_from_slice(br#","type":"#);
            event.kind.json(out);
            out.extend_from_slice(br#","data":"#);
            event.data.json(out);
        }
    }
}

/// Appends the type and data of a session that begins.
pub(super) fn session_started(out: &mut Vec<u8>, metadata: Option<&SessionMetadata>) {
    out.extend_from_slice(br#","type":"session.started","data":"#);
    object!(out, { "metadata"?: metadata, });
}

/// Appends the type and data of a turn that begins.
pub(super) fn turn_started(out: &mut Vec<u8>, turn_id: &str, metadata: Option<&TurnMetadata>) {
    out.extend_from_slice(br#","type":"turn.started","data":"#);
    object!(out, { "turn_id": turn_id, "phase" = "started", "metadata"?: metadata, });
}

impl Json for TurnEnded {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "turn_id": self.turn_id,
            "phase" = "ended",
            "status": self.status,
            "usage"?: self.usage,
            "duration_ms": self.duration_ms,
            "metadata"?: self.metadata,
        });
    }
}

/// Appends the type and data of an item that begins.
pub(super) fn started(out: &mut Vec<u8>, item: &Item, status: ItemStatus) {
    typed!(out, "item.started", &AboutItem { item, status });
}

/// Appends the type and data of an item that is done.
pub(super) fn completed(out: &mut Vec<u8>, item: &Item, status: ItemStatus) {
    typed!(out, "item.completed", &AboutItem { item, status });
}

/// Appends the type and data of an item that goes on.
pub(super) fn delta(out: &mut Vec<u8>, item_id: &ItemId, native_item_id: Option<&NativeItemId>, delta: &str) {
    out.extend_from_slice(br#","type":"item.delta","data":"#);
    object!(out, { "item_id": item_id, "native_item_id": native_item_id, "delta": delta, });
}

impl Json for SessionEnded {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "reason": self.reason,
            "terminated_by": self.terminated_by,
            "message"?: self.message,
            "exit_code"?: self.exit_code,
            "stderr"?: self.stderr,
        });
    }
}

impl Json for StderrOutput {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "head"?: self.head,
            "tail"?: self.tail,
            "truncated": self.truncated,
            "total_lines"?: self.total_lines,
        });
    }
}

impl Json for Usage {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "input_tokens": self.input_tokens,
            "cached_input_tokens"?: self.cached_input_tokens,
            "cache_write_tokens"?: self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens"?: self.reasoning_tokens,
            "cost_usd"?: self.cost_usd,
            "model"?: self.model,
        });
    }
}

/// An item, and where it stands.
struct AboutItem<'a> {
    item: &'a Item,
    status: ItemStatus,
}

impl Json for AboutItem<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        let Item { item_id, native_item_id, parent_id, kind, role, status: _, content } = self.item;
        out.extend_from_slice(br#"{"item":"#);
        object!(out, {
            "item_id": item_id,
            "native_item_id": native_item_id,
            "parent_id": parent_id,
            "kind": kind,
            "role": role,
            "status": self.status,
            "content": content,
        });
        out.push(b'}');
    }
}

impl Json for Permission {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "permission_id": self.permission_id,
            "action": self.action,
            "status": self.status,
            "metadata": self.metadata,
        });
    }
}

impl Json for Question {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "question_id": self.question_id,
            "prompt": self.prompt,
            "options": self.options,
            "response": self.response,
            "status": self.status,
            "metadata"?: self.metadata,
        });
    }
}

impl Json for ErrorEvent {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "message": self.message, "code": self.code, "details": self.details, });
    }
}

impl Json for AgentUnparsed {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "error": self.error,
            "location": self.location,
            "raw_hash": self.raw_hash,
            "native_type"?: self.native_type,
        });
    }
}
