//! The universal stream of a recording, without what is different in every run: the same twice, or it says where not.
//!
//! The form of a recording has lanes, because an agent says many things in any order. What a client reads has no lanes:
//! within a session every event has its place. So the streams of two runs are compared event by event.

use std::collections::HashMap;
use std::io;

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::{EventData, ItemKind, UniversalEvent};
use interlingua_wirelog::Reader;
use serde_json::{Value, json};

use crate::{form, redact};

/// The events that a recording becomes.
pub(crate) fn events(agent: Agent, recording: &[u8]) -> io::Result<Vec<UniversalEvent>> {
    let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut events = Vec::new();
    convert_log(&mut Reader::new(recording)?, &mut stream, |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

/// The events of each session, in the order in which the sessions begin; between sessions there is no order.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stream {
    sessions: Vec<Session>,
    numbers: HashMap<String, usize>,
}

#[derive(Debug, Default, PartialEq)]
struct Session {
    events: Vec<Value>,
    /// The number of each item.
    items: HashMap<String, usize>,
    /// Where the deltas of an item are joined.
    deltas: HashMap<String, usize>,
    /// The results of tools: what they stream need not add up, and comes as it pleases; their end tells all.
    results: Vec<String>,
}

impl Stream {
    /// The stream of a recording.
    pub(crate) fn of(agent: Agent, recording: &[u8]) -> io::Result<Self> {
        let mut stream = Self::default();
        for event in events(agent, recording)? {
            let next = stream.sessions.len();
            let number = *stream.numbers.entry(event.session_id.to_string()).or_insert(next);
            if number == next {
                stream.sessions.push(Session::default());
            }
            stream.sessions[number].add(&event);
        }
        // The ids differ in every run.
        stream.numbers.clear();
        Ok(stream)
    }

    /// The first difference to another stream, as a person would want to see it.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let (before, now) = (self.sessions.len(), other.sessions.len());
        if before != now {
            return Some(format!("{now} sessions instead of {before}"));
        }
        let pairs = self.sessions.iter().zip(&other.sessions).zip(1..);
        pairs.into_iter().find_map(|((before, now), number)| {
            let difference = form::difference(&before.events, &now.events)?;
            Some(format!("session {number}, {difference}"))
        })
    }
}

impl Session {
    fn add(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::ItemStarted(data) if data.item.kind == ItemKind::ToolResult => {
                self.results.push(data.item.item_id.to_string());
            }
            EventData::ItemDelta(data) => {
                let id = data.item_id.to_string();
                if self.results.contains(&id) {
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
        self.number(&mut event["data"]);
        without_delays(&mut event["data"]);
        let (source, kind, data) = (&event["source"], &event["type"], redact::value(&event["data"]));
        self.events.push(json!({"type": kind, "source": source, "data": data}));
    }

    /// Items are numbered as they come; ids are given out for all sessions of a recording.
    fn number(&mut self, value: &mut Value) {
        let item = if value["item"].is_object() { &mut value["item"] } else { value };
        for name in ["item_id", "parent_id"] {
            if let Some(id) = item[name].as_str().map(str::to_owned) {
                let next = self.items.len() + 1;
                item[name] = json!(format!("item {}", self.items.entry(id).or_insert(next)));
            }
        }
    }
}

/// Takes away the sentence of a retry, which says how long it waits. The data beside it says the rest.
fn without_delays(data: &mut Value) {
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

    /// A recording of Claude Code with these lines.
    fn stream(lines: &[Value]) -> Stream {
        let records = lines.iter().zip(1..);
        let records = records.map(|(line, t)| json!({"t": t, "dir": "recv", "line": line.to_string()}).to_string());
        let log: Vec<String> = std::iter::once(json!({"wirelog": 1}).to_string()).chain(records).collect();
        Stream::of(Agent::Claude, (log.join("\n") + "\n").as_bytes()).unwrap()
    }

    fn retry(delay: u64, attempt: u64) -> Value {
        json!({"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": 2, "retry_delay_ms": delay})
    }

    fn speech(id: &str, pieces: &[&str]) -> Vec<Value> {
        let event = |event: Value| json!({"type": "stream_event", "session_id": id, "event": event});
        let message = json!({"id": "msg_1", "role": "assistant", "content": [], "model": "m", "type": "message"});
        let mut lines = vec![
            json!({"type": "system", "subtype": "init", "session_id": id}),
            event(json!({"type": "message_start", "message": message})),
            event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        ];
        for piece in pieces {
            let delta = json!({"type": "text_delta", "text": piece});
            lines.push(event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        }
        lines.push(event(json!({"type": "content_block_stop", "index": 0})));
        lines
    }

    #[test]
    fn ids_times_and_how_a_text_is_cut_do_not_matter_but_the_text_does() {
        let ids = ["01a1e1a2-952c-7360-8170-54fa7ec436a2", "99999999-952c-7360-8170-54fa7ec436a2"];
        let one = stream(&speech(ids[0], &["Hello ", "you"]));
        assert!(one.sessions[0].events.iter().any(|event| event["data"]["delta"] == "Hello you"), "{one:?}");
        assert_eq!(one.difference(&stream(&speech(ids[1], &["Hel", "lo y", "ou"]))), None);
        let difference = one.difference(&stream(&speech(ids[1], &["Hello ", "me"])));
        assert!(difference.unwrap().contains("Hello me"));
    }

    #[test]
    fn how_long_a_retry_waits_does_not_matter_but_which_it_is_does() {
        let one = stream(&[retry(509, 1), retry(1021, 2)]);
        assert_eq!(one.difference(&stream(&[retry(511, 1), retry(999, 2)])), None);
        assert!(one.difference(&stream(&[retry(511, 1), retry(999, 1)])).is_some());
    }

    #[test]
    fn the_order_of_events_counts() {
        let notes = |first: u64, second: u64| stream(&[retry(1, first), retry(1, second)]);
        assert!(notes(1, 2).difference(&notes(2, 1)).unwrap().starts_with("session 1, entry"));
    }
}
