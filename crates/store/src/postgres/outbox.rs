//! Signals to other servers: what has changed, never what it is.
//!
//! Signals are sent with `NOTIFY`, outside the transactions that they are about, on a connection of their own. The first
//! is sent at once; those of the next [`INTERVAL`] are collected and sent together. A signal that is lost costs time and
//! no event: every server also looks from time to time (see `listener`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::SessionKey;
use crate::postgres::connection::{Connector, DbClient};
use crate::postgres::error::DbError;

/// Time between two messages.
const INTERVAL: Duration = Duration::from_millis(15);
/// Maximum length of a message. Postgres allows 8000 bytes.
const MAX_MESSAGE_BYTES: usize = 7900;
/// Delay after the database could not be reached. What has collected by then is dropped.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// One thing that other servers should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// A session has events up to this one.
    Appended { session: SessionKey, last: u64 },
    /// A session was deleted.
    Deleted { session: SessionKey },
    /// A session's labels may have changed, on which the filters of readers depend.
    Changed { session: SessionKey },
    /// A session has work: for one server, or for every server that can take it.
    Work { session: SessionKey, server: Option<i64> },
    /// A command has a result, for the server that sent it.
    Result { command: i64, server: i64 },
    /// A server has sent this, to learn how long a signal takes.
    Ping { server: i64, number: u64 },
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Appended { session, last } => write!(f, "e{}:{last}", session.0),
            Self::Deleted { session } => write!(f, "d{}", session.0),
            Self::Changed { session } => write!(f, "c{}", session.0),
            Self::Work { session, server: Some(server) } => write!(f, "w{}:{server}", session.0),
            Self::Work { session, server: None } => write!(f, "w{}", session.0),
            Self::Result { command, server } => write!(f, "r{command}:{server}"),
            Self::Ping { server, number } => write!(f, "p{server}:{number}"),
        }
    }
}

impl Signal {
    /// Parses one word of a message; `None` if a newer version of this program has sent it.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let (kind, rest) = word.split_at_checked(1)?;
        let (first, second) = rest.split_once(':').map_or((rest, None), |(first, second)| (first, Some(second)));
        let number: i64 = first.parse().ok()?;
        let session = SessionKey(number);
        Some(match (kind, second) {
            ("e", Some(last)) => Self::Appended { session, last: last.parse().ok()? },
            ("d", None) => Self::Deleted { session },
            ("c", None) => Self::Changed { session },
            ("w", None) => Self::Work { session, server: None },
            ("w", Some(server)) => Self::Work { session, server: Some(server.parse().ok()?) },
            ("r", Some(server)) => Self::Result { command: number, server: server.parse().ok()? },
            ("p", Some(count)) => Self::Ping { server: number, number: count.parse().ok()? },
            _ => return None,
        })
    }
}

/// Sends signals. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::UnboundedSender<Signal>,
}

impl Outbox {
    /// Starts the task that sends the signals of a store on its channel. It ends when all clones are dropped.
    pub(crate) fn start(connector: Arc<Connector>, channel: String) -> Self {
        let (sender, signals) = mpsc::unbounded_channel();
        tokio::spawn(run(connector, channel, signals));
        Self { sender }
    }

    /// Adds a signal to the next message. Does not wait.
    pub(crate) fn send(&self, signal: Signal) {
        // The task ends only when there are no senders.
        let _ = self.sender.send(signal);
    }
}

/// Signals that are sent together. Of the appends of a session, only the last one counts.
#[derive(Default)]
struct Collected {
    last: BTreeMap<SessionKey, u64>,
    other: BTreeSet<Signal>,
}

impl Collected {
    fn add(&mut self, signal: Signal) {
        match signal {
            Signal::Appended { session, last } => {
                let known = self.last.entry(session).or_default();
                *known = last.max(*known);
            }
            other => {
                self.other.insert(other);
            }
        }
    }

    /// The messages: signals separated by spaces.
    fn into_messages(self) -> Vec<String> {
        let appended = self.last.into_iter().map(|(session, last)| Signal::Appended { session, last });
        let mut messages: Vec<String> = Vec::new();
        for signal in self.other.into_iter().chain(appended) {
            let word = signal.to_string();
            match messages.last_mut() {
                Some(message) if message.len() + 1 + word.len() <= MAX_MESSAGE_BYTES => {
                    // Writing to a string does not fail.
                    let _ = write!(message, " {word}");
                }
                _ => messages.push(word),
            }
        }
        messages
    }
}

async fn run(connector: Arc<Connector>, channel: String, mut signals: mpsc::UnboundedReceiver<Signal>) {
    let mut client = None;
    let mut next = Instant::now();
    while let Some(first) = signals.recv().await {
        sleep_until(next).await;
        let mut collected = Collected::default();
        collected.add(first);
        while let Ok(signal) = signals.try_recv() {
            collected.add(signal);
        }
        next = Instant::now() + INTERVAL;
        if let Err(error) = send(&connector, &mut client, &channel, collected.into_messages()).await {
            tracing::debug!(error = error.describe(), "cannot tell other servers what has changed; they will look");
            client = None;
            sleep(RETRY_DELAY).await;
        }
    }
}

async fn send(
    connector: &Connector,
    client: &mut Option<DbClient>,
    channel: &str,
    messages: Vec<String>,
) -> Result<(), DbError> {
    let client = if let Some(open) = client.take().filter(|client| !client.is_closed()) {
        client.insert(open)
    } else {
        let new = connector.connect().await?;
        // A signal need not survive a crash of the database.
        new.run("SET synchronous_commit = off").await?;
        client.insert(new)
    };
    for message in messages {
        client.execute("SELECT pg_notify($1, $2)", &[&channel, &message]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_as_they_are_written() {
        let session = SessionKey(12);
        for signal in [
            Signal::Appended { session, last: 345 },
            Signal::Deleted { session },
            Signal::Changed { session },
            Signal::Work { session, server: None },
            Signal::Work { session, server: Some(3) },
            Signal::Result { command: 7, server: 3 },
            Signal::Ping { server: 3, number: 99 },
        ] {
            assert_eq!(Signal::parse(&signal.to_string()), Some(signal));
        }
        for word in ["", "e", "e1", "x1", "e1:x", "€1"] {
            assert_eq!(Signal::parse(word), None, "{word}");
        }
    }

    #[test]
    fn a_message_has_the_last_append_of_each_session() {
        let mut collected = Collected::default();
        let session = SessionKey(1);
        for last in [3, 7, 5] {
            collected.add(Signal::Appended { session, last });
        }
        collected.add(Signal::Deleted { session: SessionKey(2) });
        collected.add(Signal::Deleted { session: SessionKey(2) });
        assert_eq!(collected.into_messages(), ["d2 e1:7"]);
    }

    #[test]
    fn messages_are_as_long_as_postgres_allows() {
        let mut collected = Collected::default();
        for key in 0..5000 {
            collected.add(Signal::Appended { session: SessionKey(key), last: 1_000_000 });
        }
        let messages = collected.into_messages();
        assert!(messages.iter().all(|message| message.len() <= MAX_MESSAGE_BYTES));
        let words = messages.iter().flat_map(|message| message.split(' ')).filter_map(Signal::parse);
        assert_eq!(words.count(), 5000);
    }
}
