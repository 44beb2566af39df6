//! The shape of a recording: which kinds of things are in it, in which order, with which fields, and what they become.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use interlingua_convert::Agent;
use interlingua_schema::UniversalEvent;
use serde_json::Value;

use crate::heard::{self, By};
use crate::{form, redact, stream};

/// The shape of one recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// How often the agent said each kind of thing, deltas in a row counted once.
    pub(crate) counts: BTreeMap<String, usize>,
    /// The kinds in their order, without what may come at any time.
    pub(crate) order: Vec<String>,
    /// The fields of each kind, as paths.
    pub(crate) fields: BTreeMap<String, BTreeSet<String>>,
    /// The universal events that it becomes, without deltas.
    pub(crate) universal: Vec<String>,
}

impl Shape {
    /// The shape of a recording.
    pub(crate) fn of(agent: Agent, recording: &[u8]) -> io::Result<Self> {
        let mut shape =
            Self { universal: stream::events(agent, recording)?.iter().filter_map(line).collect(), ..Self::default() };
        let mut last = String::new();
        for heard in heard::read(agent, recording)? {
            if heard.by != By::Agent || form::is_chatter(&heard.kind) {
                continue;
            }
            let fields = shape.fields.entry(heard.kind.clone()).or_default();
            paths(&redact::value(&heard.value), "", fields);
            if heard.kind == last {
                continue;
            }
            last.clone_from(&heard.kind);
            *shape.counts.entry(heard.kind.clone()).or_default() += 1;
            if form::has_a_place(&heard.kind) {
                shape.order.push(heard.kind);
            }
        }
        Ok(shape)
    }
}

/// The kinds of things that the agent said in a recording.
pub(crate) fn kinds(agent: Agent, recording: &[u8]) -> io::Result<BTreeSet<String>> {
    let heard = heard::read(agent, recording)?.into_iter();
    let kinds = heard.filter(|heard| heard.by == By::Agent && !form::is_chatter(&heard.kind)).map(|heard| heard.kind);
    Ok(kinds.collect())
}

/// Every field below a value; the elements of a list are one field.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                paths(value, &path, found);
                found.insert(path);
            }
        }
        Value::Array(list) => {
            for value in list {
                paths(value, &format!("{path}[]"), found);
            }
        }
        _ => {}
    }
}

/// An event in a few words; none for a delta.
fn line(event: &UniversalEvent) -> Option<String> {
    if event.data.kind() == "item.delta" {
        return None;
    }
    let event = serde_json::to_value(event).ok()?;
    let (data, item) = (&event["data"], &event["data"]["item"]);
    let parts = item["content"].as_array().into_iter().flatten().flat_map(|part| [&part["name"], &part["label"]]);
    let details = [&event["type"], &item["kind"], &item["role"], &item["status"]].into_iter().chain(parts);
    let ends = [&data["status"], &data["reason"], &data["code"]];
    let words: Vec<&str> = details.chain(ends).filter_map(Value::as_str).collect();
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_order_fields_and_events_are_told() {
        let lines = [
            r#"{"type":"system","subtype":"init","session_id":"s","tools":[{"a":1}]}"#,
            r#"{"type":"stream_event","event":{"type":"ping"}}"#,
            r#"{"type":"stream_event","event":{"type":"ping"}}"#,
            r#"{"type":"system","subtype":"status"}"#,
        ];
        let log: String =
            lines.map(|line| format!("{}\n", serde_json::json!({"t": 1, "dir": "recv", "line": line}))).concat();
        let shape = Shape::of(Agent::Claude, format!("{{\"wirelog\":1}}\n{log}").as_bytes()).unwrap();
        assert_eq!(shape.order, ["system/init", "stream_event/ping"]);
        assert_eq!((shape.counts["stream_event/ping"], shape.counts["system/status"]), (1, 1));
        assert!(shape.fields["system/init"].contains("tools[].a"));
        assert_eq!(shape.universal[0], "session.started");
    }
}
