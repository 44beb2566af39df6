//! The event stream: payloads, one after the other.

use interlingua_convert::Input;
use interlingua_sse::{Decoder, Frame, FrameTooLong};
use interlingua_wirelog::{InvalidLineReason, LONG_LINE_PREFIX, MAX_LINE_BYTES};

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    decoder: Decoder,
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, decoder: Decoder::new(MAX_LINE_BYTES) }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(event) = self.at_hand() {
                return Some(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, if it came together with the last one.
    pub(super) fn at_hand(&mut self) -> Option<Input> {
        next_event(&mut self.decoder)
    }
}

/// The next event among the bytes that were received.
fn next_event(decoder: &mut Decoder) -> Option<Input> {
    loop {
        return Some(match decoder.next_frame()? {
            Ok(Frame::Event(event)) => String::from_utf8(event.data).map_or_else(
                |error| Input::Unreadable {
                    error: error.utf8_error().to_string(),
                    bytes: [b"data: ", error.as_bytes()].concat(),
                },
                Input::Received,
            ),
            // OpenCode sends nothing but data. What else it writes is passed on, to be reported as not understood.
            Ok(Frame::UnknownLine(line)) => match String::from_utf8(line) {
                Ok(line) => Input::Received(line),
                Err(error) => Input::Unreadable { error: error.utf8_error().to_string(), bytes: error.into_bytes() },
            },
            Ok(Frame::Comment(_)) => continue,
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
    fn an_event_is_a_line_of_data_whatever_the_pieces_it_came_in() {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in [&b"data: {\"a\""[..], b":1}\r\n", b"\r\n: hello\nda", b"ta:x\n\ndata: \xff\n\noops\n"] {
            decoder.push(piece);
            events.extend(std::iter::from_fn(|| next_event(&mut decoder)));
        }
        assert_eq!(events[..2], [Input::Received(r#"{"a":1}"#.to_owned()), Input::Received("x".to_owned())]);
        assert!(matches!(&events[2], Input::Unreadable { bytes, .. } if bytes == b"data: \xff"));
        assert_eq!(events[3..], [Input::Received("oops".to_owned())]);
    }
}
