//! The events of a turn as steps of a trace.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua_schema::{ContentPart, EventData, Item, ItemId, ItemKind, Role};
use serde::Serialize;
use serde_json::Value;

use super::FocusTarget;

/// Builds the trace of one turn.
#[derive(Default)]
pub(super) struct TraceBuilder {
    steps: Vec<Step>,
    /// Index of each item's step.
    items: BTreeMap<ItemId, usize>,
    /// Ids of the tool calls, in order.
    calls: Vec<String>,
    /// Index of the tool call that each permission or question belongs to, by request id.
    requests: BTreeMap<String, Option<usize>>,
}

/// An item from start to completion, or another event.
struct Step {
    line: String,
    kind: StepKind,
    /// Index of the tool call that it belongs to.
    call: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// A message of the model.
    ModelMessage,
    /// A message of the user.
    UserMessage,
    ToolCall,
    /// A tool result, or an item of another kind.
    Item,
    /// A requested permission or question.
    Request,
    Event,
}

impl TraceBuilder {
    /// Adds the next event of the turn.
    pub(super) fn push(&mut self, data: &EventData) {
        match data {
            EventData::ItemStarted(started) => self.start_item(&started.item),
            EventData::ItemDelta(delta) => self.add_delta(&delta.item_id),
            EventData::ItemCompleted(completed) => self.complete_item(&completed.item),
            EventData::PermissionRequested(permission) => self.add_request(data.kind(), &permission.permission_id),
            EventData::QuestionRequested(question) => self.add_request(data.kind(), &question.question_id),
            EventData::PermissionResolved(permission) => {
                self.add_resolution(data.kind(), &permission.permission_id, &permission.status);
            }
            EventData::QuestionResolved(question) => {
                self.add_resolution(data.kind(), &question.question_id, &question.status);
            }
            EventData::TurnEnded(turn) => self.add_event(format!("{} {}", data.kind(), wire_name(&turn.status)), None),
            other => self.add_event(other.kind().to_owned(), None),
        }
    }

    /// The steps as lines. For one call or request, without the steps of other calls and without the model's messages
    /// before it.
    pub(super) fn into_lines(self, target: FocusTarget) -> Vec<String> {
        let is_target = |step: &Step| match target {
            FocusTarget::WholeTurn => false,
            FocusTarget::ToolCall(call) => step.kind == StepKind::ToolCall && step.call == Some(call),
            FocusTarget::FirstRequest => step.kind == StepKind::Request,
        };
        let target_index = self.steps.iter().position(is_target);
        let is_left_out = |index: usize, step: &Step| {
            let belongs_to_other_call =
                matches!(target, FocusTarget::ToolCall(call) if step.call.is_some_and(|other| other != call));
            belongs_to_other_call
                || (step.kind == StepKind::ModelMessage && target_index.is_some_and(|target| index < target))
        };
        let steps = self.steps.iter().enumerate();
        steps.filter(|(index, step)| !is_left_out(*index, step)).map(|(_, step)| step.line.clone()).collect()
    }

    fn start_item(&mut self, item: &Item) {
        let (kind, call) = match (&item.kind, &item.role) {
            (ItemKind::Status, _) => return,
            (ItemKind::Message, Some(Role::User)) => (StepKind::UserMessage, None),
            (ItemKind::Message, _) => (StepKind::ModelMessage, None),
            (ItemKind::ToolCall, _) => {
                self.calls.push(call_id(item).to_owned());
                (StepKind::ToolCall, Some(self.calls.len() - 1))
            }
            _ => (StepKind::Item, self.calls.iter().position(|call| call == call_id(item))),
        };
        let role = item.role.as_ref().map(|role| format!("/{}", wire_name(role))).unwrap_or_default();
        self.items.insert(item.item_id.clone(), self.steps.len());
        let line = format!("{}{role}: started {}", wire_name(&item.kind), part_types(item));
        self.steps.push(Step { line, kind, call });
    }

    /// Marks that a message streamed. Calls and results are not marked: whether they stream is the agent's choice.
    fn add_delta(&mut self, item: &ItemId) {
        if let Some(step) = self.items.get(item).and_then(|index| self.steps.get_mut(*index))
            && matches!(step.kind, StepKind::ModelMessage | StepKind::UserMessage)
            && !step.line.ends_with(", delta")
        {
            step.line.push_str(", delta");
        }
    }

    fn complete_item(&mut self, item: &Item) {
        if let Some(step) = self.items.get(&item.item_id).and_then(|index| self.steps.get_mut(*index)) {
            let _ = write!(step.line, ", {} {}", wire_name(&item.status), part_types(item));
        }
    }

    fn add_request(&mut self, event: &str, id: &str) {
        // Agents link requests to calls in different ways, so a request is assigned to the call that started last.
        let call = self.calls.len().checked_sub(1);
        self.requests.insert(id.to_owned(), call);
        self.steps.push(Step { line: event.to_owned(), kind: StepKind::Request, call });
    }

    fn add_resolution(&mut self, event: &str, id: &str, status: &impl Serialize) {
        let call = self.requests.get(id).copied().flatten();
        self.add_event(format!("{event} {}", wire_name(status)), call);
    }

    fn add_event(&mut self, line: String, call: Option<usize>) {
        self.steps.push(Step { line, kind: StepKind::Event, call });
    }
}

/// Id of the tool call that an item is, or is the result of.
fn call_id(item: &Item) -> &str {
    let id = item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { call_id, .. } | ContentPart::ToolResult { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    });
    id.unwrap_or_default()
}

/// The types of an item's parts. A tool call also shows its tool kind.
fn part_types(item: &Item) -> String {
    let parts: Vec<String> = item
        .content
        .iter()
        .map(|part| match part {
            ContentPart::ToolCall { tool_kind: Some(kind), .. } => format!("tool_call {}", wire_name(kind)),
            part => serde_json::to_value(part)
                .ok()
                .and_then(|part| Some(part.get("type")?.as_str()?.to_owned()))
                .unwrap_or_default(),
        })
        .collect();
    format!("[{}]", parts.join(", "))
}

/// The name of an enum value on the wire.
fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
