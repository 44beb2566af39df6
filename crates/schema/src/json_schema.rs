//! The JSON Schema of the universal event, made from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::{EventData, EventId, NativeSessionId, RawJson, SessionId, Source, StatusData, Timestamp};

/// One event of a session.
// `UniversalEvent` as it is on the wire, where `origin` and `data` are two fields each.
#[derive(JsonSchema)]
#[schemars(rename = "UniversalEvent")]
#[allow(dead_code, reason = "only its schema is used")]
struct Wire {
    /// Unique name of the event.
    event_id: EventId,
    /// Its place in the session: the first is 1, and there are no gaps.
    #[schemars(range(min = 1))]
    sequence: u64,
    /// When it happened; never earlier than the event before it.
    time: Timestamp,
    /// The session, by our name.
    session_id: SessionId,
    /// The session by the agent's name; null until it is known.
    native_session_id: Option<NativeSessionId>,
    /// Whether the agent said it or it was synthesised.
    source: Source,
    /// True exactly when the source is `daemon`.
    synthetic: bool,
    #[schemars(flatten)]
    data: EventData,
    /// The native payload it was made from, byte for byte; null unless raw payloads were asked for.
    raw: Option<RawJson>,
}

/// The JSON Schema (draft 2020-12) of one event. `$defs` also has `StatusData`, the shapes of a status item's data.
///
/// `schema.json` beside this crate's manifest holds it; `cargo xtask generate` writes that file.
#[must_use]
pub fn json_schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    // Nothing refers to it: it is the value of a `json` part, which may be anything.
    generator.subschema_for::<StatusData>();
    generator.into_root_schema_for::<Wire>()
}
