//! A session, as somebody sees it who follows its events.

use anyhow::{Context as _, Result};
use interlingua_client::{Client, EventQuery, FrameStream};
use interlingua_schema::{EventData, ItemId, ItemKind, Role, UniversalEvent};

/// A session that is followed from its first event on.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    /// One connection: a stream that resumed by itself would hide a server that breaks off.
    frames: FrameStream,
    /// All events so far, as they came.
    pub(crate) lines: Vec<String>,
    /// All events so far.
    pub(crate) events: Vec<UniversalEvent>,
}

impl Session {
    /// Follows a session that was just created.
    pub(crate) async fn follow(client: &Client, id: &str) -> Result<Self> {
        let frames = client.event_frames(id, EventQuery::default().include_raw(true)).await?;
        Ok(Self { id: id.to_owned(), frames, lines: Vec::new(), events: Vec::new() })
    }

    /// Goes on where it was, with a server that was started anew.
    pub(crate) async fn follow_again(&mut self, client: &Client) -> Result<()> {
        let last = self.events.last().map_or(0, |event| event.sequence);
        self.frames = client.event_frames(&self.id, EventQuery::after(last).include_raw(true)).await?;
        Ok(())
    }

    /// The next event. It may be given up while it waits.
    pub(crate) async fn next(&mut self) -> Result<UniversalEvent> {
        let frame = self.frames.next_event().await?.context("the stream of events ended")?;
        let line = String::from_utf8(frame.data).context("the stream is not UTF-8")?;
        let event: UniversalEvent =
            serde_json::from_str(&line).with_context(|| format!("no universal event: {line}"))?;
        self.lines.push(line);
        self.events.push(event.clone());
        Ok(event)
    }

    /// Whether these are words of the agent.
    pub(crate) fn is_said_by_agent(&self, item: &ItemId) -> bool {
        self.events.iter().any(|event| match &event.data {
            EventData::ItemStarted(started) => {
                let said = &started.item;
                said.item_id == *item && said.kind == ItemKind::Message && said.role == Some(Role::Assistant)
            }
            _ => false,
        })
    }
}
