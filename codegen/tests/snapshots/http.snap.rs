#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BusyStatus {}
runtime::impl_object! {
    BusyStatus("type" = "busy") [] {}
}
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// A tag that the schema these types were made from does not know, with the whole payload.
    Unknown {
        /// The tag, each key's value joined by `/`.
        tag: String,
        /// The payload.
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
    /// The parameter `sessionID` of the path.
    pub session_id: String,
    /// The query.
    pub query: PromptQuery,
    /// The body.
    pub body: PromptBody,
}
impl PromptRequest {
    /// The request with what it requires.
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
    /// The request with what it requires.
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
    /// The request with what it requires.
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
/// The keys that tell the unions of this module apart.
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
