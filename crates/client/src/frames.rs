//! Server-sent events of one connection.

use interlingua_schema::UniversalEvent;
use interlingua_sse::{Decoder, Event, Frame};
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response, StatusCode};

use crate::client::Client;
use crate::error::ClientError;

/// The server-sent events of one connection, including comments.
#[derive(Debug)]
pub struct FrameStream {
    response: Response,
    decoder: Decoder,
}

impl FrameStream {
    pub(crate) async fn open(client: &Client, request: RequestBuilder) -> Result<Self, ClientError> {
        let stream = Self { response: client.execute(request).await?, decoder: Decoder::default() };
        if stream.has_no_content() || stream.is_event_stream() {
            return Ok(stream);
        }
        Err(stream.unexpected("expected an event stream".to_owned()))
    }

    /// Waits for the next frame; `None` when the server closed the stream after a complete frame. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or a frame is too long.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return frame.map(Some).map_err(|error| self.interrupted(error.to_string()));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.decoder.push(&bytes),
                Ok(None) if self.decoder.finish().is_none() => return Ok(None),
                Ok(None) => return Err(self.interrupted("it ended in the middle of an event")),
                Err(error) => return Err(ClientError::from_reqwest(self.url(), &error)),
            }
        }
    }

    /// Waits for the next event and skips comments; `None` when the server closed the stream.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub async fn next_event(&mut self) -> Result<Option<Event>, ClientError> {
        while let Some(frame) = self.next().await? {
            if let Frame::Event(event) = frame {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Returns the HTTP response, for a caller that reads bytes. Data that is received but not yet returned is lost.
    #[must_use]
    pub fn into_response(self) -> Response {
        self.response
    }

    /// Whether the server answered that there are no more events (204).
    pub(crate) fn has_no_content(&self) -> bool {
        self.response.status() == StatusCode::NO_CONTENT
    }

    fn is_event_stream(&self) -> bool {
        let content_type = self.response.headers().get(CONTENT_TYPE);
        content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"))
    }

    pub(crate) fn url(&self) -> &str {
        self.response.url().as_str()
    }

    pub(crate) fn interrupted(&self, reason: impl Into<String>) -> ClientError {
        ClientError::BrokenStream { url: self.url().to_owned(), reason: reason.into() }
    }

    pub(crate) fn decode(&self, event: &Event) -> Result<UniversalEvent, ClientError> {
        serde_json::from_slice(&event.data)
            .map_err(|error| self.unexpected(format!("received data that is not an event: {error}")))
    }

    fn unexpected(&self, reason: String) -> ClientError {
        ClientError::UnexpectedResponse { url: self.url().to_owned(), status: self.response.status().as_u16(), reason }
    }
}

/// The events of one turn.
///
/// The stream ends after `turn.ended` or `session.ended`, and also when the turn waits for an answer, unless it is
/// [held](crate::TurnQuery::hold). It does not resume, because sending the message again would start another turn.
/// After an error, use [`Client::follow_events`] to continue after the last sequence.
#[derive(Debug)]
pub struct TurnStream(FrameStream);

impl TurnStream {
    pub(crate) fn new(frames: FrameStream) -> Self {
        Self(frames)
    }

    /// Waits for the next event; `None` when the server closed the stream. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the connection breaks.
    pub async fn next(&mut self) -> Result<Option<UniversalEvent>, ClientError> {
        match self.0.next_event().await? {
            Some(event) => self.0.decode(&event).map(Some),
            None => Ok(None),
        }
    }

    /// The server-sent events of the turn, undecoded.
    #[must_use]
    pub fn into_frames(self) -> FrameStream {
        self.0
    }
}
