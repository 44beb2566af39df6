#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "completed"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CompletedEvent {
    pub item: Option<Item>,
    pub note: Option<String>,
}
runtime::impl_object! {
    CompletedEvent("type" = "completed") ["item"] { item = "item" note = "note" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// `completed`
    Completed(CompletedEvent),
    /// `listed`
    Listed(ListedEvent),
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
        ("completed", "Completed"),
        ("listed", "Listed"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Completed(_) => "Completed",
            Self::Listed(_) => "Listed",
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
            "completed" => runtime::read_variant!(place, object, Completed),
            "listed" => runtime::read_variant!(place, object, Listed),
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
            Self::Completed(payload) => payload.serialize(serializer),
            Self::Listed(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum EventContent {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Item>),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for EventContent {
    const NAME: &'static str = "EventContent";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Text)
    }
    fn read_array(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::List(runtime::Field::read(reader)?))
    }
}
runtime::impl_kind_union!(EventContent);
impl ::serde::Serialize for EventContent {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(value) => value.serialize(serializer),
            Self::List(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Item {
    pub code: Option<i64>,
    pub detail: Option<String>,
    pub id: String,
    pub size: Option<i64>,
    pub status: Option<ItemStatus>,
}
runtime::impl_object! {
    Item() ["id" "status", expected "size", well_typed "code"] { code = "code" detail =
    "detail" id = "id" size = "size" status = "status" }
}
runtime::open_enum! {
    ItemStatus { Running = "running", Done = "done", }
}
/// Tagged with `"type": "listed"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ListedEvent {
    pub content: Option<EventContent>,
    pub items: Option<Vec<Item>>,
}
runtime::impl_object! {
    ListedEvent("type" = "listed") [, expected "items"] { content = "content" items =
    "items" }
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
