//! The trace that a request is part of (`traceparent` of W3C Trace Context).

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;

/// Name of the header.
const TRACEPARENT: &str = "traceparent";

/// The `traceparent` of a request. One that is not valid counts as absent, as the standard demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent(Option<String>);

impl TraceParent {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next().filter(|_| values.next().is_none());
        Self(value.and_then(|value| value.to_str().ok()).filter(|text| is_valid(text)).map(str::to_owned))
    }

    /// Id of the trace.
    pub(crate) fn trace_id(&self) -> Option<&str> {
        self.0.as_deref()?.split('-').nth(1)
    }

    pub(crate) fn into_inner(self) -> Option<String> {
        self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for TraceParent {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::from_headers(&parts.headers))
    }
}

/// Whether a text is `VERSION-TRACE-PARENT-FLAGS`, in lower-case hexadecimal digits. Later versions may have more fields.
fn is_valid(text: &str) -> bool {
    let is_hex = |field: &str, length: usize| {
        field.len() == length && field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |field: &str, length| is_hex(field, length) && field.bytes().any(|byte| byte != b'0');
    let fields: Vec<&str> = text.split('-').collect();
    match fields.as_slice() {
        ["ff", ..] => false,
        [version, trace, parent, flags, rest @ ..] => {
            is_hex(version, 2)
                && is_id(trace, 32)
                && is_id(parent, 16)
                && is_hex(flags, 2)
                && (rest.is_empty() || *version != "00")
                && text.len() <= 256
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &'static str) -> TraceParent {
        TraceParent::from_headers(&[(TRACEPARENT.parse().unwrap(), text.parse().unwrap())].into_iter().collect())
    }

    #[test]
    fn only_a_valid_trace_is_accepted() {
        let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(parse(valid).trace_id(), Some("4bf92f3577b34da6a3ce929d0e0e4736"));
        assert!(parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").trace_id().is_some());
        for invalid in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(parse(invalid), TraceParent(None), "{invalid}");
        }
    }
}
