//! Items: what is open, and who looks after it.

use interlingua_schema::{Item, ItemDelta, ItemEvent, ItemId, ItemKind, UniversalEvent};

use super::messages::OpenMessage;
use super::projected::Projected;
use super::session::Session;
use super::tools::OpenTool;
use crate::metadata::key;
use crate::object::Object;
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// An item that began and is not over.
#[derive(Debug)]
pub(super) enum Open {
    Message(OpenMessage),
    Tool(OpenTool),
    /// Nothing of it is let through before it is over.
    Silent,
}

impl Session {
    pub(super) fn item_started<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        ItemEvent { item, .. }: &'e ItemEvent,
    ) -> Projected<'e> {
        match item.kind {
            ItemKind::Message => {
                self.message_started(item);
                Projected::none()
            }
            ItemKind::ToolCall => self.call_started(agent, item),
            ItemKind::ToolResult => self.result_started(agent, item),
            ItemKind::Status => {
                self.items.insert(item.item_id.clone(), Open::Silent);
                // One without content says all it has to say when it completes.
                if item.content.is_empty() { Projected::none() } else { self.note(agent, event, item) }
            }
            ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_) => {
                self.items.insert(item.item_id.clone(), Open::Silent);
                Projected::none()
            }
        }
    }

    pub(super) fn delta<'e>(&mut self, agent: AgentWrapperKind, delta: &'e ItemDelta) -> Projected<'e> {
        match self.items.get_mut(&delta.item_id) {
            Some(Open::Message(message)) => message.delta(agent, delta),
            Some(Open::Tool(tool)) => tool.delta(agent, delta),
            Some(Open::Silent) => Projected::none(),
            // Nobody knows what it is a part of, so it may be anything.
            None => {
                let mut facts = Object::new();
                facts.name(key::session_id, self.name.as_ref());
                facts.text(key::native_type, Some("item.delta"));
                Projected::one(AgentWrapperEvent::unknown(agent, facts.finish()))
            }
        }
    }

    pub(super) fn item_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        ItemEvent { item, .. }: &'e ItemEvent,
    ) -> Projected<'e> {
        let open = self.items.remove(&item.item_id);
        match item.kind {
            ItemKind::Message => self.message_completed(agent, event, item, open),
            ItemKind::ToolCall => self.call_completed(agent, item, open),
            ItemKind::ToolResult => self.result_completed(agent, item, open),
            ItemKind::Status => self.note(agent, event, item),
            ItemKind::System => {
                let facts = self.about(event, item);
                Projected::one(AgentWrapperEvent::status(agent, "a system message", facts.finish()))
            }
            ItemKind::Unknown | ItemKind::Unlisted(_) => self.unknown_item(agent, event, item),
        }
    }

    /// What is said of an item that is no tool.
    pub(super) fn about(&self, event: &UniversalEvent, item: &Item) -> Object {
        let mut facts = self.facts(event);
        facts.text(key::item_id, Some(item.item_id.as_str()));
        facts.text(key::parent_id, item.parent_id.as_ref().map(ItemId::as_str));
        facts.text(key::status, Some(item.status.as_str()));
        facts
    }
}
