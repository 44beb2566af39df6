//! A session whose events are followed.

use anyhow::{Context as _, Result};
use interlingua_client::{Client, EventQuery, FrameStream};
use interlingua_schema::{EventData, ItemId, ItemKind, Role, UniversalEvent};

/// A session that is followed from its first event.
pub(crate) struct Session {
    /// Session id.
    pub(crate) id: String,
    /// A single connection. A stream that reconnects would hide a server that closes it early.
    frames: FrameStream,
    /// JSON of all events so far.
    pub(crate) lines: Vec<String>,
    /// All events so far.
    pub(crate) events: Vec<UniversalEvent>,
}

impl Session {
    /// Follows a new session.
    pub(crate) async fn follow(client: &Client, id: &str) -> Result<Self> {
        let frames = client.event_frames(id, EventQuery::default().include_raw(true)).await?;
        Ok(Self { id: id.to_owned(), frames, lines: Vec::new(), events: Vec::new() })
    }

    /// Continues after the last event, with a restarted server.
    pub(crate) async fn reconnect(&mut self, client: &Client) -> Result<()> {
        let last = self.events.last().map_or(0, |event| event.sequence);
        self.frames = client.event_frames(&self.id, EventQuery::after(last).include_raw(true)).await?;
        Ok(())
    }

    /// Waits for the next event. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<UniversalEvent> {
        let frame = self.frames.next_event().await?.context("the event stream ended")?;
        let line = String::from_utf8(frame.data).context("the event stream is not UTF-8")?;
        let event: UniversalEvent =
            serde_json::from_str(&line).with_context(|| format!("not a universal event: {line}"))?;
        self.lines.push(line);
        self.events.push(event.clone());
        Ok(event)
    }

    /// Whether an item is a message of the assistant.
    pub(crate) fn is_assistant_message(&self, id: &ItemId) -> bool {
        self.events.iter().any(|event| match &event.data {
            EventData::ItemStarted(started) => {
                let item = &started.item;
                item.item_id == *id && item.kind == ItemKind::Message && item.role == Some(Role::Assistant)
            }
            _ => false,
        })
    }
}
