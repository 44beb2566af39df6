//! Where a play is performed: how lines leave the process, and how what the host says comes in.

mod events;
mod http;
mod stdio;

use crate::said::Said;
use crate::script::Channel;

pub(crate) use http::Http;
pub(crate) use stdio::Stdio;

/// What comes in.
#[derive(Debug)]
pub(crate) enum Incoming {
    Said(Said),
    /// The input has ended.
    End,
    Interrupted,
    Terminated,
}

/// How lines leave the process.
#[derive(Debug)]
pub(crate) enum Stage {
    Stdio(Stdio),
    Http(Http),
}

impl Stage {
    /// Says a line; an answer goes `to` the request of that key. Over standard output the line knows by itself.
    pub(crate) fn say(&mut self, channel: Channel, text: &str, to: Option<&str>) {
        match (self, channel) {
            (Self::Stdio(stdio), Channel::Err) => stdio.complain(text),
            (Self::Stdio(stdio), _) => stdio.line(text.as_bytes()),
            (Self::Http(http), Channel::Out) => http.publish(text),
            (Self::Http(_), Channel::Err) => eprintln!("{text}"),
            (Self::Http(http), Channel::Reply(status)) => http.reply(to.unwrap_or_default(), status, text),
        }
    }

    /// Says bytes that may be anything, as one line.
    pub(crate) fn line(&mut self, bytes: &[u8]) {
        match self {
            Self::Stdio(stdio) => stdio.line(bytes),
            Self::Http(http) => http.broadcast(bytes, true),
        }
    }

    /// Says the beginning of a line.
    pub(crate) fn half_line(&mut self, bytes: &[u8]) {
        match self {
            Self::Stdio(stdio) => stdio.raw(bytes),
            Self::Http(http) => http.broadcast(bytes, false),
        }
    }

    /// The host said what was waited for; the recorded answer has this status.
    pub(crate) fn heard(&mut self, key: &str, recorded: Option<u16>) {
        if let Self::Http(http) = self {
            http.heard(key, recorded);
        }
    }

    /// Sees to it that all that was said has left.
    pub(crate) async fn flush(&mut self) {
        match self {
            Self::Stdio(stdio) => stdio.flush(),
            Self::Http(http) => http.flush().await,
        }
    }
}
