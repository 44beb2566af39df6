//! Test harness: feeds the events and HTTP exchanges of a server to a conversion.

use interlingua_schema::{Checker, EventData, Item, ItemKind, Role, TurnStatus, UniversalEvent, Usage};
use serde_json::{Value, json};

use crate::losses::reports_missing_field;
use crate::opencode::OpenCodeConverter;
use crate::{Conversion, ConversionOptions, Input, StreamEnd};

/// A conversion under test. Reading its events checks every lifecycle rule.
pub(super) struct Harness {
    pub(super) conversion: Conversion<OpenCodeConverter>,
    pub(super) events: Vec<UniversalEvent>,
    calls: u64,
}

/// Time at which session `ses_1` was created.
pub(super) const CREATED: i64 = 1000;

#[allow(clippy::needless_pass_by_value, reason = "tests write `json!` in place")]
impl Harness {
    pub(super) fn new() -> Self {
        Self::with_options(ConversionOptions::default())
    }

    fn with_options(options: ConversionOptions) -> Self {
        let conversion = Conversion::new(OpenCodeConverter::default(), options);
        Self { conversion, events: Vec::new(), calls: 0 }
    }

    /// A conversion with session `ses_1` of this version.
    pub(super) fn with_session(version: &str) -> Self {
        let mut server = Self::new();
        server.create_session(version);
        server
    }

    /// As [`with_session`](Self::with_session), but the events carry their payloads.
    pub(super) fn with_raw() -> Self {
        let mut server = Self::with_options(ConversionOptions { raw: true, ..ConversionOptions::default() });
        server.create_session("1.18.33");
        server
    }

    fn create_session(&mut self, version: &str) {
        let info = json!({ "id": "ses_1", "version": version, "title": "t", "time": { "created": CREATED } });
        self.event("session.created", json!({ "sessionID": "ses_1", "info": info }));
    }

    pub(super) fn receive(&mut self, line: &str) -> &mut Self {
        self.conversion.push(None, Input::Received(line), &mut self.events);
        self
    }

    pub(super) fn event(&mut self, event_type: &str, properties: Value) -> &mut Self {
        self.receive(&json!({ "id": "evt_1", "type": event_type, "properties": properties }).to_string())
    }

    /// A `session.next.*` event of `ses_1`.
    pub(super) fn next_event(&mut self, event_type: &str, mut data: Value) -> &mut Self {
        data["sessionID"] = "ses_1".into();
        data["timestamp"] = CREATED.into();
        self.event(&format!("session.next.{event_type}"), data)
    }

    /// A request and its reply.
    pub(super) fn exchange(&mut self, method: &str, path: &str, body: &Value, status: u16, reply: &Value) -> &mut Self {
        let call = self.request(method, path, body);
        self.reply(call, status, reply)
    }

    pub(super) fn request(&mut self, method: &str, path: &str, body: &Value) -> u64 {
        self.calls += 1;
        let (call, body) = (self.calls, body.to_string());
        self.conversion.push(None, Input::Request { call, method, path, body: Some(&body) }, &mut self.events);
        call
    }

    pub(super) fn reply(&mut self, call: u64, status: u16, reply: &Value) -> &mut Self {
        let reply = reply.to_string();
        let body = if reply == "null" { None } else { Some(reply.as_str()) };
        self.conversion.push(None, Input::Reply { call, status, body }, &mut self.events);
        self
    }

    /// The host sends a prompt; the agent echoes it and becomes busy.
    pub(super) fn prompt(&mut self, text: &str) -> &mut Self {
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        self.request("POST", "/session/ses_1/prompt_async", &body);
        self.user_message("ses_1", &format!("msg_{text}"), text).busy("ses_1")
    }

    pub(super) fn user_message(&mut self, session: &str, message: &str, text: &str) -> &mut Self {
        let info = json!({ "id": message, "role": "user", "sessionID": session, "time": { "created": CREATED + 1 } });
        self.event("message.updated", json!({ "sessionID": session, "info": info }));
        self.part(session, message, json!({ "id": format!("prt_{message}"), "type": "text", "text": text }))
    }

    pub(super) fn busy(&mut self, session: &str) -> &mut Self {
        self.event("session.status", json!({ "sessionID": session, "status": { "type": "busy" } }))
    }

    pub(super) fn idle(&mut self, session: &str) -> &mut Self {
        self.event("session.status", json!({ "sessionID": session, "status": { "type": "idle" } }));
        self.event("session.idle", json!({ "sessionID": session }))
    }

    /// Updates a message of the agent, which answers the message `parent`.
    pub(super) fn agent_message(&mut self, session: &str, message: &str, parent: &str, more: &Value) -> &mut Self {
        let mut info = json!({ "id": message, "role": "assistant", "parentID": parent, "sessionID": session });
        info["time"] = json!({ "created": CREATED + 2 });
        if let (Some(info), Some(more)) = (info.as_object_mut(), more.as_object()) {
            info.extend(more.clone());
        }
        self.event("message.updated", json!({ "sessionID": session, "info": info }))
    }

    pub(super) fn complete_message(&mut self, session: &str, message: &str, finish: &str) -> &mut Self {
        let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
        self.agent_message(session, message, "", &json!({ "finish": finish, "time": time }))
    }

    pub(super) fn part(&mut self, session: &str, message: &str, mut part: Value) -> &mut Self {
        part["sessionID"] = session.into();
        part["messageID"] = message.into();
        self.event("message.part.updated", json!({ "sessionID": session, "part": part, "time": 1 }))
    }

    pub(super) fn text_part(&mut self, session: &str, message: &str, id: &str, text: &str) -> &mut Self {
        let part = json!({ "id": id, "type": "text", "text": text, "time": { "start": 1, "end": 2 } });
        self.part(session, message, part)
    }

    pub(super) fn tool_part(&mut self, message: &str, tool: &str, state: Value) -> &mut Self {
        let part = json!({ "id": "prt_t", "type": "tool", "callID": "call_1", "tool": tool, "state": state });
        self.part("ses_1", message, part)
    }

    /// Finishes the conversion, checks every lifecycle rule and returns the events.
    pub(super) fn finish(&mut self) -> &[UniversalEvent] {
        self.conversion.finish(None, StreamEnd::Log, &mut self.events);
        assert_eq!(self.conversion.stats().unaccounted, 0);
        let mut checkers = std::collections::HashMap::new();
        for event in &self.events {
            let checker = checkers.entry(event.session_id.clone()).or_insert_with(Checker::new);
            assert_eq!(checker.push(event), [], "{event:?}");
        }
        &self.events
    }

    pub(super) fn completed_items(&mut self) -> Vec<Item> {
        let events = self.finish().iter();
        let items = events.filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(data.item.clone()),
            _ => None,
        });
        items.collect()
    }

    pub(super) fn event_types(&mut self) -> Vec<&str> {
        let events = self.finish().iter().filter(|event| !reports_missing_field(event));
        events.map(|event| event.data.kind()).collect()
    }

    pub(super) fn error_messages(&mut self) -> Vec<String> {
        let events = self.finish().iter();
        let errors = events.filter_map(|event| match &event.data {
            EventData::Error(error) => Some(error.message.clone()),
            _ => None,
        });
        errors.collect()
    }

    /// Events of this type as JSON.
    pub(super) fn events_json(&mut self, event_type: &str) -> Vec<Value> {
        let matches = |event: &&UniversalEvent| event.data.kind() == event_type && !reports_missing_field(event);
        let events = self.finish().iter().filter(matches);
        events.map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    /// Content and status of the status items with this label.
    pub(super) fn statuses(&mut self, label: &str) -> Vec<(Value, Value)> {
        let completed = self.events_json("item.completed").into_iter().map(|mut event| event["data"]["item"].take());
        let with_label = completed.filter(|item| item["content"][0]["label"] == label);
        with_label.map(|item| (item["content"].clone(), item["status"].clone())).collect()
    }

    pub(super) fn turn_statuses(&mut self) -> Vec<TurnStatus> {
        let events = self.finish().iter();
        let ended = events.filter_map(|event| match &event.data {
            EventData::TurnEnded(end) => Some(end.status.clone()),
            _ => None,
        });
        ended.collect()
    }

    /// Usage of the first turn that has one.
    pub(super) fn usage(&mut self) -> Usage {
        let events = self.finish().iter();
        let mut usage = events.filter_map(|event| match &event.data {
            EventData::TurnEnded(end) => end.usage.clone(),
            _ => None,
        });
        usage.next().unwrap()
    }
}

/// Texts of the messages with this role, in order.
#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
pub(super) fn texts_of(items: &[Item], role: Role) -> Vec<String> {
    let messages = items.iter().filter(|item| item.kind == ItemKind::Message && item.role == Some(role.clone()));
    messages.map(|item| item.streamed_text().collect()).collect()
}
