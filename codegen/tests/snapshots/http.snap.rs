#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "busy"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct BusyStatus {}
runtime::impl_object! {
    BusyStatus("type" = "busy") [] {}
}
/// Tagged with `"type": "idle"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct IdleStatus {}
runtime::impl_object! {
    IdleStatus("type" = "idle") [] {}
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptBody {
    pub agent: Option<String>,
    pub text: Option<String>,
}
runtime::impl_object! {
    PromptBody() [] { agent = "agent" text = "text" } new(text text,)
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptQuery {
    pub directory: Option<String>,
    pub trace: Option<bool>,
}
runtime::impl_object! {
    PromptQuery() [] { directory = "directory" trace = "trace" } new(directory text,)
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Session {
    pub id: String,
    pub title: Option<String>,
}
runtime::impl_object! {
    Session() ["id"] { id = "id" title = "title" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// `idle`
    Idle(IdleStatus),
    /// `busy`
    Busy(BusyStatus),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Status {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("idle", "Idle"),
        ("busy", "Busy"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Idle(_) => "Idle",
            Self::Busy(_) => "Busy",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Status {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Status";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "busy" => runtime::read_variant!(place, object, Busy),
            "idle" => runtime::read_variant!(place, object, Idle),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Status);
impl ::serde::Serialize for Status {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Idle(payload) => payload.serialize(serializer),
            Self::Busy(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// `POST /session/{sessionID}/prompt`
#[derive(Debug, Clone, PartialEq)]
pub struct PromptRequest {
    /// Path parameter `sessionID`.
    pub session_id: String,
    /// The query parameters.
    pub query: PromptQuery,
    /// The body.
    pub body: PromptBody,
}
impl PromptRequest {
    /// A request with its required parameters; optional ones are absent.
    #[must_use]
    pub fn new(
        session_id: impl Into<String>,
        query: PromptQuery,
        body: PromptBody,
    ) -> Self {
        Self {
            session_id: session_id.into(),
            query,
            body,
        }
    }
}
impl runtime::HttpRequest for PromptRequest {
    const METHOD: &'static str = "POST";
    const PATH: &'static str = "/session/{sessionID}/prompt";
    type Query = PromptQuery;
    type Body = PromptBody;
    type Response = ();
    fn parameters(&self) -> Vec<(&'static str, &str)> {
        vec![("sessionID", self.session_id.as_str())]
    }
    fn query(&self) -> &Self::Query {
        &self.query
    }
    fn body(&self) -> Option<&Self::Body> {
        Some(&self.body)
    }
}
/// `GET /session`
#[derive(Debug, Clone, PartialEq)]
pub struct SessionListRequest {}
impl SessionListRequest {
    /// A request with its required parameters; optional ones are absent.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}
impl runtime::HttpRequest for SessionListRequest {
    const METHOD: &'static str = "GET";
    const PATH: &'static str = "/session";
    type Query = ();
    type Body = ();
    type Response = Vec<Session>;
    fn parameters(&self) -> Vec<(&'static str, &str)> {
        vec![]
    }
    fn query(&self) -> &Self::Query {
        &()
    }
    fn body(&self) -> Option<&Self::Body> {
        None
    }
}
/// `GET /session/status`
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStatusesRequest {}
impl SessionStatusesRequest {
    /// A request with its required parameters; optional ones are absent.
    #[must_use]
    pub fn new() -> Self {
        Self {}
    }
}
impl runtime::HttpRequest for SessionStatusesRequest {
    const METHOD: &'static str = "GET";
    const PATH: &'static str = "/session/status";
    type Query = ();
    type Body = ();
    type Response = BTreeMap<String, Status>;
    fn parameters(&self) -> Vec<(&'static str, &str)> {
        vec![]
    }
    fn query(&self) -> &Self::Query {
        &()
    }
    fn body(&self) -> Option<&Self::Body> {
        None
    }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
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
impl runtime::Native for Status {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["type"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
