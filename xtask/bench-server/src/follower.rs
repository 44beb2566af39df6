//! A client that follows a session's events.
//!
//! It reads bytes and decodes nothing: with a decoder in the way, the client would be measured as much as the server.

use anyhow::{Context, Result};
use memchr::{memchr, memmem};
use reqwest::Response;

/// A client that follows a session's events and counts them.
pub(crate) struct Follower {
    response: Response,
    /// The last line that is not whole yet.
    line: Vec<u8>,
    seen: Seen,
}

/// What was seen of the events.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    turns_ended: u64,
    failed_turns: u64,
    agent_spoke: bool,
}

impl Follower {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, line: Vec::new(), seen: Seen::default() }
    }

    /// Waits for something to come.
    pub(crate) async fn something(&mut self) -> Result<()> {
        let chunk = self.response.chunk().await?.context("the stream ended")?;
        let mut rest = &chunk[..];
        while let Some(end) = memchr(b'\n', rest) {
            if self.line.is_empty() {
                self.seen.line(&rest[..end]);
            } else {
                self.line.extend_from_slice(&rest[..end]);
                self.seen.line(&self.line);
                self.line.clear();
            }
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Waits until so many turns have ended since it began.
    pub(crate) async fn turns(&mut self, turns: u64) -> Result<()> {
        while self.seen.turns_ended < turns {
            self.something().await?;
        }
        Ok(())
    }

    /// Waits until something has come that the agent said.
    pub(crate) async fn agent_speaks(&mut self) -> Result<()> {
        while !self.seen.agent_spoke {
            self.something().await?;
        }
        Ok(())
    }

    /// How many turns have ended since it began.
    pub(crate) fn turns_ended(&self) -> u64 {
        self.seen.turns_ended
    }

    /// How many of them failed.
    pub(crate) fn failed_turns(&self) -> u64 {
        self.seen.failed_turns
    }

    /// How many events came since it began.
    pub(crate) fn events(&self) -> u64 {
        self.seen.events
    }
}

impl Seen {
    fn line(&mut self, line: &[u8]) {
        if !line.starts_with(b"data:") {
            return;
        }
        self.events += 1;
        // The envelope comes first, so that the type stands near the beginning.
        let head = &line[..line.len().min(1024)];
        let has = |words: &str| memmem::find(head, words.as_bytes()).is_some();
        self.agent_spoke = self.agent_spoke || has(r#""source":"agent""#);
        if has(r#""type":"turn.ended""#) {
            self.turns_ended += 1;
            self.failed_turns += u64::from(has(r#""status":"failed""#));
        }
    }
}
