//! What is known of a session, a turn, a permission, a question or an error beyond the event's own fields: the same
//! keys for every agent. What has no key of its own is under `native`, in the agent's words.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{NativeMetadata, StderrOutput, ToolInput, ToolKind, tool_input, wire_enum, wire_struct};

wire_struct! {
    /// Metadata of `session.started`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct SessionMetadata {
        /// The agent's id: `claude`, `codex`, `opencode`, `amp`, `mock`. Left out only in streams of version 1.0.
        pub agent?: String,
        /// The agent's version. Left out when it does not say.
        pub agent_version?: Option<String>,
        /// The model in use. Left out when the agent does not say.
        pub model?: Option<String>,
        /// The directory that the session works in. Left out when the agent does not say.
        pub cwd?: Option<String>,
        /// The agent's own mode of work, such as OpenCode's `build` and `plan`. Left out when it does not say.
        pub agent_mode?: Option<String>,
        /// What may be done without asking: `default`, `plan`, `acceptEdits`, `bypass`, or the agent's own word. Left out
        /// when the agent does not say.
        pub permission_mode?: Option<String>,
        /// The names of the agent's tools. Left out when it does not say.
        pub tools?: Option<Vec<String>>,
        /// The MCP servers. Left out when the agent does not say.
        pub mcp_servers?: Option<Vec<McpServerInfo>>,
        /// Whether the session was imported from the agent's history. Left out when it was not.
        pub imported?: Option<bool>,
        /// The native session that this one was forked from. Left out when it was not.
        pub forked_from?: Option<String>,
        /// What else the agent says. Left out when it says nothing else.
        pub native?: Option<NativeMetadata>,
    }
}

wire_struct! {
    /// An MCP server that an agent uses.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "json-schema", schemars(rename = "McpServer"))]
    #[non_exhaustive]
    pub struct McpServerInfo {
        /// Its name.
        pub name: String,
        /// Its state in the agent's words. Left out when it does not say.
        pub status?: Option<String>,
    }
    /// A server of this name.
    new(name: impl Into<String>)
}

wire_struct! {
    /// Metadata of `turn.started`. An agent that introduces itself with every turn repeats keys of the session's metadata.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct TurnMetadata {
        /// The model in use. Left out when the agent does not say.
        pub model?: Option<String>,
        /// The ids of the messages that the turn takes up. Left out when they have none.
        pub message_ids?: Option<Vec<String>>,
        /// The agent's version. Left out when it does not say.
        pub agent_version?: Option<String>,
        /// The directory that the session works in. Left out when the agent does not say.
        pub cwd?: Option<String>,
        /// The agent's own mode of work. Left out when it does not say.
        pub agent_mode?: Option<String>,
        /// What may be done without asking. Left out when the agent does not say.
        pub permission_mode?: Option<String>,
        /// The names of the agent's tools. Left out when it does not say.
        pub tools?: Option<Vec<String>>,
        /// The MCP servers. Left out when the agent does not say.
        pub mcp_servers?: Option<Vec<McpServerInfo>>,
        /// What else the agent says. Left out when it says nothing else.
        pub native?: Option<NativeMetadata>,
    }
    /// Nothing is known.
    new()
}

impl TurnMetadata {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Fills in what this turn does not say from what an agent said when it introduced itself.
    #[must_use]
    pub fn with_defaults(self, introduction: SessionMetadata) -> Self {
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
                (Some(introduction), Some(turn)) => Some(introduction.merge(turn)),
                (introduction, turn) => turn.or(introduction),
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
        /// Why the model stopped. Left out when the agent does not say.
        pub stop_reason?: Option<StopReason>,
        /// What else the agent says. Left out when it says nothing else.
        pub native?: Option<NativeMetadata>,
    }
}

wire_enum! {
    /// Why a model stopped.
    pub enum StopReason {
        /// It had said what it had to say.
        EndTurn = "end_turn",
        /// A limit of tokens was reached.
        MaxTokens = "max_tokens",
        /// It refused.
        Refusal = "refusal",
        /// The host interrupted it.
        Interrupted = "interrupted",
        /// Any other reason.
        Other = "other",
    } else Unknown
}

wire_enum! {
    /// How far an approval reaches.
    pub enum ApprovalScope {
        /// This call.
        Once = "once",
        /// Calls like this for the rest of the session.
        Session = "session",
        /// Calls like this from now on.
        Always = "always",
    } else Unknown
}

wire_struct! {
    /// Metadata of `permission.requested` and `permission.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct PermissionMetadata {
        /// The tool call that waits for the permission; null where no call can be known.
        pub call_id: Option<String>,
        /// What sort of tool it is about.
        #[serde(default = "other", deserialize_with = "read_kind")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub tool_kind: ToolKind,
        /// What the tool would be called with; null when that is not known.
        #[serde(default, deserialize_with = "tool_input::read_untyped")]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub input: Option<ToolInput>,
        /// Why the agent asks. Left out when it does not say.
        pub reason?: Option<String>,
        /// What an approval may mean.
        #[serde(default)]
        #[cfg_attr(feature = "json-schema", schemars(!default))]
        pub scopes: Vec<ApprovalScope>,
        /// What the approval meant. Left out until the permission is approved.
        pub scope?: Option<ApprovalScope>,
        /// The name of the token that answered. Left out until the permission is resolved, and when nobody knows.
        pub by?: Option<String>,
        /// The rest, as the agent says it; null when there is none.
        pub native: Option<Value>,
    } read by PermissionMetadata::with_typed_input
}

impl PermissionMetadata {
    /// Metadata of a permission for a tool of this kind, which may be given in these ways.
    #[must_use]
    pub const fn new(tool_kind: ToolKind, scopes: Vec<ApprovalScope>) -> Self {
        Self { call_id: None, tool_kind, input: None, reason: None, scopes, scope: None, by: None, native: None }
    }

    /// Gives an input that was just read the shape of its kind.
    fn with_typed_input(mut self) -> Self {
        self.input = self.input.map(|input| input.typed(Some(&self.tool_kind)));
        self
    }
}

const fn other() -> ToolKind {
    ToolKind::Other
}

/// Reads a kind of tool; null is `other`.
fn read_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolKind, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(ToolKind::Other))
}

wire_struct! {
    /// Metadata of `question.requested` and `question.resolved`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct QuestionMetadata {
        /// The question in a word or two. Left out when the agent does not say.
        pub header?: Option<String>,
        /// What can be chosen, in the order of the question's `options`.
        pub options: Vec<QuestionOption>,
        /// Whether several options may be chosen.
        pub multi_select: bool,
        /// Whether the answer may be something else than an option.
        pub free_text: bool,
        /// Whether the answer is not to be shown.
        pub secret: bool,
        /// The tool call that waits for the answer. Left out when there is none.
        pub call_id?: Option<String>,
        /// The rest, as the agent says it. Left out when there is none.
        pub native?: Option<Value>,
    }
}

wire_struct! {
    /// Something that can be chosen.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct QuestionOption {
        /// Its name, which is the answer.
        pub label: String,
        /// What it means. Left out when the agent does not say.
        pub description?: Option<String>,
    }
    /// An option without a description.
    new(label: impl Into<String>)
}

wire_struct! {
    /// Details of `error`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[serde(default)]
    #[non_exhaustive]
    pub struct ErrorDetails {
        /// The HTTP status that the agent was answered with. Left out when there was none.
        pub status?: Option<u16>,
        /// The agent's own name for the failure. Left out when it has none.
        pub kind as "type"?: Option<String>,
        /// Whether trying again may help. Left out when the agent does not say.
        pub retryable?: Option<bool>,
        /// What the agent's process wrote to its standard error before it ended. Left out unless a process died.
        pub stderr?: Option<StderrOutput>,
        /// The rest, as the agent says it. Left out when there is none.
        pub native?: Option<Value>,
    }
}

impl ErrorDetails {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
