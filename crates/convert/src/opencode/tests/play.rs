//! Plays a server and its host.

use interlingua_schema::{Checker, EventData, Item, ItemKind, Role, TurnStatus, UniversalEvent, Usage};
use serde_json::{Value, json};

use crate::losses::reports_missing_field;
use crate::opencode::OpenCodeConverter;
use crate::{Conversion, ConversionOptions, Input, StreamEnd};

/// A server and its host: what they say becomes events, and every rule is watched.
pub(super) struct Play {
    pub(super) stream: Conversion<OpenCodeConverter>,
    pub(super) events: Vec<UniversalEvent>,
    calls: u64,
}

pub(super) const CREATED: i64 = 1000;

#[allow(clippy::needless_pass_by_value, reason = "tests write `json!` in place")]
impl Play {
    pub(super) fn new() -> Self {
        let stream = Conversion::new(OpenCodeConverter::default(), ConversionOptions::default());
        Self { stream, events: Vec::new(), calls: 0 }
    }

    /// A server with session `ses_1` of a version.
    pub(super) fn begun(version: &str) -> Self {
        Self::new().with_session(version)
    }

    /// As [`begun`](Self::begun), with the payloads in the events.
    pub(super) fn begun_with_raw() -> Self {
        let options = ConversionOptions { raw: true, ..ConversionOptions::default() };
        let stream = Conversion::new(OpenCodeConverter::default(), options);
        Self { stream, events: Vec::new(), calls: 0 }.with_session("1.18.33")
    }

    fn with_session(self, version: &str) -> Self {
        let mut play = self;
        let info = json!({ "id": "ses_1", "version": version, "title": "t", "time": { "created": CREATED } });
        play.say("session.created", json!({ "sessionID": "ses_1", "info": info }));
        play
    }

    pub(super) fn receive(&mut self, line: &str) -> &mut Self {
        self.stream.push(None, Input::Received(line), &mut self.events);
        self
    }

    pub(super) fn say(&mut self, tag: &str, properties: Value) -> &mut Self {
        self.receive(&json!({ "id": "evt_1", "type": tag, "properties": properties }).to_string())
    }

    /// An event of the v2 API.
    pub(super) fn next(&mut self, tag: &str, mut data: Value) -> &mut Self {
        data["sessionID"] = "ses_1".into();
        data["timestamp"] = CREATED.into();
        self.say(&format!("session.next.{tag}"), data)
    }

    /// A request and its answer.
    pub(super) fn ask(&mut self, method: &str, path: &str, body: &Value, status: u16, answer: &Value) -> &mut Self {
        let call = self.request(method, path, body);
        self.reply(call, status, answer)
    }

    pub(super) fn request(&mut self, method: &str, path: &str, body: &Value) -> u64 {
        self.calls += 1;
        let (call, body) = (self.calls, body.to_string());
        self.stream.push(None, Input::Request { call, method, path, body: Some(&body) }, &mut self.events);
        call
    }

    pub(super) fn reply(&mut self, call: u64, status: u16, answer: &Value) -> &mut Self {
        let answer = answer.to_string();
        let body = if answer == "null" { None } else { Some(answer.as_str()) };
        self.stream.push(None, Input::Reply { call, status, body }, &mut self.events);
        self
    }

    /// The host prompts, and the agent repeats it and sets to work.
    pub(super) fn prompt_sent(&mut self, text: &str) -> &mut Self {
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        self.request("POST", "/session/ses_1/prompt_async", &body);
        self.user("ses_1", &format!("msg_{text}"), text).busy("ses_1")
    }

    pub(super) fn user(&mut self, session: &str, message: &str, text: &str) -> &mut Self {
        let info = json!({ "id": message, "role": "user", "sessionID": session, "time": { "created": CREATED + 1 } });
        self.say("message.updated", json!({ "sessionID": session, "info": info }));
        self.part(session, message, json!({ "id": format!("prt_{message}"), "type": "text", "text": text }))
    }

    pub(super) fn busy(&mut self, session: &str) -> &mut Self {
        self.say("session.status", json!({ "sessionID": session, "status": { "type": "busy" } }))
    }

    pub(super) fn idle(&mut self, session: &str) -> &mut Self {
        self.say("session.status", json!({ "sessionID": session, "status": { "type": "idle" } }));
        self.say("session.idle", json!({ "sessionID": session }))
    }

    pub(super) fn answer(&mut self, session: &str, message: &str, parent: &str, more: &Value) -> &mut Self {
        let mut info = json!({ "id": message, "role": "assistant", "parentID": parent, "sessionID": session });
        info["time"] = json!({ "created": CREATED + 2 });
        if let (Some(info), Some(more)) = (info.as_object_mut(), more.as_object()) {
            info.extend(more.clone());
        }
        self.say("message.updated", json!({ "sessionID": session, "info": info }))
    }

    pub(super) fn done(&mut self, session: &str, message: &str, finish: &str) -> &mut Self {
        let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
        self.answer(session, message, "", &json!({ "finish": finish, "time": time }))
    }

    pub(super) fn part(&mut self, session: &str, message: &str, mut part: Value) -> &mut Self {
        part["sessionID"] = session.into();
        part["messageID"] = message.into();
        self.say("message.part.updated", json!({ "sessionID": session, "part": part, "time": 1 }))
    }

    pub(super) fn text(&mut self, session: &str, message: &str, id: &str, text: &str) -> &mut Self {
        let part = json!({ "id": id, "type": "text", "text": text, "time": { "start": 1, "end": 2 } });
        self.part(session, message, part)
    }

    pub(super) fn tool(&mut self, message: &str, tool: &str, state: Value) -> &mut Self {
        let part = json!({ "id": "prt_t", "type": "tool", "callID": "call_1", "tool": tool, "state": state });
        self.part("ses_1", message, part)
    }

    /// The log ends; every rule must have held.
    pub(super) fn end(&mut self) -> &[UniversalEvent] {
        self.stream.finish(None, StreamEnd::Log, &mut self.events);
        assert_eq!(self.stream.stats().unaccounted, 0);
        let mut checkers = std::collections::HashMap::new();
        for event in &self.events {
            let checker = checkers.entry(event.session_id.clone()).or_insert_with(Checker::new);
            assert_eq!(checker.push(event), [], "{event:?}");
        }
        &self.events
    }

    pub(super) fn completed(&mut self) -> Vec<Item> {
        let events = self.end().iter();
        let items = events.filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(data.item.clone()),
            _ => None,
        });
        items.collect()
    }

    pub(super) fn kinds(&mut self) -> Vec<&str> {
        let events = self.end().iter().filter(|event| !reports_missing_field(event));
        events.map(|event| event.data.kind()).collect()
    }

    pub(super) fn errors(&mut self) -> Vec<String> {
        let events = self.end().iter();
        let errors = events.filter_map(|event| match &event.data {
            EventData::Error(error) => Some(error.message.clone()),
            _ => None,
        });
        errors.collect()
    }

    /// The events of this type, as JSON.
    pub(super) fn json_of(&mut self, kind: &str) -> Vec<Value> {
        let is_of_kind = |event: &&UniversalEvent| event.data.kind() == kind && !reports_missing_field(event);
        let events = self.end().iter().filter(is_of_kind);
        events.map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    /// The content of the status items with this label, and whether they are completed or failed.
    pub(super) fn statuses(&mut self, label: &str) -> Vec<(Value, Value)> {
        let completed = self.json_of("item.completed").into_iter().map(|mut event| event["data"]["item"].take());
        let with_label = completed.filter(|item| item["content"][0]["label"] == label);
        with_label.map(|item| (item["content"].clone(), item["status"].clone())).collect()
    }

    pub(super) fn turns(&mut self) -> Vec<TurnStatus> {
        let events = self.end().iter();
        let ended = events.filter_map(|event| match &event.data {
            EventData::TurnEnded(end) => Some(end.status.clone()),
            _ => None,
        });
        ended.collect()
    }

    pub(super) fn usage(&mut self) -> Usage {
        let events = self.end().iter();
        let mut usage = events.filter_map(|event| match &event.data {
            EventData::TurnEnded(end) => end.usage.clone(),
            _ => None,
        });
        usage.next().unwrap()
    }
}

/// What somebody said, in order.
#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
pub(super) fn said(items: &[Item], role: Role) -> Vec<String> {
    let messages = items.iter().filter(|item| item.kind == ItemKind::Message && item.role == Some(role.clone()));
    messages.map(|item| item.streamed_text().collect()).collect()
}
