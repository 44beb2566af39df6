//! One line of a wirelog after the header.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer, ser};
use serde_json::value::RawValue;

use crate::Input;

/// An input with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Milliseconds since the recording began; `None` in a plain log, which has no times.
    pub t: Option<i64>,
    /// What crossed the wire.
    pub input: Input,
}

/// The fields of all kinds of records, as they are in the file.
#[derive(Deserialize, Serialize)]
struct Fields<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<serde_json::Number>,
    #[serde(borrow)]
    dir: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    line: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<u64>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    method: Option<Text<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    path: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
}

/// A string that is borrowed if it has no escapes. serde never borrows a plain `Cow` inside an `Option`.
#[derive(Deserialize, Serialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

impl Record {
    /// An input that crossed the wire at this time.
    #[must_use]
    pub const fn new(t: Option<i64>, input: Input) -> Self {
        Self { t, input }
    }

    /// Parses a line. The error says what was expected.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let t = fields.t.as_ref().and_then(parse_millis);
        let body = fields.body.map(|body| body.get().to_owned());
        let input = match (&*fields.dir, fields.line.map(Text::into_owned), fields.call) {
            ("send", Some(line), _) => Input::Sent(line),
            ("recv", Some(line), _) => Input::Received(line),
            ("stderr", Some(line), _) => Input::Stderr(line),
            ("send", None, Some(call)) => match (fields.method, fields.path) {
                (Some(method), Some(path)) => {
                    Input::Request { call, method: method.into_owned(), path: path.into_owned(), body }
                }
                _ => return Err("expected \"method\" and \"path\" together with \"call\"".to_owned()),
            },
            ("reply", _, Some(call)) => match fields.status {
                Some(status) => Input::Reply { call, status, body },
                None => return Err("expected a \"status\" in a reply record".to_owned()),
            },
            ("close", ..) => Input::Close,
            ("exit", ..) => Input::Exit { code: fields.code },
            ("send", None, None) => {
                return Err("expected a \"line\" or a \"call\" in a send record".to_owned());
            }
            ("recv" | "stderr", None, _) => {
                return Err(format!("expected a \"line\" in a {} record", fields.dir));
            }
            ("reply", _, None) => return Err("expected a \"call\" in a reply record".to_owned()),
            (dir, ..) => {
                return Err(format!("expected \"dir\" to be send, recv, stderr, reply, close or exit, found {dir:?}"));
            }
        };
        Ok(Self { t, input })
    }
}

/// Parses a time in milliseconds. Some recorders write it with a fraction.
#[allow(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, which is right for an invalid time")]
fn parse_millis(t: &serde_json::Number) -> Option<i64> {
    t.as_i64().or_else(|| t.as_f64().map(|t| t as i64))
}

/// Fails if a body is not JSON. An unreadable line is written as text with replacement characters, so reading the
/// record back gives a received line.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn text(text: &str) -> Text<'_> {
            Text(Cow::Borrowed(text))
        }
        fn json<E: ser::Error>(body: Option<&String>) -> Result<Option<&RawValue>, E> {
            let body = body.map_or(Ok(RawValue::NULL), |body| serde_json::from_str(body));
            body.map(Some).map_err(|error| E::custom(format!("expected the body to be JSON: {error}")))
        }
        let empty = Fields {
            t: self.t.map(Into::into),
            dir: Cow::Borrowed(""),
            line: None,
            call: None,
            method: None,
            path: None,
            status: None,
            body: None,
            code: None,
        };
        let fields = match &self.input {
            Input::Sent(line) => Fields { dir: "send".into(), line: Some(text(line)), ..empty },
            Input::Received(line) => Fields { dir: "recv".into(), line: Some(text(line)), ..empty },
            Input::Stderr(line) => Fields { dir: "stderr".into(), line: Some(text(line)), ..empty },
            Input::Unreadable { bytes, .. } => {
                Fields { dir: "recv".into(), line: Some(Text(String::from_utf8_lossy(bytes))), ..empty }
            }
            Input::Request { call, method, path, body } => Fields {
                dir: "send".into(),
                call: Some(*call),
                method: Some(text(method)),
                path: Some(text(path)),
                body: json(body.as_ref())?,
                ..empty
            },
            Input::Reply { call, status, body } => Fields {
                dir: "reply".into(),
                call: Some(*call),
                status: Some(*status),
                body: json(body.as_ref())?,
                ..empty
            },
            Input::Close => Fields { dir: "close".into(), ..empty },
            Input::Exit { code } => Fields { dir: "exit".into(), code: *code, ..empty },
        };
        fields.serialize(serializer)
    }
}
