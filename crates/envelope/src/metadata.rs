//! The data of events that are not about a tool.

use interlingua_schema::{Usage, Visibility, wire_struct};

use crate::Name;

wire_struct! {
    /// The `data` of completions and of all events that are not about a tool: ids, names and numbers. A field that does not
    /// apply is omitted.
    #[derive(Debug, Clone, Default, PartialEq)]
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(rename = "Facts"))]
    #[non_exhaustive]
    pub struct EnvelopeMetadata {
        /// Type of the universal event. Omitted from `TextOutput`.
        pub event?: Option<Name>,
        /// Interlingua's id of the session.
        pub session_id?: Option<Name>,
        /// The agent's id of the session.
        pub thread_id?: Option<Name>,
        /// Id of the turn.
        pub turn_id?: Option<Name>,
        /// Id of the message that a text is part of, or of the item that a status is about.
        pub item_id?: Option<Name>,
        /// Id of the parent item. The parent of a sub-agent's message is the tool call that started the sub-agent.
        pub parent_id?: Option<Name>,
        /// Whether reasoning may be shown to the user.
        pub visibility?: Option<Visibility>,
        /// Name of the tool that a permission or question is about.
        pub tool_name?: Option<Name>,
        /// Id of the call that a permission or question is about.
        pub tool_use_id?: Option<Name>,
        /// Status of the turn, session, item, permission or question.
        pub status?: Option<Name>,
        /// Label of a status item: `retry`, `compaction`, `plan`, ….
        pub label?: Option<Name>,
        /// Id of the permission or question.
        pub request_id?: Option<Name>,
        /// Code of an error: `rate_limited`, `auth`, ….
        pub code?: Option<Name>,
        /// Exit code of the agent; negative if a signal killed it.
        pub exit_code?: Option<i32>,
        /// Native type of an `Unknown` event.
        pub native_type?: Option<Name>,
        /// Number of turns of the session.
        pub turns?: Option<u64>,
        /// Duration of the turn.
        pub duration_ms?: Option<u64>,
        /// Tokens and cost: of the turn, or in a completion of all turns.
        pub usage?: Option<Usage>,
    } keys in key
}
