//! A client that follows a session's events.

use anyhow::{Context, Result};
use reqwest::Response;

/// A client that follows a session's events and counts them.
pub(crate) struct Follower {
    response: Response,
    /// The last line that is not whole yet.
    line: Vec<u8>,
    turns_ended: u64,
    events: u64,
}

impl Follower {
    pub(crate) fn new(response: Response) -> Self {
        Self { response, line: Vec::new(), turns_ended: 0, events: 0 }
    }

    /// Waits for something to come.
    pub(crate) async fn something(&mut self) -> Result<()> {
        let chunk = self.response.chunk().await?.context("the stream ended")?;
        for byte in &chunk {
            if *byte == b'\n' {
                self.take_line();
            } else {
                self.line.push(*byte);
            }
        }
        Ok(())
    }

    fn take_line(&mut self) {
        if self.line.starts_with(b"data:") {
            self.events += 1;
            // The envelope comes first, so that the type stands near the beginning.
            let head = self.line.get(..self.line.len().min(4096)).unwrap_or_default();
            let kind = b"\"type\":\"turn.ended\"";
            self.turns_ended += u64::from(head.windows(kind.len()).any(|window| window == kind));
        }
        self.line.clear();
    }

    /// Waits until so many turns have ended since it began.
    pub(crate) async fn turns(&mut self, turns: u64) -> Result<()> {
        while self.turns_ended < turns {
            self.something().await?;
        }
        Ok(())
    }

    /// How many turns have ended since it began.
    pub(crate) fn turns_ended(&self) -> u64 {
        self.turns_ended
    }

    /// How many events came since it began.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }
}
