//! What a converter is given.

use interlingua_wirelog::{Header, Wire};

/// Something that crossed the wire between host and agent. What the host sends counts too: it is how a prompt, an
/// answer or an interrupt becomes known.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// The host sent a line.
    Sent(&'a str),
    /// The agent sent a line, or one payload of an event stream.
    Received(&'a str),
    /// The agent wrote a line to its standard error.
    Stderr(&'a str),
    /// The host made an HTTP request.
    Request {
        /// Numbers the request; its reply has the same number.
        call: u64,
        /// `GET`, `POST`, ….
        method: &'a str,
        /// The path with its query.
        path: &'a str,
        /// The JSON body, if there is one.
        body: Option<&'a str>,
    },
    /// The agent answered an HTTP request.
    Reply {
        /// The number of the request.
        call: u64,
        /// The HTTP status.
        status: u16,
        /// The JSON body, if there is one.
        body: Option<&'a str>,
    },
    /// The host closed the agent's input.
    Close,
    /// The agent is gone. The turn it leaves open is closed after the converter has seen this.
    Exit {
        /// Its exit code; a signal is a negative one. Absent when nobody knows.
        code: Option<i32>,
    },
}

impl<'a> Input<'a> {
    /// The native payload, which is what `raw` is taken from.
    pub(crate) fn payload(&self) -> Option<&'a str> {
        match *self {
            Self::Sent(line) | Self::Received(line) => Some(line),
            Self::Request { body, .. } | Self::Reply { body, .. } => body,
            Self::Stderr(_) | Self::Close | Self::Exit { .. } => None,
        }
    }

    /// Whether these are the agent's own words. A reply without a body has none.
    pub(crate) fn is_from_agent(&self) -> bool {
        matches!(self, Self::Received(_) | Self::Reply { body: Some(_), .. })
    }
}

impl<'a> From<&'a Wire<'_>> for Input<'a> {
    fn from(wire: &'a Wire<'_>) -> Self {
        match wire {
            Wire::Sent { line } => Self::Sent(line),
            Wire::Received { line } => Self::Received(line),
            Wire::Stderr { line } => Self::Stderr(line),
            Wire::Request { call, method, path, body } => {
                Self::Request { call: *call, method, path, body: body.as_ref().map(|body| body.get()) }
            }
            Wire::Reply { call, status, body } => {
                Self::Reply { call: *call, status: *status, body: body.as_ref().map(|body| body.get()) }
            }
            Wire::Close => Self::Close,
            Wire::Exit { code } => Self::Exit { code: *code },
        }
    }
}

/// How an agent was started: what the wire itself does not show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The agent's version; absent when nobody knows.
    pub version: Option<String>,
    /// The command line; empty when nobody knows.
    pub argv: Vec<String>,
    /// The prompt of a one-shot run, where it is known apart from `argv`.
    pub prompt: Option<String>,
}

impl From<&Header> for Launch {
    fn from(header: &Header) -> Self {
        Self { version: header.version.clone(), argv: header.argv.clone(), prompt: header.prompt.clone() }
    }
}
