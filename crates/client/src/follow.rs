//! Following a session across reconnects.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use interlingua_schema::{EventData, UniversalEvent};
use interlingua_sse::{Event, Frame, HEARTBEAT_INTERVAL};
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::error::ClientError;
use crate::frames::FrameStream;
use crate::types::{EventQuery, SessionInfo};

pub(crate) const MIN_BACKOFF: Duration = Duration::from_millis(200);
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// Silence after which a connection counts as dead: three heartbeats of the server are missing.
pub(crate) const IDLE_TIMEOUT: Duration = HEARTBEAT_INTERVAL.saturating_mul(3);

/// A session's events, each exactly once and in order, until the session ends.
///
/// When the connection breaks or the server goes away, the stream reconnects with `Last-Event-ID` and continues after
/// the last event that it returned. It waits up to 5 seconds between attempts and never gives up. It ends after
/// `session.ended`, or with an error when the server refuses the request, for example because the session was deleted.
pub struct EventStream {
    client: Client,
    session: String,
    include_raw: bool,
    /// Sequence of the last event that was returned.
    last_sequence: u64,
    state: State,
    backoff: Duration,
    on_reconnect: Option<ReconnectCallback>,
}

pub(crate) type ReconnectCallback = Box<dyn FnMut(Reconnect<'_>) + Send>;

/// The connection broke, and the stream reconnects.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reconnect<'a> {
    /// Why the connection broke.
    pub cause: &'a ClientError,
    /// Delay before the next attempt.
    pub delay: Duration,
}

enum State {
    Open(Box<FrameStream>),
    /// The server closed the stream, which is correct only if the session has ended. The future loads the session to
    /// find out.
    Closed(ClientError, RequestFuture<SessionInfo>),
    /// Waits, then connects.
    Connecting(RequestFuture<FrameStream>),
    Ended,
}

/// A request in progress. It is stored here, so that cancelling [`EventStream::next`] does not cancel it.
type RequestFuture<T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + Send>>;

impl EventStream {
    pub(crate) async fn open(client: &Client, session: &str, query: EventQuery) -> Result<Self, ClientError> {
        let frames = client.event_frames(session, query).await?;
        Ok(Self {
            client: client.clone(),
            session: session.to_owned(),
            include_raw: query.include_raw,
            last_sequence: query.after,
            state: State::with_frames(frames),
            backoff: MIN_BACKOFF,
            on_reconnect: None,
        })
    }

    /// Sets a callback that is called whenever the connection breaks.
    #[must_use]
    pub fn on_reconnect(mut self, callback: impl FnMut(Reconnect<'_>) + Send + 'static) -> Self {
        self.on_reconnect = Some(Box::new(callback));
        self
    }

    /// Sequence of the last event that was returned.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Waits for the next event; `None` when the session has ended. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the server refuses the request, or sends something other than the next event. The stream has ended then.
    pub async fn next(&mut self) -> Result<Option<UniversalEvent>, ClientError> {
        loop {
            match self.step().await {
                Ok(Step::Event(event)) => return Ok(Some(*event)),
                Ok(Step::Continue) => {}
                Ok(Step::Ended) => return Ok(None),
                Err(error) if error.is_temporary() => self.reconnect_after(&error),
                Err(error) => {
                    self.state = State::Ended;
                    return Err(error);
                }
            }
        }
    }

    /// The events as a [`Stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<UniversalEvent, ClientError>> + Send {
        stream::try_unfold(self, |mut events| async { Ok(events.next().await?.map(|event| (event, events))) })
    }

    async fn step(&mut self) -> Result<Step, ClientError> {
        match &mut self.state {
            State::Open(frames) => match timeout(IDLE_TIMEOUT, frames.next()).await {
                Ok(Ok(Some(Frame::Event(event)))) => return self.accept(&event),
                // A comment shows that the connection is alive.
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => {
                    let closed = frames.interrupted("the server closed the connection");
                    let (client, session) = (self.client.clone(), self.session.clone());
                    self.state = State::Closed(closed, Box::pin(async move { client.session(&session).await }));
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(frames.interrupted(format!("no data for {} s", IDLE_TIMEOUT.as_secs()))),
            },
            State::Closed(_, loading) => {
                let session = loading.await?;
                match std::mem::replace(&mut self.state, State::Ended) {
                    State::Closed(cause, _) if !session.ended || session.event_count > self.last_sequence => {
                        return Err(cause);
                    }
                    _ => return Ok(Step::Ended),
                }
            }
            State::Connecting(connecting) => self.state = State::with_frames(connecting.await?),
            State::Ended => return Ok(Step::Ended),
        }
        Ok(Step::Continue)
    }

    /// Accepts the next event. Skips an event that was returned before.
    fn accept(&mut self, event: &Event) -> Result<Step, ClientError> {
        let State::Open(frames) = &self.state else { return Ok(Step::Continue) };
        let event = frames.decode(event)?;
        let expected = self.last_sequence + 1;
        if event.sequence < expected {
            return Ok(Step::Continue);
        }
        if event.sequence > expected {
            let url = frames.url().to_owned();
            return Err(ClientError::MissingEvents { url, expected, found: event.sequence });
        }
        self.last_sequence = event.sequence;
        self.backoff = MIN_BACKOFF;
        if matches!(event.data, EventData::SessionEnded(_)) {
            self.state = State::Ended;
        }
        Ok(Step::Event(Box::new(event)))
    }

    fn reconnect_after(&mut self, cause: &ClientError) {
        let delay = self.backoff;
        if let Some(callback) = &mut self.on_reconnect {
            callback(Reconnect { cause, delay });
        }
        let (client, session) = (self.client.clone(), self.session.clone());
        let query = EventQuery::after(self.last_sequence).include_raw(self.include_raw);
        self.state = State::Connecting(Box::pin(async move {
            sleep(delay).await;
            client.event_frames(&session, query).await
        }));
        self.backoff = (delay * 2).min(MAX_BACKOFF);
    }
}

impl State {
    fn with_frames(frames: FrameStream) -> Self {
        if frames.has_no_content() { Self::Ended } else { Self::Open(Box::new(frames)) }
    }
}

/// Result of one step of the stream.
enum Step {
    Event(Box<UniversalEvent>),
    Continue,
    Ended,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session, last_sequence, .. } = self;
        f.debug_struct("EventStream").field("session", session).field("last_sequence", last_sequence).finish()
    }
}
