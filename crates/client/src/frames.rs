//! Server-sent events over one connection.

use interlingua_schema::UniversalEvent;
use interlingua_sse::{Decoder, Event, Frame};
use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, Response, StatusCode};

use crate::client::Client;
use crate::error::ClientError;

/// The server-sent events of one connection, comments included.
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
        Err(stream.unexpected("the answer is not a stream of events".to_owned()))
    }

    /// The next frame; `None` when the server closed the stream after a whole one. Can be cancelled without loss.
    ///
    /// # Errors
    ///
    /// If the connection breaks, or a frame is too long.
    pub async fn next(&mut self) -> Result<Option<Frame>, ClientError> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                return frame.map(Some).map_err(|error| self.broken(error.to_string()));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.decoder.push(&bytes),
                Ok(None) if self.decoder.finish().is_none() => return Ok(None),
                Ok(None) => return Err(self.broken("it ended in the middle of an event")),
                Err(error) => return Err(ClientError::from_reqwest(self.url(), &error)),
            }
        }
    }

    /// The next event; `None` when the server closed the stream.
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

    /// The answer itself, for a caller that reads bytes. What was received but not returned is lost.
    #[must_use]
    pub fn into_response(self) -> Response {
        self.response
    }

    /// Whether the server has nothing to stream, now or later.
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

    pub(crate) fn broken(&self, reason: impl Into<String>) -> ClientError {
        ClientError::BrokenStream { url: self.url().to_owned(), reason: reason.into() }
    }

    pub(crate) fn decode(&self, event: &Event) -> Result<UniversalEvent, ClientError> {
        serde_json::from_slice(&event.data)
            .map_err(|error| self.unexpected(format!("it sent something that is not an event: {error}")))
    }

    fn unexpected(&self, reason: String) -> ClientError {
        ClientError::UnexpectedResponse { url: self.url().to_owned(), status: self.response.status().as_u16(), reason }
    }
}

/// The events of one turn.
///
/// The stream ends after `turn.ended` and `session.ended`, and while the turn waits for an answer unless it is
/// [held](crate::TurnQuery::hold). It does not resume: sending the message again would begin another turn. After an
/// error, [`Client::follow_events`] goes on after the last sequence.
#[derive(Debug)]
pub struct TurnStream(FrameStream);

impl TurnStream {
    pub(crate) fn new(frames: FrameStream) -> Self {
        Self(frames)
    }

    /// The next event; `None` when the server closed the stream. Can be cancelled without loss.
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

    /// The server-sent events that the turn's events come in.
    #[must_use]
    pub fn into_frames(self) -> FrameStream {
        self.0
    }
}
