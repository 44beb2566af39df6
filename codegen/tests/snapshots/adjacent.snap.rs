#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Input {
    pub id: String,
    pub text: Option<String>,
}
runtime::impl_object! {
    Input() ["id"] { id = "id" text = "text" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Notification {
    /// `turn/started`
    TurnStarted(TurnStarted),
    /// `idle`
    Idle,
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for Notification {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("turn/started", "TurnStarted"),
        ("idle", "Idle"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::TurnStarted(_) => "TurnStarted",
            Self::Idle => "Idle",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl Notification {
    /// Writes the members, except those whose keys are in `written`.
    fn write_members<M: ::serde::ser::SerializeMap>(
        &self,
        map: &mut M,
        written: &[&str],
    ) -> Result<(), M::Error> {
        match self {
            Self::TurnStarted(content) => {
                map.serialize_entry("method", "turn/started")?;
                map.serialize_entry("params", content)
            }
            Self::Idle => map.serialize_entry("method", "idle"),
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for Notification {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "Notification";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "turn/started" => runtime::read_content!(place, content, TurnStarted),
            "idle" => {
                content.skip()?;
                *place = Some(Self::Idle);
                Ok(())
            }
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for Notification {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(Notification);
impl ::serde::Serialize for Notification {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        self.write_members(&mut map, &[])?;
        map.end()
    }
}
/// A [`Notification`] with the other keys of its object, beside `method` and `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct NotificationEnvelope {
    /// When it was sent.
    ///
    /// JSON key: `emittedAtMs`.
    pub emitted_at_ms: Option<i64>,
    /// The message.
    pub message: Notification,
}
impl runtime::Envelope for NotificationEnvelope {
    type Message = Notification;
    type Siblings = (Option<i64>,);
    fn read_sibling(
        into: &mut Self::Siblings,
        key: &[u8],
        reader: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<bool> {
        match key {
            b"emittedAtMs" => runtime::Slot::read_next(&mut into.0, reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn build(
        siblings: Self::Siblings,
        message: Notification,
    ) -> Result<Self, &'static str> {
        Ok(Self {
            emitted_at_ms: siblings.0,
            message,
        })
    }
}
impl runtime::Field for NotificationEnvelope {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader)
    }
}
runtime::impl_deserialize!(NotificationEnvelope);
impl ::serde::Serialize for NotificationEnvelope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Some(value) = &self.emitted_at_ms {
            map.serialize_entry("emittedAtMs", value)?;
        }
        self.message.write_members(&mut map, &["emittedAtMs"])?;
        map.end()
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// `turn/start`
    TurnStart(TurnStartParams),
    /// `turn/interrupt`
    TurnInterrupt(TurnInterruptRequest),
    /// `names/list`
    NamesList(Vec<String>),
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for Request {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("turn/start", "TurnStart"),
        ("turn/interrupt", "TurnInterrupt"),
        ("names/list", "NamesList"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::TurnStart(_) => "TurnStart",
            Self::TurnInterrupt(_) => "TurnInterrupt",
            Self::NamesList(_) => "NamesList",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl Request {
    /// Writes the members, except those whose keys are in `written`.
    fn write_members<M: ::serde::ser::SerializeMap>(
        &self,
        map: &mut M,
        written: &[&str],
    ) -> Result<(), M::Error> {
        match self {
            Self::TurnStart(content) => {
                map.serialize_entry("method", "turn/start")?;
                map.serialize_entry("params", content)
            }
            Self::TurnInterrupt(content) => {
                map.serialize_entry("method", "turn/interrupt")?;
                map.serialize_entry("params", content)
            }
            Self::NamesList(content) => {
                map.serialize_entry("method", "names/list")?;
                map.serialize_entry("params", content)
            }
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for Request {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "Request";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "turn/start" => runtime::read_content!(place, content, TurnStart),
            "turn/interrupt" => runtime::read_content!(place, content, TurnInterrupt),
            "names/list" => {
                *place = Some(Self::NamesList(runtime::Field::read(content)?));
                Ok(())
            }
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for Request {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(Request);
impl ::serde::Serialize for Request {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        self.write_members(&mut map, &[])?;
        map.end()
    }
}
/// A [`Request`] with the other keys of its object, beside `method` and `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestEnvelope {
    pub id: RequestId,
    /// The message.
    pub message: Request,
}
impl runtime::Envelope for RequestEnvelope {
    type Message = Request;
    type Siblings = (Option<RequestId>,);
    fn read_sibling(
        into: &mut Self::Siblings,
        key: &[u8],
        reader: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<bool> {
        match key {
            b"id" => runtime::Slot::read_next(&mut into.0, reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn build(siblings: Self::Siblings, message: Request) -> Result<Self, &'static str> {
        Ok(Self {
            id: siblings.0.ok_or("id")?,
            message,
        })
    }
}
impl runtime::Field for RequestEnvelope {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader)
    }
}
runtime::impl_deserialize!(RequestEnvelope);
impl ::serde::Serialize for RequestEnvelope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        self.message.write_members(&mut map, &["id"])?;
        map.end()
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum RequestId {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for RequestId {
    const NAME: &'static str = "RequestId";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
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
runtime::impl_kind_union!(RequestId);
impl ::serde::Serialize for RequestId {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    pub id: String,
}
runtime::impl_object! {
    Turn() ["id"] { id = "id" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TurnInterruptRequest {
    /// JSON key: `turnId`.
    pub turn_id: Option<String>,
}
runtime::impl_object! {
    TurnInterruptRequest() [] { turn_id = "turnId" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TurnStartParams {
    pub input: Option<Vec<Input>>,
    /// JSON key: `threadId`.
    pub thread_id: Option<String>,
}
runtime::impl_object! {
    TurnStartParams() [] { input = "input" thread_id = "threadId" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TurnStarted {
    pub turn: Option<Turn>,
}
runtime::impl_object! {
    TurnStarted() [] { turn = "turn" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["method"];
impl runtime::Native for Notification {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for NotificationEnvelope {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for Request {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for RequestEnvelope {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
