//! Status items, system messages and unknown items.

use interlingua_schema::{ContentPart, EventData, EventDataRef, Item, ItemId, ItemKind, NativeItemId, Origin, Role};

use super::emitter::EmitContext;
use super::messages::outcome;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::Note;
use crate::draft::NoteKind;

/// A note that has started and not completed, such as a running compaction.
#[derive(Debug)]
pub(super) struct OpenNote {
    pub(super) serial: u64,
    item: Item,
}

impl Session {
    pub(super) fn note_started(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        mut note: Note,
    ) {
        let provenance = ctx.provenance.with_raw(note.raw.take());
        let ctx = &mut ctx.with_provenance(&provenance);
        if self.notes.contains_key(&item_ref) || self.closed_notes.get(&item_ref).is_some() {
            return;
        }
        let item = self.note_item(ctx, item_ref.0, note);
        self.emitter.emit(ctx, origin, EventDataRef::ItemStarted(&item));
        let serial = self.next_serial();
        self.notes.insert(item_ref, OpenNote { serial, item });
    }

    pub(super) fn note_finished(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        mut note: Note,
        failed: bool,
    ) {
        let provenance = ctx.provenance.with_raw(note.raw.take());
        let ctx = &mut ctx.with_provenance(&provenance);
        if let Some(open) = self.notes.remove(&item_ref) {
            let mut item = open.item;
            item.content = note.content;
            self.emit(ctx, origin, EventData::item_completed(item, outcome(failed)));
        } else if self.closed_notes.get(&item_ref).is_none_or(|cut_off| *cut_off) {
            self.note_added(ctx, item_ref.0, origin, note, failed);
        }
        self.closed_notes.insert(item_ref, false);
    }

    pub(super) fn note_added(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        origin: Origin,
        mut note: Note,
        failed: bool,
    ) {
        let provenance = ctx.provenance.with_raw(note.raw.take());
        let ctx = &mut ctx.with_provenance(&provenance);
        if let Some(state) = &note.task {
            if self.task_states.get(state).is_some() {
                return;
            }
            self.task_states.insert(state.clone(), ());
        }
        let mut item = self.note_item(ctx, scope, note);
        let content = std::mem::take(&mut item.content);
        self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        item.content = content;
        self.emit(ctx, origin, EventData::item_completed(item, outcome(failed)));
    }

    /// Emits a synthetic status item below the item that it is about.
    pub(super) fn emit_status(
        &mut self,
        ctx: &mut EmitContext<'_>,
        origin: Origin,
        parent: ItemId,
        native_id: Option<NativeItemId>,
        content: Vec<ContentPart>,
    ) {
        let mut item = Item::new(ctx.ids.next_item_id(), ItemKind::Status);
        item.parent_id = Some(parent);
        item.native_item_id = native_id;
        self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        item.content = content;
        self.emit(ctx, origin, EventData::item_completed(item, outcome(false)));
    }

    /// Closes a note that the agent left open.
    pub(super) fn cut_off_note(&mut self, ctx: &mut EmitContext<'_>, item_ref: ItemRef) {
        if let Some(open) = self.notes.remove(&item_ref) {
            self.emit(ctx, Origin::DAEMON, EventData::item_completed(open.item, outcome(true)));
            self.closed_notes.insert(item_ref, true);
        }
    }

    fn note_item(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, note: Note) -> Item {
        let (kind, role) = match note.kind {
            NoteKind::Status => (ItemKind::Status, None),
            NoteKind::System => (ItemKind::System, Some(Role::System)),
            NoteKind::Unknown => (ItemKind::Unknown, None),
        };
        let mut item = Item::new(ctx.ids.next_item_id(), kind);
        item.native_item_id = note.native_id;
        let call = note.call.as_ref().and_then(|call| self.find_call_item(scope, call));
        item.parent_id = call.or_else(|| self.spawn_item(scope));
        item.role = role;
        item.content = note.content;
        item
    }
}
