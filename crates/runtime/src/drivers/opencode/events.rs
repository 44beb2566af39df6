//! The event stream: payloads, one after the other.

use interlingua_sse::{Decoder, Frame};

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    decoder: Decoder,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Text(String),
    Garbled { bytes: Vec<u8>, reason: String },
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, decoder: Decoder::default() }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Payload> {
        loop {
            if let Some(payload) = self.at_hand() {
                return Some(payload);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, if it came together with the last one.
    pub(super) fn at_hand(&mut self) -> Option<Payload> {
        next_payload(&mut self.decoder)
    }
}

/// The next payload among the bytes that were received.
fn next_payload(decoder: &mut Decoder) -> Option<Payload> {
    loop {
        return Some(match decoder.next_frame()? {
            Ok(Frame::Event(event)) => String::from_utf8(event.data).map_or_else(
                |error| Payload::Garbled {
                    reason: error.utf8_error().to_string(),
                    bytes: [b"data: ", error.as_bytes()].concat(),
                },
                Payload::Text,
            ),
            // OpenCode sends nothing but data. What else it writes is passed on, to be reported as not understood.
            Ok(Frame::UnknownLine(line)) => match String::from_utf8(line) {
                Ok(line) => Payload::Text(line),
                Err(error) => Payload::Garbled { reason: error.utf8_error().to_string(), bytes: error.into_bytes() },
            },
            Ok(Frame::Comment(_)) => continue,
            Err(too_long) => Payload::Garbled {
                reason: format!("an event of more than {} bytes", too_long.limit),
                bytes: too_long.line,
            },
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
            events.extend(std::iter::from_fn(|| next_payload(&mut decoder)));
        }
        assert_eq!(events[..2], [Payload::Text(r#"{"a":1}"#.to_owned()), Payload::Text("x".to_owned())]);
        assert!(matches!(&events[2], Payload::Garbled { bytes, .. } if bytes == b"data: \xff"));
        assert_eq!(events[3..], [Payload::Text("oops".to_owned())]);
    }
}
