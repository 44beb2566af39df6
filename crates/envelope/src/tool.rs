//! The tools facet: what an event says of a tool, without anything that went into it or came out of it.

use interlingua_schema::{wire_enum, wire_struct};

use crate::Name;
use crate::bounds::{DATA_CAPACITY, Data};

wire_struct! {
    /// The `data` of every `ToolCall` and `ToolResult`, unless it gave way to the bound.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ToolsFacet {
        /// Which facet it is.
        pub schema: ToolsSchema,
        /// The tool.
        pub tool: Tool,
    }
}

wire_enum! {
    /// The name of the facet, which is also the id of the capability to attach it.
    pub enum ToolsSchema {
        /// Version 1.
        StructuredV1 = "agent_api.tools.structured.v1",
    }
}

wire_struct! {
    /// What is said of a tool. An id or a name that is no [`Name`] is null.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Tool {
        /// The agent's own id of the item; null when it has none.
        pub backend_item_id: Option<Name>,
        /// The agent's own id of the session or thread; null until it is known.
        pub thread_id: Option<Name>,
        /// The agent's own id of the turn; null when it has none.
        pub turn_id: Option<Name>,
        /// What sort of tool it is: `command_execution`, `file_change`, `mcp_tool_call`, `web_search`, `file_read`,
        /// `search`, `sub_agent`, `plan`, `question`; of any other `tool_use` in a call and `tool_result` in a result. Expect
        /// more.
        pub kind: Name,
        /// Where the event stands in the life of the call, or of the result.
        pub phase: ToolPhase,
        /// Where the tool itself stands.
        pub status: ToolStatus,
        /// A command's exit code; null for other tools, and while it is not known.
        pub exit_code: Option<i32>,
        /// How much there was.
        pub bytes: ToolBytes,
        /// The tool's name, as the agent says it.
        pub tool_name: Option<Name>,
        /// The agent's own id of the call, the same in the call and its result.
        pub tool_use_id: Option<Name>,
    }
}

impl Tool {
    /// The facet as an event's data.
    pub(crate) fn facet(&self) -> Data {
        let mut json = Vec::with_capacity(DATA_CAPACITY);
        ToolsFacet::write_members(&mut json, &ToolsSchema::StructuredV1, self);
        Data::written(json)
    }
}

wire_enum! {
    /// Where an event stands in the life of a call, or of a result.
    pub enum ToolPhase {
        /// The call, or its result, begins.
        Start = "start",
        /// More of the arguments, or of the output.
        Delta = "delta",
        /// The arguments are final, or the tool has done its work.
        Complete = "complete",
        /// The call was cut off, or the tool failed, was denied, was invalid or was cut off.
        Fail = "fail",
    }
}

wire_enum! {
    /// Where a tool stands.
    pub enum ToolStatus {
        /// Its arguments are still being written.
        Pending = "pending",
        /// It was called, and has no result yet. It may still wait for a permission.
        Running = "running",
        /// It has done its work.
        Completed = "completed",
        /// It failed, was denied, was invalid or was cut off.
        Failed = "failed",
        /// Nobody can tell.
        Unknown = "unknown",
    }
}

wire_struct! {
    /// How many bytes of UTF-8 there were; 0 where there were none or nobody knows. While a result streams they count what
    /// came so far; the last event of the result has the final figures.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub struct ToolBytes {
        /// What a command printed, without what is known to have gone to standard error. Of other tools 0.
        pub stdout: u64,
        /// What is known to have gone to standard error.
        pub stderr: u64,
        /// The unified diffs of the files that were changed.
        pub diff: u64,
        /// The whole of what the tool gave back as text.
        pub result: u64,
    }
}
