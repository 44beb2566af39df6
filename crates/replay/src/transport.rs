//! How lines leave the process, and how messages of the host come in.

mod event_stream;
mod http;
mod stdio;

use crate::message::HostMessage;
use crate::script::Channel;

pub(crate) use http::Http;
pub(crate) use stdio::Stdio;

/// What comes in from the host.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(HostMessage),
    EndOfInput,
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

/// How lines leave the process.
#[derive(Debug)]
pub(crate) enum Transport {
    Stdio(Stdio),
    Http(Http),
}

impl Transport {
    /// Sends a line. Over HTTP, an answer goes to the request with key `to`; on standard output the line itself carries
    /// the key.
    pub(crate) fn send(&mut self, channel: Channel, text: &str, to: Option<&str>) {
        match (self, channel) {
            (Self::Stdio(stdio), Channel::Stderr) => stdio.write_stderr(text),
            (Self::Stdio(stdio), _) => stdio.write_line(text.as_bytes()),
            (Self::Http(http), Channel::Output) => http.publish(text),
            (Self::Http(_), Channel::Stderr) => eprintln!("{text}"),
            (Self::Http(http), Channel::Reply(status)) => http.reply(to.unwrap_or_default(), status, text),
        }
    }

    /// Sends arbitrary bytes as one line.
    pub(crate) fn send_line(&mut self, bytes: &[u8]) {
        match self {
            Self::Stdio(stdio) => stdio.write_line(bytes),
            Self::Http(http) => http.broadcast_payload(bytes),
        }
    }

    /// Sends the beginning of a line.
    pub(crate) fn send_partial_line(&mut self, bytes: &[u8]) {
        match self {
            Self::Stdio(stdio) => stdio.write(bytes),
            Self::Http(http) => http.broadcast_partial_payload(bytes),
        }
    }

    /// Notes that the replay has received the expected request with this key. `recorded_status` is the status of the
    /// recorded reply.
    pub(crate) fn accept_request(&mut self, key: &str, recorded_status: Option<u16>) {
        if let Self::Http(http) = self {
            http.accept_request(key, recorded_status);
        }
    }

    /// Waits until everything that was sent has left the process.
    pub(crate) async fn flush(&mut self) {
        match self {
            Self::Stdio(stdio) => stdio.flush(),
            Self::Http(http) => http.flush().await,
        }
    }
}
