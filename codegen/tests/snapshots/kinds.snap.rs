#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// `text`
    Text(TextBlock),
    /// `result`
    Result(ResultBlock),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Block {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("text", "Text"),
        ("result", "Result"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Text(_) => "Text",
            Self::Result(_) => "Result",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Block {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Block";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "result" => runtime::read_variant!(place, object, Result),
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
runtime::impl_tagged_union!(Block);
impl ::serde::Serialize for Block {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(payload) => payload.serialize(serializer),
            Self::Result(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Block>),
    /// An object.
    Object(Box<ContentObject>),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for Content {
    const NAME: &'static str = "Content";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Text)
    }
    fn read_array(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::List(runtime::Field::read(reader)?))
    }
    fn read_object(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::Object(Box::new(runtime::Field::read(reader)?)))
    }
}
runtime::impl_kind_union!(Content);
impl ::serde::Serialize for Content {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(value) => value.serialize(serializer),
            Self::List(value) => value.serialize(serializer),
            Self::Object(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum ContentObject {
    /// `text`
    Text(TextContentObject),
    /// `result`
    Result(Box<ResultContentObject>),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for ContentObject {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("text", "Text"),
        ("result", "Result"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Text(_) => "Text",
            Self::Result(_) => "Result",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for ContentObject {
    const KEY: &'static str = "type";
    const NAME: &'static str = "ContentObject";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "result" => runtime::read_variant!(place, object, Result),
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
runtime::impl_tagged_union!(ContentObject);
impl ::serde::Serialize for ContentObject {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(payload) => payload.serialize(serializer),
            Self::Result(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    pub anything: Option<MessageAnything>,
    pub content: Option<Content>,
    pub stop: Option<MessageStop>,
}
runtime::impl_object! {
    Message() [] { anything = "anything" content = "content" stop = "stop" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum MessageAnything {
    /// A string.
    Text(String),
    /// An object.
    Object(Json),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for MessageAnything {
    const NAME: &'static str = "MessageAnything";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Text)
    }
    fn read_object(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::Object(runtime::Field::read(reader)?))
    }
}
runtime::impl_kind_union!(MessageAnything);
impl ::serde::Serialize for MessageAnything {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(value) => value.serialize(serializer),
            Self::Object(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum MessageStop {
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(i64),
    /// A string.
    Text(MessageStopText),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for MessageStop {
    const NAME: &'static str = "MessageStop";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_boolean(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Boolean)
    }
    fn read_number(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        let start = reader.clone();
        match reader.read_number()?.as_i64() {
            Some(value) => Ok(Self::Number(value)),
            None => {
                *reader = start;
                runtime::read_unknown_kind(reader)
            }
        }
    }
    fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Text)
    }
}
runtime::impl_kind_union!(MessageStop);
impl ::serde::Serialize for MessageStop {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => value.serialize(serializer),
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
runtime::open_enum! {
    MessageStopText { Never = "never", }
}
/// Tagged with `"type": "result"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultBlock {
    pub content: Option<Content>,
}
runtime::impl_object! {
    ResultBlock("type" = "result") [] { content = "content" }
}
/// Tagged with `"type": "result"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ResultContentObject {
    pub content: Option<Content>,
}
runtime::impl_object! {
    ResultContentObject("type" = "result") [] { content = "content" }
}
/// Tagged with `"type": "text"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextBlock {
    pub text: Option<String>,
}
runtime::impl_object! {
    TextBlock("type" = "text") [] { text = "text" }
}
/// Tagged with `"type": "text"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextContentObject {
    pub text: Option<String>,
}
runtime::impl_object! {
    TextContentObject("type" = "text") [] { text = "text" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Message {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
