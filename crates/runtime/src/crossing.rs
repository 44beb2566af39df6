//! What crosses the wire, owned, on its way from a driver to its session.

use interlingua_convert::{Failure, Input, Launch};
use interlingua_schema::Timestamp;

use crate::batches::Bytes;

/// Something that crossed the wire, and when.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub(crate) at: Timestamp,
    pub(crate) what: What,
}

impl Bytes for Crossing {
    fn bytes(&self) -> usize {
        self.what.bytes()
    }
}

/// The owned twin of [`Input`], and what only a driver can tell.
#[derive(Debug)]
pub(crate) enum What {
    Launched(Launch),
    Sent(String),
    Received(String),
    Garbled { bytes: Vec<u8>, reason: String },
    Stderr(String),
    Request { call: u64, method: &'static str, path: String, body: Option<String> },
    Reply { call: u64, status: u16, body: Option<String> },
    Closed,
    Exit(Option<i32>),
    Failed(Failure),
}

impl What {
    /// As a converter's input; `None` for what a converter is not shown.
    pub(crate) fn input(&self) -> Option<Input<'_>> {
        Some(match self {
            Self::Sent(line) => Input::Sent(line),
            Self::Received(line) => Input::Received(line),
            Self::Stderr(line) => Input::Stderr(line),
            Self::Request { call, method, path, body } => {
                Input::Request { call: *call, method, path, body: body.as_deref() }
            }
            Self::Reply { call, status, body } => Input::Reply { call: *call, status: *status, body: body.as_deref() },
            Self::Closed => Input::Close,
            Self::Exit(code) => Input::Exit { code: *code },
            Self::Launched(_) | Self::Garbled { .. } | Self::Failed(_) => return None,
        })
    }

    /// About how many bytes it is.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Sent(line) | Self::Received(line) | Self::Stderr(line) => line.len(),
            Self::Garbled { bytes, .. } => bytes.len(),
            Self::Request { body, .. } | Self::Reply { body, .. } => body.as_ref().map_or(0, String::len),
            Self::Launched(_) | Self::Closed | Self::Exit(_) | Self::Failed(_) => 0,
        }
    }
}
