#[allow(unused_imports)]
use super::runtime::{self, Json};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Block {
    /// `text`
    Text(TextBlock),
    /// `result`
    Result(ResultBlock),
    /// A tag that the schema these types were made from does not know, with the whole payload.
    Unknown {
        /// The tag, each key's value joined by `/`.
        tag: String,
        /// The payload.
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
impl runtime::Tagged for Block {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Block";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut rest: runtime::Rest<'_, '_>,
    ) -> runtime::Read<()> {
        match tag {
            "result" => runtime::variant!(place, rest, Result),
            "text" => runtime::variant!(place, rest, Text),
            unknown => {
                let joined = unknown.to_owned();
                let raw = rest.unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::tagged_union!(Block);
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
#[non_exhaustive]
pub enum Content {
    Text(String),
    List(Vec<Block>),
    Object(Box<ContentObject>),
    /// A kind of JSON that the schema these types were made from does not list.
    Unknown(Json),
}
impl runtime::Kinds for Content {
    const NAME: &'static str = "Content";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn string(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        runtime::Field::field(reader).map(Self::Text)
    }
    fn array(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        Ok(Self::List(runtime::Field::field(reader)?))
    }
    fn object(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        Ok(Self::Object(Box::new(runtime::Field::field(reader)?)))
    }
}
runtime::kind_union!(Content);
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
#[non_exhaustive]
pub enum ContentObject {
    /// `text`
    Text(TextContentObject),
    /// `result`
    Result(Box<ResultContentObject>),
    /// A tag that the schema these types were made from does not know, with the whole payload.
    Unknown {
        /// The tag, each key's value joined by `/`.
        tag: String,
        /// The payload.
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
impl runtime::Tagged for ContentObject {
    const KEY: &'static str = "type";
    const NAME: &'static str = "ContentObject";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut rest: runtime::Rest<'_, '_>,
    ) -> runtime::Read<()> {
        match tag {
            "result" => runtime::variant!(place, rest, Result),
            "text" => runtime::variant!(place, rest, Text),
            unknown => {
                let joined = unknown.to_owned();
                let raw = rest.unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::tagged_union!(ContentObject);
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
pub struct Message {
    pub anything: Option<MessageAnything>,
    pub content: Option<Content>,
    pub stop: Option<MessageStop>,
}
runtime::object! {
    Message() [] { anything = "anything" content = "content" stop = "stop" }
}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MessageAnything {
    Text(String),
    Object(Json),
    /// A kind of JSON that the schema these types were made from does not list.
    Unknown(Json),
}
impl runtime::Kinds for MessageAnything {
    const NAME: &'static str = "MessageAnything";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn string(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        runtime::Field::field(reader).map(Self::Text)
    }
    fn object(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        Ok(Self::Object(runtime::Field::field(reader)?))
    }
}
runtime::kind_union!(MessageAnything);
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
#[non_exhaustive]
pub enum MessageStop {
    Boolean(bool),
    Number(i64),
    Text(MessageStopText),
    /// A kind of JSON that the schema these types were made from does not list.
    Unknown(Json),
}
impl runtime::Kinds for MessageStop {
    const NAME: &'static str = "MessageStop";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn boolean(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        runtime::Field::field(reader).map(Self::Boolean)
    }
    fn number(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        let start = reader.clone();
        match reader.number()?.as_i64() {
            Some(value) => Ok(Self::Number(value)),
            None => {
                *reader = start;
                runtime::unknown_kind(reader)
            }
        }
    }
    fn string(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        runtime::Field::field(reader).map(Self::Text)
    }
}
runtime::kind_union!(MessageStop);
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultBlock {
    pub content: Option<Content>,
}
runtime::object! {
    ResultBlock("type" = "result") [] { content = "content" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultContentObject {
    pub content: Option<Content>,
}
runtime::object! {
    ResultContentObject("type" = "result") [] { content = "content" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextBlock {
    pub text: Option<String>,
}
runtime::object! {
    TextBlock("type" = "text") [] { text = "text" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextContentObject {
    pub text: Option<String>,
}
runtime::object! {
    TextContentObject("type" = "text") [] { text = "text" }
}
/// The keys that tell the unions of this module apart.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Message {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
