//! What an event says besides its text, when it is not about a tool.

use interlingua_schema::{Usage, Visibility, wire_struct};

use crate::Name;

wire_struct! {
    /// The `data` of every event that is no tool's, and of a completion: names, numbers and nothing else. A field that does
    /// not apply is left out.
    #[derive(Debug, Clone, Default, PartialEq)]
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(rename = "Facts"))]
    #[non_exhaustive]
    pub struct EnvelopeMetadata {
        /// The type of the universal event that it was made from. Left out of `TextOutput`.
        pub event?: Option<Name>,
        /// The session, by our name.
        pub session_id?: Option<Name>,
        /// The session by the agent's name.
        pub thread_id?: Option<Name>,
        /// The turn, by the agent's name.
        pub turn_id?: Option<Name>,
        /// The message that a text is part of, or the item that a status tells of.
        pub item_id?: Option<Name>,
        /// The item it hangs on: a sub-agent's words hang on the call that spawned it.
        pub parent_id?: Option<Name>,
        /// Whether reasoning is meant to be shown.
        pub visibility?: Option<Visibility>,
        /// The tool that a permission or question is about.
        pub tool_name?: Option<Name>,
        /// The call that a permission or question is about.
        pub tool_use_id?: Option<Name>,
        /// Where it stands: of a turn, an item, a permission, a question.
        pub status?: Option<Name>,
        /// What a status item is about: `retry`, `compaction`, `plan`, ….
        pub label?: Option<Name>,
        /// The permission or question.
        pub request_id?: Option<Name>,
        /// What kind of failure it is: `rate_limited`, `auth`, ….
        pub code?: Option<Name>,
        /// The agent's exit code; a signal is a negative one.
        pub exit_code?: Option<i32>,
        /// The native type of what nobody could classify.
        pub native_type?: Option<Name>,
        /// How many turns there were.
        pub turns?: Option<u64>,
        /// How long the turn took, by the agent's own clock.
        pub duration_ms?: Option<u64>,
        /// The tokens used: of a turn its own, of a completion the sum.
        pub usage?: Option<Usage>,
    } keys in key
}
