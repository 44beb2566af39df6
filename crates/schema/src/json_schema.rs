//! The JSON Schema of the universal event, derived from the types.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::event::WireEvent;
use crate::{
    EventId, ItemId, NativeItemId, NativeMetadata, NativeSessionId, RawJson, SessionId, StatusData, Timestamp,
};

/// The JSON Schema (draft 2020-12) of one event. Its `$defs` also contain `StatusData`, the data of status items.
///
/// It is stored in `schema.json` beside this crate's manifest; `cargo xtask generate` writes that file.
#[must_use]
pub fn json_schema() -> Schema {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    // The schema does not refer to it, because a `json` part may have any value.
    generator.subschema_for::<StatusData>();
    generator.into_root_schema_for::<WireEvent<'_>>()
}

macro_rules! id_schemas {
    ($($id:ident)*) => {
        $(impl JsonSchema for $id {
            fn schema_name() -> Cow<'static, str> {
                stringify!($id).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schemars::json_schema!({ "type": "string" })
            }
        })*
    };
}

id_schemas! { EventId SessionId ItemId NativeSessionId NativeItemId }

impl JsonSchema for RawJson {
    fn schema_name() -> Cow<'static, str> {
        "RawJson".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!(true)
    }
}

impl JsonSchema for NativeMetadata {
    fn schema_name() -> Cow<'static, str> {
        "NativeMetadata".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "string",
            "format": "date-time",
            "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$"
        })
    }
}
