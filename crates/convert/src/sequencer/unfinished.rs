//! What a stream that was cut off left open, as its events tell.
//!
//! A server that dies takes its sequencer with it, and only the events remain. From those that came after the last
//! moment at which nothing was open, this finds what has to be closed before the session can go on.

use interlingua_schema::{
    ContentPart, Decision, EventData, EventDataRef, Item, ItemId, ItemKind, ItemOutcome, Origin, Permission, Question,
    QuestionAnswer, Role, Timestamp, ToolKind, TurnEnded, TurnStatus, UniversalEvent,
};

use super::ResumePoint;
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::Session;
use crate::Failure;
use crate::draft::Channel;
use crate::title::title as call_title;

/// Turns, items and requests that began and did not end.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedWork {
    turn: Option<OpenTurn>,
    items: Vec<OpenItem>,
    /// Calls without a result.
    calls: Vec<Item>,
    permissions: Vec<Permission>,
    questions: Vec<Question>,
}

#[derive(Clone, Debug)]
struct OpenTurn {
    id: String,
    started_at: Timestamp,
}

#[derive(Clone, Debug)]
struct OpenItem {
    item: Item,
    streamed: String,
}

impl UnfinishedWork {
    /// Whether there is nothing to close.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turn.is_none()
            && self.items.is_empty()
            && self.calls.is_empty()
            && self.permissions.is_empty()
            && self.questions.is_empty()
    }

    /// Whether the result of this call has begun. Output may come before it is known what was called.
    fn has_result(&self, call: &Item) -> bool {
        self.items.iter().any(|open| result_of(&open.item).is_some_and(|answered| Some(answered) == call_id(call)))
    }

    fn push(&mut self, time: Timestamp, data: &EventData) {
        match data {
            EventData::TurnStarted(started) => {
                self.turn = Some(OpenTurn { id: started.turn_id.clone(), started_at: time });
            }
            // A command that runs on leaves its result open. Where the turn was cut off, those of its own have ended by
            // now, and those of earlier turns run on.
            EventData::TurnEnded(_) => {
                self.items.retain(|open| open.item.kind == ItemKind::ToolResult);
                self.calls.retain(is_command);
                self.turn = None;
                self.permissions.clear();
                self.questions.clear();
            }
            EventData::SessionEnded(_) => *self = Self::default(),
            EventData::ItemStarted(started) => {
                if let Some(answered) = result_of(&started.item) {
                    self.calls.retain(|call| call_id(call) != Some(answered));
                }
                self.items.push(OpenItem { item: started.item.clone(), streamed: String::new() });
            }
            EventData::ItemDelta(delta) => {
                if let Some(open) = self.items.iter_mut().find(|open| open.item.item_id == delta.item_id) {
                    open.streamed.push_str(&delta.delta);
                }
            }
            EventData::ItemCompleted(completed) => {
                self.items.retain(|open| open.item.item_id != completed.item.item_id);
                if completed.item.kind == ItemKind::ToolCall && !self.has_result(&completed.item) {
                    self.calls.push(completed.item.clone());
                }
            }
            EventData::PermissionRequested(permission) => self.permissions.push(permission.clone()),
            EventData::PermissionResolved(resolved) => {
                self.permissions.retain(|permission| permission.permission_id != resolved.permission_id);
            }
            EventData::QuestionRequested(question) => self.questions.push(question.clone()),
            EventData::QuestionResolved(resolved) => {
                self.questions.retain(|question| question.question_id != resolved.question_id);
            }
            _ => {}
        }
    }
}

impl ResumePoint {
    /// Takes note of an event of the session. To be shown every event after the last moment at which nothing was
    /// open, which is the beginning of the session or the end of a turn; older ones may be left out.
    pub fn observe(&mut self, event: &UniversalEvent) {
        self.sequence = event.sequence;
        self.time = event.time;
        if event.native_session_id.is_some() {
            self.native_session_id.clone_from(&event.native_session_id);
        }
        match &event.data {
            EventData::ItemStarted(started) if started.item.kind == ItemKind::Message => {
                self.latest_message = Some(started.item.item_id.clone());
            }
            EventData::SessionStarted(started) => {
                self.cwd = started.metadata.as_ref().and_then(|metadata| metadata.cwd.clone());
            }
            EventData::PermissionRequested(permission) => self.request_ids.push(permission.permission_id.clone()),
            EventData::QuestionRequested(question) => self.request_ids.push(question.question_id.clone()),
            _ => {}
        }
        self.unfinished.push(event.time, &event.data);
    }
}

impl Session {
    /// Closes what an earlier stream left open, for this reason. Nothing happens if it left nothing.
    pub(super) fn close_unfinished(&mut self, scene: &mut Scene<'_>, failure: Failure) {
        let left = self.left_open.take().map(|left| *left).unwrap_or_default();
        if left.is_empty() || self.is_ended() {
            return;
        }
        if left.turn.is_some() {
            self.failed(scene, ScopeId::MAIN, Origin::DAEMON, failure);
        }
        let unanswered = |open: &&OpenItem| open.item.kind == ItemKind::ToolCall && !left.has_result(&open.item);
        let begun: Vec<Item> = left.items.iter().filter(unanswered).cloned().map(cut_off).collect();
        let calls = left.calls.into_iter().chain(begun);
        for permission in left.permissions {
            self.emit(scene, Origin::DAEMON, EventData::permission_resolved(permission, Decision::Denied));
        }
        for question in left.questions {
            self.emit(scene, Origin::DAEMON, EventData::question_resolved(question, QuestionAnswer::Rejected(None)));
        }
        for open in left.items {
            let item = cut_off(open);
            self.emit(scene, Origin::DAEMON, EventData::item_completed(item, ItemOutcome::Failed));
        }
        for call in calls {
            let result = no_result(scene.ids.next_item_id(), call, self.latest_message.as_ref());
            self.voice.say(scene, Origin::DAEMON, EventDataRef::ItemStarted(&result));
            self.emit(scene, Origin::DAEMON, EventData::item_completed(result, ItemOutcome::Failed));
        }
        if let Some(turn) = left.turn {
            let now = self.voice.time().max(scene.moment.time.unwrap_or(Timestamp::EPOCH));
            let mut ended = TurnEnded::new(turn.id, TurnStatus::Failed);
            ended.duration_ms = now.millis_since(turn.started_at);
            self.emit(scene, Origin::DAEMON, EventData::TurnEnded(ended));
        }
    }
}

/// An item with as much of it as was streamed.
fn cut_off(open: OpenItem) -> Item {
    let OpenItem { mut item, streamed } = open;
    match item.kind {
        ItemKind::Message if !streamed.is_empty() => item.content = vec![Channel::of(&item.content).part(streamed)],
        ItemKind::ToolCall => {
            for part in &mut item.content {
                if let ContentPart::ToolCall { name, title, .. } = part {
                    title.get_or_insert_with(|| call_title(name, None, None));
                }
            }
        }
        ItemKind::ToolResult => {
            for part in &mut item.content {
                if let ContentPart::ToolResult { output, .. } = part {
                    output.push_str(&streamed);
                }
            }
        }
        _ => {}
    }
    item
}

/// The result of a call that never gave one.
fn no_result(id: ItemId, call: Item, latest_message: Option<&ItemId>) -> Item {
    let mut result = Item::new(id, ItemKind::ToolResult);
    result.content.push(ContentPart::ToolResult {
        call_id: call_id(&call).unwrap_or_default().to_owned(),
        output: String::new(),
        exit_code: None,
        duration_ms: None,
        stderr_bytes: None,
    });
    result.native_item_id = call.native_item_id;
    result.parent_id = call.parent_id.or_else(|| latest_message.cloned());
    result.role = Some(Role::Tool);
    result
}

fn call_id(item: &Item) -> Option<&str> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    })
}

fn is_command(call: &Item) -> bool {
    let is = |part: &ContentPart| matches!(part, ContentPart::ToolCall { tool_kind: Some(ToolKind::Command), .. });
    call.content.iter().any(is)
}

fn result_of(item: &Item) -> Option<&str> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    })
}
