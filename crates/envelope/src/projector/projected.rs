//! What one universal event becomes.

use interlingua_schema::{ContentPart, Role};

use super::messages::channel;
use crate::bounds::{Data, Pieces};
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// What one universal event becomes: texts, split as they are asked for, and then at most one other event.
#[derive(Debug, Default)]
pub(super) struct Projected<'e> {
    words: Option<Words<'e>>,
    last: Option<AgentWrapperEvent>,
}

impl<'e> Projected<'e> {
    /// Nothing.
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// One event that is no text.
    pub(super) fn one(event: AgentWrapperEvent) -> Self {
        Self { words: None, last: Some(event) }
    }

    /// Words.
    pub(super) fn words(words: Words<'e>) -> Self {
        Self { words: Some(words), last: None }
    }

    /// Adds an event after the words.
    pub(super) fn then(mut self, event: Option<AgentWrapperEvent>) -> Self {
        self.last = event;
        self
    }
}

impl Iterator for Projected<'_> {
    type Item = AgentWrapperEvent;

    fn next(&mut self) -> Option<AgentWrapperEvent> {
        self.words.as_mut().and_then(Words::next).or_else(|| self.last.take())
    }
}

/// The words of a message, or some of them.
#[derive(Debug)]
pub(super) struct Words<'e> {
    agent: AgentWrapperKind,
    data: Data,
    role: &'e Role,
    channel: &'static str,
    pieces: Pieces<'e>,
    parts: std::slice::Iter<'e, ContentPart>,
    /// So many bytes were streamed before.
    said: usize,
}

impl<'e> Words<'e> {
    /// Words that go to this channel.
    pub(super) fn new(agent: AgentWrapperKind, data: Data, channel: &'static str, text: &'e str) -> Self {
        Self { agent, data, role: &Role::Assistant, channel, pieces: Pieces::of(text), parts: [].iter(), said: 0 }
    }

    /// The words of a whole message of which so many bytes were streamed before. What is no text has none.
    pub(super) fn of_message(
        agent: AgentWrapperKind,
        data: Data,
        role: &'e Role,
        content: &'e [ContentPart],
        said: usize,
    ) -> Self {
        Self { role, parts: content.iter(), said, ..Self::new(agent, data, "", "") }
    }

    fn next(&mut self) -> Option<AgentWrapperEvent> {
        loop {
            if let Some(piece) = self.pieces.next() {
                let (agent, data) = (self.agent.clone(), self.data.clone());
                return Some(AgentWrapperEvent::text_output(agent, self.channel, piece, data));
            }
            let part = self.parts.next()?;
            let (Some(text), Some(channel)) = (part.streamed_text(), channel(self.role, Some(part))) else { continue };
            let unsaid = text.get(self.said..).unwrap_or_default();
            self.said = self.said.saturating_sub(text.len());
            (self.channel, self.pieces) = (channel, Pieces::of(unsaid));
        }
    }
}
