//! The history of a run: what readers saw and what writers were told. The checker looks for anything that a log which
//! servers share must never show: a gap, a duplicate, an event that is seen and then gone or different.

use std::collections::BTreeMap;
use std::sync::Mutex;

use interlingua_client::Client;
use serde_json::Value;

/// Maximum number of violations that are described.
const MAX_VIOLATIONS: usize = 20;

/// What clients saw during a run.
#[derive(Default)]
pub(crate) struct History {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The text of each event that a reader got, by session and sequence.
    events: BTreeMap<(String, u64), String>,
    /// Texts of the messages that were acknowledged, by session, in the order in which they were sent.
    messages: BTreeMap<String, Vec<String>>,
    violations: Vec<String>,
    reads: u64,
}

impl Seen {
    fn report(&mut self, violation: String) {
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(violation);
        }
    }
}

impl History {
    /// A reader of a session got an event, when it expected the one with sequence `expected`.
    pub(crate) fn observe(&self, session: &str, expected: u64, json: &str) {
        let event: Value = serde_json::from_str(json).unwrap();
        let sequence = event["sequence"].as_u64().unwrap();
        // In one form, whatever way it came.
        let json = event.to_string();
        let mut seen = self.seen.lock().unwrap();
        seen.reads += 1;
        if sequence != expected {
            seen.report(format!("{session}: a reader got {sequence} instead of {expected}"));
        }
        match seen.events.get(&(session.to_owned(), sequence)).map(|known| *known == json) {
            Some(false) => seen.report(format!("{session}: two readers saw different events with sequence {sequence}")),
            Some(true) => {}
            None => {
                seen.events.insert((session.to_owned(), sequence), json);
            }
        }
    }

    /// A reader of a session got an event, whose order is known to be right.
    pub(crate) fn observe_event(&self, session: &str, event: &Value) {
        self.observe(session, event["sequence"].as_u64().unwrap(), &event.to_string());
    }

    /// A message was acknowledged.
    pub(crate) fn acknowledge(&self, session: &str, message: &str) {
        let mut seen = self.seen.lock().unwrap();
        seen.messages.entry(session.to_owned()).or_default().push(message.to_owned());
    }

    /// Number of events that readers got.
    pub(crate) fn reads(&self) -> u64 {
        self.seen.lock().unwrap().reads
    }

    /// Number of messages that were acknowledged.
    pub(crate) fn acknowledged(&self) -> usize {
        self.seen.lock().unwrap().messages.values().map(Vec::len).sum()
    }

    /// Compares what was seen with the logs, as every server has them now. Returns the violations.
    pub(crate) async fn check(self, sessions: &[String], servers: &[Client]) -> Vec<String> {
        let mut logs = BTreeMap::new();
        for session in sessions {
            let first = read_log(&servers[0], session).await;
            for server in &servers[1..] {
                if read_log(server, session).await != first {
                    self.seen.lock().unwrap().report(format!("{session}: two servers have different logs"));
                }
            }
            logs.insert(session.clone(), first);
        }
        let mut seen = self.seen.into_inner().unwrap();
        for (session, log) in &logs {
            for violation in check_log(session, log) {
                seen.report(violation);
            }
        }
        let events = std::mem::take(&mut seen.events);
        for ((session, sequence), json) in events {
            let index = usize::try_from(sequence - 1).unwrap();
            match logs.get(&session).and_then(|log| log.get(index)) {
                Some(stored) if *stored == json => {}
                Some(_) => seen.report(format!("{session}: event {sequence} has changed after it was seen")),
                None => seen.report(format!("{session}: event {sequence} was seen and is gone")),
            }
        }
        let messages = std::mem::take(&mut seen.messages);
        for (session, messages) in messages {
            for violation in check_messages(&session, &logs[&session], &messages) {
                seen.report(violation);
            }
        }
        seen.violations
    }
}

/// Reads the log of a session: the text of each event.
async fn read_log(server: &Client, session: &str) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Page {
        events: Vec<Value>,
    }
    let path = format!("/v1/sessions/{session}/events");
    let response = server.request(reqwest::Method::GET, &path).send().await.unwrap();
    let page: Page = response.json().await.unwrap();
    page.events.iter().map(ToString::to_string).collect()
}

/// Sequences and ids of a log, and the lifecycle rules.
fn check_log(session: &str, log: &[String]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut ids = BTreeMap::new();
    let mut checker = interlingua_schema::Checker::new();
    for (expected, json) in (1..).zip(log) {
        let event: Value = serde_json::from_str(json).unwrap();
        let sequence = event["sequence"].as_u64().unwrap();
        if sequence != expected {
            violations.push(format!("{session}: the log has {sequence} instead of {expected}"));
        }
        if let Some(other) = ids.insert(event["event_id"].to_string(), sequence) {
            violations.push(format!("{session}: events {other} and {sequence} have the same id"));
        }
        match checker.push_line(json) {
            Ok(broken) => violations.extend(broken.iter().map(|rule| format!("{session}: {rule:?}"))),
            Err(error) => violations.push(format!("{session}: event {expected} cannot be read: {error}")),
        }
    }
    violations
}

/// Every message that was acknowledged is in the log once, in the order of the acknowledgements.
fn check_messages(session: &str, log: &[String], messages: &[String]) -> Vec<String> {
    let mut shown: BTreeMap<&str, Vec<usize>> = messages.iter().map(|text| (text.as_str(), Vec::new())).collect();
    for (index, json) in log.iter().enumerate() {
        let event: Value = serde_json::from_str(json).unwrap();
        let item = &event["data"]["item"];
        if event["type"] == "item.completed" && item["kind"] == "message" && item["role"] == "user" {
            let text = event["data"]["item"]["content"][0]["text"].as_str().unwrap_or_default();
            if let Some(places) = shown.get_mut(text) {
                places.push(index);
            }
        }
    }
    let mut violations = Vec::new();
    let mut last = None;
    for message in messages {
        match shown[message.as_str()].as_slice() {
            [place] if last.is_none_or(|last| *place > last) => last = Some(*place),
            [_] => violations.push(format!("{session}: message {message:?} had its turn too early")),
            [] => violations.push(format!("{session}: the acknowledged message {message:?} is lost")),
            _ => violations.push(format!("{session}: message {message:?} had two turns")),
        }
    }
    violations
}
