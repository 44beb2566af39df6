//! Messages: the only items whose text is passed on.

use interlingua_schema::{ContentPart, Item, ItemDelta, ItemId, ItemStatus, Role, UniversalEvent, Visibility};

use super::items::OpenItem;
use super::projected_events::{ProjectedEvents, TextEvents};
use super::session::Session;
use crate::bounds::{Data, FinalText};
use crate::data_writer::DataWriter;
use crate::metadata::key;
use crate::{AgentWrapperEvent, AgentWrapperKind};

/// A message that has started and not completed.
#[derive(Debug)]
pub(super) struct OpenMessage {
    channel: &'static str,
    data: Data,
    /// Bytes of text in deltas so far.
    streamed_bytes: usize,
}

/// The channel of a part's text. `part` is `None` if the message has no part yet.
pub(super) fn channel(role: &Role, part: Option<&ContentPart>) -> Option<&'static str> {
    match (role, part) {
        (Role::Assistant, Some(ContentPart::Reasoning { .. })) => Some("reasoning"),
        (Role::Assistant, _) => Some("assistant"),
        (Role::User, _) => Some("user"),
        // The text of a tool or of the agent's system may be the output of a tool.
        (Role::System | Role::Tool | Role::Unknown(_), _) => None,
    }
}

/// The author of a message whose text is passed on; `None` for other messages. A user's message with a parent is the task
/// of a sub-agent, and that is the input of a tool.
fn text_role(item: &Item) -> Option<&Role> {
    match &item.role {
        Some(Role::User) if item.parent_id.is_some() => None,
        Some(role @ (Role::User | Role::Assistant)) => Some(role),
        Some(Role::System | Role::Tool | Role::Unknown(_)) | None => None,
    }
}

impl Session {
    pub(super) fn message_started(&mut self, item: &Item) {
        let Some(channel) = text_role(item).and_then(|role| channel(role, item.content.first())) else {
            return self.open_items.insert(item.item_id.clone(), OpenItem::Silent);
        };
        let message = OpenMessage { channel, data: self.text_data(item).into_shared(), streamed_bytes: 0 };
        self.open_items.insert(item.item_id.clone(), OpenItem::Message(message));
    }

    pub(super) fn message_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        item: &'e Item,
        open: Option<OpenItem>,
    ) -> ProjectedEvents<'e> {
        let Some(role) = text_role(item) else {
            let is_task = item.role == Some(Role::User);
            let message = if is_task { "a sub-agent was given its task" } else { "a system message" };
            return ProjectedEvents::one(AgentWrapperEvent::status(
                agent,
                message,
                self.item_data(event, item).finish(),
            ));
        };
        let (streamed_bytes, data) = match open {
            Some(OpenItem::Message(open)) => (open.streamed_bytes, open.data),
            _ => (0, self.text_data(item).into_shared()),
        };
        let is_failed = matches!(item.status, ItemStatus::Failed | ItemStatus::Unknown(_));
        if *role == Role::Assistant && item.parent_id.is_none() && !is_failed {
            self.keep_final_text(item);
        }
        let is_empty = streamed_bytes == 0 && item.streamed_text().all(str::is_empty);
        let message = match (is_failed, is_empty) {
            (true, _) => Some("a message was cut off"),
            (false, true) => Some("a message without text"),
            (false, false) => None,
        };
        let item_data = || self.item_data(event, item).finish();
        let status = message.map(|message| AgentWrapperEvent::status(agent.clone(), message, item_data()));
        ProjectedEvents::text(TextEvents::from_message(agent, data, role, &item.content, streamed_bytes)).then(status)
    }

    /// Keeps the text of a message for the completion, without reasoning.
    fn keep_final_text(&mut self, item: &Item) {
        let mut texts = item.content.iter().filter_map(|part| match part {
            ContentPart::Text { text } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        });
        let Some(first) = texts.next() else { return };
        let rest: String = texts.collect();
        let text = if rest.is_empty() { FinalText::new(first) } else { FinalText::new(&(first.to_owned() + &rest)) };
        self.final_text = Some(text);
    }

    /// The data of a `TextOutput` event.
    fn text_data(&self, item: &Item) -> Data {
        let visibility = match item.content.first() {
            Some(ContentPart::Reasoning { visibility, .. }) => Some(visibility),
            _ => None,
        };
        let mut data = DataWriter::new();
        data.name(key::session_id, self.name.as_ref());
        data.name_from(key::item_id, Some(item.item_id.as_str()));
        data.name_from(key::parent_id, item.parent_id.as_ref().map(ItemId::as_str));
        data.name_from(key::visibility, visibility.copied().map(Visibility::as_str));
        data.finish()
    }
}

impl OpenMessage {
    pub(super) fn delta<'e>(&mut self, agent: AgentWrapperKind, delta: &'e ItemDelta) -> ProjectedEvents<'e> {
        self.streamed_bytes += delta.delta.len();
        ProjectedEvents::text(TextEvents::new(agent, self.data.clone(), self.channel, &delta.delta))
    }
}
