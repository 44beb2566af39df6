//! Unfinished work of an earlier stream, reconstructed from its events.
//!
//! When a server dies, the state of its sequencer is lost and only the stored events remain. The events since the last
//! point at which nothing was open show what has to be closed before the session can continue.

use interlingua_schema::{
    ContentPart, Decision, EventData, EventDataRef, Item, ItemId, ItemKind, ItemOutcome, Origin, Permission, Question,
    QuestionAnswer, Role, Timestamp, ToolKind, TurnEnded, TurnStatus, UniversalEvent,
};

use super::ResumePoint;
use super::emitter::EmitContext;
use super::scopes::ScopeId;
use super::session::Session;
use crate::Failure;
use crate::draft::Channel;
use crate::title::call_title;

/// Turns, items and requests that started and did not end.
#[derive(Clone, Debug, Default)]
pub struct UnfinishedWork {
    turn: Option<OpenTurn>,
    items: Vec<OpenItem>,
    /// Completed calls without a result.
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
    /// Whether nothing has to be closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turn.is_none()
            && self.items.is_empty()
            && self.calls.is_empty()
            && self.permissions.is_empty()
            && self.questions.is_empty()
    }

    /// Whether the result of this call has started. Output may come before the call is final.
    fn has_result(&self, call: &Item) -> bool {
        self.items.iter().any(|open| result_call_id(&open.item).is_some_and(|id| Some(id) == call_id(call)))
    }

    fn observe(&mut self, time: Timestamp, data: &EventData) {
        match data {
            EventData::TurnStarted(started) => {
                self.turn = Some(OpenTurn { id: started.turn_id.clone(), started_at: time });
            }
            // Commands may continue after their turn, with an open result. If the turn was cut off, its own commands
            // have ended by now, and only those of earlier turns are still running.
            EventData::TurnEnded(_) => {
                self.items.retain(|open| open.item.kind == ItemKind::ToolResult);
                self.calls.retain(is_command);
                self.turn = None;
                self.permissions.clear();
                self.questions.clear();
            }
            EventData::SessionEnded(_) => *self = Self::default(),
            EventData::ItemStarted(started) => {
                if let Some(result_id) = result_call_id(&started.item) {
                    self.calls.retain(|call| call_id(call) != Some(result_id));
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
    /// Updates the state from an event of the session. Call this for every event since the last point at which nothing
    /// was open: the start of the session or the end of a turn. Older events may be left out.
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
                let cwd = started.metadata.as_ref().and_then(|metadata| metadata.cwd.clone());
                self.cwd = cwd.or(self.cwd.take());
            }
            EventData::TurnStarted(started) => {
                let cwd = started.metadata.as_ref().and_then(|metadata| metadata.cwd.clone());
                self.cwd = cwd.or(self.cwd.take());
            }
            EventData::PermissionRequested(permission) => self.request_ids.push(permission.permission_id.clone()),
            EventData::QuestionRequested(question) => self.request_ids.push(question.question_id.clone()),
            _ => {}
        }
        self.unfinished.observe(event.time, &event.data);
    }
}

impl Session {
    /// Closes what an earlier stream left open, with this failure as the reason. Does nothing if nothing is open.
    pub(super) fn close_unfinished(&mut self, ctx: &mut EmitContext<'_>, failure: Failure) {
        let unfinished = self.unfinished.take().map(|unfinished| *unfinished).unwrap_or_default();
        if unfinished.is_empty() || self.is_ended() {
            return;
        }
        if unfinished.turn.is_some() {
            self.failed(ctx, ScopeId::MAIN, Origin::DAEMON, failure);
        }
        let has_no_result =
            |open: &&OpenItem| open.item.kind == ItemKind::ToolCall && !unfinished.has_result(&open.item);
        let started: Vec<Item> = unfinished.items.iter().filter(has_no_result).cloned().map(with_streamed).collect();
        let calls = unfinished.calls.into_iter().chain(started);
        for permission in unfinished.permissions {
            self.emit(ctx, Origin::DAEMON, EventData::permission_resolved(permission, Decision::Denied));
        }
        for question in unfinished.questions {
            self.emit(ctx, Origin::DAEMON, EventData::question_resolved(question, QuestionAnswer::Rejected(None)));
        }
        for open in unfinished.items {
            let item = with_streamed(open);
            self.emit(ctx, Origin::DAEMON, EventData::item_completed(item, ItemOutcome::Failed));
        }
        for call in calls {
            let result = empty_result(ctx.ids.next_item_id(), call, self.latest_message.as_ref());
            self.emitter.emit(ctx, Origin::DAEMON, EventDataRef::ItemStarted(&result));
            self.emit(ctx, Origin::DAEMON, EventData::item_completed(result, ItemOutcome::Failed));
        }
        if let Some(turn) = unfinished.turn {
            let now = self.emitter.time().max(ctx.provenance.time.unwrap_or(Timestamp::EPOCH));
            let mut ended = TurnEnded::new(turn.id, TurnStatus::Failed);
            ended.duration_ms = now.millis_since(turn.started_at);
            self.emit(ctx, Origin::DAEMON, EventData::TurnEnded(ended));
        }
    }
}

/// An item with the content that was streamed.
fn with_streamed(open: OpenItem) -> Item {
    let OpenItem { mut item, streamed } = open;
    match item.kind {
        ItemKind::Message if !streamed.is_empty() => {
            item.content = vec![Channel::from_content(&item.content).part(streamed)];
        }
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

/// An empty result for a call that has none.
fn empty_result(id: ItemId, call: Item, latest_message: Option<&ItemId>) -> Item {
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

/// Call id of a tool call.
fn call_id(item: &Item) -> Option<&str> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    })
}

fn is_command(call: &Item) -> bool {
    let is_command =
        |part: &ContentPart| matches!(part, ContentPart::ToolCall { tool_kind: Some(ToolKind::Command), .. });
    call.content.iter().any(is_command)
}

/// Call id of a tool result.
fn result_call_id(item: &Item) -> Option<&str> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    })
}
