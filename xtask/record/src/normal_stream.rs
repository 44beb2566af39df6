//! The universal stream of a recording, without what is different in every run.
//!
//! The normal form of a recording has lanes, because an agent sends many messages in any order. The stream that a
//! client reads has none: within a session, every event has a position. So the streams of two runs are compared event
//! by event.

use std::collections::HashMap;
use std::io;

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::{EventData, ItemKind, UniversalEvent};
use interlingua_wirelog::Reader;
use serde_json::{Value, json};

use crate::normal_form::first_difference;
use crate::redact::redact_value;

/// Converts a recording into universal events.
pub(crate) fn convert(agent: Agent, recording: &[u8]) -> io::Result<Vec<UniversalEvent>> {
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut events = Vec::new();
    convert_log(&mut Reader::new(recording)?, &mut conversion, |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

/// The events of each session, in the order of their first events. Events of different sessions have no order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NormalStream {
    sessions: Vec<SessionEvents>,
    numbers: HashMap<String, usize>,
}

#[derive(Debug, Default, PartialEq)]
struct SessionEvents {
    events: Vec<Value>,
    /// Number of each item by its id.
    items: HashMap<String, usize>,
    /// Index of the event in which the deltas of an item are joined.
    deltas: HashMap<String, usize>,
    /// Ids of tool results. Their deltas are left out: they come at any time and need not be complete. The completed
    /// item contains the whole result.
    tool_results: Vec<String>,
}

impl NormalStream {
    /// Converts a recording and normalizes its stream.
    pub(crate) fn new(agent: Agent, recording: &[u8]) -> io::Result<Self> {
        let mut stream = Self::default();
        for event in convert(agent, recording)? {
            let next = stream.sessions.len();
            let number = *stream.numbers.entry(event.session_id.to_string()).or_insert(next);
            if number == next {
                stream.sessions.push(SessionEvents::default());
            }
            stream.sessions[number].push(&event);
        }
        // The ids differ in every run.
        stream.numbers.clear();
        Ok(stream)
    }

    /// Renders the first difference to another stream.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let (before, now) = (self.sessions.len(), other.sessions.len());
        if before != now {
            return Some(format!("{now} sessions instead of {before}"));
        }
        let pairs = self.sessions.iter().zip(&other.sessions).zip(1..);
        pairs.into_iter().find_map(|((before, now), number)| {
            let difference = first_difference(&before.events, &now.events)?;
            Some(format!("session {number}, {difference}"))
        })
    }
}

impl SessionEvents {
    fn push(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::ItemStarted(data) if data.item.kind == ItemKind::ToolResult => {
                self.tool_results.push(data.item.item_id.to_string());
            }
            EventData::ItemDelta(data) => {
                let id = data.item_id.to_string();
                if self.tool_results.contains(&id) {
                    return;
                }
                if let Some(at) = self.deltas.get(&id) {
                    let joined = &mut self.events[*at]["data"]["delta"];
                    *joined = json!(format!("{}{}", joined.as_str().unwrap_or_default(), data.delta));
                    return;
                }
                self.deltas.insert(id, self.events.len());
            }
            _ => {}
        }
        let mut event = serde_json::to_value(event).unwrap_or_default();
        self.number_items(&mut event["data"]);
        remove_delays(&mut event["data"]);
        let (source, kind, data) = (&event["source"], &event["type"], redact_value(&event["data"]));
        self.events.push(json!({"type": kind, "source": source, "data": data}));
    }

    /// Replaces item ids by numbers within the session. The ids are assigned across all sessions of a recording, so
    /// they depend on the order between sessions.
    fn number_items(&mut self, value: &mut Value) {
        let item = if value["item"].is_object() { &mut value["item"] } else { value };
        for name in ["item_id", "parent_id"] {
            if let Some(id) = item[name].as_str().map(str::to_owned) {
                let next = self.items.len() + 1;
                item[name] = json!(format!("item {}", self.items.entry(id).or_insert(next)));
            }
        }
    }
}

/// Removes the text of a retry, which contains its delay. The other fields of the retry are kept.
fn remove_delays(data: &mut Value) {
    let content = data.pointer_mut("/item/content").and_then(Value::as_array_mut);
    for part in content.into_iter().flatten() {
        if part["type"] == "status" && part["label"] == "retry" {
            part["detail"] = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream of a recording of Claude Code with these lines.
    fn stream(lines: &[Value]) -> NormalStream {
        let records = lines.iter().zip(1..);
        let records = records.map(|(line, t)| json!({"t": t, "dir": "recv", "line": line.to_string()}).to_string());
        let log: Vec<String> = std::iter::once(json!({"wirelog": 1}).to_string()).chain(records).collect();
        NormalStream::new(Agent::Claude, (log.join("\n") + "\n").as_bytes()).unwrap()
    }

    fn retry(delay: u64, attempt: u64) -> Value {
        json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 2, "retry_delay_ms": delay})
    }

    fn message(id: &str, chunks: &[&str]) -> Vec<Value> {
        let event = |event: Value| json!({"type": "stream_event", "session_id": id, "event": event});
        let message = json!({"id": "msg_1", "role": "assistant", "content": [], "model": "m", "type": "message"});
        let mut lines = vec![
            json!({"type": "system", "subtype": "init", "session_id": id}),
            event(json!({"type": "message_start", "message": message})),
            event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        ];
        for chunk in chunks {
            let delta = json!({"type": "text_delta", "text": chunk});
            lines.push(event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        }
        lines.push(event(json!({"type": "content_block_stop", "index": 0})));
        lines
    }

    #[test]
    fn ids_times_and_the_split_into_deltas_do_not_count_but_the_text_does() {
        let ids = ["01a1e1a2-952c-7360-8170-54fa7ec436a2", "99999999-952c-7360-8170-54fa7ec436a2"];
        let one = stream(&message(ids[0], &["Hello ", "you"]));
        assert!(one.sessions[0].events.iter().any(|event| event["data"]["delta"] == "Hello you"), "{one:?}");
        assert_eq!(one.difference(&stream(&message(ids[1], &["Hel", "lo y", "ou"]))), None);
        let difference = one.difference(&stream(&message(ids[1], &["Hello ", "me"])));
        assert!(difference.unwrap().contains("Hello me"));
    }

    #[test]
    fn the_delay_of_a_retry_does_not_count_but_its_number_does() {
        let one = stream(&[retry(509, 1), retry(1021, 2)]);
        assert_eq!(one.difference(&stream(&[retry(511, 1), retry(999, 2)])), None);
        assert!(one.difference(&stream(&[retry(511, 1), retry(999, 1)])).is_some());
    }

    #[test]
    fn the_order_of_events_counts() {
        let retries = |first: u64, second: u64| stream(&[retry(1, first), retry(1, second)]);
        assert!(retries(1, 2).difference(&retries(2, 1)).unwrap().starts_with("session 1, entry"));
    }
}
