//! Messages: text and reasoning, streamed and whole.

use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;
use interlingua_schema::{
    ContentPart, EventData, EventDataRef, Item, ItemKind, ItemOutcome, NativeItemId, Origin, Role,
};

use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::draft::{Channel, streamed_text};
use crate::{Key, MessageDraft, MessageEnd};

/// A message that streams.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub(super) serial: u64,
    item: Item,
    channel: Channel,
    streamed: String,
    /// Text of our own. A synthetic delta stands directly before the completion, so this waits for what comes next.
    unsaid: String,
}

/// What is remembered of a message that is over.
#[derive(Debug)]
pub(super) struct ClosedMessage {
    /// What it said, as a hash. An end that says something else is news; `None` if the agent took it back.
    said: Option<u64>,
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
    pub(super) fn message_started(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        message: MessageDraft,
    ) {
        if self.messages.contains_key(&at) || self.closed_messages.get(&at).is_some() {
            return;
        }
        self.before_message(scene, at.0, &message.speaker.into());
        self.open_message(scene, at, origin, message);
    }

    pub(super) fn message_delta(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin, text: String) {
        if text.is_empty() {
            return;
        }
        if !self.messages.contains_key(at) {
            self.message_started(scene, at.clone(), Origin::DAEMON, MessageDraft::assistant());
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
        self.voice.say(scene, origin, goes_on(&open.item, &delta));
    }

    pub(super) fn message_finished(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        message: MessageDraft,
        end: MessageEnd,
    ) {
        if let Some(open) = self.messages.remove(&at) {
            return self.finish_open(scene, at, origin, open, message, end);
        }
        if let Some(closed) = self.closed_messages.get(&at) {
            let said_more = match (&end.text, closed.said) {
                (Some(text), Some(said)) => hash(text) != said,
                _ => false,
            };
            if !said_more {
                return;
            }
        }
        self.before_message(scene, at.0, &message.speaker.into());
        self.finish_whole(scene, at, origin, message, end);
    }

    fn finish_open(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        mut open: OpenMessage,
        message: MessageDraft,
        end: MessageEnd,
    ) {
        if open.item.native_item_id.is_none() {
            open.item.native_item_id.clone_from(&message.native_id);
        }
        let channel = open.channel;
        let (said, content, rest) = if let Some(text) = end.text {
            let said = hash(&text);
            let content = content(channel, text, end.parts);
            let rest = rest_after(&content, &open.streamed);
            (said, content, rest)
        } else {
            let mut rest = std::mem::take(&mut open.unsaid);
            let text = std::mem::take(&mut open.streamed) + &rest;
            rest.extend(end.parts.iter().filter_map(ContentPart::streamed_text));
            (hash(&text), content(channel, text, end.parts), Some(rest))
        };
        if let Some(rest) = rest {
            self.say_rest(scene, &open.item, &rest);
            self.complete_message(scene, origin, open.item, content, end.failed);
        } else {
            // The final text contradicts what was streamed: that was another message.
            let role = open.item.role.clone().unwrap_or(Role::Assistant);
            open.unsaid.clear();
            self.fail_message(scene, Origin::DAEMON, open);
            let whole = WholeMessage { role, native_id: message.native_id, of: message.of, content };
            if !whole.is_empty() {
                self.whole_message(scene, at.0, origin, whole, end.failed);
            }
        }
        self.closed_messages.insert(at, ClosedMessage { said: Some(said) });
    }

    /// The part of a message that was not streamed, directly before it completes.
    fn say_rest(&mut self, scene: &mut Scene<'_>, item: &Item, rest: &str) {
        if !rest.is_empty() {
            self.voice.say(scene, Origin::DAEMON, goes_on(item, rest));
        }
    }

    fn finish_whole(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        message: MessageDraft,
        end: MessageEnd,
    ) {
        let text = end.text.unwrap_or_default();
        let said = Some(hash(&text));
        let whole = WholeMessage {
            role: message.speaker.into(),
            native_id: message.native_id,
            of: message.of,
            content: content(message.channel, text, end.parts),
        };
        self.whole_message(scene, at.0, origin, whole, end.failed);
        self.closed_messages.insert(at, ClosedMessage { said });
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
        let mut item = Item::new(scene.ids.next_item_id(), ItemKind::Message);
        item.native_item_id = whole.native_id;
        item.parent_id = self.spawner(scope);
        self.spoken(scope, &whole.role);
        item.role = Some(whole.role);
        self.note_message(scope, whole.of.as_ref(), &item.item_id);
        item.content = Channel::of(&whole.content).opening();
        self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        self.say_rest(scene, &item, &streamed_text(&whole.content));
        self.complete_message(scene, origin, item, whole.content, failed);
    }

    pub(super) fn message_abandoned(&mut self, scene: &mut Scene<'_>, at: &ItemRef, origin: Origin) {
        if let Some(open) = self.messages.remove(at) {
            self.fail_message(scene, origin, open);
            self.closed_messages.insert(at.clone(), ClosedMessage { said: None });
        }
    }

    /// Closes a message that the agent left open.
    pub(super) fn cut_off_message(&mut self, scene: &mut Scene<'_>, at: ItemRef) {
        if let Some(open) = self.messages.remove(&at) {
            let said = Some(hash(&open.streamed));
            self.fail_message(scene, Origin::DAEMON, open);
            self.closed_messages.insert(at, ClosedMessage { said });
        }
    }

    fn open_message(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, message: MessageDraft) {
        let mut item = Item::new(scene.ids.next_item_id(), ItemKind::Message);
        item.native_item_id = message.native_id;
        item.parent_id = self.spawner(at.0);
        let role = Role::from(message.speaker);
        self.spoken(at.0, &role);
        item.role = Some(role);
        item.content = message.channel.opening();
        self.note_message(at.0, message.of.as_ref(), &item.item_id);
        self.voice.say(scene, origin, EventDataRef::ItemStarted(&item));
        let serial = self.next_serial();
        let open =
            OpenMessage { serial, item, channel: message.channel, streamed: String::new(), unsaid: String::new() };
        self.messages.insert(at, open);
    }

    /// Completes a message as failed with what it streamed.
    fn fail_message(&mut self, scene: &mut Scene<'_>, origin: Origin, open: OpenMessage) {
        let OpenMessage { item, channel, streamed, unsaid, .. } = open;
        self.say_rest(scene, &item, &unsaid);
        let text = streamed + &unsaid;
        let content = if text.is_empty() { Vec::new() } else { content(channel, text, Vec::new()) };
        self.complete_message(scene, origin, item, content, true);
    }

    fn complete_message(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        mut item: Item,
        content: Vec<ContentPart>,
        failed: bool,
    ) {
        item.content = content;
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }
}

/// An item goes on with this text.
pub(super) fn goes_on<'a>(item: &'a Item, delta: &'a str) -> EventDataRef<'a> {
    EventDataRef::ItemDelta { item_id: &item.item_id, native_item_id: item.native_item_id.as_ref(), delta }
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

pub(super) fn outcome(failed: bool) -> ItemOutcome {
    if failed { ItemOutcome::Failed } else { ItemOutcome::Completed }
}

/// What was said, in short: to know it again is enough.
pub(super) fn hash(text: impl Hash) -> u64 {
    FixedState::default().hash_one(text)
}
