//! Requests and replies as they are on the wire.

use interlingua_native::{DecodeError, HttpRequest, Native as _};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use semver::Version;
use serde_json::Value;

use super::support::{SUPPORT, unsupported_fields};
use super::{
    AgentListRequest, ConfigGetRequest, EventSubscribeRequest, PermissionReplyRequest, PromptRequest,
    ProviderListRequest, QuestionRejectRequest, QuestionReplyRequest, SessionAbortRequest, SessionCreateRequest,
    SessionStatusesRequest,
};
use crate::Support;

/// What is escaped in a part of a path.
const PATH_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// What is escaped in a value of a query. Slashes are readable and allowed there.
const QUERY_ESCAPES: &AsciiSet = &PATH_ESCAPES.remove(b'/');

/// Declares the requests that a host sends.
macro_rules! requests {
    ($($(#[$doc:meta])* $variant:ident($request:ty),)*) => {
        /// Everything that a host sends.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $($(#[$doc])* $variant($request),)*
        }

        impl Request {
            /// The method and the path of every operation, its parameters in braces.
            pub const OPERATIONS: &'static [(&'static str, &'static str)] =
                &[$((<$request as HttpRequest>::METHOD, <$request as HttpRequest>::PATH),)*];

            /// The method and the path of the operation, its parameters in braces.
            #[must_use]
            pub fn operation(&self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant(_) => (<$request as HttpRequest>::METHOD, <$request as HttpRequest>::PATH),)*
                }
            }

            /// The request as it is sent to a server of this version.
            #[must_use]
            pub fn to_call(&self, version: Option<&Version>) -> HttpCall {
                match self {
                    $(Self::$variant(request) => encode(request, SUPPORT, version),)*
                }
            }
        }

        $(impl From<$request> for Request {
            fn from(request: $request) -> Self {
                Self::$variant(request)
            }
        })*
    };
}

requests! {
    /// Subscribes to events.
    Subscribe(EventSubscribeRequest),
    /// Creates a session.
    CreateSession(SessionCreateRequest),
    /// Sends a message.
    Prompt(PromptRequest),
    /// Interrupts a session.
    Abort(SessionAbortRequest),
    /// Answers a permission request.
    ReplyToPermission(PermissionReplyRequest),
    /// Answers questions.
    AnswerQuestion(QuestionReplyRequest),
    /// Dismisses questions.
    RejectQuestion(QuestionRejectRequest),
    /// Asks which sessions are at work.
    ListSessionStatuses(SessionStatusesRequest),
    /// Asks for the agents.
    ListAgents(AgentListRequest),
    /// Asks for the providers and their models.
    ListProviders(ProviderListRequest),
    /// Asks for the configuration.
    GetConfiguration(ConfigGetRequest),
}

/// A request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// The method.
    pub method: &'static str,
    /// The path and the query, escaped.
    pub path: String,
    /// The body, which is JSON.
    pub body: Option<String>,
}

/// Writes a request without the fields that the version does not take.
fn encode<R: HttpRequest>(request: &R, table: &[Support], version: Option<&Version>) -> HttpCall {
    let unsupported = unsupported_fields(table, R::METHOD, R::PATH, version);
    let mut path = R::PATH.to_owned();
    for (name, value) in request.parameters() {
        path = path.replace(&format!("{{{name}}}"), &utf8_percent_encode(value, PATH_ESCAPES).to_string());
    }
    // Writing generated types does not fail: their keys are strings.
    let mut query = serde_json::to_value(request.query()).unwrap_or_default();
    remove_fields(&mut query, &unsupported);
    for (index, (name, value)) in query.as_object().into_iter().flatten().enumerate() {
        path.push(if index == 0 { '?' } else { '&' });
        path.extend(utf8_percent_encode(name, QUERY_ESCAPES));
        path.push('=');
        match value {
            Value::String(text) => path.extend(utf8_percent_encode(text, QUERY_ESCAPES)),
            other => path.extend(utf8_percent_encode(&other.to_string(), QUERY_ESCAPES)),
        }
    }
    let body = request.body().map(|body| {
        if unsupported.is_empty() {
            return serde_json::to_string(body).unwrap_or_default();
        }
        let mut body = serde_json::to_value(body).unwrap_or_default();
        remove_fields(&mut body, &unsupported);
        body.to_string()
    });
    HttpCall { method: R::METHOD, path, body }
}

fn remove_fields(object: &mut Value, fields: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

/// What a request was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The HTTP status.
    pub status: u16,
    /// The body, if there is one.
    pub body: Option<String>,
    is_web_page: bool,
}

/// Why a reply is not the answer to its request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpReplyError {
    /// The server did not do it.
    #[error("HTTP status {status} {body}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server says.
        body: String,
    },
    /// The server does not know the path. It answers unknown paths with its web page, and with success.
    #[error("OpenCode answered with a web page: this version does not know the request")]
    WebPage,
    /// The answer has another form than its declared one.
    #[error("the answer cannot be decoded: {0}")]
    Undecodable(#[from] DecodeError),
}

impl HttpReply {
    /// A reply with this status, type of content and body.
    #[must_use]
    pub fn new(status: u16, content_type: Option<&str>, body: impl Into<String>) -> Self {
        let body = body.into();
        let is_web_page = content_type.is_some_and(|kind| kind.starts_with("text/html"));
        Self { status, body: (!body.is_empty()).then_some(body), is_web_page }
    }

    /// Whether the server did what it was asked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && !self.is_web_page
    }

    /// The answer to a request of this type.
    ///
    /// # Errors
    /// When the server refused it or answers something else.
    pub fn decode<R: HttpRequest>(&self) -> Result<R::Response, HttpReplyError> {
        let body = self.body.as_deref().unwrap_or_default();
        if self.is_web_page {
            return Err(HttpReplyError::WebPage);
        }
        if !self.is_success() {
            return Err(HttpReplyError::Refused { status: self.status, body: body.to_owned() });
        }
        Ok(R::Response::decode(body)?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PromptOptions, Requests, SessionStatus, parse_model, text_part};
    use super::*;

    #[test]
    fn what_stands_in_a_path_or_a_query_is_escaped() {
        let requests = Requests::in_directory("/a b/c&d=e/ü~".as_ref());
        let call = Request::from(requests.abort("ses/../1?")).to_call(None);
        assert_eq!(call.path, "/session/ses%2F..%2F1%3F/abort?directory=/a%20b/c%26d%3De/%C3%BC~");
        assert_eq!((call.method, call.body), ("POST", None));
    }

    #[test]
    fn without_a_directory_there_is_no_query() {
        let call = Request::from(Requests::new().subscribe()).to_call(None);
        assert_eq!((call.method, call.path.as_str()), ("GET", "/event"));
    }

    #[test]
    fn a_field_that_a_version_does_not_take_is_left_out() {
        let table = [Support {
            name: "POST /session/{sessionID}/prompt_async.variant",
            since: Some(Version::new(1, 2, 0)),
            until: None,
            evidence: "",
        }];
        let options = PromptOptions {
            model: parse_model("lab/one"),
            variant: Some("high".to_owned()),
            ..PromptOptions::default()
        };
        let request = Requests::new().prompt("ses_1", vec![text_part("hi")], options);
        let body = |version| {
            let call = encode(&request, &table, Some(&version));
            serde_json::from_str::<Value>(&call.body.unwrap()).unwrap()
        };
        assert_eq!(body(Version::new(1, 2, 0))["variant"], "high");
        let older = body(Version::new(1, 1, 34));
        assert_eq!((older.get("variant"), &older["model"]["modelID"]), (None, &Value::from("one")));
        assert_eq!(encode(&Requests::new().abort("ses_1"), &table, Some(&Version::new(1, 1, 34))).body, None);
    }

    #[test]
    fn a_reply_is_decoded_by_the_type_of_its_request() {
        let json = |status, body: &str| HttpReply::new(status, Some("application/json"), body);
        let statuses = json(200, r#"{"ses_1":{"type":"busy"}}"#).decode::<SessionStatusesRequest>().unwrap();
        assert!(matches!(statuses["ses_1"], SessionStatus::Busy(_)));
        assert_eq!(HttpReply::new(204, None, "").decode::<PromptRequest>(), Ok(()));
        assert_eq!(json(200, "true").decode::<SessionAbortRequest>(), Ok(true));
        let refused = json(404, r#"{"name":"NotFoundError"}"#).decode::<SessionAbortRequest>();
        assert_eq!(refused.unwrap_err().to_string(), r#"HTTP status 404 {"name":"NotFoundError"}"#);
        assert!(matches!(json(200, "{}").decode::<SessionCreateRequest>(), Err(HttpReplyError::Undecodable(_))));
    }

    #[test]
    fn a_web_page_is_no_answer() {
        let page = HttpReply::new(200, Some("text/html; charset=utf-8"), "<!doctype html>");
        assert!(!page.is_success());
        assert_eq!(page.decode::<PromptRequest>(), Err(HttpReplyError::WebPage));
    }
}
