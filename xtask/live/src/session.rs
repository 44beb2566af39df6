//! A session, as somebody sees it who follows its events.

use anyhow::{Context as _, Result, bail};
use interlingua_schema::{EventData, ItemId, ItemKind, Role, UniversalEvent};
use reqwest::Response;

use crate::api::Api;

/// A session that is followed from its first event on.
pub(crate) struct Session {
    /// Its id.
    pub(crate) id: String,
    api: Api,
    stream: Response,
    /// What came of the next lines.
    pending: Vec<u8>,
    /// All events so far, as they came.
    pub(crate) lines: Vec<String>,
    /// All events so far.
    pub(crate) events: Vec<UniversalEvent>,
}

impl Session {
    /// Follows a session that was just created.
    pub(crate) async fn follow(api: &Api, id: &str) -> Result<Self> {
        let stream = api.follow(id, 0).await?;
        let (lines, events) = (Vec::new(), Vec::new());
        Ok(Self { id: id.to_owned(), api: api.clone(), stream, pending: Vec::new(), lines, events })
    }

    /// Goes on where it was, with a server that was started anew.
    pub(crate) async fn follow_again(&mut self, api: &Api) -> Result<()> {
        let last = self.events.last().map_or(0, |event| event.sequence);
        self.api = api.clone();
        self.pending.clear();
        self.stream = api.follow(&self.id, last).await?;
        Ok(())
    }

    /// The next event. It may be given up while it waits.
    pub(crate) async fn next(&mut self) -> Result<UniversalEvent> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                let line = String::from_utf8(line).context("the stream is not UTF-8")?;
                let Some(data) = line.trim_end().strip_prefix("data: ") else { continue };
                let event: UniversalEvent =
                    serde_json::from_str(data).with_context(|| format!("no universal event: {data}"))?;
                self.lines.push(data.to_owned());
                self.events.push(event.clone());
                return Ok(event);
            }
            match self.stream.chunk().await.context("the stream of events broke")? {
                Some(bytes) => self.pending.extend_from_slice(&bytes),
                None => bail!("the stream of events ended"),
            }
        }
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
