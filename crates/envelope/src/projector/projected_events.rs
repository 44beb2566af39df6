//! The envelope events of one universal event.

use interlingua_schema::{ContentPart, Role};

use super::messages::channel;
use crate::bounds::{Data, Pieces};
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// The envelope events of one universal event: text, split lazily, and then at most one other event.
#[derive(Debug, Default)]
pub(super) struct ProjectedEvents<'e> {
    text: Option<TextEvents<'e>>,
    last: Option<AgentWrapperEvent>,
}

impl<'e> ProjectedEvents<'e> {
    /// No events.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// One event that is not text.
    pub(super) fn one(event: AgentWrapperEvent) -> Self {
        Self { text: None, last: Some(event) }
    }

    /// Text events only.
    pub(super) fn text(text: TextEvents<'e>) -> Self {
        Self { text: Some(text), last: None }
    }

    /// Adds an event after the text.
    pub(super) fn then(mut self, event: Option<AgentWrapperEvent>) -> Self {
        self.last = event;
        self
    }
}

impl Iterator for ProjectedEvents<'_> {
    type Item = AgentWrapperEvent;

    fn next(&mut self) -> Option<AgentWrapperEvent> {
        self.text.as_mut().and_then(TextEvents::next).or_else(|| self.last.take())
    }
}

/// The `TextOutput` events of a delta, or of a completed message.
#[derive(Debug)]
pub(super) struct TextEvents<'e> {
    agent: AgentWrapperKind,
    data: Data,
    role: &'e Role,
    channel: &'static str,
    pieces: Pieces<'e>,
    parts: std::slice::Iter<'e, ContentPart>,
    /// Bytes of the remaining parts that were already streamed.
    streamed_bytes: usize,
}

impl<'e> TextEvents<'e> {
    /// The events of one text.
    pub(super) fn new(agent: AgentWrapperKind, data: Data, channel: &'static str, text: &'e str) -> Self {
        let (role, pieces, parts) = (&Role::Assistant, Pieces::new(text), [].iter());
        Self { agent, data, role, channel, pieces, parts, streamed_bytes: 0 }
    }

    /// The events of a completed message, without the first `streamed_bytes` bytes. Parts without text have none.
    pub(super) fn from_message(
        agent: AgentWrapperKind,
        data: Data,
        role: &'e Role,
        content: &'e [ContentPart],
        streamed_bytes: usize,
    ) -> Self {
        Self { role, parts: content.iter(), streamed_bytes, ..Self::new(agent, data, "", "") }
    }

    fn next(&mut self) -> Option<AgentWrapperEvent> {
        loop {
            if let Some(piece) = self.pieces.next() {
                let (agent, data) = (self.agent.clone(), self.data.clone());
                return Some(AgentWrapperEvent::text_output(agent, self.channel, piece, data));
            }
            let part = self.parts.next()?;
            let (Some(text), Some(channel)) = (part.streamed_text(), channel(self.role, Some(part))) else { continue };
            let remaining = text.get(self.streamed_bytes..).unwrap_or_default();
            self.streamed_bytes = self.streamed_bytes.saturating_sub(text.len());
            (self.channel, self.pieces) = (channel, Pieces::new(remaining));
        }
    }
}
