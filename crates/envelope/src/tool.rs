//! The tools facet: the state of a tool call, without its arguments and output.

use interlingua_schema::{wire_enum, wire_struct};

use crate::Name;
use crate::bounds::{DATA_CAPACITY, Data};

wire_struct! {
    /// The `data` of every `ToolCall` and `ToolResult` event, unless it was too large and replaced.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ToolsFacet {
        /// Name of the facet.
        pub schema: ToolsSchema,
        /// State of the tool.
        pub tool: Tool,
    }
}

wire_enum! {
    /// Name of the facet. It is also the id of the capability.
    pub enum ToolsSchema {
        /// Version 1.
        StructuredV1 = "agent_api.tools.structured.v1",
    }
}

wire_struct! {
    /// The state of a tool call or its result. An id or name that is not a valid [`Name`] is null.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Tool {
        /// The agent's id of the item; null if there is none.
        pub backend_item_id: Option<Name>,
        /// The agent's id of the session or thread; null until it is known.
        pub thread_id: Option<Name>,
        /// Id of the turn; null outside a turn.
        pub turn_id: Option<Name>,
        /// Kind of the tool: `command_execution`, `file_change`, `mcp_tool_call`, `web_search`, `file_read`, `search`,
        /// `sub_agent`, `plan`, `question`. For any other tool, `tool_use` in a call and `tool_result` in a result. Later
        /// versions may add kinds.
        pub kind: Name,
        /// Phase of the call, or of the result.
        pub phase: ToolPhase,
        /// Status of the tool.
        pub status: ToolStatus,
        /// Exit code of a command; null for other tools, and until it is known.
        pub exit_code: Option<i32>,
        /// Size of the output.
        pub bytes: ToolBytes,
        /// The agent's name of the tool.
        pub tool_name: Option<Name>,
        /// The agent's id of the call. A call and its result have the same.
        pub tool_use_id: Option<Name>,
    }
}

impl Tool {
    /// The facet as event data.
    pub(crate) fn to_data(&self) -> Data {
        let mut json = Vec::with_capacity(DATA_CAPACITY);
        ToolsFacet::write_members(&mut json, &ToolsSchema::StructuredV1, self);
        Data::from_json(json)
    }
}

wire_enum! {
    /// The phase of a call, or of a result.
    pub enum ToolPhase {
        /// The call, or its result, starts.
        Start = "start",
        /// A piece of the arguments, or of the output.
        Delta = "delta",
        /// The arguments are complete, or the tool has finished.
        Complete = "complete",
        /// The call was interrupted, or the tool failed, was denied, was invalid or was interrupted.
        Fail = "fail",
    }
}

wire_enum! {
    /// The status of a tool.
    pub enum ToolStatus {
        /// Its arguments are not complete.
        Pending = "pending",
        /// It was called and has no result. It may be waiting for a permission.
        Running = "running",
        /// It finished successfully.
        Completed = "completed",
        /// It failed, was denied, was invalid or was interrupted.
        Failed = "failed",
        /// The status is not known.
        Unknown = "unknown",
    }
}

wire_struct! {
    /// Sizes in bytes of UTF-8; 0 if there was no such output or its size is not known. While a result streams, they are
    /// the sizes so far; the last event of the result has the final sizes.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct ToolBytes {
        /// Output of a command, except what is known to come from standard error. 0 for other tools.
        pub stdout: u64,
        /// Output that is known to come from standard error.
        pub stderr: u64,
        /// Unified diffs of the changed files.
        pub diff: u64,
        /// All output of the tool as text.
        pub result: u64,
    }
}
