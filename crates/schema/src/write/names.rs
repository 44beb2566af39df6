//! Variants that are written by name.

use super::Json;
use super::text::string;
use crate::{
    ApprovalScope, ChangeKind, EndReason, ErrorCode, FileAction, ItemKind, ItemStatus, PermissionStatus,
    QuestionStatus, Role, SearchTarget, StatusLabel, StepStatus, StopReason, TerminatedBy, ToolKind, TurnStatus,
    Visibility,
};

/// Says how each variant is written; the one after `or` holds a name of its own.
macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal,)* } $(or $other:ident)?) => {
        impl Json for $type {
            fn json(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant => out.extend_from_slice(concat!("\"", $name, "\"").as_bytes()),)*
                    $(Self::$other(name) => string(out, name),)?
                }
            }
        }
    };
}

names!(EndReason { Completed = "completed", Error = "error", Terminated = "terminated", });

names!(TerminatedBy { Agent = "agent", Daemon = "daemon", });

names!(TurnStatus { Completed = "completed", Failed = "failed", Interrupted = "interrupted", });

names!(ItemKind {
    Message = "message",
    ToolCall = "tool_call",
    ToolResult = "tool_result",
    System = "system",
    Status = "status",
    Unknown = "unknown",
});

names!(Role { User = "user", Assistant = "assistant", System = "system", Tool = "tool", });

names!(ItemStatus { InProgress = "in_progress", Completed = "completed", Failed = "failed", });

names!(ToolKind {
    Command = "command",
    FileChange = "file_change",
    FileRead = "file_read",
    Search = "search",
    Mcp = "mcp",
    Web = "web",
    SubAgent = "sub_agent",
    Plan = "plan",
    Question = "question",
    Other = "other",
} or Unlisted);

names!(FileAction { Read = "read", Write = "write", Patch = "patch", });

names!(Visibility { Public = "public", Private = "private", });

names!(StatusLabel {
    Retry = "retry",
    Compaction = "compaction",
    Plan = "plan",
    RateLimit = "rate_limit",
    ModelChanged = "model_changed",
    ModeChanged = "mode_changed",
    Hook = "hook",
    Task = "task",
    Notice = "notice",
    LateResult = "late_result",
} or Other);

names!(PermissionStatus { Requested = "requested", Approved = "approved", Denied = "denied", });

names!(QuestionStatus { Requested = "requested", Answered = "answered", Rejected = "rejected", });

names!(ErrorCode {
    RateLimited = "rate_limited",
    Overloaded = "overloaded",
    Auth = "auth",
    InvalidRequest = "invalid_request",
    ContextOverflow = "context_overflow",
    Connection = "connection",
    Limit = "limit",
    AgentError = "agent_error",
} or Other);

names!(ApprovalScope { Once = "once", Session = "session", Always = "always", });

names!(StopReason {
    EndTurn = "end_turn",
    MaxTokens = "max_tokens",
    Refusal = "refusal",
    Interrupted = "interrupted",
    Other = "other",
} or Unlisted);

names!(ChangeKind { Create = "create", Update = "update", Delete = "delete", Move = "move", });

names!(SearchTarget { Names = "names", Contents = "contents", });

names!(StepStatus {
    Pending = "pending",
    InProgress = "in_progress",
    Completed = "completed",
    Cancelled = "cancelled",
});
