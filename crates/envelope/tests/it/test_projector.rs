//! A projector that collects its events, and builders of universal events.

use interlingua_convert::Agent;
use interlingua_envelope::{AgentWrapperCompletion, AgentWrapperEvent, Projector};
use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemKind, ItemOutcome, Origin, Role, Timestamp, ToolKind, TurnEnded,
    TurnStarted, TurnStatus, UniversalEvent,
};
use serde_json::Value;

/// An agent event of the session `ses_1`.
pub(crate) fn event(data: EventData) -> UniversalEvent {
    let mut event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "ses_1", Origin::AGENT, data);
    event.native_session_id = Some("thread-1".into());
    event
}

/// A projector that collects the events it returns.
pub(crate) struct TestProjector {
    projector: Projector,
    pub(crate) events: Vec<AgentWrapperEvent>,
}

impl TestProjector {
    pub(crate) fn new() -> Self {
        Self { projector: Projector::new(Agent::Codex), events: Vec::new() }
    }

    pub(crate) fn push(&mut self, event: &UniversalEvent) -> &mut Self {
        self.events.extend(self.projector.push(event));
        self
    }

    pub(crate) fn push_data(&mut self, data: EventData) -> &mut Self {
        self.push(&event(data))
    }

    pub(crate) fn delta(&mut self, item: &str, text: &str) -> &mut Self {
        self.push_data(delta(item, text))
    }

    pub(crate) fn start_turn(&mut self) -> &mut Self {
        self.push_data(EventData::TurnStarted(TurnStarted::new("turn-1")))
    }

    pub(crate) fn end_turn(&mut self, status: TurnStatus) -> &mut Self {
        self.push_data(EventData::TurnEnded(TurnEnded::new("turn-1", status)))
    }

    /// The texts of one channel.
    pub(crate) fn texts(&self, channel: &str) -> Vec<&str> {
        self.events
            .iter()
            .filter(|event| event.channel() == Some(channel))
            .filter_map(AgentWrapperEvent::text)
            .collect()
    }

    /// The completion of the first remaining session.
    pub(crate) fn completion(self) -> AgentWrapperCompletion {
        self.projector.finish().next().unwrap()
    }

    pub(crate) fn complete(&mut self, session: &str) -> Option<AgentWrapperCompletion> {
        self.projector.complete(&session.into())
    }

    /// Drops the events collected so far.
    pub(crate) fn clear(&mut self) -> &mut Self {
        self.events.clear();
        self
    }

    pub(crate) fn last(&self) -> &AgentWrapperEvent {
        self.events.last().unwrap()
    }

    /// The `tool` objects of all events, in order.
    pub(crate) fn tools(&self) -> Vec<Value> {
        self.events.iter().filter_map(AgentWrapperEvent::data).filter_map(|data| data.get("tool").cloned()).collect()
    }
}

pub(crate) fn message(id: &str, role: Role, content: Vec<ContentPart>) -> Item {
    let mut item = Item::new(id, ItemKind::Message);
    item.role = Some(role);
    item.content = content;
    item
}

pub(crate) fn started(item: Item) -> EventData {
    EventData::item_started(item)
}

pub(crate) fn completed(item: Item) -> EventData {
    EventData::item_completed(item, ItemOutcome::Completed)
}

pub(crate) fn failed(item: Item) -> EventData {
    EventData::item_completed(item, ItemOutcome::Failed)
}

pub(crate) fn delta(item: &str, text: &str) -> EventData {
    EventData::ItemDelta(ItemDelta::new(item, None, text))
}

/// A call of the tool `Bash`, which is a command.
pub(crate) fn call(id: &str, call_id: &str, arguments: &str) -> Item {
    named_call(id, call_id, "Bash", Some(ToolKind::Command), arguments)
}

pub(crate) fn named_call(id: &str, call_id: &str, name: &str, kind: Option<ToolKind>, arguments: &str) -> Item {
    let mut item = Item::new(id, ItemKind::ToolCall);
    item.native_item_id = Some(format!("native-{id}").into());
    item.role = Some(Role::Assistant);
    item.content.push(ContentPart::ToolCall {
        title: None,
        input: None,
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        call_id: call_id.to_owned(),
        tool_kind: kind,
    });
    item
}

pub(crate) fn result(id: &str, call_id: &str, output: &str, exit_code: Option<i32>, stderr_bytes: Option<u64>) -> Item {
    let mut item = Item::new(id, ItemKind::ToolResult);
    item.native_item_id = Some(format!("native-{id}").into());
    item.role = Some(Role::Tool);
    item.content.push(ContentPart::ToolResult {
        call_id: call_id.to_owned(),
        output: output.to_owned(),
        exit_code,
        duration_ms: None,
        stderr_bytes,
    });
    item
}
