//! Test harness: a host and an agent with one session.

#![expect(clippy::needless_pass_by_value, reason = "tests write `json!` in place")]

use interlingua_schema::{Checker, ContentPart, EventData, ItemKind, ItemStatus, Role, TurnStatus, UniversalEvent};
use serde_json::{Value, json};

use crate::acp::AcpConverter;
use crate::{Conversion, ConversionOptions, Input, InputRef, StreamEnd};

/// A conversion with one session `s`.
pub(super) struct Harness {
    pub(super) conversion: Conversion<AcpConverter>,
    pub(super) events: Vec<UniversalEvent>,
    /// Number of requests of the host so far.
    requests: u64,
}

impl Harness {
    pub(super) fn new() -> Self {
        Self::with_agent("toy")
    }

    /// With an agent that introduces itself by this name.
    pub(super) fn with_agent(name: &str) -> Self {
        let conversion = Conversion::new(AcpConverter::default(), ConversionOptions::with_raw(true));
        let mut harness = Self { conversion, events: Vec::new(), requests: 0 };
        harness.request("initialize", json!({ "protocolVersion": 1 }));
        harness.answer(json!({ "protocolVersion": 1, "agentInfo": { "name": name, "version": "1.2.3" } }));
        harness
    }

    /// With a session, and a prompt that is not answered yet.
    pub(super) fn in_turn() -> Self {
        Self::in_turn_with("toy")
    }

    /// As [`in_turn`](Self::in_turn), with an agent that introduces itself by this name.
    pub(super) fn in_turn_with(name: &str) -> Self {
        let mut harness = Self::with_agent(name);
        harness.open();
        harness.prompt("hello");
        harness
    }

    pub(super) fn open(&mut self) {
        let tiny = json!({ "name": "tiny", "command": "tiny", "args": [], "env": [] });
        self.request("session/new", json!({ "cwd": "/w", "mcpServers": [tiny] }));
        self.answer(json!({ "sessionId": "s" }));
    }

    pub(super) fn prompt(&mut self, text: &str) {
        self.request("session/prompt", json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": text }] }));
    }

    pub(super) fn push(&mut self, input: InputRef<'_>) {
        self.conversion.push(None, input, &mut self.events);
    }

    pub(super) fn send(&mut self, line: &Value) {
        self.push(Input::Sent(&line.to_string()));
    }

    pub(super) fn receive(&mut self, line: &Value) {
        self.push(Input::Received(&line.to_string()));
    }

    pub(super) fn request(&mut self, method: &str, params: Value) {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Answers the last request of the host.
    pub(super) fn answer(&mut self, result: Value) {
        let id = self.requests;
        self.receive(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(super) fn refuse(&mut self, code: i64, message: &str) {
        let (id, error) = (self.requests, json!({ "code": code, "message": message }));
        self.receive(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    pub(super) fn update(&mut self, kind: &str, fields: Value) {
        let mut update = json!({ "sessionUpdate": kind });
        update.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let params = json!({ "sessionId": "s", "update": update });
        self.receive(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    pub(super) fn chunk(&mut self, text: &str, id: Option<&str>) {
        let mut fields = json!({ "content": { "type": "text", "text": text } });
        if let Some(id) = id {
            fields["messageId"] = id.into();
        }
        self.update("agent_message_chunk", fields);
    }

    /// The agent asks for a permission with the id 0, which the host's `initialize` had as well.
    pub(super) fn ask(&mut self, call: Value) {
        let options = json!([
            { "optionId": "go", "name": "Allow", "kind": "allow_once" },
            { "optionId": "ever", "name": "Always", "kind": "allow_always" },
            { "optionId": "no", "name": "Reject", "kind": "reject_once" },
            { "optionId": "odd", "name": "Odd", "kind": "allow_until_monday" },
        ]);
        let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
        self.receive(&json!({ "jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params }));
    }

    pub(super) fn choose(&mut self, option: &str) {
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": outcome }));
    }

    pub(super) fn end_turn(&mut self) {
        self.answer(json!({ "stopReason": "end_turn" }));
    }

    /// All events, after the end of the log and a check of every rule.
    pub(super) fn finish(mut self) -> Vec<UniversalEvent> {
        self.push(Input::Exit { code: Some(0) });
        self.conversion.finish(None, StreamEnd::Log, &mut self.events);
        assert_eq!(self.conversion.stats().unaccounted, 0, "{:?}", self.conversion.stats());
        let mut checker = Checker::new();
        let violations: Vec<_> = self.events.iter().flat_map(|event| checker.push(event)).collect();
        assert!(violations.is_empty(), "{violations:?}");
        self.events
    }
}

/// Kind, status and content of each completed item in short.
pub(super) fn items(events: &[UniversalEvent]) -> Vec<String> {
    let completed = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item),
        _ => None,
    });
    let describe = |item: &interlingua_schema::Item| {
        let failed = if item.status == ItemStatus::Failed { "!" } else { "" };
        let text = item.content.iter().map(|part| match part {
            ContentPart::Text { text } => text.clone(),
            ContentPart::Reasoning { text, .. } => format!("({text})"),
            ContentPart::ToolCall { title, .. } => title.clone().unwrap_or_default(),
            ContentPart::ToolResult { output, exit_code, .. } => {
                format!("{output}{}", exit_code.map(|code| format!(" [{code}]")).unwrap_or_default())
            }
            ContentPart::Status { detail, .. } => detail.clone().unwrap_or_default(),
            ContentPart::FileRef { path, .. } => format!("<{path}>"),
            _ => "…".to_owned(),
        });
        let text = text.collect::<Vec<_>>().join("|");
        let kind = match (&item.kind, &item.role) {
            (ItemKind::Message, Some(Role::User)) => "user",
            (ItemKind::Message, _) => "agent",
            (ItemKind::ToolCall, _) => "call",
            (ItemKind::ToolResult, _) => "result",
            _ => "note",
        };
        format!("{failed}{kind}: {text}")
    };
    completed.map(describe).collect()
}

pub(super) fn turn_statuses(events: &[UniversalEvent]) -> Vec<TurnStatus> {
    let ended = events.iter().filter_map(|event| match &event.data {
        EventData::TurnEnded(data) => Some(data.status.clone()),
        _ => None,
    });
    ended.collect()
}

pub(super) fn data_of(events: &[UniversalEvent], kind: &str) -> Vec<Value> {
    let events = events.iter().map(|event| serde_json::to_value(event).unwrap());
    events.filter(|event| event["type"] == kind).map(|event| event["data"].clone()).collect()
}
