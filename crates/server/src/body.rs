//! Request bodies.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::problem::{Kind, Problem};

const MIB: usize = 1024 * 1024;

/// A body of JSON, of at most so many MiB.
pub(crate) struct JsonBody<T, const MIBS: usize = 1>(pub(crate) T);

/// The same, where an empty body stands for `{}`.
pub(crate) struct OptionalJsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync, const MIBS: usize> FromRequest<S> for JsonBody<T, MIBS> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_type(request.headers())?;
        let bytes = read(request, MIBS * MIB).await?;
        parse(&bytes).map(Self)
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let typed = check_type(request.headers());
        let bytes = read(request, MIB).await?;
        if bytes.is_empty() {
            return parse(b"{}").map(Self);
        }
        typed?;
        parse(&bytes).map(Self)
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let found = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = found.as_deref().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let found = found.map_or("none".to_owned(), |found| format!("`{found}`"));
    Err(Problem::new(
        Kind::UnsupportedMediaType,
        format!("expected the content type `application/json`, found {found}"),
    ))
}

/// Reads a body of at most so many bytes.
///
/// The rest of a body that is too long is read and thrown away, up to a point: a client that is still sending when the
/// connection closes would not see the answer.
async fn read(request: Request, most: usize) -> Result<Vec<u8>, Problem> {
    let (parts, mut body) = request.into_parts();
    let declared = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let declared = declared.unwrap_or_default();
    let waits_to_be_asked = parts.headers.contains_key(EXPECT);
    if declared > most && waits_to_be_asked {
        return Err(too_large(most));
    }
    let mut bytes = Vec::with_capacity(declared.min(most).min(MIB));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Problem::new(Kind::StreamError, format!("the body broke off: {error}")))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > most {
            drop(bytes);
            throw_away(body, 2 * most).await;
            return Err(too_large(most));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

async fn throw_away(mut body: Body, most: usize) {
    let mut thrown = 0;
    while let Some(Ok(frame)) = body.frame().await {
        thrown += frame.data_ref().map_or(0, Bytes::len);
        if thrown > most {
            return;
        }
    }
}

fn too_large(most: usize) -> Problem {
    Problem::new(Kind::PayloadTooLarge, format!("the body may have at most {} MiB", most / MIB))
}

/// Reads JSON. What is no JSON at all is another problem than JSON of the wrong shape.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let error = match serde_path_to_error::deserialize(&mut json) {
        Ok(value) => match json.end() {
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
        let problem = Problem::misshapen(error.inner().to_string());
        // `missing field` is said of the object, not of the field.
        return Err(match error.inner().to_string().split('`').nth(1) {
            Some(field) => problem.field(field),
            None => problem,
        });
    }
    // serde repeats the value that it did not expect, and these hold secrets.
    let is_secret = ["env", "mcp"].iter().any(|name| path.split(['.', '[']).next() == Some(name));
    let detail = if is_secret {
        format!("`{path}` is not of the shape it should have; GET /v1/openapi.json says which")
    } else {
        format!("`{path}`: {}", error.inner())
    };
    Err(Problem::misshapen(detail).field(&path))
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::invalid(format!("the body is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Shape {
        number: u8,
        #[serde(default)]
        env: std::collections::BTreeMap<String, String>,
        #[serde(default)]
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only read")]
    struct Inner {
        path: String,
    }

    fn refusal(json: &str) -> (StatusCode, String) {
        let problem = parse::<Shape>(json.as_bytes()).unwrap_err();
        let text = format!("{problem:?}");
        (problem.into_response().status(), text)
    }

    #[test]
    fn what_is_no_json_is_400_wherever_the_fault_is() {
        for json in ["", "{", "nonsense", r#"{"number":"x""#, r#"{"number":1} more"#, "{\"number\":1}\u{0}"] {
            assert_eq!(refusal(json).0, StatusCode::BAD_REQUEST, "{json}");
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
            let (status, text) = refusal(json);
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{json}");
            assert!(text.contains(&format!("\"field\": String({field:?})")), "{text}");
        }
        assert_eq!(refusal("[]").0, StatusCode::UNPROCESSABLE_ENTITY);
    }

    #[test]
    fn secrets_are_not_repeated() {
        for json in [r#"{"number":1,"env":"s3cret"}"#, r#"{"number":1,"env":{"KEY":["s3cret"]}}"#] {
            let (status, text) = refusal(json);
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
