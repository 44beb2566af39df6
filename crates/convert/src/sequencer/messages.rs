//! Messages: text and reasoning, streamed and whole.

use std::hash::{DefaultHasher, Hash, Hasher};

use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemId, ItemKind, NativeItemId, Origin, Outcome, Role,
};

use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::draft::Channel;
use crate::{Final, Key, Message};

/// A message that streams.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub(super) serial: u64,
    item_id: ItemId,
    parent: Option<ItemId>,
    message: Message,
    streamed: String,
    /// Text of our own. A synthetic delta stands directly before the completion, so this waits for what comes next.
    unsaid: String,
}

/// What is remembered of a message that is over.
#[derive(Debug)]
pub(super) struct ClosedMessage {
    /// What it said, as a hash, if we closed it ourselves: the agent may still finish it.
    cut_off_at: Option<u64>,
}

/// A message of which everything is known.
pub(super) struct WholeMessage {
    pub(super) role: Role,
    pub(super) native_id: Option<NativeItemId>,
    pub(super) of: Option<Key>,
    pub(super) content: Vec<ContentPart>,
}

impl WholeMessage {
    fn is_empty(&self) -> bool {
        self.content.iter().all(|part| part.streamed_text().is_some_and(str::is_empty))
    }
}

impl Session {
    pub(super) fn message_started(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, message: Message) {
        if self.messages.contains_key(&at) || self.closed_messages.get(&at).is_some() {
            return;
        }
        self.before_message(scene, at.0, message.role);
        self.open_message(scene, at, origin, message);
    }

    pub(super) fn message_delta(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: String) {
        if text.is_empty() {
            return;
        }
        if !self.messages.contains_key(at) {
            self.message_started(scene, at.clone(), Origin::DAEMON, Message::assistant());
        }
        let Some(open) = self.messages.get_mut(at) else {
            return;
        };
        if origin != Origin::AGENT {
            open.unsaid.push_str(&text);
            return;
        }
        let delta = if open.unsaid.is_empty() { text } else { std::mem::take(&mut open.unsaid) + &text };
        open.streamed.push_str(&delta);
        let data = ItemDelta { item_id: open.item_id.clone(), native_item_id: open.message.native_id.clone(), delta };
        self.emit(scene, origin, EventData::ItemDelta(data));
    }

    pub(super) fn message_finished(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        message: Message,
        end: Final,
    ) {
        if let Some(open) = self.messages.remove(&at) {
            return self.finish_open(scene, at, origin, open, message, end);
        }
        if let Some(closed) = self.closed_messages.get_mut(&at) {
            let said_more = match (&end.text, closed.cut_off_at.take()) {
                (Some(text), Some(cut_off_at)) => hash(text) != cut_off_at,
                _ => false,
            };
            if !said_more {
                return;
            }
        }
        self.before_message(scene, at.0, message.role);
        self.finish_whole(scene, at, origin, message, end);
    }

    fn finish_open(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        mut open: OpenMessage,
        message: Message,
        end: Final,
    ) {
        if open.message.native_id.is_none() {
            open.message.native_id.clone_from(&message.native_id);
        }
        let channel = open.message.channel;
        let (content, rest) = if let Some(text) = end.text {
            let content = content(channel, text, end.parts);
            let rest = rest_after(&content, &open.streamed);
            (content, rest)
        } else {
            let mut rest = std::mem::take(&mut open.unsaid);
            let text = std::mem::take(&mut open.streamed) + &rest;
            rest.extend(end.parts.iter().filter_map(ContentPart::streamed_text));
            (content(channel, text, end.parts), Some(rest))
        };
        if let Some(rest) = rest {
            self.say_rest(scene, &open, rest);
            self.complete_message(scene, origin, open, content, end.failed);
        } else {
            // The final text contradicts what was streamed: that was another message.
            let role = open.message.role;
            open.unsaid.clear();
            self.fail_message(scene, Origin::DAEMON, open);
            let whole = WholeMessage { role, native_id: message.native_id, of: message.of, content };
            if !whole.is_empty() {
                self.whole_message(scene, at.0, origin, whole, end.failed);
            }
        }
        self.closed_messages.insert(at, ClosedMessage { cut_off_at: None });
    }

    /// The part of a message that was not streamed, directly before it completes.
    fn say_rest(&mut self, scene: &mut Scene<'_>, open: &OpenMessage, rest: String) {
        if !rest.is_empty() {
            let delta = ItemDelta {
                item_id: open.item_id.clone(),
                native_item_id: open.message.native_id.clone(),
                delta: rest,
            };
            self.emit(scene, Origin::DAEMON, EventData::ItemDelta(delta));
        }
    }

    fn finish_whole(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, message: Message, end: Final) {
        let whole = WholeMessage {
            role: message.role,
            native_id: message.native_id,
            of: message.of,
            content: content(message.channel, end.text.unwrap_or_default(), end.parts),
        };
        self.whole_message(scene, at.0, origin, whole, end.failed);
        self.closed_messages.insert(at, ClosedMessage { cut_off_at: None });
    }

    /// A message from beginning to end.
    pub(super) fn whole_message(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        whole: WholeMessage,
        failed: bool,
    ) {
        let mut item = Item::new(scene.ids.item(), ItemKind::Message);
        item.native_item_id = whole.native_id;
        item.parent_id = self.spawner(scope);
        item.role = Some(whole.role);
        self.spoken(scope, whole.role);
        self.note_message(scope, whole.of.as_ref(), &item.item_id);
        item.content = Channel::of(&whole.content).opening();
        self.emit(scene, Origin::DAEMON, EventData::item_started(item.clone()));
        item.content = whole.content;
        let text: String = item.streamed_text().collect();
        if !text.is_empty() {
            let delta =
                ItemDelta { item_id: item.item_id.clone(), native_item_id: item.native_item_id.clone(), delta: text };
            self.emit(scene, Origin::DAEMON, EventData::ItemDelta(delta));
        }
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }

    pub(super) fn message_abandoned(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin) {
        if let Some(open) = self.messages.remove(at) {
            self.fail_message(scene, origin, open);
            self.closed_messages.insert(at.clone(), ClosedMessage { cut_off_at: None });
        }
    }

    /// Closes a message that the agent left open.
    pub(super) fn cut_off_message(&mut self, scene: &mut Scene<'_>, at: ItemRef) {
        if let Some(open) = self.messages.remove(&at) {
            let cut_off_at = Some(hash(&open.streamed));
            self.fail_message(scene, Origin::DAEMON, open);
            self.closed_messages.insert(at, ClosedMessage { cut_off_at });
        }
    }

    fn open_message(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, message: Message) {
        let mut item = Item::new(scene.ids.item(), ItemKind::Message);
        item.native_item_id.clone_from(&message.native_id);
        item.parent_id = self.spawner(at.0);
        item.role = Some(message.role);
        item.content = message.channel.opening();
        self.spoken(at.0, message.role);
        self.note_message(at.0, message.of.as_ref(), &item.item_id);
        let open = OpenMessage {
            serial: self.next_serial(),
            item_id: item.item_id.clone(),
            parent: item.parent_id.clone(),
            message,
            streamed: String::new(),
            unsaid: String::new(),
        };
        self.messages.insert(at, open);
        self.emit(scene, origin, EventData::item_started(item));
    }

    /// Completes a message as failed with what it streamed.
    fn fail_message(&mut self, scene: &mut Scene<'_>, origin: Origin, mut open: OpenMessage) {
        let rest = std::mem::take(&mut open.unsaid);
        let text = std::mem::take(&mut open.streamed) + &rest;
        self.say_rest(scene, &open, rest);
        let content = if text.is_empty() { Vec::new() } else { content(open.message.channel, text, Vec::new()) };
        self.complete_message(scene, origin, open, content, true);
    }

    fn complete_message(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        open: OpenMessage,
        content: Vec<ContentPart>,
        failed: bool,
    ) {
        let mut item = Item::new(open.item_id, ItemKind::Message);
        item.native_item_id = open.message.native_id;
        item.parent_id = open.parent;
        item.role = Some(open.message.role);
        item.content = content;
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }
}

/// The text, unless it is empty beside other parts, and the parts. Reasoning always has its part: an empty one tells
/// that it was redacted.
fn content(channel: Channel, text: String, parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let mut content = Vec::with_capacity(parts.len() + 1);
    if channel != Channel::Text || !text.is_empty() || parts.is_empty() {
        content.push(channel.part(text));
    }
    content.extend(parts);
    content
}

/// What a content says beyond what was streamed; `None` when it says something else.
fn rest_after(content: &[ContentPart], streamed: &str) -> Option<String> {
    let mut left = streamed;
    let mut rest = String::new();
    for text in content.iter().filter_map(ContentPart::streamed_text) {
        if let Some(after) = text.strip_prefix(left) {
            left = "";
            rest.push_str(after);
        } else {
            left = left.strip_prefix(text)?;
        }
    }
    left.is_empty().then_some(rest)
}

pub(super) fn outcome(failed: bool) -> Outcome {
    if failed { Outcome::Failed } else { Outcome::Completed }
}

pub(super) fn hash(text: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
