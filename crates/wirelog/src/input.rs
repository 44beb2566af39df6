//! What crosses the wire between a host and an agent.

/// Something that crossed the wire: one line, one HTTP message, or the end of one side.
///
/// This is the only declaration of what a converter can be given, whatever the source: a live process, a wirelog or
/// another file. `Input` owns its text; [`InputRef`] is the same, borrowed. What the host sends counts too: it is how a
/// prompt, an answer or an interrupt becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<Text = String, Bytes = Vec<u8>> {
    /// The host sent a line, here without its line break.
    Sent(Text),
    /// The agent sent a line, here without its line break, or one payload of an event stream.
    Received(Text),
    /// The agent wrote a line to its standard error.
    Stderr(Text),
    /// The agent sent something that is not a line of text: too long, or not UTF-8.
    Unreadable {
        /// The bytes. Of a line that is too long, the first [`LONG_LINE_PREFIX`](crate::LONG_LINE_PREFIX).
        bytes: Bytes,
        /// What was expected and what was found.
        error: Text,
    },
    /// The host made an HTTP request.
    Request {
        /// Numbers the request; its reply has the same number.
        call: u64,
        /// `GET`, `POST`, ….
        method: Text,
        /// The path with its query.
        path: Text,
        /// The body, which is JSON; absent when there is none.
        body: Option<Text>,
    },
    /// The agent answered an HTTP request.
    Reply {
        /// The number of the request.
        call: u64,
        /// The HTTP status.
        status: u16,
        /// The body, which is JSON; absent when there is none.
        body: Option<Text>,
    },
    /// The host closed the agent's input.
    Close,
    /// The agent is gone.
    Exit {
        /// Its exit code; a signal is a negative one. Absent when nobody knows.
        code: Option<i32>,
    },
}

/// An [`Input`] that borrows its text.
pub type InputRef<'a> = Input<&'a str, &'a [u8]>;

impl Input {
    /// The same, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> InputRef<'_> {
        match self {
            Self::Sent(line) => Input::Sent(line),
            Self::Received(line) => Input::Received(line),
            Self::Stderr(line) => Input::Stderr(line),
            Self::Unreadable { bytes, error } => Input::Unreadable { bytes, error },
            Self::Request { call, method, path, body } => {
                Input::Request { call: *call, method, path, body: body.as_deref() }
            }
            Self::Reply { call, status, body } => Input::Reply { call: *call, status: *status, body: body.as_deref() },
            Self::Close => Input::Close,
            Self::Exit { code } => Input::Exit { code: *code },
        }
    }

    /// Size of the payload in bytes.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Unreadable { bytes, .. } => bytes.len(),
            Self::Stderr(line) => line.len(),
            input => input.borrowed().payload().map_or(0, str::len),
        }
    }
}

impl<'a> InputRef<'a> {
    /// The native payload: a line of the conversation or a body.
    #[must_use]
    pub fn payload(&self) -> Option<&'a str> {
        match *self {
            Self::Sent(line) | Self::Received(line) => Some(line),
            Self::Request { body, .. } | Self::Reply { body, .. } => body,
            Self::Stderr(_) | Self::Unreadable { .. } | Self::Close | Self::Exit { .. } => None,
        }
    }

    /// Whether the agent said this. A reply without a body says nothing.
    #[must_use]
    pub fn is_from_agent(&self) -> bool {
        matches!(self, Self::Received(_) | Self::Unreadable { .. } | Self::Reply { body: Some(_), .. })
    }
}
