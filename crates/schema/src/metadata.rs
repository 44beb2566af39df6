//! Metadata of sessions, turns, permissions, questions and errors.
//!
//! The keys are the same for every agent. Metadata without a common key is under `native`, as the agent sent it.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{NativeMetadata, StderrOutput, ToolInput, ToolKind, tool_input, wire_enum, wire_struct};

wire_struct! {
    /// Metadata of `session.started`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct SessionMetadata {
        /// The agent's id: `claude`, `codex`, `opencode`, `amp`, `mock`. Omitted only in streams of version 1.0.
        pub agent?: String,
        /// Version of the agent. Omitted if the agent does not report it.
        pub agent_version?: Option<String>,
        /// The model in use. Omitted if the agent does not report it.
        pub model?: Option<String>,
        /// Working directory of the session. Omitted if the agent does not report it.
        pub cwd?: Option<String>,
        /// The agent's own mode, such as OpenCode's `build` and `plan`. Omitted if the agent does not report it.
        pub agent_mode?: Option<String>,
        /// What the agent may do without a permission: `default`, `plan`, `acceptEdits`, `bypass`, or the agent's own name
        /// of the mode. Omitted if the agent does not report it.
        pub permission_mode?: Option<String>,
        /// Names of the agent's tools. Omitted if the agent does not report them.
        pub tools?: Option<Vec<String>>,
        /// MCP servers of the session. Omitted if the agent does not report them.
        pub mcp_servers?: Option<Vec<McpServerInfo>>,
        /// Whether the session was imported from the agent's history. Omitted if it was not.
        pub imported?: Option<bool>,
        /// The native session that this one was forked from. Omitted if it was not forked.
        pub forked_from?: Option<String>,
        /// Further metadata under the agent's own keys. Omitted if there is none.
        pub native?: Option<NativeMetadata>,
    }
}

wire_struct! {
    /// An MCP server that an agent uses.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "json-schema", schemars(rename = "McpServer"))]
    #[non_exhaustive]
    pub struct McpServerInfo {
        /// Name of the server.
        pub name: String,
        /// State of the server, as the agent names it. Omitted if the agent does not report it.
        pub status?: Option<String>,
    }
    /// A server with this name.
    new(name: impl Into<String>)
}

wire_struct! {
    /// Metadata of `turn.started`. Agents that describe themselves at the start of every turn repeat keys of
    /// `SessionMetadata` here.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct TurnMetadata {
        /// The model in use. Omitted if the agent does not report it.
        pub model?: Option<String>,
        /// Ids of the messages that the turn handles. Omitted if they have none.
        pub message_ids?: Option<Vec<String>>,
        /// Version of the agent. Omitted if the agent does not report it.
        pub agent_version?: Option<String>,
        /// Working directory of the session. Omitted if the agent does not report it.
        pub cwd?: Option<String>,
        /// The agent's own mode. Omitted if the agent does not report it.
        pub agent_mode?: Option<String>,
        /// What the agent may do without a permission. Omitted if the agent does not report it.
        pub permission_mode?: Option<String>,
        /// Names of the agent's tools. Omitted if the agent does not report them.
        pub tools?: Option<Vec<String>>,
        /// MCP servers of the session. Omitted if the agent does not report them.
        pub mcp_servers?: Option<Vec<McpServerInfo>>,
        /// Further metadata under the agent's own keys. Omitted if there is none.
        pub native?: Option<NativeMetadata>,
    }
    /// Empty metadata.
    new()
}

impl TurnMetadata {
    /// Whether no field has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills fields that have no value from the metadata of the session.
    #[must_use]
    pub fn with_defaults(self, session: SessionMetadata) -> Self {
        Self {
            model: self.model.or(session.model),
            message_ids: self.message_ids,
            agent_version: self.agent_version.or(session.agent_version),
            cwd: self.cwd.or(session.cwd),
            agent_mode: self.agent_mode.or(session.agent_mode),
            permission_mode: self.permission_mode.or(session.permission_mode),
            tools: self.tools.or(session.tools),
            mcp_servers: self.mcp_servers.or(session.mcp_servers),
            native: match (session.native, self.native) {
                (Some(session), Some(turn)) => Some(session.merge(turn)),
                (session, turn) => turn.or(session),
            },
        }
    }
}

wire_struct! {
    /// Metadata of `turn.ended`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct TurnEndMetadata {
        /// Why the model stopped. Omitted if the agent does not report it.
        pub stop_reason?: Option<StopReason>,
        /// Further metadata under the agent's own keys. Omitted if there is none.
        pub native?: Option<NativeMetadata>,
    }
}

wire_enum! {
    /// Why the model stopped.
    pub enum StopReason {
        /// The model finished its answer.
        EndTurn = "end_turn",
        /// The token limit was reached.
        MaxTokens = "max_tokens",
        /// The model refused to answer.
        Refusal = "refusal",
        /// The host interrupted the turn.
        Interrupted = "interrupted",
        /// Any other reason.
        Other = "other",
    } else Unknown
}

wire_enum! {
    /// Which calls an approval covers.
    pub enum ApprovalScope {
        /// This call only.
        Once = "once",
        /// Similar calls for the rest of the session.
        Session = "session",
        /// Similar calls from now on.
        Always = "always",
    } else Unknown
}

wire_struct! {
    /// Metadata of `permission.requested` and `permission.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct PermissionMetadata {
        /// Id of the tool call that waits for the permission; null if no call is known.
        pub call_id: Option<String>,
        /// The kind of the tool.
        #[serde(default = "other_kind", deserialize_with = "deserialize_kind")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub tool_kind: ToolKind,
        /// Input of the tool call; null if it is not known.
        #[serde(default, deserialize_with = "tool_input::deserialize_untyped")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub input: Option<ToolInput>,
        /// Why the agent needs the permission. Omitted if the agent does not report it.
        pub reason?: Option<String>,
        /// The scopes that an approval can have.
        #[serde(default)]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub scopes: Vec<ApprovalScope>,
        /// Scope of the approval. Omitted until the permission is approved.
        pub scope?: Option<ApprovalScope>,
        /// Name of the API token that resolved the permission. Omitted until then, and if it is not known.
        pub by?: Option<String>,
        /// True if the permission was denied because there was no answer in time. Omitted otherwise.
        pub expired?: Option<bool>,
        /// Further data of the request, as the agent sent it; null if there is none.
        pub native: Option<Value>,
    } after decoding PermissionMetadata::with_typed_input
}

impl PermissionMetadata {
    /// Metadata of a permission for a tool of this kind that can be approved with these scopes.
    #[must_use]
    pub const fn new(tool_kind: ToolKind, scopes: Vec<ApprovalScope>) -> Self {
        Self {
            call_id: None,
            tool_kind,
            input: None,
            reason: None,
            scopes,
            scope: None,
            by: None,
            expired: None,
            native: None,
        }
    }

    /// Decodes the input by the kind of the tool, which is not known while serde reads the input.
    fn with_typed_input(mut self) -> Self {
        self.input = self.input.map(|input| input.with_kind(Some(&self.tool_kind)));
        self
    }
}

const fn other_kind() -> ToolKind {
    ToolKind::Other
}

/// Reads a tool kind; null becomes `other`.
fn deserialize_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolKind, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(ToolKind::Other))
}

wire_struct! {
    /// Metadata of `question.requested` and `question.resolved`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct QuestionMetadata {
        /// Short heading of the question. Omitted if the agent does not send one.
        pub header?: Option<String>,
        /// The options, in the order of the question's `options`.
        pub options: Vec<QuestionOption>,
        /// Whether several options may be chosen.
        pub multi_select: bool,
        /// Whether the answer may be free text instead of an option.
        pub free_text: bool,
        /// Whether the answer is secret and must not be shown.
        pub secret: bool,
        /// Id of the tool call that waits for the answer. Omitted if there is none.
        pub call_id?: Option<String>,
        /// True if the question was rejected because there was no answer in time. Omitted otherwise.
        pub expired?: Option<bool>,
        /// Further data of the request, as the agent sent it. Omitted if there is none.
        pub native?: Option<Value>,
    }
}

wire_struct! {
    /// An option of a question.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct QuestionOption {
        /// Label of the option. Choosing the option answers with the label.
        pub label: String,
        /// What the option means. Omitted if the agent does not send it.
        pub description?: Option<String>,
    }
    /// An option without a description.
    new(label: impl Into<String>)
}

wire_struct! {
    /// Details of an `error` event.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct ErrorDetails {
        /// HTTP status of the failed request. Omitted if there was none.
        pub status?: Option<u16>,
        /// The agent's own name of the failure. Omitted if it has none.
        pub kind as "type"?: Option<String>,
        /// Whether a retry may succeed. Omitted if the agent does not report it.
        pub retryable?: Option<bool>,
        /// Standard error output of the agent process before it exited. Omitted unless a process died.
        pub stderr?: Option<StderrOutput>,
        /// Further data of the error, as the agent sent it. Omitted if there is none.
        pub native?: Option<Value>,
    }
}

impl ErrorDetails {
    /// Whether no field has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
