//! Extractors of JSON request bodies.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use http_body_util::BodyExt;
use interlingua_runtime::run_cpu_bound;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::timeout;

use crate::app::App;
use crate::body_room::{BodyRoom, ReceivedBody};
use crate::known_names::expect_known;
use crate::object::{Object, field_names, object_keys};
use crate::problem::{Problem, ProblemKind};

pub(crate) const MIB: usize = 1024 * 1024;

/// How long a client may take to send the next part of a body.
const BODY_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body of at most `MAX_MIB` MiB.
pub(crate) struct JsonBody<T, const MAX_MIB: usize = 1>(pub(crate) T);

/// A JSON body of at most 1 MiB whose fields are all known: a misspelt field is refused (422) instead of ignored.
pub(crate) struct StrictJsonBody<T>(pub(crate) T);

/// A JSON body of at most 1 MiB. An empty body stands for `{}`.
pub(crate) struct OptionalJsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync, const MAX_MIB: usize> FromRequest<S> for JsonBody<T, MAX_MIB> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = read_body(request, MAX_MIB * MIB).await?;
        run_cpu_bound(bytes.len(), || parse(&bytes)).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<App> for StrictJsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = read_body(request, MIB).await?;
        let value = run_cpu_bound(bytes.len(), || parse(&bytes));
        // An unknown field may be the misspelt name of one that is reported as missing. Another API ignores it.
        if app.config().compat.is_none() && value.as_ref().map_or_else(Problem::is_unprocessable, |_| true) {
            let known = field_names::<T>();
            for key in run_cpu_bound(bytes.len(), || object_keys(&bytes)) {
                expect_known("field", &key, known)?;
            }
        }
        value.map(Self)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let content_type = check_content_type(request.headers());
        let bytes = read_body(request, MIB).await?;
        if bytes.is_empty() {
            return parse(b"{}").map(Self);
        }
        content_type?;
        run_cpu_bound(bytes.len(), || parse(&bytes)).map(Self)
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let found = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = found.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let found = found.map_or("none".to_owned(), |found| format!("`{found}`"));
    Err(Problem::new(
        ProblemKind::UnsupportedMediaType,
        format!("expected the content type `application/json`, found {found}"),
    ))
}

/// Reads a body of at most `max_bytes`.
pub(crate) async fn read_body(request: Request, max_bytes: usize) -> Result<Vec<u8>, Problem> {
    let (parts, body) = request.into_parts();
    let declared = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let declared = declared.unwrap_or_default();
    // A client with `Expect: 100-continue` has not sent the body yet.
    let waits_for_continue = parts.headers.contains_key(EXPECT);
    if declared > max_bytes && waits_for_continue {
        return Err(too_large(max_bytes));
    }
    let mut received = ReceivedBody::new(declared.min(max_bytes), parts.extensions.get::<BodyRoom>().cloned());
    let mut body = BodyReader(body);
    while let Some(piece) = body.next().await? {
        if received.bytes.len() + piece.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        received.push(&piece).await?;
    }
    Ok(received.finish().await)
}

/// Reads a body in the pieces in which it arrives. Fails if nothing arrives for a while.
pub(crate) struct BodyReader(Body);

impl BodyReader {
    pub(crate) fn new(request: Request) -> Self {
        Self(request.into_body())
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let frame = timeout(BODY_READ_TIMEOUT, self.0.frame()).await.map_err(|_| {
                let seconds = BODY_READ_TIMEOUT.as_secs();
                Problem::request_timeout(format!("no part of the request body arrived within {seconds} s"))
            })?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| {
                Problem::new(ProblemKind::StreamError, format!("the request body was cut off: {error}"))
            })?;
            // Trailers are ignored.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

fn too_large(max_bytes: usize) -> Problem {
    Problem::new(ProblemKind::PayloadTooLarge, format!("the body may have at most {} MiB", max_bytes / MIB))
}

/// Parses a JSON object. Invalid JSON is another problem (400) than JSON of the wrong shape (422).
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let error = match serde_path_to_error::deserialize(&mut json) {
        Ok(Object(value)) => match json.end() {
            Ok(()) => return Ok(value),
            Err(error) => return Err(not_json(&error)),
        },
        Err(error) => error,
    };
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(bytes) {
        return Err(not_json(&error));
    }
    let path = error.path().to_string();
    if path == "." {
        let problem = Problem::unprocessable(error.inner().to_string());
        // serde reports a missing field with the path of the object; the message has the field in backticks.
        return Err(match error.inner().to_string().split('`').nth(1) {
            Some(field) => problem.field(field),
            None => problem,
        });
    }
    // Some of serde's messages contain the unexpected value, and values in these fields are secrets.
    let is_secret = ["env", "mcp"].iter().any(|name| path.split(['.', '[']).next() == Some(name));
    let has_value = |message: String| VALUE_MESSAGES.iter().any(|start| message.starts_with(start));
    let detail = if is_secret && has_value(error.inner().to_string()) {
        format!("`{path}` does not have the expected shape; GET /v1/openapi.json describes it")
    } else {
        format!("`{path}`: {}", error.inner())
    };
    Err(Problem::unprocessable(detail).field(&path))
}

/// How those of serde's messages begin that contain a value of the JSON.
const VALUE_MESSAGES: [&str; 3] = ["invalid type", "invalid value", "unknown variant"];

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::invalid(format!("the body is not valid JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only parsed")]
    struct Shape {
        number: u8,
        #[serde(default)]
        env: std::collections::BTreeMap<String, String>,
        #[serde(default)]
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only parsed")]
    struct Inner {
        path: String,
    }

    fn parse_error(json: &str) -> (StatusCode, String) {
        let problem = parse::<Shape>(json.as_bytes()).unwrap_err();
        let text = format!("{problem:?}");
        (problem.into_response().status(), text)
    }

    #[test]
    fn invalid_json_is_400_wherever_the_error_is() {
        for json in ["", "{", "nonsense", r#"{"number":"x""#, r#"{"number":1} more"#, "{\"number\":1}\u{0}"] {
            assert_eq!(parse_error(json).0, StatusCode::BAD_REQUEST, "{json}");
        }
    }

    #[test]
    fn json_of_the_wrong_shape_is_422_and_names_the_field() {
        for (json, field) in [
            ("{}", "number"),
            (r#"{"number":"x"}"#, "number"),
            (r#"{"number":300}"#, "number"),
            (r#"{"number":1,"list":[{"path":"a"},{"path":2}]}"#, "list[1].path"),
        ] {
            let (status, text) = parse_error(json);
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{json}");
            assert!(text.contains(&format!("\"field\": String({field:?})")), "{text}");
        }
        for json in ["[]", r#"[1,{"KEY":"v"},[]]"#, "null"] {
            let (status, text) = parse_error(json);
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{json}");
            assert!(text.contains("expected an object"), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_part_of_the_error() {
        for json in [r#"{"number":1,"env":"s3cret"}"#, r#"{"number":1,"env":{"KEY":["s3cret"]}}"#] {
            let (status, text) = parse_error(json);
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
