//! Status items, system messages and what there is no word for.

use interlingua_schema::{ContentPart, EventData, EventDataRef, Item, ItemId, ItemKind, NativeItemId, Origin, Role};

use super::messages::outcome;
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::Note;
use crate::draft::NoteKind;

/// A note that lasts.
#[derive(Debug)]
pub(super) struct OpenNote {
    pub(super) serial: u64,
    item: Item,
}

impl Session {
    pub(super) fn note_started(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, mut note: Note) {
        let moment = scene.moment.with_raw(note.raw.take());
        let scene = &mut scene.at(&moment);
        if self.notes.contains_key(&at) || self.closed_notes.get(&at).is_some() {
            return;
        }
        let item = self.note_item(scene, at.0, note);
        self.voice.say(scene, origin, EventDataRef::ItemStarted(&item));
        let serial = self.next_serial();
        self.notes.insert(at, OpenNote { serial, item });
    }

    pub(super) fn note_finished(
        &mut self,
        scene: &mut Scene<'_>,
        at: ItemRef,
        origin: Origin,
        mut note: Note,
        failed: bool,
    ) {
        let moment = scene.moment.with_raw(note.raw.take());
        let scene = &mut scene.at(&moment);
        if let Some(open) = self.notes.remove(&at) {
            let mut item = open.item;
            item.content = note.content;
            self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
        } else if self.closed_notes.get(&at).is_none_or(|cut_off| *cut_off) {
            self.noted(scene, at.0, origin, note, failed);
        }
        self.closed_notes.insert(at, false);
    }

    pub(super) fn noted(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        mut note: Note,
        failed: bool,
    ) {
        let moment = scene.moment.with_raw(note.raw.take());
        let scene = &mut scene.at(&moment);
        if let Some(state) = &note.task {
            if self.task_states.get(state).is_some() {
                return;
            }
            self.task_states.insert(state.clone(), ());
        }
        let mut item = self.note_item(scene, scope, note);
        let content = std::mem::take(&mut item.content);
        self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        item.content = content;
        self.emit(scene, origin, EventData::item_completed(item, outcome(failed)));
    }

    /// A status of our own, below the item it is about.
    pub(super) fn status(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        parent: ItemId,
        native_id: Option<NativeItemId>,
        content: Vec<ContentPart>,
    ) {
        let mut item = Item::new(scene.ids.next_item_id(), ItemKind::Status);
        item.parent_id = Some(parent);
        item.native_item_id = native_id;
        self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&item));
        item.content = content;
        self.emit(scene, origin, EventData::item_completed(item, outcome(false)));
    }

    /// Closes a note that the agent left open.
    pub(super) fn cut_off_note(&mut self, scene: &mut Scene<'_>, at: ItemRef) {
        if let Some(open) = self.notes.remove(&at) {
            self.emit(scene, Origin::DAEMON, EventData::item_completed(open.item, outcome(true)));
            self.closed_notes.insert(at, true);
        }
    }

    fn note_item(&mut self, scene: &mut Scene<'_>, scope: ScopeId, note: Note) -> Item {
        let (kind, role) = match note.kind {
            NoteKind::Status => (ItemKind::Status, None),
            NoteKind::System => (ItemKind::System, Some(Role::System)),
            NoteKind::Unknown => (ItemKind::Unknown, None),
        };
        let mut item = Item::new(scene.ids.next_item_id(), kind);
        item.native_item_id = note.native_id;
        let call = note.call.as_ref().and_then(|call| self.call_item_near(scope, call));
        item.parent_id = call.or_else(|| self.spawner(scope));
        item.role = role;
        item.content = note.content;
        item
    }
}
