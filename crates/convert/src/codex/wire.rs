//! What a line is, told from its outermost keys.

use std::borrow::Cow;

use interlingua_native::codex::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The outermost keys of a JSON-RPC line, with what stands below them unread.
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
    /// Only `codex exec --json` has one.
    r#type: Option<IgnoredAny>,
}

impl<'a> Envelope<'a> {
    pub(super) fn read(line: &'a str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }
}

/// What a received line is.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// The agent tells or asks something.
    Method(Cow<'a, str>),
    /// The agent answers the host, as it usually writes that: the text behind `"result":` up to the last brace, unread.
    /// It may turn out to be more than the result.
    Result { id: &'a str, text: &'a str },
    /// The agent answers the host.
    Answer(Envelope<'a>),
    /// An event of `codex exec --json`.
    Exec,
    /// Nothing that Codex says, for this reason.
    Strange(String),
}

impl<'a> Line<'a> {
    /// Codex puts the telling key first, so most lines are known by their beginning.
    pub(super) fn of(line: &'a str) -> Self {
        if let Some(rest) = line.strip_prefix(r#"{"method":""#)
            && let Some(end) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\'))
            && rest.as_bytes().get(end) == Some(&b'"')
        {
            return Self::Method(Cow::Borrowed(&rest[..end]));
        }
        if line.starts_with(r#"{"type":""#) {
            return Self::Exec;
        }
        if let Some(rest) = line.strip_prefix(r#"{"id":"#)
            && let Some(end) = rest.bytes().position(|byte| !byte.is_ascii_digit())
            && let (id, rest) = rest.split_at(end)
            && let Some(rest) = rest.strip_prefix(r#","result":"#)
            && let Some(text) = rest.strip_suffix('}')
        {
            return Self::Result { id, text };
        }
        Self::read(line)
    }

    /// As [`of`](Self::of), from all of the line.
    pub(super) fn read(line: &'a str) -> Self {
        match Envelope::read(line) {
            Err(reason) => Self::Strange(reason),
            Ok(Envelope { method: Some(method), .. }) => Self::Method(method),
            Ok(Envelope { r#type: Some(_), .. }) => Self::Exec,
            // A result may be null, which reads like none.
            Ok(envelope) if envelope.id.is_some() || envelope.error.is_some() => Self::Answer(envelope),
            Ok(_) => Self::Strange("neither a message, nor an answer, nor an event".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_whatever_the_order_of_its_keys() {
        assert!(matches!(Line::of(r#"{"method":"turn/started","params":{}}"#), Line::Method(m) if m == "turn/started"));
        assert!(
            matches!(Line::of(r#"{"params":{},"method":"turn\/started"}"#), Line::Method(m) if m == "turn/started")
        );
        assert!(matches!(Line::of(r#"{"error":{"code":1},"id":"a"}"#), Line::Answer(_)));
        assert!(matches!(Line::of(r#"{"id":12,"result":{"a":1}}"#), Line::Result { id: "12", text: r#"{"a":1}"# }));
        assert!(matches!(Line::read(r#"{"id":1,"result":null}"#), Line::Answer(_)));
        assert!(matches!(Line::of(r#"{"id":"1","result":{}}"#), Line::Answer(_)));
        assert!(matches!(Line::of(r#"{"usage":{},"type":"turn.completed"}"#), Line::Exec));
        for strange in ["[]", "{}", "plain words", r#"{"id":1"#] {
            assert!(matches!(Line::of(strange), Line::Strange(_)), "{strange}");
        }
    }
}
