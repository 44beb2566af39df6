#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelListResponse {
    pub models: Option<Vec<String>>,
}
runtime::impl_object! {
    ModelListResponse() [] { models = "models" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// `thread/start`
    ThreadStart,
    /// `model/list`
    ModelList,
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
        ("thread/start", "ThreadStart"),
        ("model/list", "ModelList"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::ThreadStart => "ThreadStart",
            Self::ModelList => "ModelList",
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
            Self::ThreadStart => map.serialize_entry("method", "thread/start"),
            Self::ModelList => map.serialize_entry("method", "model/list"),
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
            "thread/start" => {
                content.skip()?;
                *place = Some(Self::ThreadStart);
                Ok(())
            }
            "model/list" => {
                content.skip()?;
                *place = Some(Self::ModelList);
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
    pub id: Option<i64>,
    /// The message.
    pub message: Request,
}
impl runtime::Envelope for RequestEnvelope {
    type Message = Request;
    type Siblings = (Option<i64>,);
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
        Ok(Self { id: siblings.0, message })
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
        if let Some(value) = &self.id {
            map.serialize_entry("id", value)?;
        }
        self.message.write_members(&mut map, &["id"])?;
        map.end()
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Thread {
    pub id: String,
}
runtime::impl_object! {
    Thread() ["id"] { id = "id" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ThreadStartResponse {
    pub thread: Option<Thread>,
}
runtime::impl_object! {
    ThreadStartResponse() [] { thread = "thread" }
}
/// The response to a request. The method of the request decides the type.
#[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
#[serde(untagged)]
pub enum Response {
    #[doc = concat!("Response to `", "model/list", "`.")]
    ModelList(ModelListResponse),
    #[doc = concat!("Response to `", "thread/start", "`.")]
    ThreadStart(ThreadStartResponse),
}
impl Response {
    /// The requests that have a variant here.
    pub const REQUESTS: &'static [&'static str] = &["model/list", "thread/start"];
    /// Decodes the response to `request`; `None` if there is no variant for it.
    #[must_use]
    pub fn decode(
        request: &str,
        text: &str,
    ) -> Option<Result<runtime::Decoded<Self>, runtime::DecodeError>> {
        match request {
            "model/list" => {
                Some(
                    <ModelListResponse as runtime::Native>::decode(text)
                        .map(|decoded| {
                            decoded.with_request(request).map(Self::ModelList)
                        }),
                )
            }
            "thread/start" => {
                Some(
                    <ThreadStartResponse as runtime::Native>::decode(text)
                        .map(|decoded| {
                            decoded.with_request(request).map(Self::ThreadStart)
                        }),
                )
            }
            _ => None,
        }
    }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["method"];
impl runtime::Native for ModelListResponse {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
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
impl runtime::Native for ThreadStartResponse {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
