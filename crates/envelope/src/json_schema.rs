//! The JSON Schema of the envelope, made from the types.

use std::borrow::Cow;

use interlingua_convert::Agent;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::completion::Completed;
use crate::event::WireEvent;
use crate::{AgentWrapperKind, EnvelopeMetadata, Name, ToolsFacet};

/// One line of an envelope stream: an event, or what a session came to.
#[derive(JsonSchema)]
#[schemars(rename = "EnvelopeLine", untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum Line<'a> {
    Event(WireEvent<'a>),
    Completion(Completed<'a>),
}

/// The JSON Schema (draft 2020-12) of one line of an envelope stream, with that of the event and of the completion in its
/// definitions.
///
/// `schema.json` beside this crate's manifest holds it; `cargo xtask generate` writes that file.
#[must_use]
pub fn envelope_json_schema() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Line<'_>>()
}

/// The data of an event as its JSON Schema shows it.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(crate) enum DataSchema {
    Tools(ToolsFacet),
    Dropped(Dropped),
    Facts(Box<EnvelopeMetadata>),
}

/// What stands in for data that is too large.
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
    /// It was larger than 65536 bytes.
    Oversize,
}

impl JsonSchema for AgentWrapperKind {
    fn schema_name() -> Cow<'static, str> {
        "AgentWrapperKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "The agent behind an event.",
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
            "description": "An id or a name. What has white space, quotes, brackets or more than 128 bytes is none.",
            "type": "string",
            "minLength": 1,
            "maxLength": Self::MAX_BYTES,
            "pattern": r"^[\p{Alphabetic}\p{N}_.:/@#+~$=|*-]+$",
        })
    }
}
