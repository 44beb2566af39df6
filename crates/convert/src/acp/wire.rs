//! Classifies a line by its top-level keys.

use std::borrow::Cow;

use interlingua_native::acp::RequestId;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Top-level keys of a JSON-RPC line, with unparsed values.
#[derive(Debug, Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// The result of a request, unparsed, or its error.
pub(super) type Outcome<'a> = Result<&'a str, &'a str>;

/// Kind of a line.
#[derive(Debug)]
pub(super) enum Line<'a> {
    Request {
        method: Cow<'a, str>,
        id: RequestId,
    },
    Notification {
        method: Cow<'a, str>,
    },
    /// The response to a request of the other side. Without an id, the other side could not read the request.
    Response {
        id: String,
        result: Outcome<'a>,
    },
    /// None of these, for this reason.
    Invalid(String),
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a str) -> Self {
        let envelope: Envelope<'a> = match serde_json::from_str(line) {
            Ok(envelope) => envelope,
            Err(error) => return Self::Invalid(error.to_string()),
        };
        match envelope {
            Envelope { method: Some(method), id: Some(id), .. } => Self::Request { method, id },
            Envelope { method: Some(method), .. } => Self::Notification { method },
            Envelope { error: Some(error), id, .. } => {
                Self::Response { id: id.map(|id| id.to_string()).unwrap_or_default(), result: Err(error.get()) }
            }
            // A `result` of null is read as a missing one.
            Envelope { id: Some(id), result, .. } => {
                Self::Response { id: id.to_string(), result: Ok(result.map_or("null", RawValue::get)) }
            }
            Envelope { .. } => Self::Invalid("not a request, notification or response".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_classified_by_its_keys() {
        let parse = Line::parse;
        assert!(
            matches!(parse(r#"{"jsonrpc":"2.0","method":"a","id":0}"#), Line::Request { method, .. } if method == "a")
        );
        assert!(matches!(parse(r#"{"params":{},"method":"a\/b"}"#), Line::Notification { method } if method == "a/b"));
        assert!(matches!(parse(r#"{"id":"x","result":{}}"#), Line::Response { id, result: Ok("{}") } if id == "x"));
        assert!(matches!(parse(r#"{"id":1,"result":null}"#), Line::Response { result: Ok("null"), .. }));
        assert!(
            matches!(parse(r#"{"id":null,"error":{"code":1}}"#), Line::Response { id, result: Err(_) } if id.is_empty())
        );
        for invalid in ["[]", "{}", "plain text", r#"{"id":1"#] {
            assert!(matches!(parse(invalid), Line::Invalid(_)), "{invalid}");
        }
    }
}
