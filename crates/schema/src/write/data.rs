//! The data of each event type, key by key in the order of its declaration.

use super::{Json, object};
use crate::{
    AgentUnparsed, ErrorEvent, EventData, Item, ItemDelta, ItemEvent, Permission, Question, SessionEnded,
    SessionStarted, StderrOutput, TurnEnded, TurnStarted, Usage,
};

impl Json for EventData {
    fn json(&self, out: &mut Vec<u8>) {
        match self {
            Self::SessionStarted(data) => data.json(out),
            Self::SessionEnded(data) => data.json(out),
            Self::TurnStarted(data) => data.json(out),
            Self::TurnEnded(data) => data.json(out),
            Self::ItemStarted(data) | Self::ItemCompleted(data) => data.json(out),
            Self::ItemDelta(data) => data.json(out),
            Self::PermissionRequested(data) | Self::PermissionResolved(data) => data.json(out),
            Self::QuestionRequested(data) | Self::QuestionResolved(data) => data.json(out),
            Self::Error(data) => data.json(out),
            Self::AgentUnparsed(data) => data.json(out),
            Self::Unknown(event) => event.data.json(out),
        }
    }
}

impl Json for SessionStarted {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "metadata"?: self.metadata, });
    }
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

impl Json for TurnStarted {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "turn_id"?: self.turn_id, "metadata"?: self.metadata, });
    }
}

impl Json for TurnEnded {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "turn_id"?: self.turn_id,
            "status": self.status,
            "usage"?: self.usage,
            "duration_ms"?: self.duration_ms,
            "metadata"?: self.metadata,
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

impl Json for ItemEvent {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "item": self.item, });
    }
}

impl Json for Item {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "item_id": self.item_id,
            "native_item_id": self.native_item_id,
            "parent_id": self.parent_id,
            "kind": self.kind,
            "role": self.role,
            "status": self.status,
            "content": self.content,
        });
    }
}

impl Json for ItemDelta {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "item_id": self.item_id,
            "native_item_id": self.native_item_id,
            "delta": self.delta,
        });
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
