//! A client that follows the events of a session.
//!
//! It scans bytes and decodes nothing. With a decoder, the measurement would include the client.

use anyhow::{Context, Result};
use memchr::{memchr, memmem};
use reqwest::Response;

/// Length of the beginning of an event that contains its type. The envelope comes first.
const ENVELOPE_LEN: usize = 1024;

/// A client that follows the events of a session and counts them.
pub(crate) struct Follower {
    response: Response,
    /// Beginning of a line whose end has not arrived.
    partial_line: Vec<u8>,
    counts: EventCounts,
}

/// Counts of the events so far.
#[derive(Debug, Default)]
struct EventCounts {
    events: u64,
    ended_turns: u64,
    failed_turns: u64,
    has_agent_event: bool,
}

impl Follower {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, partial_line: Vec::new(), counts: EventCounts::default() }
    }

    /// Waits for the next chunk of the stream.
    pub(crate) async fn read_chunk(&mut self) -> Result<()> {
        let chunk = self.response.chunk().await?.context("the event stream ended")?;
        let mut rest = &chunk[..];
        while let Some(end) = memchr(b'\n', rest) {
            if self.partial_line.is_empty() {
                self.counts.add_line(&rest[..end]);
            } else {
                self.partial_line.extend_from_slice(&rest[..end]);
                self.counts.add_line(&self.partial_line);
                self.partial_line.clear();
            }
            rest = &rest[end + 1..];
        }
        self.partial_line.extend_from_slice(rest);
        Ok(())
    }

    /// Waits until this number of turns has ended since the start.
    pub(crate) async fn wait_for_turns(&mut self, turns: u64) -> Result<()> {
        while self.counts.ended_turns < turns {
            self.read_chunk().await?;
        }
        Ok(())
    }

    /// Waits for the first event that comes from the agent.
    pub(crate) async fn wait_for_agent_event(&mut self) -> Result<()> {
        while !self.counts.has_agent_event {
            self.read_chunk().await?;
        }
        Ok(())
    }

    /// Number of turns that have ended since the start.
    pub(crate) fn ended_turns(&self) -> u64 {
        self.counts.ended_turns
    }

    /// Number of ended turns that failed.
    pub(crate) fn failed_turns(&self) -> u64 {
        self.counts.failed_turns
    }

    /// Number of events since the start.
    pub(crate) fn events(&self) -> u64 {
        self.counts.events
    }
}

impl EventCounts {
    fn add_line(&mut self, line: &[u8]) {
        if !line.starts_with(b"data:") {
            return;
        }
        self.events += 1;
        let head = &line[..line.len().min(ENVELOPE_LEN)];
        let has = |text: &str| memmem::find(head, text.as_bytes()).is_some();
        self.has_agent_event = self.has_agent_event || has(r#""source":"agent""#);
        if has(r#""type":"turn.ended""#) {
            self.ended_turns += 1;
            self.failed_turns += u64::from(has(r#""status":"failed""#));
        }
    }
}
