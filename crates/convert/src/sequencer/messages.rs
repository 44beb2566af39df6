//! Messages: text and reasoning, streamed or whole.

use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;
use interlingua_schema::{
    ContentPart, EventData, EventDataRef, Item, ItemKind, ItemOutcome, NativeItemId, Origin, Role,
};

use super::emitter::EmitContext;
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
    /// Synthetic text that was not emitted yet. A synthetic delta has to come directly before the completion, so this
    /// waits for the next delta of the agent or the end.
    unsent: String,
}

/// What is remembered of a closed message.
#[derive(Debug)]
pub(super) struct ClosedMessage {
    /// Hash of the text; a later end with another text is a new message. `None` if the agent abandoned the message.
    text_hash: Option<u64>,
}

/// A message whose content is complete.
pub(super) struct WholeMessage {
    pub(super) role: Role,
    pub(super) native_id: Option<NativeItemId>,
    pub(super) native_message: Option<Key>,
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
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        message: MessageDraft,
    ) {
        if self.messages.contains_key(&item_ref) || self.closed_messages.get(&item_ref).is_some() {
            return;
        }
        self.prepare_message(ctx, item_ref.0, &message.role.into());
        self.open_message(ctx, item_ref, origin, message);
    }

    pub(super) fn message_delta(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: &ItemRef,
        origin: Origin,
        text: String,
    ) {
        if text.is_empty() {
            return;
        }
        if !self.messages.contains_key(item_ref) {
            self.message_started(ctx, item_ref.clone(), Origin::DAEMON, MessageDraft::assistant());
        }
        let Some(open) = self.messages.get_mut(item_ref) else {
            return;
        };
        if origin != Origin::AGENT {
            open.unsent.push_str(&text);
            return;
        }
        let delta = if open.unsent.is_empty() { text } else { std::mem::take(&mut open.unsent) + &text };
        open.streamed.push_str(&delta);
        self.emitter.emit(ctx, origin, item_delta(&open.item, &delta));
    }

    pub(super) fn message_finished(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        message: MessageDraft,
        mut end: MessageEnd,
    ) {
        let raw = end.raw.take();
        if let Some(open) = self.messages.remove(&item_ref) {
            let provenance = raw.map(|raw| ctx.provenance.with_raw(Some(raw)));
            return match &provenance {
                Some(provenance) => {
                    self.finish_open(&mut ctx.with_provenance(provenance), item_ref, origin, open, message, end);
                }
                None => self.finish_open(ctx, item_ref, origin, open, message, end),
            };
        }
        if let Some(closed) = self.closed_messages.get(&item_ref) {
            let has_new_text = match (&end.text, closed.text_hash) {
                (Some(text), Some(closed_hash)) => hash(text) != closed_hash,
                _ => false,
            };
            if !has_new_text {
                return;
            }
        }
        self.prepare_message(ctx, item_ref.0, &message.role.into());
        self.finish_whole(ctx, item_ref, origin, message, end);
    }

    fn finish_open(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        mut open: OpenMessage,
        message: MessageDraft,
        end: MessageEnd,
    ) {
        if open.item.native_item_id.is_none() {
            open.item.native_item_id.clone_from(&message.native_id);
        }
        let channel = open.channel;
        let (text_hash, content, rest) = if let Some(text) = end.text {
            let text_hash = hash(&text);
            let content = content(channel, text, end.parts);
            let rest = rest_after(&content, &open.streamed);
            (text_hash, content, rest)
        } else {
            let mut rest = std::mem::take(&mut open.unsent);
            let text = std::mem::take(&mut open.streamed) + &rest;
            rest.extend(end.parts.iter().filter_map(ContentPart::streamed_text));
            (hash(&text), content(channel, text, end.parts), Some(rest))
        };
        if let Some(rest) = rest {
            self.emit_rest(ctx, &open.item, &rest);
            self.complete_message(ctx, origin, open.item, content, end.failed);
        } else {
            // The final text contradicts the streamed text, so the streamed text was another message.
            let role = open.item.role.clone().unwrap_or(Role::Assistant);
            open.unsent.clear();
            self.fail_message(ctx, Origin::DAEMON, open);
            let whole =
                WholeMessage { role, native_id: message.native_id, native_message: message.native_message, content };
            if !whole.is_empty() {
                self.emit_whole_message(ctx, item_ref.0, origin, whole, end.failed);
            }
        }
        self.closed_messages.insert(item_ref, ClosedMessage { text_hash: Some(text_hash) });
    }

    /// Emits the part of a message that was not streamed, directly before the message completes.
    fn emit_rest(&mut self, ctx: &mut EmitContext<'_>, item: &Item, rest: &str) {
        if !rest.is_empty() {
            self.emitter.emit(ctx, Origin::DAEMON, item_delta(item, rest));
        }
    }

    fn finish_whole(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        message: MessageDraft,
        end: MessageEnd,
    ) {
        let text = end.text.unwrap_or_default();
        let text_hash = Some(hash(&text));
        let whole = WholeMessage {
            role: message.role.into(),
            native_id: message.native_id,
            native_message: message.native_message,
            content: content(message.channel, text, end.parts),
        };
        self.emit_whole_message(ctx, item_ref.0, origin, whole, end.failed);
        self.closed_messages.insert(item_ref, ClosedMessage { text_hash });
    }

    /// Emits a message from its start to its completion.
    pub(super) fn emit_whole_message(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        origin: Origin,
        whole: WholeMessage,
        failed: bool,
    ) {
        let mut item = Item::new(ctx.ids.next_item_id(), ItemKind::Message);
        item.native_item_id = whole.native_id;
        item.parent_id = self.spawn_item(scope);
        self.mark_participant(scope, &whole.role);
        item.role = Some(whole.role);
        self.observe_message(scope, whole.native_message.as_ref(), &item.item_id);
        item.content = Channel::from_content(&whole.content).initial_content();
        self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        self.emit_rest(ctx, &item, &streamed_text(&whole.content));
        self.complete_message(ctx, origin, item, whole.content, failed);
    }

    pub(super) fn message_abandoned(&mut self, ctx: &mut EmitContext<'_>, item_ref: &ItemRef, origin: Origin) {
        if let Some(open) = self.messages.remove(item_ref) {
            self.fail_message(ctx, origin, open);
            self.closed_messages.insert(item_ref.clone(), ClosedMessage { text_hash: None });
        }
    }

    /// Closes a message that the agent left open.
    pub(super) fn cut_off_message(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef) {
        if let Some(open) = self.messages.remove(&item_ref) {
            let text_hash = Some(hash(&open.streamed));
            self.fail_message(ctx, Origin::DAEMON, open);
            self.closed_messages.insert(item_ref, ClosedMessage { text_hash });
        }
    }

    fn open_message(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef, origin: Origin, message: MessageDraft) {
        let mut item = Item::new(ctx.ids.next_item_id(), ItemKind::Message);
        item.native_item_id = message.native_id;
        item.parent_id = self.spawn_item(item_ref.0);
        let role = Role::from(message.role);
        self.mark_participant(item_ref.0, &role);
        item.role = Some(role);
        item.content = message.channel.initial_content();
        self.observe_message(item_ref.0, message.native_message.as_ref(), &item.item_id);
        self.emitter.emit(ctx, origin, EventDataRef::ItemStarted(&item));
        let serial = self.next_serial();
        let open =
            OpenMessage { serial, item, channel: message.channel, streamed: String::new(), unsent: String::new() };
        self.messages.insert(item_ref, open);
    }

    /// Completes a message as failed, with the text that was streamed.
    fn fail_message(&mut self, ctx: &mut EmitContext<'_>, origin: Origin, open: OpenMessage) {
        let OpenMessage { item, channel, streamed, unsent, .. } = open;
        self.emit_rest(ctx, &item, &unsent);
        let text = streamed + &unsent;
        let content = if text.is_empty() { Vec::new() } else { content(channel, text, Vec::new()) };
        self.complete_message(ctx, origin, item, content, true);
    }

    fn complete_message(
        &mut self,
        ctx: &mut EmitContext<'_>,
        origin: Origin,
        mut item: Item,
        content: Vec<ContentPart>,
        failed: bool,
    ) {
        item.content = content;
        self.emit(ctx, origin, EventData::item_completed(item, outcome(failed)));
    }
}

/// A delta of an item.
pub(super) fn item_delta<'a>(item: &'a Item, delta: &'a str) -> EventDataRef<'a> {
    EventDataRef::ItemDelta { item_id: &item.item_id, native_item_id: item.native_item_id.as_ref(), delta }
}

/// The text followed by the parts. An empty text is left out if there are parts, except for reasoning: an empty
/// reasoning part shows that the reasoning was redacted.
fn content(channel: Channel, text: String, parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let mut content = Vec::with_capacity(parts.len() + 1);
    if channel != Channel::Text || !text.is_empty() || parts.is_empty() {
        content.push(channel.part(text));
    }
    content.extend(parts);
    content
}

/// The text of a content after the streamed text; `None` if the content does not start with the streamed text.
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

/// Hash of a text, for recognizing it again without keeping it.
pub(super) fn hash(text: impl Hash) -> u64 {
    FixedState::default().hash_one(text)
}
