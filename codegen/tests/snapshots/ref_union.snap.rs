#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// `started`
    Started(Started),
    /// `finished`
    Finished(Finished),
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
        ("started", "Started"),
        ("finished", "Finished"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Started(_) => "Started",
            Self::Finished(_) => "Finished",
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
            "finished" => runtime::read_variant!(place, object, Finished),
            "started" => runtime::read_variant!(place, object, Started),
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
            Self::Started(payload) => payload.serialize(serializer),
            Self::Finished(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "finished"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    pub cost: Option<Number>,
    pub last: Option<Part>,
    pub result: Option<String>,
}
runtime::impl_object! {
    Finished("type" = "finished") [] { cost = "cost" last = "last" result = "result" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Part {
    pub bytes: Option<u64>,
    pub text: Option<String>,
}
runtime::impl_object! {
    Part() [] { bytes = "bytes" text = "text" }
}
/// Work has begun.
///
/// Tagged with `"type": "started"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Started {
    /// Seconds since the epoch.
    pub at: Option<i64>,
    pub parts: Option<Vec<Part>>,
}
runtime::impl_object! {
    Started("type" = "started") [] { at = "at" parts = "parts" }
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
