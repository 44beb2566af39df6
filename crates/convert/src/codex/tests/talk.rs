//! Plays an agent and its host.

use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, UniversalEvent};
use serde_json::{Value, json};

use crate::codex::CodexConverter;
use crate::{Conversion, ConversionOptions, ConversionStats, Input, InputRef};

/// A conversation under test. Whatever it comes to, no rule may be broken.
pub(super) struct Talk {
    pub(super) stream: Conversion<CodexConverter>,
    pub(super) events: Vec<UniversalEvent>,
}

impl Talk {
    pub(super) fn new() -> Self {
        Self { stream: Conversion::new(CodexConverter::default(), ConversionOptions::default()), events: Vec::new() }
    }

    /// As [`new`](Self::new), with the payloads in the events.
    pub(super) fn with_raw() -> Self {
        let options = ConversionOptions { raw: true, ..ConversionOptions::default() };
        Self { stream: Conversion::new(CodexConverter::default(), options), events: Vec::new() }
    }

    /// A thread `t` has been started, and turn `1` in it with a message of the user's.
    pub(super) fn in_turn() -> Self {
        let mut talk = Self::new();
        talk.host(json!({"id": 1, "method": "initialize", "params": {}}));
        talk.agent(json!({"id": 1, "result": {"userAgent": "x"}}));
        talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
        talk.agent(json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m"}}));
        talk.prompt(3, "1", "hello");
        talk
    }

    pub(super) fn prompt(&mut self, id: u64, turn: &str, text: &str) {
        let input = json!([{"type": "text", "text": text}]);
        self.host(json!({"id": id, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
        self.agent(json!({"id": id, "result": {"turn": {"id": turn}}}));
        self.tell("turn/started", json!({"turn": {"id": turn}}));
        self.begin(json!({"type": "userMessage", "id": format!("u{id}"), "content": input}));
    }

    pub(super) fn push(&mut self, input: InputRef<'_>) {
        self.stream.push(None, input, &mut self.events);
    }

    pub(super) fn host(&mut self, line: Value) {
        self.push(Input::Sent(&line.to_string()));
    }

    pub(super) fn agent(&mut self, line: Value) {
        self.push(Input::Received(&line.to_string()));
    }

    /// A notification of thread `t`, unless it names another.
    pub(super) fn tell(&mut self, method: &str, mut params: Value) {
        if let Some(params) = params.as_object_mut().filter(|params| !params.contains_key("threadId")) {
            params.insert("threadId".to_owned(), "t".into());
        }
        self.agent(json!({"method": method, "params": params}));
    }

    pub(super) fn begin(&mut self, item: Value) {
        self.tell("item/started", json!({"item": item, "turnId": "1"}));
    }

    pub(super) fn end(&mut self, item: Value) {
        self.tell("item/completed", json!({"item": item, "turnId": "1"}));
    }

    pub(super) fn end_turn(&mut self, turn: &str, status: &str) {
        self.tell("turn/completed", json!({"turn": {"id": turn, "status": status}}));
    }

    /// The events of all sessions, after every rule was checked.
    pub(super) fn events(&mut self) -> &[UniversalEvent] {
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

    pub(super) fn data(&mut self) -> Vec<Value> {
        self.events().iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    pub(super) fn of_type(&mut self, kind: &str) -> Vec<Value> {
        self.data().into_iter().filter(|event| event["type"] == kind).map(|event| event["data"].clone()).collect()
    }

    /// What was completed: kind, role and status of each item, and its texts.
    pub(super) fn items(&mut self) -> Vec<(ItemKind, Option<Role>, ItemStatus, String)> {
        let done = self.events().iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        });
        done.map(|item| {
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

    pub(super) fn texts(&mut self) -> Vec<String> {
        self.items().into_iter().map(|(.., text)| text).collect()
    }

    pub(super) fn stats(&self) -> &ConversionStats {
        self.stream.stats()
    }
}

/// A command in some state.
pub(super) fn command(status: &str, more: Value) -> Value {
    let mut item = json!({"type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'rm a'", "status": status});
    item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    item
}
