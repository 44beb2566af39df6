#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, PartialEq)]
pub enum AgentRequest {
    /// `approve`
    Approve(ApproveParams),
    /// `ask`
    Ask(AskAgentRequest),
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for AgentRequest {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("approve", "Approve"),
        ("ask", "Ask"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Approve(_) => "Approve",
            Self::Ask(_) => "Ask",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl AgentRequest {
    /// Writes the members, except those whose keys are in `written`.
    fn write_members<M: ::serde::ser::SerializeMap>(
        &self,
        map: &mut M,
        written: &[&str],
    ) -> Result<(), M::Error> {
        match self {
            Self::Approve(content) => {
                map.serialize_entry("method", "approve")?;
                map.serialize_entry("params", content)
            }
            Self::Ask(content) => {
                map.serialize_entry("method", "ask")?;
                map.serialize_entry("params", content)
            }
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for AgentRequest {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "AgentRequest";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "approve" => runtime::read_content!(place, content, Approve),
            "ask" => runtime::read_content!(place, content, Ask),
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for AgentRequest {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(AgentRequest);
impl ::serde::Serialize for AgentRequest {
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
/// A [`AgentRequest`] with the other keys of its object, beside `method` and `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRequestEnvelope {
    pub id: Option<Id>,
    /// The message.
    pub message: AgentRequest,
}
impl runtime::Envelope for AgentRequestEnvelope {
    type Message = AgentRequest;
    type Siblings = (Option<Id>,);
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
    fn build(
        siblings: Self::Siblings,
        message: AgentRequest,
    ) -> Result<Self, &'static str> {
        Ok(Self { id: siblings.0, message })
    }
}
impl runtime::Field for AgentRequestEnvelope {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader)
    }
}
runtime::impl_deserialize!(AgentRequestEnvelope);
impl ::serde::Serialize for AgentRequestEnvelope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Some(value) = &self.id {
            map.serialize_entry("id", value)?;
        }
        self.message.write_members(&mut map, &["id"])?;
        map.end()
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ApproveParams {
    pub command: Option<String>,
}
runtime::impl_object! {
    ApproveParams() [] { command = "command" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ApproveResponse {
    pub decision: Option<ApproveResponseDecision>,
    pub note: Option<String>,
}
runtime::impl_object! {
    ApproveResponse() [] { decision = "decision" note = "note" } new(decision some
    ApproveResponseDecision,)
}
runtime::open_enum! {
    ApproveResponseDecision { Yes = "yes", No = "no", }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AskAgentRequest {
    pub question: Option<String>,
}
runtime::impl_object! {
    AskAgentRequest() [] { question = "question" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum HostMessage {
    /// `turn/start`
    TurnStart(TurnStartParams),
    /// `unused`
    Unused(Unused),
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for HostMessage {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("turn/start", "TurnStart"),
        ("unused", "Unused"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::TurnStart(_) => "TurnStart",
            Self::Unused(_) => "Unused",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl HostMessage {
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
            Self::Unused(content) => {
                map.serialize_entry("method", "unused")?;
                map.serialize_entry("params", content)
            }
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for HostMessage {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "HostMessage";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "turn/start" => runtime::read_content!(place, content, TurnStart),
            "unused" => runtime::read_content!(place, content, Unused),
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for HostMessage {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(HostMessage);
impl ::serde::Serialize for HostMessage {
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
/// A [`HostMessage`] with the other keys of its object, beside `method` and `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct HostMessageEnvelope {
    pub id: Option<Id>,
    /// The message.
    pub message: HostMessage,
}
impl runtime::Envelope for HostMessageEnvelope {
    type Message = HostMessage;
    type Siblings = (Option<Id>,);
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
    fn build(
        siblings: Self::Siblings,
        message: HostMessage,
    ) -> Result<Self, &'static str> {
        Ok(Self { id: siblings.0, message })
    }
}
impl runtime::Field for HostMessageEnvelope {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader)
    }
}
runtime::impl_deserialize!(HostMessageEnvelope);
impl ::serde::Serialize for HostMessageEnvelope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Some(value) = &self.id {
            map.serialize_entry("id", value)?;
        }
        self.message.write_members(&mut map, &["id"])?;
        map.end()
    }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for Id {
    const NAME: &'static str = "Id";
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
runtime::impl_kind_union!(Id);
impl ::serde::Serialize for Id {
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
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// `text`
    Text(TextInput),
    /// `pause`
    Pause(PauseInput),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Input {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("text", "Text"),
        ("pause", "Pause"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Text(_) => "Text",
            Self::Pause(_) => "Pause",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Input {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Input";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "pause" => runtime::read_variant!(place, object, Pause),
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
runtime::impl_tagged_union!(Input);
impl ::serde::Serialize for Input {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(payload) => payload.serialize(serializer),
            Self::Pause(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "pause"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PauseInput {
    pub seconds: Option<i64>,
}
runtime::impl_object! {
    PauseInput("type" = "pause") [] { seconds = "seconds" } new()
}
/// Tagged with `"type": "text"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TextInput {
    pub text: Option<String>,
}
runtime::impl_object! {
    TextInput("type" = "text") [] { text = "text" } new(text text,)
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnStartParams {
    pub input: Option<Vec<Input>>,
    pub model: Option<String>,
    pub parent: Option<String>,
    pub thread: String,
}
runtime::impl_object! {
    TurnStartParams() ["thread"] { input = "input" model = "model" parent = "parent" |
    null thread = "thread" } new(input some Vec < Input >, parent as Option < String >,
    thread id,)
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TurnStartResponse {
    pub turn: Option<String>,
}
runtime::impl_object! {
    TurnStartResponse() [] { turn = "turn" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Unused {
    pub flag: Option<bool>,
}
runtime::impl_object! {
    Unused() [] { flag = "flag" }
}
/// The response to a request. The method of the request decides the type.
#[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
#[serde(untagged)]
pub enum Response {
    #[doc = concat!("Response to `", "turn/start", "`.")]
    TurnStart(TurnStartResponse),
}
impl Response {
    /// The requests that have a variant here.
    pub const REQUESTS: &'static [&'static str] = &["turn/start"];
    /// Decodes the response to `request`; `None` if there is no variant for it.
    #[must_use]
    pub fn decode(
        request: &str,
        text: &str,
    ) -> Option<Result<runtime::Decoded<Self>, runtime::DecodeError>> {
        match request {
            "turn/start" => {
                Some(
                    <TurnStartResponse as runtime::Native>::decode(text)
                        .map(|decoded| {
                            decoded.with_request(request).map(Self::TurnStart)
                        }),
                )
            }
            _ => None,
        }
    }
}
runtime::impl_from! {
    AgentRequest::Approve(ApproveParams)
}
runtime::impl_from! {
    HostMessage::TurnStart(TurnStartParams)
}
runtime::impl_from! {
    Id::Number(i64)
}
runtime::impl_from! {
    Id::Text(String)
}
runtime::impl_from! {
    Input::Text(TextInput)
}
runtime::impl_from! {
    Input::Pause(PauseInput)
}
impl runtime::Request for TurnStartParams {
    const METHOD: &'static str = "turn/start";
    type Response = TurnStartResponse;
    type Union = HostMessage;
}
impl runtime::Request for ApproveParams {
    const METHOD: &'static str = "approve";
    type Response = ApproveResponse;
    type Union = AgentRequest;
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["method", "type"];
impl runtime::Native for AgentRequest {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for AgentRequestEnvelope {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for ApproveResponse {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for HostMessage {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for HostMessageEnvelope {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for TurnStartResponse {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
