//! A turn's events as steps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua_schema::{ContentPart, EventData, Item, ItemId, ItemKind, Role};
use serde::Serialize;
use serde_json::Value;

use super::About;

/// The steps of a turn so far.
#[derive(Default)]
pub(super) struct Steps {
    so_far: Vec<Step>,
    items: BTreeMap<ItemId, usize>,
    /// The ids of the calls, in order.
    calls: Vec<String>,
    /// Which call a permission or question came with, by its id.
    asked: BTreeMap<String, Option<usize>>,
}

/// An item from its beginning to its end, or another event.
struct Step {
    line: String,
    kind: StepKind,
    /// The call it belongs to.
    call: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// Something the model says.
    Said,
    /// What the user says.
    Asked,
    Call,
    /// A result, or an item of another kind.
    Item,
    /// A permission or a question that is requested.
    Request,
    Event,
}

impl Steps {
    /// Takes the next event.
    pub(super) fn push(&mut self, data: &EventData) {
        match data {
            EventData::ItemStarted(started) => self.item_started(&started.item),
            EventData::ItemDelta(delta) => self.delta(&delta.item_id),
            EventData::ItemCompleted(completed) => self.item_completed(&completed.item),
            EventData::PermissionRequested(permission) => self.requested(data.kind(), &permission.permission_id),
            EventData::QuestionRequested(question) => self.requested(data.kind(), &question.question_id),
            EventData::PermissionResolved(permission) => {
                self.resolved(data.kind(), &permission.permission_id, &permission.status);
            }
            EventData::QuestionResolved(question) => {
                self.resolved(data.kind(), &question.question_id, &question.status);
            }
            EventData::TurnEnded(turn) => self.event(format!("{} {}", data.kind(), name(&turn.status)), None),
            other => self.event(other.kind().to_owned(), None),
        }
    }

    /// The steps as lines; if they are about one call or a request, without what belongs to other calls and what is
    /// said before it.
    pub(super) fn lines(self, about: About) -> Vec<String> {
        let is_it = |step: &Step| match about {
            About::Turn => false,
            About::Call(call) => step.kind == StepKind::Call && step.call == Some(call),
            About::Request => step.kind == StepKind::Request,
        };
        let place = self.so_far.iter().position(is_it);
        let is_script = |index: usize, step: &Step| {
            let is_others = matches!(about, About::Call(call) if step.call.is_some_and(|other| other != call));
            is_others || (step.kind == StepKind::Said && place.is_some_and(|place| index < place))
        };
        let steps = self.so_far.iter().enumerate();
        steps.filter(|(index, step)| !is_script(*index, step)).map(|(_, step)| step.line.clone()).collect()
    }

    fn item_started(&mut self, item: &Item) {
        let (kind, call) = match (&item.kind, &item.role) {
            (ItemKind::Status, _) => return,
            (ItemKind::Message, Some(Role::User)) => (StepKind::Asked, None),
            (ItemKind::Message, _) => (StepKind::Said, None),
            (ItemKind::ToolCall, _) => {
                self.calls.push(call_id(item).to_owned());
                (StepKind::Call, Some(self.calls.len() - 1))
            }
            _ => (StepKind::Item, self.calls.iter().position(|call| call == call_id(item))),
        };
        let role = item.role.as_ref().map(|role| format!("/{}", name(role))).unwrap_or_default();
        self.items.insert(item.item_id.clone(), self.so_far.len());
        let line = format!("{}{role}: started {}", name(&item.kind), parts(item));
        self.so_far.push(Step { line, kind, call });
    }

    /// Whether calls and results stream is the agent's choice; messages always do.
    fn delta(&mut self, item: &ItemId) {
        if let Some(step) = self.items.get(item).and_then(|place| self.so_far.get_mut(*place))
            && matches!(step.kind, StepKind::Said | StepKind::Asked)
            && !step.line.ends_with(", delta")
        {
            step.line.push_str(", delta");
        }
    }

    fn item_completed(&mut self, item: &Item) {
        if let Some(step) = self.items.get(&item.item_id).and_then(|place| self.so_far.get_mut(*place)) {
            let _ = write!(step.line, ", {} {}", name(&item.status), parts(item));
        }
    }

    fn requested(&mut self, event: &str, id: &str) {
        // Requests do not say whose they are in one way for all agents; they come with the call that began last.
        let call = self.calls.len().checked_sub(1);
        self.asked.insert(id.to_owned(), call);
        self.so_far.push(Step { line: event.to_owned(), kind: StepKind::Request, call });
    }

    fn resolved(&mut self, event: &str, id: &str, status: &impl Serialize) {
        let call = self.asked.get(id).copied().flatten();
        self.event(format!("{event} {}", name(status)), call);
    }

    fn event(&mut self, line: String, call: Option<usize>) {
        self.so_far.push(Step { line, kind: StepKind::Event, call });
    }
}

/// The call that an item is, or is the result of.
fn call_id(item: &Item) -> &str {
    let id = item.content.iter().find_map(|part| match part {
        ContentPart::ToolCall { call_id, .. } | ContentPart::ToolResult { call_id, .. } => Some(call_id.as_str()),
        _ => None,
    });
    id.unwrap_or_default()
}

/// The types of an item's parts; of a call also what kind of tool it is.
fn parts(item: &Item) -> String {
    let parts: Vec<String> = item
        .content
        .iter()
        .map(|part| match part {
            ContentPart::ToolCall { tool_kind: Some(kind), .. } => format!("tool_call {}", name(kind)),
            part => serde_json::to_value(part)
                .ok()
                .and_then(|part| Some(part.get("type")?.as_str()?.to_owned()))
                .unwrap_or_default(),
        })
        .collect();
    format!("[{}]", parts.join(", "))
}

/// The wire's name for a value of a small enum.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
