//! The event stream of a directory.

use interlingua_convert::Input;
use interlingua_sse::{Decoder, Frame, FrameTooLong};
use interlingua_wirelog::{InvalidLineReason, LONG_LINE_PREFIX, MAX_LINE_BYTES};

/// The event stream of a directory.
pub(super) struct EventStream {
    response: reqwest::Response,
    decoder: Decoder,
}

impl EventStream {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, decoder: Decoder::new(MAX_LINE_BYTES) }
    }

    /// Waits for the next event; `None` at the end of the stream. Cancellation loses nothing.
    pub(super) async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(event) = self.next_buffered() {
                return Some(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event that is already received.
    pub(super) fn next_buffered(&mut self) -> Option<Input> {
        decode_event(&mut self.decoder)
    }
}

/// Decodes the next event of the received bytes.
fn decode_event(decoder: &mut Decoder) -> Option<Input> {
    loop {
        return Some(match decoder.next_frame()? {
            Ok(Frame::Event(event)) => String::from_utf8(event.data).map_or_else(
                |error| Input::Unreadable {
                    error: error.utf8_error().to_string(),
                    bytes: [b"data: ", error.as_bytes()].concat(),
                },
                Input::Received,
            ),
            // OpenCode sends only data fields. Any other line is passed on, so that the converter reports it as
            // unparsed.
            Ok(Frame::UnknownLine(line)) => match String::from_utf8(line) {
                Ok(line) => Input::Received(line),
                Err(error) => Input::Unreadable { error: error.utf8_error().to_string(), bytes: error.into_bytes() },
            },
            Ok(Frame::Comment(_) | Frame::Id(_)) => continue,
            Err(too_long) => {
                let FrameTooLong { limit, length, mut line, .. } = too_long;
                line.truncate(LONG_LINE_PREFIX);
                Input::Unreadable { bytes: line, error: InvalidLineReason::TooLong { length, limit }.to_string() }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_decoded_from_any_chunks() {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in [&b"data: {\"a\""[..], b":1}\r\n", b"\r\n: hello\nda", b"ta:x\n\ndata: \xff\n\noops\n"] {
            decoder.push(chunk);
            events.extend(std::iter::from_fn(|| decode_event(&mut decoder)));
        }
        assert_eq!(events[..2], [Input::Received(r#"{"a":1}"#.to_owned()), Input::Received("x".to_owned())]);
        assert!(matches!(&events[2], Input::Unreadable { bytes, .. } if bytes == b"data: \xff"));
        assert_eq!(events[3..], [Input::Received("oops".to_owned())]);
    }
}
