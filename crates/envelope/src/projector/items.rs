//! Items: dispatches by the kind of the item, and keeps the open ones.

use interlingua_schema::{Item, ItemDelta, ItemEvent, ItemId, ItemKind, UniversalEvent};

use super::messages::OpenMessage;
use super::projected_events::ProjectedEvents;
use super::session::Session;
use super::tools::OpenTool;
use crate::data_writer::DataWriter;
use crate::metadata::key;
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// An item that has started and not completed.
#[derive(Debug)]
pub(super) enum OpenItem {
    Message(OpenMessage),
    Tool(OpenTool),
    /// An item without events for its deltas.
    Silent,
}

impl Session {
    pub(super) fn item_started<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        ItemEvent { item, .. }: &'e ItemEvent,
    ) -> ProjectedEvents<'e> {
        match item.kind {
            ItemKind::Message => {
                self.message_started(item);
                ProjectedEvents::none()
            }
            ItemKind::ToolCall => self.call_started(agent, item),
            ItemKind::ToolResult => self.result_started(agent, item),
            ItemKind::Status => {
                self.open_items.insert(item.item_id.clone(), OpenItem::Silent);
                // An item without content has its label only when it completes.
                if item.content.is_empty() { ProjectedEvents::none() } else { self.status_item(agent, event, item) }
            }
            ItemKind::System | ItemKind::Unknown | ItemKind::Unlisted(_) => {
                self.open_items.insert(item.item_id.clone(), OpenItem::Silent);
                ProjectedEvents::none()
            }
        }
    }

    pub(super) fn item_delta<'e>(&mut self, agent: AgentWrapperKind, delta: &'e ItemDelta) -> ProjectedEvents<'e> {
        match self.open_items.get_mut(&delta.item_id) {
            Some(OpenItem::Message(message)) => message.delta(agent, delta),
            Some(OpenItem::Tool(tool)) => tool.delta(agent, delta),
            Some(OpenItem::Silent) => ProjectedEvents::none(),
            // The item is not known, so the text may be the output of a tool.
            None => {
                let mut data = DataWriter::new();
                data.name(key::session_id, self.name.as_ref());
                data.name_from(key::native_type, Some("item.delta"));
                ProjectedEvents::one(AgentWrapperEvent::unknown(agent, data.finish()))
            }
        }
    }

    pub(super) fn item_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        ItemEvent { item, .. }: &'e ItemEvent,
    ) -> ProjectedEvents<'e> {
        let open = self.open_items.remove(&item.item_id);
        match item.kind {
            ItemKind::Message => self.message_completed(agent, event, item, open),
            ItemKind::ToolCall => self.call_completed(agent, item, open),
            ItemKind::ToolResult => self.result_completed(agent, item, open),
            ItemKind::Status => self.status_item(agent, event, item),
            ItemKind::System => {
                let data = self.item_data(event, item);
                ProjectedEvents::one(AgentWrapperEvent::status(agent, "a system message", data.finish()))
            }
            ItemKind::Unknown | ItemKind::Unlisted(_) => self.unknown_item(agent, event, item),
        }
    }

    /// The data of an event about an item that is not a tool call or result.
    pub(super) fn item_data(&self, event: &UniversalEvent, item: &Item) -> DataWriter {
        let mut data = self.event_data(event);
        data.name_from(key::item_id, Some(item.item_id.as_str()));
        data.name_from(key::parent_id, item.parent_id.as_ref().map(ItemId::as_str));
        data.name_from(key::status, Some(item.status.as_str()));
        data
    }
}
