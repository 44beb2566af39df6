//! What is known of a session, a turn, a permission, a question or an error beyond the event's own fields: the same
//! keys for every agent. What has no key of its own is under `native`, in the agent's words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Facts, StderrOutput, ToolInput, ToolKind};

/// Metadata of `session.started`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionMetadata {
    /// The agent's id: `claude`, `codex`, `opencode`, `amp`, `mock`. Left out only in streams of version 1.0.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The agent's version. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The model in use. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The directory that the session works in. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent's own mode of work, such as OpenCode's `build` and `plan`. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// What may be done without asking: `default`, `plan`, `acceptEdits`, `bypass`, or the agent's own word. Left out
    /// when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The names of the agent's tools. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<McpServer>>,
    /// Whether the session was imported from the agent's history. Left out when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<bool>,
    /// The native session that this one was forked from. Left out when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// What else the agent says. Left out when it says nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Facts>,
}

/// An MCP server that an agent uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// Its state in the agent's words. Left out when it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// Metadata of `turn.started`. An agent that introduces itself with every turn repeats keys of the session's metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct TurnMetadata {
    /// The model in use. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The ids of the messages that the turn takes up. Left out when they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_ids: Option<Vec<String>>,
    /// The agent's version. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The directory that the session works in. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent's own mode of work. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// What may be done without asking. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The names of the agent's tools. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The MCP servers. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<McpServer>>,
    /// What else the agent says. Left out when it says nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Facts>,
}

impl TurnMetadata {
    /// Sets the model in use.
    #[must_use]
    pub fn with_model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills in what this turn does not say from what an agent said when it introduced itself.
    #[must_use]
    pub fn or(self, introduction: SessionMetadata) -> Self {
        Self {
            model: self.model.or(introduction.model),
            message_ids: self.message_ids,
            agent_version: self.agent_version.or(introduction.agent_version),
            cwd: self.cwd.or(introduction.cwd),
            agent_mode: self.agent_mode.or(introduction.agent_mode),
            permission_mode: self.permission_mode.or(introduction.permission_mode),
            tools: self.tools.or(introduction.tools),
            mcp_servers: self.mcp_servers.or(introduction.mcp_servers),
            native: match (introduction.native, self.native) {
                (Some(introduction), Some(turn)) => Some(introduction.and(turn)),
                (introduction, turn) => turn.or(introduction),
            },
        }
    }
}

/// Metadata of `turn.ended`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct TurnEndMetadata {
    /// Why the model stopped. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// What else the agent says. Left out when it says nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Facts>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said what it had to say.
    EndTurn,
    /// A limit of tokens was reached.
    MaxTokens,
    /// It refused.
    Refusal,
    /// The host interrupted it.
    Interrupted,
    /// Any other reason.
    Other,
    /// A reason this version does not know, kept as it was read.
    #[serde(untagged)]
    #[schemars(skip)]
    Unlisted(String),
}

/// How far an approval reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalScope {
    /// This call.
    Once,
    /// Calls like this for the rest of the session.
    Session,
    /// Calls like this from now on.
    Always,
}

/// Metadata of `permission.requested` and `permission.resolved`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WirePermissionMetadata")]
#[schemars(!from)]
#[non_exhaustive]
pub struct PermissionMetadata {
    /// The tool call that waits for the permission; null where no call can be known.
    pub call_id: Option<String>,
    /// What sort of tool it is about.
    pub tool_kind: ToolKind,
    /// What the tool would be called with; null when that is not known.
    pub input: Option<ToolInput>,
    /// Why the agent asks. Left out when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What an approval may mean.
    pub scopes: Vec<ApprovalScope>,
    /// What the approval meant. Left out until the permission is approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<ApprovalScope>,
    /// The name of the token that answered. Left out until the permission is resolved, and when nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The rest, as the agent says it; null when there is none.
    pub native: Option<Value>,
}

impl PermissionMetadata {
    /// Metadata of a permission for a tool of this kind, which may be given in these ways.
    #[must_use]
    pub const fn new(tool_kind: ToolKind, scopes: Vec<ApprovalScope>) -> Self {
        Self { call_id: None, tool_kind, input: None, reason: None, scopes, scope: None, by: None, native: None }
    }
}

/// [`PermissionMetadata`] as it is read: which keys `input` has depends on `tool_kind`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WirePermissionMetadata {
    call_id: Option<String>,
    tool_kind: Option<ToolKind>,
    input: Option<Value>,
    reason: Option<String>,
    scopes: Vec<ApprovalScope>,
    scope: Option<ApprovalScope>,
    by: Option<String>,
    native: Option<Value>,
}

impl From<WirePermissionMetadata> for PermissionMetadata {
    fn from(wire: WirePermissionMetadata) -> Self {
        let WirePermissionMetadata { call_id, tool_kind, input, reason, scopes, scope, by, native } = wire;
        let input = input.map(|input| ToolInput::read(tool_kind.as_ref(), input));
        Self { call_id, tool_kind: tool_kind.unwrap_or(ToolKind::Other), input, reason, scopes, scope, by, native }
    }
}

/// Metadata of `question.requested` and `question.resolved`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct QuestionMetadata {
    /// The question in a word or two. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What can be chosen, in the order of the question's `options`.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    /// Whether the answer may be something else than an option.
    pub free_text: bool,
    /// Whether the answer is not to be shown.
    pub secret: bool,
    /// The tool call that waits for the answer. Left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The rest, as the agent says it. Left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

/// Something that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionOption {
    /// Its name, which is the answer.
    pub label: String,
    /// What it means. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl QuestionOption {
    /// An option without a description.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), description: None }
    }
}

/// Details of `error`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// The HTTP status that the agent was answered with. Left out when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The agent's own name for the failure. Left out when it has none.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether trying again may help. Left out when the agent does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// What the agent's process wrote to its standard error before it ended. Left out unless a process died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<StderrOutput>,
    /// The rest, as the agent says it. Left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<Value>,
}

impl ErrorDetails {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
