//! Metadata of sessions, turns, permissions, questions and errors.

use super::{Json, object};
use crate::{
    ErrorDetails, McpServer, PermissionMetadata, QuestionMetadata, QuestionOption, SessionMetadata, TurnEndMetadata,
    TurnMetadata,
};

impl Json for SessionMetadata {
    fn json(&self, out: &mut Vec<u8>) {
        let agent = Some(&self.agent).filter(|agent| !agent.is_empty());
        object!(out, {
            "agent"?: agent,
            "agent_version"?: self.agent_version,
            "model"?: self.model,
            "cwd"?: self.cwd,
            "agent_mode"?: self.agent_mode,
            "permission_mode"?: self.permission_mode,
            "tools"?: self.tools,
            "mcp_servers"?: self.mcp_servers,
            "imported"?: self.imported,
            "forked_from"?: self.forked_from,
            "native"?: self.native,
        });
    }
}

impl Json for McpServer {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "name": self.name, "status"?: self.status, });
    }
}

impl Json for TurnMetadata {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "model"?: self.model,
            "message_ids"?: self.message_ids,
            "agent_version"?: self.agent_version,
            "cwd"?: self.cwd,
            "agent_mode"?: self.agent_mode,
            "permission_mode"?: self.permission_mode,
            "tools"?: self.tools,
            "mcp_servers"?: self.mcp_servers,
            "native"?: self.native,
        });
    }
}

impl Json for TurnEndMetadata {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "stop_reason"?: self.stop_reason, "native"?: self.native, });
    }
}

impl Json for PermissionMetadata {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "call_id": self.call_id,
            "tool_kind": self.tool_kind,
            "input": self.input,
            "reason"?: self.reason,
            "scopes": self.scopes,
            "scope"?: self.scope,
            "by"?: self.by,
            "native": self.native,
        });
    }
}

impl Json for QuestionMetadata {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "header"?: self.header,
            "options": self.options,
            "multi_select": self.multi_select,
            "free_text": self.free_text,
            "secret": self.secret,
            "call_id"?: self.call_id,
            "native"?: self.native,
        });
    }
}

impl Json for QuestionOption {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, { "label": self.label, "description"?: self.description, });
    }
}

impl Json for ErrorDetails {
    fn json(&self, out: &mut Vec<u8>) {
        object!(out, {
            "status"?: self.status.map(u64::from),
            "type"?: self.kind,
            "retryable"?: self.retryable,
            "stderr"?: self.stderr,
            "native"?: self.native,
        });
    }
}
