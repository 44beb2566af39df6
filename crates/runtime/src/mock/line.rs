//! The mock agent's own wire: one JSON object a line, both ways.

use interlingua_schema::{FileAction, StopReason, ToolKind, TurnStatus, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::step::{Question, Status, Trouble};

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum HostLine {
    /// A message.
    Prompt {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<PromptFile>,
    },
    /// The answer to a permission request.
    Permit { request: String, reply: Permit },
    /// The answers to the questions of a request.
    Answer { request: String, answers: Vec<Vec<String>> },
    /// The questions of a request are not answered.
    Reject { request: String },
    /// The turn is to stop.
    Interrupt,
}

/// A file that goes with a message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PromptFile {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mime: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Permit {
    Once,
    Always,
    Reject,
}

/// What the mock agent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line {
    /// It is there.
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
    /// A turn begins.
    Turn { turn: String, model: String },
    /// More of a message.
    Text { message: String, delta: String },
    /// A message is over.
    Said {
        message: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<Image>,
    },
    /// More reasoning.
    Thought { message: String, delta: String },
    /// Reasoning is over.
    Thinking { message: String, text: String },
    /// A tool is called.
    Call { call: String, name: String, kind: ToolKind, arguments: Value },
    /// More of a tool's output.
    Output { call: String, delta: String },
    /// A tool is done.
    Result {
        call: String,
        output: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default)]
        failed: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<File>,
    },
    /// Something changed.
    Status(Status),
    /// Something there is no word for.
    Oddity { json: Value },
    /// May I?
    MayI {
        request: String,
        action: String,
        call: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Questions of one request.
    Ask { request: String, questions: Vec<Question> },
    /// Something failed.
    Failed { failure: Trouble },
    /// The turn is over.
    Done {
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
