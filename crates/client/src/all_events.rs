//! Following the events of many sessions across reconnects.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use interlingua_schema::UniversalEvent;
use interlingua_sse::Frame;
use reqwest::Method;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::error::ClientError;
use crate::follow::{IDLE_TIMEOUT, MAX_BACKOFF, MIN_BACKOFF, Reconnect, ReconnectCallback};
use crate::frames::FrameStream;

/// Which events of which sessions to follow. The default is all stored events of all sessions, and those to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllEventsQuery {
    /// Only sessions with this agent.
    pub agent: Option<String>,
    /// Only sessions with all of these labels: `NAME=VALUE`, or `NAME` for any value.
    pub labels: Vec<String>,
    /// Only these sessions, which need not exist yet; all if empty.
    pub sessions: Vec<String>,
    /// [`AllEventStream::cursor`] after which to continue, or `latest` for the events to come only; `None` for all.
    pub cursor: Option<String>,
    /// Whether events include their native payload.
    pub include_raw: bool,
}

impl AllEventsQuery {
    interlingua_schema::setters! {
        pub agent: Option<String>,
        pub labels: Vec<String>,
        pub sessions: Vec<String>,
        pub cursor: Option<String>,
        pub include_raw: bool,
    }

    /// The events to come, of all sessions.
    #[must_use]
    pub fn latest() -> Self {
        Self::default().cursor("latest".to_owned())
    }
}

impl Client {
    /// Follows the events of many sessions over one connection. Reconnects when it breaks; see [`AllEventStream`].
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses the request.
    pub async fn follow_all_events(&self, query: AllEventsQuery) -> Result<AllEventStream, ClientError> {
        let frames = self.all_event_frames(&query).await?;
        Ok(AllEventStream {
            client: self.clone(),
            query,
            last_sequences: HashMap::new(),
            state: State::Open(Box::new(frames)),
            backoff: MIN_BACKOFF,
            on_reconnect: None,
        })
    }

    /// Follows the events of many sessions over one connection, as undecoded server-sent events.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, or refuses the request.
    pub async fn all_event_frames(&self, query: &AllEventsQuery) -> Result<FrameStream, ClientError> {
        let mut parameters = vec![
            ("agent", query.agent.clone()),
            ("cursor", query.cursor.clone()),
            ("include_raw", query.include_raw.then(|| "true".to_owned())),
        ];
        parameters.extend(query.labels.iter().map(|label| ("label", Some(label.clone()))));
        parameters.extend(query.sessions.iter().map(|session| ("session", Some(session.clone()))));
        self.execute_stream(self.endpoint(Method::GET, &["events", "sse"], &parameters)?).await
    }
}

/// The events of many sessions, each exactly once, those of a session in their order.
///
/// When the connection breaks or the server goes away, the stream reconnects and continues after the last event that it
/// returned. It waits up to 5 seconds between attempts and never gives up. It ends with an error when the server refuses
/// the request.
pub struct AllEventStream {
    client: Client,
    /// Its cursor is that of the last event that was returned.
    query: AllEventsQuery,
    /// Sequence of the last event of each session.
    last_sequences: HashMap<String, u64>,
    state: State,
    backoff: Duration,
    on_reconnect: Option<ReconnectCallback>,
}

enum State {
    Open(Box<FrameStream>),
    /// Waits, then connects. The request is stored here, so that cancelling [`AllEventStream::next`] does not cancel it.
    Connecting(Pin<Box<dyn Future<Output = Result<FrameStream, ClientError>> + Send>>),
    Failed,
}

impl AllEventStream {
    /// Sets a callback that is called whenever the connection breaks.
    #[must_use]
    pub fn on_reconnect(mut self, callback: impl FnMut(Reconnect<'_>) + Send + 'static) -> Self {
        self.on_reconnect = Some(Box::new(callback));
        self
    }

    /// The cursor after the last event that was returned, with which a later stream continues; `None` before the server
    /// has told one.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.query.cursor.as_deref().filter(|cursor| *cursor != "latest")
    }

    /// Waits for the next event; `None` after an error. Cancel safe.
    ///
    /// # Errors
    ///
    /// If the server refuses the request, or sends something other than the next event of a session.
    pub async fn next(&mut self) -> Result<Option<UniversalEvent>, ClientError> {
        loop {
            match self.step().await {
                Ok(None) if matches!(self.state, State::Failed) => return Ok(None),
                Ok(None) => {}
                Ok(Some(event)) => return Ok(Some(event)),
                Err(error) if error.is_temporary() => self.reconnect_after(&error),
                Err(error) => {
                    self.state = State::Failed;
                    return Err(error);
                }
            }
        }
    }

    /// The events as a [`Stream`].
    pub fn into_stream(self) -> impl Stream<Item = Result<UniversalEvent, ClientError>> + Send {
        stream::try_unfold(self, |mut events| async { Ok(events.next().await?.map(|event| (event, events))) })
    }

    async fn step(&mut self) -> Result<Option<UniversalEvent>, ClientError> {
        match &mut self.state {
            State::Open(frames) => match timeout(IDLE_TIMEOUT, frames.next()).await {
                Ok(Ok(Some(Frame::Event(frame)))) => {
                    let (event, url) = (frames.decode(&frame)?, frames.url().to_owned());
                    return self.accept(event, frame.id, &url).map(Some);
                }
                Ok(Ok(Some(Frame::Id(cursor)))) => self.query.cursor = Some(cursor),
                // A comment shows that the connection is alive.
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => return Err(frames.interrupted("the server closed the connection")),
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(frames.interrupted(format!("no data for {} s", IDLE_TIMEOUT.as_secs()))),
            },
            State::Connecting(connecting) => self.state = State::Open(Box::new(connecting.await?)),
            State::Failed => {}
        }
        Ok(None)
    }

    fn accept(
        &mut self,
        event: UniversalEvent,
        cursor: Option<String>,
        url: &str,
    ) -> Result<UniversalEvent, ClientError> {
        self.check_sequence(&event, url)?;
        self.last_sequences.insert(event.session_id.as_str().to_owned(), event.sequence);
        self.query.cursor = cursor.or(self.query.cursor.take());
        self.backoff = MIN_BACKOFF;
        Ok(event)
    }

    /// Refuses an event that does not follow the session's last one, unless the session was created again, or may have
    /// left the stream in between because of its labels.
    fn check_sequence(&self, event: &UniversalEvent, url: &str) -> Result<(), ClientError> {
        let Some(last) = self.last_sequences.get(event.session_id.as_str()) else { return Ok(()) };
        let (expected, found) = (last + 1, event.sequence);
        if found == expected || found == 1 || (!self.query.labels.is_empty() && found > expected) {
            return Ok(());
        }
        Err(ClientError::MissingEvents { url: url.to_owned(), expected, found })
    }

    fn reconnect_after(&mut self, cause: &ClientError) {
        let delay = self.backoff;
        if let Some(callback) = &mut self.on_reconnect {
            callback(Reconnect { cause, delay });
        }
        let (client, query) = (self.client.clone(), self.query.clone());
        self.state = State::Connecting(Box::pin(async move {
            sleep(delay).await;
            client.all_event_frames(&query).await
        }));
        self.backoff = (delay * 2).min(MAX_BACKOFF);
    }
}

impl fmt::Debug for AllEventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllEventStream").field("query", &self.query).finish_non_exhaustive()
    }
}
