//! One line of a wirelog after the header.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// Something that crossed the wire, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Record<'a> {
    /// Milliseconds since the recording began; absent in a plain log, which has no clock.
    pub t: Option<i64>,
    /// What it was.
    pub wire: Wire<'a>,
}

/// What crossed the wire.
#[derive(Clone, Debug)]
pub enum Wire<'a> {
    /// The host sent a line.
    Sent {
        /// The line, byte for byte, without its line break.
        line: Cow<'a, str>,
    },
    /// The agent sent a line, or one payload of an event stream.
    Received {
        /// The line, byte for byte, without its line break.
        line: Cow<'a, str>,
    },
    /// The agent wrote a line to its standard error.
    Stderr {
        /// The line, without its line break.
        line: Cow<'a, str>,
    },
    /// The host made an HTTP request.
    Request {
        /// Numbers the request; its reply has the same number.
        call: u64,
        /// `GET`, `POST`, ….
        method: Cow<'a, str>,
        /// The path with its query.
        path: Cow<'a, str>,
        /// The JSON body; absent when there is none.
        body: Option<Cow<'a, RawValue>>,
    },
    /// The agent answered an HTTP request.
    Reply {
        /// The number of the request.
        call: u64,
        /// The HTTP status.
        status: u16,
        /// The JSON body; absent when there is none.
        body: Option<Cow<'a, RawValue>>,
    },
    /// The host closed the agent's input.
    Close,
    /// The agent is gone.
    Exit {
        /// Its exit code; a signal is a negative one. Absent when nobody knows.
        code: Option<i32>,
    },
}

impl Wire<'_> {
    /// The same, borrowing from nothing.
    #[must_use]
    pub fn into_owned(self) -> Wire<'static> {
        fn text(text: Cow<'_, str>) -> Cow<'static, str> {
            text.into_owned().into()
        }
        fn json(body: Option<Cow<'_, RawValue>>) -> Option<Cow<'static, RawValue>> {
            body.map(|body| Cow::Owned(body.into_owned()))
        }
        match self {
            Self::Sent { line } => Wire::Sent { line: text(line) },
            Self::Received { line } => Wire::Received { line: text(line) },
            Self::Stderr { line } => Wire::Stderr { line: text(line) },
            Self::Request { call, method, path, body } => {
                Wire::Request { call, method: text(method), path: text(path), body: json(body) }
            }
            Self::Reply { call, status, body } => Wire::Reply { call, status, body: json(body) },
            Self::Close => Wire::Close,
            Self::Exit { code } => Wire::Exit { code },
        }
    }
}

/// Bodies are equal when their bytes are.
impl PartialEq for Wire<'_> {
    fn eq(&self, other: &Self) -> bool {
        fn text<'b>(body: Option<&'b Cow<'_, RawValue>>) -> Option<&'b str> {
            body.map(|body| body.get())
        }
        match (self, other) {
            (Self::Sent { line: a }, Self::Sent { line: b })
            | (Self::Received { line: a }, Self::Received { line: b })
            | (Self::Stderr { line: a }, Self::Stderr { line: b }) => a == b,
            (
                Self::Request { call: c1, method: m1, path: p1, body: b1 },
                Self::Request { call: c2, method: m2, path: p2, body: b2 },
            ) => c1 == c2 && m1 == m2 && p1 == p2 && text(b1.as_ref()) == text(b2.as_ref()),
            (Self::Reply { call: c1, status: s1, body: b1 }, Self::Reply { call: c2, status: s2, body: b2 }) => {
                c1 == c2 && s1 == s2 && text(b1.as_ref()) == text(b2.as_ref())
            }
            (Self::Close, Self::Close) => true,
            (Self::Exit { code: a }, Self::Exit { code: b }) => a == b,
            _ => false,
        }
    }
}

/// A record with all the fields any of them has.
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

/// A string that borrows where it has no escapes; inside an `Option`, a plain `Cow` never would.
#[derive(Deserialize, Serialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Record<'a> {
    /// Reads a line; the error says what was expected.
    pub(crate) fn read(line: &'a [u8]) -> Result<Self, String> {
        let fields: Fields<'a> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let t = fields.t.as_ref().and_then(millis);
        let body = fields.body.map(Cow::Borrowed);
        let wire = match (&*fields.dir, fields.line, fields.call) {
            ("send", Some(Text(line)), _) => Wire::Sent { line },
            ("recv", Some(Text(line)), _) => Wire::Received { line },
            ("stderr", Some(Text(line)), _) => Wire::Stderr { line },
            ("send", None, Some(call)) => match (fields.method, fields.path) {
                (Some(Text(method)), Some(Text(path))) => Wire::Request { call, method, path, body },
                _ => return Err("expected \"method\" and \"path\" beside \"call\"".to_owned()),
            },
            ("reply", _, Some(call)) => match fields.status {
                Some(status) => Wire::Reply { call, status, body },
                None => return Err("expected a \"status\" in a reply".to_owned()),
            },
            ("close", ..) => Wire::Close,
            ("exit", ..) => Wire::Exit { code: fields.code },
            ("send", None, None) => {
                return Err("expected a \"line\" or a \"call\" in what was sent".to_owned());
            }
            ("recv" | "stderr", None, _) => {
                return Err(format!("expected a \"line\" in a {} record", fields.dir));
            }
            ("reply", _, None) => return Err("expected a \"call\" in a reply".to_owned()),
            (dir, ..) => {
                return Err(format!("expected \"dir\" to be send, recv, stderr, reply, close or exit, found {dir:?}"));
            }
        };
        Ok(Self { t, wire })
    }
}

/// A time in milliseconds, which some recorders write with a fraction.
#[allow(clippy::cast_possible_truncation, reason = "a cast from f64 saturates, which is what a wild time should do")]
fn millis(t: &serde_json::Number) -> Option<i64> {
    t.as_i64().or_else(|| t.as_f64().map(|t| t as i64))
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn text(text: &str) -> Text<'_> {
            Text(Cow::Borrowed(text))
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
        let fields = match &self.wire {
            Wire::Sent { line } => Fields { dir: "send".into(), line: Some(text(line)), ..empty },
            Wire::Received { line } => Fields { dir: "recv".into(), line: Some(text(line)), ..empty },
            Wire::Stderr { line } => Fields { dir: "stderr".into(), line: Some(text(line)), ..empty },
            Wire::Request { call, method, path, body } => Fields {
                dir: "send".into(),
                call: Some(*call),
                method: Some(text(method)),
                path: Some(text(path)),
                body: Some(body.as_deref().unwrap_or(RawValue::NULL)),
                ..empty
            },
            Wire::Reply { call, status, body } => Fields {
                dir: "reply".into(),
                call: Some(*call),
                status: Some(*status),
                body: Some(body.as_deref().unwrap_or(RawValue::NULL)),
                ..empty
            },
            Wire::Close => Fields { dir: "close".into(), ..empty },
            Wire::Exit { code } => Fields { dir: "exit".into(), code: *code, ..empty },
        };
        fields.serialize(serializer)
    }
}
