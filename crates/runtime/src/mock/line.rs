//! The mock agent's wire format: one JSON object per line, in both directions.

use interlingua_schema::{FileAction, StopReason, ToolKind, TurnStatus, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::scenario::{MockError, Question, Status};

/// A line that the host sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum HostLine {
    /// A message of the user.
    Prompt {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PromptFile>,
    },
    /// The reply to a permission request.
    #[serde(rename = "permit")]
    PermissionReply { request: String, reply: PermissionDecision },
    /// The answers to the questions of a request.
    #[serde(rename = "answer")]
    Answers { request: String, answers: Vec<Vec<String>> },
    /// The questions of a request are rejected.
    #[serde(rename = "reject")]
    RejectQuestions { request: String },
    /// The turn is interrupted.
    Interrupt,
}

/// A file that is attached to a message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptFile {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PermissionDecision {
    Once,
    Always,
    Reject,
}

/// A line that the mock agent prints.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AgentLine {
    /// The agent has started.
    Hello {
        session: String,
        model: String,
        version: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        mode: String,
        permission_mode: String,
        tools: Vec<String>,
    },
    /// A turn has started.
    #[serde(rename = "turn")]
    TurnStarted { turn: String, model: String },
    /// A delta of a message.
    #[serde(rename = "text")]
    MessageDelta { message: String, delta: String },
    /// A complete message.
    #[serde(rename = "said")]
    Message {
        message: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<Image>,
    },
    /// A delta of reasoning.
    #[serde(rename = "thought")]
    ReasoningDelta { message: String, delta: String },
    /// Complete reasoning.
    #[serde(rename = "thinking")]
    Reasoning { message: String, text: String },
    /// A tool is called.
    #[serde(rename = "call")]
    ToolCall { call: String, name: String, kind: ToolKind, arguments: Value },
    /// A delta of a tool's output.
    #[serde(rename = "output")]
    ToolOutput { call: String, delta: String },
    /// A tool has finished.
    #[serde(rename = "result")]
    ToolResult {
        call: String,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default)]
        failed: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<File>,
    },
    /// A status change.
    Status(Status),
    /// An item of an unknown kind.
    #[serde(rename = "oddity")]
    Unknown { json: Value },
    /// A permission request.
    #[serde(rename = "may_i")]
    PermissionRequest {
        request: String,
        action: String,
        call: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The questions of one request.
    #[serde(rename = "ask")]
    Questions { request: String, questions: Vec<Question> },
    /// An error.
    #[serde(rename = "failed")]
    Error { failure: MockError },
    /// The turn has ended.
    #[serde(rename = "done")]
    TurnEnded {
        turn: String,
        status: TurnStatus,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
    },
}

/// An image in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime: Option<String>,
}

/// A file that a tool read or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) action: FileAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
}
