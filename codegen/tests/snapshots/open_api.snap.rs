#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// `session.idle`
    SessionIdle(EventSessionIdle),
    /// `part.updated`
    PartUpdated(EventPartUpdated),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Event {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("session.idle", "SessionIdle"),
        ("part.updated", "PartUpdated"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::SessionIdle(_) => "SessionIdle",
            Self::PartUpdated(_) => "PartUpdated",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Event {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Event";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "part.updated" => runtime::read_variant!(place, object, PartUpdated),
            "session.idle" => runtime::read_variant!(place, object, SessionIdle),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Event);
impl ::serde::Serialize for Event {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::SessionIdle(payload) => payload.serialize(serializer),
            Self::PartUpdated(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "part.updated"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventPartUpdated {
    pub properties: Option<EventPartUpdatedProperties>,
}
runtime::impl_object! {
    EventPartUpdated("type" = "part.updated") [] { properties = "properties" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventPartUpdatedProperties {
    pub part: Option<Part>,
}
runtime::impl_object! {
    EventPartUpdatedProperties() [] { part = "part" }
}
/// Tagged with `"type": "session.idle"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventSessionIdle {
    pub properties: Option<EventSessionIdleProperties>,
}
runtime::impl_object! {
    EventSessionIdle("type" = "session.idle") [] { properties = "properties" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventSessionIdleProperties {
    /// JSON key: `sessionID`.
    pub session_id: Option<String>,
}
runtime::impl_object! {
    EventSessionIdleProperties() [] { session_id = "sessionID" }
}
/// Tagged with `"type": "file"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FilePart {
    pub size: Option<i64>,
}
runtime::impl_object! {
    FilePart("type" = "file") [] { size = "size" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// `text`
    Text(TextPart),
    /// `file`
    File(FilePart),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Part {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("text", "Text"),
        ("file", "File"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Text(_) => "Text",
            Self::File(_) => "File",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Part {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Part";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "file" => runtime::read_variant!(place, object, File),
            "text" => runtime::read_variant!(place, object, Text),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Part);
impl ::serde::Serialize for Part {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(payload) => payload.serialize(serializer),
            Self::File(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct PromptBody {
    /// JSON key: `noReply`.
    pub no_reply: Option<bool>,
    pub parts: Option<Vec<Part>>,
}
runtime::impl_object! {
    PromptBody() [] { no_reply = "noReply" parts = "parts" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Session {
    pub id: String,
}
runtime::impl_object! {
    Session() ["id"] { id = "id" }
}
/// Tagged with `"type": "text"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextPart {
    pub text: Option<String>,
}
runtime::impl_object! {
    TextPart("type" = "text") [] { text = "text" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Event {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["type"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for PromptBody {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for Session {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
