//! Messages: the only things whose words are let through.

use interlingua_schema::{ContentPart, Item, ItemDelta, ItemId, ItemStatus, Role, UniversalEvent, Visibility};

use super::items::Open;
use super::projected::{Projected, Words};
use super::session::Session;
use crate::bounds::{Data, FinalText};
use crate::metadata::key;
use crate::object::Object;
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// A message that is being said.
#[derive(Debug)]
pub(super) struct OpenMessage {
    channel: &'static str,
    data: Data,
    /// So many bytes were streamed.
    said: usize,
}

/// Where the words of a part go, or those of a message whose first part is not known yet.
pub(super) fn channel(role: &Role, part: Option<&ContentPart>) -> Option<&'static str> {
    match (role, part) {
        (Role::Assistant, Some(ContentPart::Reasoning { .. })) => Some("reasoning"),
        (Role::Assistant, _) => Some("assistant"),
        (Role::User, _) => Some("user"),
        // What a tool or the agent's own system says may be anything.
        (Role::System | Role::Tool | Role::Unknown(_), _) => None,
    }
}

/// The role of a message whose words are let through. A user's message that hangs on another item is the task of a
/// sub-agent, which is to say a tool's input.
fn speaker(item: &Item) -> Option<&Role> {
    match &item.role {
        Some(Role::User) if item.parent_id.is_some() => None,
        Some(role @ (Role::User | Role::Assistant)) => Some(role),
        Some(Role::System | Role::Tool | Role::Unknown(_)) | None => None,
    }
}

impl Session {
    pub(super) fn message_started(&mut self, item: &Item) {
        let Some(channel) = speaker(item).and_then(|role| channel(role, item.content.first())) else {
            return self.items.insert(item.item_id.clone(), Open::Silent);
        };
        let message = OpenMessage { channel, data: self.words(item).shared(), said: 0 };
        self.items.insert(item.item_id.clone(), Open::Message(message));
    }

    pub(super) fn message_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        item: &'e Item,
        open: Option<Open>,
    ) -> Projected<'e> {
        let Some(role) = speaker(item) else {
            let is_task = item.role == Some(Role::User);
            let message = if is_task { "a sub-agent was given its task" } else { "a system message" };
            return Projected::one(AgentWrapperEvent::status(agent, message, self.about(event, item).finish()));
        };
        let (said, data) = match open {
            Some(Open::Message(open)) => (open.said, open.data),
            _ => (0, self.words(item).shared()),
        };
        let failed = matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_));
        if *role == Role::Assistant && item.parent_id.is_none() && !failed {
            self.answered(item);
        }
        let silent = said == 0 && item.streamed_text().all(str::is_empty);
        let message = match (failed, silent) {
            (true, _) => Some("a message was cut off"),
            (false, true) => Some("a message without text"),
            (false, false) => None,
        };
        let about = || self.about(event, item).finish();
        let note = message.map(|message| AgentWrapperEvent::status(agent.clone(), message, about()));
        Projected::words(Words::of_message(agent, data, role, &item.content, said)).then(note)
    }

    /// Keeps the text of an answer for the completion. Reasoning is none.
    fn answered(&mut self, item: &Item) {
        let mut texts = item.content.iter().filter_map(|part| match part {
            ContentPart::Text { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        let Some(first) = texts.next() else { return };
        let rest: String = texts.collect();
        let text = if rest.is_empty() { FinalText::new(first) } else { FinalText::new(&(first.to_owned() + &rest)) };
        self.final_text = Some(text);
    }

    /// What is said of a text: whose it is.
    fn words(&self, item: &Item) -> Data {
        let visibility = match item.content.first() {
            Some(ContentPart::Reasoning { visibility, .. }) => Some(visibility),
            _ => None,
        };
        let mut facts = Object::new();
        facts.name(key::session_id, self.name.as_ref());
        facts.text(key::item_id, Some(item.item_id.as_str()));
        facts.text(key::parent_id, item.parent_id.as_ref().map(ItemId::as_str));
        facts.text(key::visibility, visibility.copied().map(Visibility::as_str));
        facts.finish()
    }
}

impl OpenMessage {
    pub(super) fn delta<'e>(&mut self, agent: AgentWrapperKind, delta: &'e ItemDelta) -> Projected<'e> {
        self.said += delta.delta.len();
        Projected::words(Words::new(agent, self.data.clone(), self.channel, &delta.delta))
    }
}
