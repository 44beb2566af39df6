//! What crosses the wire between a host and an agent.

/// One record of what crossed the wire: a line, an HTTP message, or the end of one side.
///
/// It is the only input type of a converter, whatever the source: a live process, a wirelog or another file. `Input`
/// owns its text; [`InputRef`] borrows it. Inputs that the host sent are included, because they carry prompts, answers
/// and interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<Text = String, Bytes = Vec<u8>> {
    /// The host sent a line. The text has no line break.
    Sent(Text),
    /// The agent sent a line or one payload of an event stream. The text has no line break.
    Received(Text),
    /// The agent wrote a line to standard error.
    Stderr(Text),
    /// The agent sent a line that is too long or not UTF-8.
    Unreadable {
        /// The bytes of the line; the first [`LONG_LINE_PREFIX`](crate::LONG_LINE_PREFIX) if it is too long.
        bytes: Bytes,
        /// What was expected and what was found.
        error: Text,
    },
    /// The host made an HTTP request.
    Request {
        /// Number of the request. Its reply has the same number.
        call: u64,
        /// HTTP method: `GET`, `POST`, ….
        method: Text,
        /// The path with its query.
        path: Text,
        /// The body, which is JSON; `None` if there is none.
        body: Option<Text>,
    },
    /// The agent answered an HTTP request.
    Reply {
        /// Number of the request.
        call: u64,
        /// The HTTP status.
        status: u16,
        /// The body, which is JSON; `None` if there is none.
        body: Option<Text>,
    },
    /// The host closed the agent's input.
    Close,
    /// The agent exited.
    Exit {
        /// Exit code; a signal is a negative number. `None` if it is not known.
        code: Option<i32>,
    },
}

/// An [`Input`] that borrows its text.
pub type InputRef<'a> = Input<&'a str, &'a [u8]>;

impl Input {
    /// Borrows the input's text.
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
    /// The native payload: a line that was sent or received, or a body.
    #[must_use]
    pub fn payload(&self) -> Option<&'a str> {
        match *self {
            Self::Sent(line) | Self::Received(line) => Some(line),
            Self::Request { body, .. } | Self::Reply { body, .. } => body,
            Self::Stderr(_) | Self::Unreadable { .. } | Self::Close | Self::Exit { .. } => None,
        }
    }

    /// Whether the agent sent a payload. A reply without a body has none.
    #[must_use]
    pub fn is_from_agent(&self) -> bool {
        matches!(self, Self::Received(_) | Self::Unreadable { .. } | Self::Reply { body: Some(_), .. })
    }
}
