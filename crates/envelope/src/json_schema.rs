//! The JSON Schema of the envelope, derived from the types.

use std::borrow::Cow;

use interlingua_convert::Agent;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::completion::CompletionLine;
use crate::event::WireEvent;
use crate::{AgentWrapperKind, EnvelopeMetadata, Name, ToolsFacet};

/// One line of an envelope stream: an event, or the completion of a session.
#[derive(JsonSchema)]
#[schemars(rename = "EnvelopeLine", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Line<'a> {
    Event(WireEvent<'a>),
    Completion(CompletionLine<'a>),
}

/// The JSON Schema (draft 2020-12) of one line of an envelope stream. Its `$defs` contain the event and the completion.
///
/// It is stored in `schema.json` beside this crate's manifest; `cargo xtask generate` writes that file.
#[must_use]
pub fn envelope_json_schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Line<'_>>()
}

/// The data of an event or a completion.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum DataSchema {
    Tools(ToolsFacet),
    Dropped(Dropped),
    Metadata(Box<EnvelopeMetadata>),
}

/// Replacement for data that is too large.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) struct Dropped {
    dropped: DropReason,
}

/// Why data was dropped.
#[derive(JsonSchema)]
#[schemars(tag = "reason", rename_all = "snake_case")]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum DropReason {
    /// The data was larger than 65536 bytes.
    Oversize,
}

impl JsonSchema for AgentWrapperKind {
    fn schema_name() -> Cow<'static, str> {
        "AgentWrapperKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "The agent that an event is from.",
            "type": "string",
            "pattern": Self::PATTERN,
            "examples": Agent::ALL.map(|agent| Self::from(agent).as_str().to_owned()),
        })
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "An id or a name. Texts with white space, quotes or brackets, or with more than 128 bytes, are not names.",
            "type": "string",
            "minLength": 1,
            "maxLength": Self::MAX_BYTES,
            "pattern": r"^[\p{Alphabetic}\p{N}_.:/@#+~$=|*-]+$",
        })
    }
}
