//! Test harness: feeds lines of host and agent to a conversion.

use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, UniversalEvent};
use serde_json::{Value, json};

use crate::codex::CodexConverter;
use crate::{Conversion, ConversionOptions, ConversionStats, Input, InputRef};

/// A conversion under test. Reading its events checks every lifecycle rule.
pub(super) struct Harness {
    pub(super) conversion: Conversion<CodexConverter>,
    pub(super) events: Vec<UniversalEvent>,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_options(ConversionOptions::default())
    }

    /// A conversion whose events carry their payloads.
    pub(super) fn with_raw() -> Self {
        Self::with_options(ConversionOptions { raw: true, ..ConversionOptions::default() })
    }

    fn with_options(options: ConversionOptions) -> Self {
        Self { conversion: Conversion::new(CodexConverter::default(), options), events: Vec::new() }
    }

    /// A conversion with thread `t` and its running turn `1`, which a user message has started.
    pub(super) fn in_turn() -> Self {
        let mut codex = Self::new();
        codex.send(json!({"id": 1, "method": "initialize", "params": {}}));
        codex.receive(json!({"id": 1, "result": {"userAgent": "x"}}));
        codex.send(json!({"id": 2, "method": "thread/start", "params": {}}));
        codex.receive(json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m"}}));
        codex.prompt(3, "1", "hello");
        codex
    }

    /// Sends a prompt as the request `id`; the agent starts `turn` with it.
    pub(super) fn prompt(&mut self, id: u64, turn: &str, text: &str) {
        let input = json!([{"type": "text", "text": text}]);
        self.send(json!({"id": id, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
        self.receive(json!({"id": id, "result": {"turn": {"id": turn}}}));
        self.notify("turn/started", json!({"turn": {"id": turn}}));
        self.start_item(json!({"type": "userMessage", "id": format!("u{id}"), "content": input}));
    }

    pub(super) fn push(&mut self, input: InputRef<'_>) {
        self.conversion.push(None, input, &mut self.events);
    }

    /// The host sends a line.
    pub(super) fn send(&mut self, line: Value) {
        self.push(Input::Sent(&line.to_string()));
    }

    /// The host receives a line from the agent.
    pub(super) fn receive(&mut self, line: Value) {
        self.push(Input::Received(&line.to_string()));
    }

    /// Receives a notification about thread `t`, unless it names another thread.
    pub(super) fn notify(&mut self, method: &str, mut params: Value) {
        if let Some(params) = params.as_object_mut().filter(|params| !params.contains_key("threadId")) {
            params.insert("threadId".to_owned(), "t".into());
        }
        self.receive(json!({"method": method, "params": params}));
    }

    pub(super) fn start_item(&mut self, item: Value) {
        self.notify("item/started", json!({"item": item, "turnId": "1"}));
    }

    pub(super) fn complete_item(&mut self, item: Value) {
        self.notify("item/completed", json!({"item": item, "turnId": "1"}));
    }

    pub(super) fn complete_turn(&mut self, turn: &str, status: &str) {
        self.notify("turn/completed", json!({"turn": {"id": turn, "status": status}}));
    }

    /// Events of all sessions, after a check of every lifecycle rule.
    pub(super) fn checked_events(&mut self) -> &[UniversalEvent] {
        let mut sessions: Vec<(String, Checker)> = Vec::new();
        for event in &self.events {
            let id = event.session_id.to_string();
            if !sessions.iter().any(|(known, _)| *known == id) {
                sessions.push((id.clone(), Checker::new()));
            }
            let checker = &mut sessions.iter_mut().find(|(known, _)| *known == id).unwrap().1;
            assert_eq!(checker.push(event), [], "{event:?}");
        }
        &self.events
    }

    pub(super) fn events_json(&mut self) -> Vec<Value> {
        self.checked_events().iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    /// Data of the events of this type.
    pub(super) fn data_of(&mut self, event_type: &str) -> Vec<Value> {
        let events = self.events_json().into_iter().filter(|event| event["type"] == event_type);
        events.map(|event| event["data"].clone()).collect()
    }

    /// Kind, role, status and texts of each completed item.
    pub(super) fn items(&mut self) -> Vec<(ItemKind, Option<Role>, ItemStatus, String)> {
        let completed = self.checked_events().iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        });
        completed
            .map(|item| {
                let texts = item.content.iter().filter_map(|part| match part {
                    ContentPart::ToolResult { output, .. } => Some(output.clone()),
                    ContentPart::ToolCall { name, .. } => Some(name.clone()),
                    ContentPart::Status { label, detail } => {
                        let label = serde_json::to_value(label).unwrap();
                        Some(format!("{} {}", label.as_str().unwrap(), detail.as_deref().unwrap_or_default()))
                    }
                    part => part.streamed_text().map(str::to_owned),
                });
                (item.kind.clone(), item.role.clone(), item.status.clone(), texts.collect::<Vec<_>>().join("|"))
            })
            .collect()
    }

    /// Texts of each completed item.
    pub(super) fn texts(&mut self) -> Vec<String> {
        self.items().into_iter().map(|(.., text)| text).collect()
    }

    pub(super) fn stats(&self) -> &ConversionStats {
        self.conversion.stats()
    }
}

/// A `commandExecution` item with this status and more fields.
pub(super) fn command(status: &str, more: Value) -> Value {
    let mut item = json!({"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'rm a'", "status": status});
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}
