//! Classifies a line by its top-level keys.

use std::borrow::Cow;

use interlingua_native::codex::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Top-level keys of a JSON-RPC line, with unparsed values.
#[derive(Debug, Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) id: Option<RequestId>,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
    /// Only events of `codex exec --json` have a type.
    r#type: Option<IgnoredAny>,
}

impl<'a> Envelope<'a> {
    pub(super) fn parse(line: &'a str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }
}

/// Kind of a received line.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// Notification or request of the agent.
    Method(Cow<'a, str>),
    /// Response in the form that Codex normally writes. `text` is everything between `"result":` and the last brace,
    /// not parsed. It may contain more than the result.
    PlainResult { id: &'a str, text: &'a str },
    /// Response of the agent to a request of the host.
    Response(Envelope<'a>),
    /// Event of `codex exec --json`.
    ExecEvent,
    /// None of these, for this reason.
    Invalid(String),
}

impl<'a> Line<'a> {
    /// Classifies a line. Codex writes the distinctive key first, so most lines are recognised without parsing them.
    pub(super) fn classify(line: &'a str) -> Self {
        if let Some(rest) = line.strip_prefix(r#"{"method":""#)
            && let Some(end) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\'))
            && rest.as_bytes().get(end) == Some(&b'"')
        {
            return Self::Method(Cow::Borrowed(&rest[..end]));
        }
        if line.starts_with(r#"{"type":""#) {
            return Self::ExecEvent;
        }
        if let Some(rest) = line.strip_prefix(r#"{"id":"#)
            && let Some(end) = rest.bytes().position(|byte| !byte.is_ascii_digit())
            && let (id, rest) = rest.split_at(end)
            && let Some(rest) = rest.strip_prefix(r#","result":"#)
            && let Some(text) = rest.strip_suffix('}')
        {
            return Self::PlainResult { id, text };
        }
        Self::parse(line)
    }

    /// As [`classify`](Self::classify), but always parses the whole line.
    pub(super) fn parse(line: &'a str) -> Self {
        match Envelope::parse(line) {
            Err(reason) => Self::Invalid(reason),
            Ok(Envelope { method: Some(method), .. }) => Self::Method(method),
            Ok(Envelope { r#type: Some(_), .. }) => Self::ExecEvent,
            // A `result` of null is read as a missing one.
            Ok(envelope) if envelope.id.is_some() || envelope.error.is_some() => Self::Response(envelope),
            Ok(_) => Self::Invalid("not a request, notification, response or event".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_classified_whatever_the_order_of_its_keys() {
        assert!(
            matches!(Line::classify(r#"{"method":"turn/started","params":{}}"#), Line::Method(m) if m == "turn/started")
        );
        assert!(
            matches!(Line::classify(r#"{"params":{},"method":"turn\/started"}"#), Line::Method(m) if m == "turn/started")
        );
        assert!(matches!(Line::classify(r#"{"error":{"code":1},"id":"a"}"#), Line::Response(_)));
        assert!(matches!(
            Line::classify(r#"{"id":12,"result":{"a":1}}"#),
            Line::PlainResult { id: "12", text: r#"{"a":1}"# }
        ));
        assert!(matches!(Line::parse(r#"{"id":1,"result":null}"#), Line::Response(_)));
        assert!(matches!(Line::classify(r#"{"id":"1","result":{}}"#), Line::Response(_)));
        assert!(matches!(Line::classify(r#"{"usage":{},"type":"turn.completed"}"#), Line::ExecEvent));
        for invalid in ["[]", "{}", "plain text", r#"{"id":1"#] {
            assert!(matches!(Line::classify(invalid), Line::Invalid(_)), "{invalid}");
        }
    }
}
