//! Requests and replies in the form of HTTP.

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

/// The characters that are escaped in a path segment.
const PATH_ESCAPES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The characters that are escaped in a query value. Slashes are allowed there and stay readable.
const QUERY_ESCAPES: &AsciiSet = &PATH_ESCAPES.remove(b'/');

/// Declares the requests of a host.
macro_rules! requests {
    ($($(#[$doc:meta])* $variant:ident($request:ty),)*) => {
        /// A request of the host.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $($(#[$doc])* $variant($request),)*
        }

        impl Request {
            /// Method and path of every operation. Path parameters are in braces.
            pub const OPERATIONS: &'static [(&'static str, &'static str)] =
                &[$((<$request as HttpRequest>::METHOD, <$request as HttpRequest>::PATH),)*];

            /// Method and path of the operation. Path parameters are in braces.
            #[must_use]
            pub fn operation(&self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$variant(_) => (<$request as HttpRequest>::METHOD, <$request as HttpRequest>::PATH),)*
                }
            }

            /// Encodes the request for a version of the server.
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
    /// Aborts the running turn of a session.
    Abort(SessionAbortRequest),
    /// Answers a permission request.
    ReplyToPermission(PermissionReplyRequest),
    /// Answers questions.
    AnswerQuestion(QuestionReplyRequest),
    /// Rejects questions.
    RejectQuestion(QuestionRejectRequest),
    /// Lists the sessions that are working, with their status.
    ListSessionStatuses(SessionStatusesRequest),
    /// Lists the agents.
    ListAgents(AgentListRequest),
    /// Lists the providers and their models.
    ListProviders(ProviderListRequest),
    /// Reads the configuration.
    GetConfiguration(ConfigGetRequest),
}

/// An encoded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpCall {
    /// The method.
    pub method: &'static str,
    /// Path and query, escaped.
    pub path: String,
    /// The body, as JSON.
    pub body: Option<String>,
}

/// Encodes a request without the fields that the version does not support.
fn encode<R: HttpRequest>(request: &R, table: &[Support], version: Option<&Version>) -> HttpCall {
    let unsupported = unsupported_fields(table, R::METHOD, R::PATH, version);
    let mut path = R::PATH.to_owned();
    for (name, value) in request.parameters() {
        path = path.replace(&format!("{{{name}}}"), &utf8_percent_encode(value, PATH_ESCAPES).to_string());
    }
    // Encoding generated types does not fail: their keys are strings.
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

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    /// The HTTP status.
    pub status: u16,
    /// The body; `None` if it is empty.
    pub body: Option<String>,
    is_web_page: bool,
}

/// Why a reply cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpReplyError {
    /// The server refused the request.
    #[error("HTTP status {status} {body}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The body.
        body: String,
    },
    /// The server does not know the path. It answers unknown paths with its web page and status 200.
    #[error("OpenCode answered with a web page: this version does not support the request")]
    WebPage,
    /// The body does not have the declared type.
    #[error("cannot decode the answer: {0}")]
    Undecodable(#[from] DecodeError),
}

impl HttpReply {
    /// A reply with this status, content type and body.
    #[must_use]
    pub fn new(status: u16, content_type: Option<&str>, body: impl Into<String>) -> Self {
        let body = body.into();
        let is_web_page = content_type.is_some_and(|kind| kind.starts_with("text/html"));
        Self { status, body: (!body.is_empty()).then_some(body), is_web_page }
    }

    /// Whether the request succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status) && !self.is_web_page
    }

    /// Decodes the reply to a request of type `R`.
    ///
    /// # Errors
    /// If the server refused the request, or the body does not have the declared type.
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
    fn values_in_a_path_or_a_query_are_escaped() {
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
    fn an_unsupported_field_is_left_out() {
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
    fn a_web_page_is_not_an_answer() {
        let page = HttpReply::new(200, Some("text/html; charset=utf-8"), "<!doctype html>");
        assert!(!page.is_success());
        assert_eq!(page.decode::<PromptRequest>(), Err(HttpReplyError::WebPage));
    }
}
