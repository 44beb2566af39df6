//! The shape of a recording: the kinds of its messages, their order and fields, and the universal events they become.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use interlingua_convert::Agent;
use interlingua_schema::UniversalEvent;
use serde_json::Value;

use crate::normal_form::{is_ignored, is_ordered};
use crate::normal_stream;
use crate::redact::redact_value;
use crate::wire_messages::{self, Sender, WireMessage};

/// The shape of one recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// Number of the agent's messages of each kind. Consecutive messages of a kind count once.
    pub(crate) counts: BTreeMap<String, usize>,
    /// The kinds in order, without those that may come at any time.
    pub(crate) order: Vec<String>,
    /// Paths of the fields of each kind.
    pub(crate) fields: BTreeMap<String, BTreeSet<String>>,
    /// Summaries of the universal events, without deltas.
    pub(crate) universal: Vec<String>,
}

impl Shape {
    pub(crate) fn new(agent: Agent, recording: &[u8]) -> io::Result<Self> {
        let universal = normal_stream::convert(agent, recording)?.iter().filter_map(summarize).collect();
        let mut shape = Self { universal, ..Self::default() };
        let mut last = String::new();
        for message in agent_messages(agent, recording)? {
            let fields = shape.fields.entry(message.kind.clone()).or_default();
            collect_paths(&redact_value(&message.value), "", fields);
            if message.kind == last {
                continue;
            }
            last.clone_from(&message.kind);
            *shape.counts.entry(message.kind.clone()).or_default() += 1;
            if is_ordered(&message.kind) {
                shape.order.push(message.kind);
            }
        }
        Ok(shape)
    }
}

/// The kinds of the agent's messages in a recording.
pub(crate) fn kinds(agent: Agent, recording: &[u8]) -> io::Result<BTreeSet<String>> {
    Ok(agent_messages(agent, recording)?.map(|message| message.kind).collect())
}

/// The messages of the agent that are not ignored.
fn agent_messages(agent: Agent, recording: &[u8]) -> io::Result<impl Iterator<Item = WireMessage>> {
    let messages = wire_messages::read(agent, recording)?.into_iter();
    Ok(messages.filter(|message| message.sender == Sender::Agent && !is_ignored(&message.kind)))
}

/// Collects the paths of all fields below a value. The elements of a list share one path.
fn collect_paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect_paths(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(list) => {
            for value in list {
                collect_paths(value, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

/// An event in a few words; `None` for a delta.
fn summarize(event: &UniversalEvent) -> Option<String> {
    if event.data.kind() == "item.delta" {
        return None;
    }
    let event = serde_json::to_value(event).ok()?;
    let (data, item) = (&event["data"], &event["data"]["item"]);
    let parts = item["content"].as_array().into_iter().flatten().flat_map(|part| [&part["name"], &part["label"]]);
    let details = [&event["type"], &item["kind"], &item["role"], &item["status"]].into_iter().chain(parts);
    let results = [&data["status"], &data["reason"], &data["code"]];
    let words: Vec<&str> = details.chain(results).filter_map(Value::as_str).collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_kinds_order_fields_and_events() {
        let lines = [
            r#"{"type":"system","subtype":"init","session_id":"s","tools":[{"a":1}]}"#,
            r#"{"type":"stream_event","event":{"type":"ping"}}"#,
            r#"{"type":"stream_event","event":{"type":"ping"}}"#,
            r#"{"type":"system","subtype":"status"}"#,
        ];
        let log: String =
            lines.map(|line| format!("{}\n", serde_json::json!({"t": 1, "dir": "recv", "line": line}))).concat();
        let shape = Shape::new(Agent::Claude, format!("{{\"wirelog\":1}}\n{log}").as_bytes()).unwrap();
        assert_eq!(shape.order, ["system/init", "stream_event/ping"]);
        assert_eq!((shape.counts["stream_event/ping"], shape.counts["system/status"]), (1, 1));
        assert!(shape.fields["system/init"].contains("tools[].a"));
        assert_eq!(shape.universal[0], "session.started");
    }
}
