//! The JSON Schema of the envelope, made from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::completion::CompletionSchema;
use crate::event::EventSchema;

/// One line of an envelope stream: an event, or what a session came to.
#[derive(JsonSchema)]
#[schemars(rename = "EnvelopeLine", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Line {
    Event(EventSchema),
    /// After the last event of each session.
    Completion {
        completion: CompletionSchema,
    },
}

/// The JSON Schema (draft 2020-12) of one line of an envelope stream, with that of the event and of the completion in its
/// definitions.
///
/// `schema.json` beside this crate's manifest holds it; `cargo xtask generate` writes that file.
#[must_use]
pub fn json_schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Line>()
}
