//! The normal form of a recording: what two runs of the same scenario on the same version have in common.
//!
//! Runs differ in ids and times, in how the agent splits a text into deltas, and in the order of messages that do not
//! depend on each other: a rate limit and an item, the end of one command and that of another, an HTTP reply and an
//! event. So the normal form has lanes: messages in one lane have a meaningful order, messages in different lanes have
//! none.

use std::collections::{BTreeMap, HashMap};

use interlingua_convert::Agent;
use serde_json::{Value, json};

use crate::redact::{redact_text, redact_value};
use crate::wire_messages::{Sender, WireMessage};

/// Maximum number of characters of an entry in a difference.
const MAX_SHOWN_CHARS: usize = 600;

/// The lanes of a recording, each a list of entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NormalForm {
    lanes: BTreeMap<String, Vec<Value>>,
}

impl NormalForm {
    /// Builds the normal form of messages.
    pub(crate) fn new(agent: Agent, messages: &[WireMessage]) -> Self {
        let mut form = Self::default();
        let mut lanes = LaneNames::default();
        for message in messages {
            let Some(lane) = lanes.lane(agent, message) else { continue };
            if message.kind.starts_with("item/started") {
                // Concurrent items start in any order, but the order of their kinds is fixed.
                form.push("started".to_owned(), &WireMessage { value: Value::Null, ..message.clone() });
            }
            // OpenCode reports the current state of a message, part or session whenever it gets to it. Under load it
            // reports the final state where it would report an earlier one, and may never report the last numbers of a
            // session.
            let state_kinds = ["message.updated", "message.part.updated", "session.updated"];
            if state_kinds.iter().any(|kind| message.kind.starts_with(kind)) {
                if message.kind != "session.updated" {
                    form.replace(format!("{lane} at last"), message);
                }
                form.push(lane, &WireMessage { value: Value::Null, ..message.clone() });
            } else {
                form.push(lane, message);
            }
        }
        form
    }

    /// Appends a message to a lane. Consecutive deltas are joined, repeated messages are left out.
    fn push(&mut self, lane: String, message: &WireMessage) {
        let mut value = redact_value(&message.value);
        let delta = take_delta(&mut value);
        let entry = json!({"kind": message.kind, "value": value, "delta": delta});
        let lane = self.lanes.entry(lane).or_default();
        match lane.last_mut() {
            Some(last) if last["kind"] == entry["kind"] && last["value"] == entry["value"] => {
                if let (Some(before), Some(more)) = (last["delta"].as_str(), entry["delta"].as_str()) {
                    last["delta"] = json!(format!("{before}{more}"));
                }
            }
            _ => lane.push(entry),
        }
    }

    /// Replaces the content of a lane by a message.
    fn replace(&mut self, lane: String, message: &WireMessage) {
        self.lanes.insert(lane, vec![redact_value(&message.value)]);
    }

    /// Renders the first difference to another form.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let lanes = self.lanes.keys().chain(other.lanes.keys().filter(|lane| !self.lanes.contains_key(*lane)));
        for lane in lanes {
            let none = Vec::new();
            let (before, now) = (self.lanes.get(lane).unwrap_or(&none), other.lanes.get(lane).unwrap_or(&none));
            if let Some(difference) = first_difference(before, now) {
                return Some(format!("lane {lane}, {difference}"));
            }
        }
        None
    }
}

/// Renders the first difference between two lists.
pub(crate) fn first_difference(before: &[Value], now: &[Value]) -> Option<String> {
    let at = before.iter().zip(now).position(|(before, now)| before != now);
    let at = at.or_else(|| (before.len() != now.len()).then_some(before.len().min(now.len())))?;
    let show = |list: &[Value]| list.get(at).map_or_else(|| "nothing".to_owned(), shorten);
    Some(format!("entry {at}:\n  before {}\n  now    {}", show(before), show(now)))
}

/// Renders an entry with a limited length.
fn shorten(entry: &Value) -> String {
    let text = entry.to_string();
    if text.chars().count() <= MAX_SHOWN_CHARS {
        text
    } else {
        text.chars().take(MAX_SHOWN_CHARS).chain("…".chars()).collect()
    }
}

/// Takes the text out of a delta.
fn take_delta(value: &mut Value) -> Option<String> {
    let pointers = [
        "/params/delta",
        "/properties/delta",
        "/event/delta/text",
        "/event/delta/thinking",
        "/event/delta/partial_json",
    ];
    pointers.iter().find_map(|pointer| {
        let text = value.pointer_mut(pointer).filter(|text| text.is_string())?;
        text.take().as_str().map(str::to_owned)
    })
}

/// Whether messages of this kind are ignored.
pub(crate) fn is_ignored(kind: &str) -> bool {
    // Codex up to 0.98 sends everything twice, and the two copies are not in step.
    IGNORED_KINDS.contains(&kind) || kind.starts_with("codex/event/")
}

/// Whether messages of this kind have a meaningful order among the others.
pub(crate) fn is_ordered(kind: &str) -> bool {
    let is_answer = kind.starts_with("result of") || kind.starts_with(|letter: char| letter.is_ascii_digit());
    let is_unordered =
        UNORDERED_KINDS.contains(&kind) || kind.starts_with("control_request") || kind == "session.created";
    !is_answer && !is_unordered && !is_ignored(kind)
}

/// Kinds that an agent may send at any time. Each has its own lane.
const UNORDERED_KINDS: [&str; 28] = [
    // Codex
    "remoteControl/status/changed",
    "configWarning",
    "warning",
    "deprecationNotice",
    "mcpServer/startupStatus/updated",
    "account/rateLimits/updated",
    "thread/tokenUsage/updated",
    "thread/status/changed",
    "thread/readState/changed",
    "thread/goal/cleared",
    "thread/settings/updated",
    "thread/started",
    "turn/diff/updated",
    // Claude Code
    "system/status",
    "system/thinking_tokens",
    "system/task_started",
    "system/task_progress",
    "system/task_updated",
    "system/task_notification",
    "system/background_tasks_changed",
    "control_response/success",
    // OpenCode
    "session.updated",
    "session.diff",
    "session.status busy",
    "message.updated user",
    "file.watcher.updated",
    "file.edited",
    "mcp.tools.changed",
];

/// Kinds that an agent may or may not send, and that contain nothing new.
const IGNORED_KINDS: [&str; 9] = [
    "serverRequest/resolved",
    "plugin.added",
    "catalog.updated",
    "reference.updated",
    "integration.updated",
    "item/commandExecution/outputDelta",
    "server.heartbeat",
    "message.part.updated tool running",
    "system/task_progress",
];

/// Names of the lanes. Sessions, items and parts are numbered in the order of their first messages, because their ids
/// differ between runs.
#[derive(Default)]
struct LaneNames {
    numbers: HashMap<(&'static str, String), usize>,
    counts: HashMap<&'static str, usize>,
}

impl LaneNames {
    /// The lane of a message; `None` if the message is ignored.
    fn lane(&mut self, agent: Agent, message: &WireMessage) -> Option<String> {
        let kind = message.kind.as_str();
        if is_ignored(kind) {
            return None;
        }
        if message.sender == Sender::Host {
            return Some("host".to_owned());
        }
        if message.sender == Sender::Process {
            return Some("process".to_owned());
        }
        let value = &message.value;
        let scope = match agent {
            Agent::Codex => self.number("thread", value["params"]["threadId"].as_str()),
            Agent::Claude | Agent::Amp => self.number("call", value["parent_tool_use_id"].as_str()),
            Agent::OpenCode => self.number("session", value["properties"]["sessionID"].as_str()),
            Agent::Acp => self.number("session", value["params"]["sessionId"].as_str()),
        };
        if kind.starts_with("control_request") {
            return Some("requests".to_owned());
        }
        if UNORDERED_KINDS.contains(&kind) {
            return Some(format!("{kind} {scope}"));
        }
        let subject = match agent {
            Agent::Codex if kind.starts_with("result of") || kind.starts_with("error to") => "answers".to_owned(),
            Agent::Codex if kind.starts_with("item/") => {
                let params = &value["params"];
                let id = [&params["itemId"], &params["item"]["id"]].into_iter().find_map(Value::as_str);
                let item = self.number("item", id);
                // A request has an order among the other messages of the thread; an item has its own lane.
                if value.get("id").is_some() { String::new() } else { item }
            }
            Agent::Claude | Agent::Amp if kind.starts_with("user") => {
                self.number("result", value["message"]["content"][0]["tool_use_id"].as_str())
            }
            Agent::OpenCode if kind.contains(" to ") => "answers".to_owned(),
            Agent::OpenCode if kind.starts_with("message.part") => {
                let properties = &value["properties"];
                let id = [&properties["partID"], &properties["part"]["id"]].into_iter().find_map(Value::as_str);
                self.number("part", id)
            }
            Agent::OpenCode if kind.starts_with("message.updated") => {
                self.number("message", value["properties"]["info"]["id"].as_str())
            }
            _ => String::new(),
        };
        Some(format!("{scope} {subject}"))
    }

    /// A name such as `item 2` for an id; empty if there is no id.
    fn number(&mut self, class: &'static str, id: Option<&str>) -> String {
        let Some(id) = id else { return String::new() };
        if redact_text(id) == id {
            // The scripted model chose it, so it is the same in every run.
            return id.to_owned();
        }
        let count = self.counts.entry(class).or_default();
        let number = self.numbers.entry((class, id.to_owned())).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{class} {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_messages;

    fn form(lines: &[Value]) -> NormalForm {
        let records = lines.iter().map(|line| json!({"t": 1, "dir": "recv", "line": line.to_string()}).to_string());
        let log: Vec<String> = std::iter::once(json!({"wirelog": 1}).to_string()).chain(records).collect();
        let log = log.join("\n") + "\n";
        NormalForm::new(Agent::Codex, &wire_messages::read(Agent::Codex, log.as_bytes()).unwrap())
    }

    fn delta(text: &str) -> Value {
        json!({"method": "item/agentMessage/delta", "params": {"itemId": "a", "delta": text}})
    }

    fn started(id: &str) -> Value {
        json!({"method": "item/started", "params": {"item": {"type": "commandExecution", "id": id}}})
    }

    fn completed(id: &str, output: &str) -> Value {
        json!({"method": "item/completed", "params": {"item": {"type": "commandExecution", "id": id, "out": output}}})
    }

    #[test]
    fn the_split_of_a_text_into_deltas_does_not_count_but_the_text_does() {
        let one = form(&[delta("Hello "), delta("world")]);
        assert_eq!(one.difference(&form(&[delta("Hel"), delta("lo wor"), delta("ld")])), None);
        assert!(one.difference(&form(&[delta("Hello")])).is_some());
    }

    #[test]
    fn independent_messages_have_no_order() {
        let limit = json!({"method": "account/rateLimits/updated", "params": {}});
        let one = form(&[started("x"), started("y"), completed("x", "1"), limit.clone(), completed("y", "2")]);
        let other = form(&[started("x"), limit, started("y"), completed("y", "2"), completed("x", "1")]);
        assert_eq!(one.difference(&other), None);
    }

    #[test]
    fn a_second_copy_of_an_event_does_not_count() {
        let copy = json!({"method": "codex/event/item_started", "params": {"id": "0"}});
        let one = form(&[copy.clone(), started("x"), completed("x", "1")]);
        assert_eq!(one.difference(&form(&[started("x"), completed("x", "1"), copy])), None);
    }

    #[test]
    fn order_within_a_lane_counts() {
        let turn = |state: &str| json!({"method": format!("turn/{state}"), "params": {}});
        let difference =
            form(&[turn("started"), turn("completed")]).difference(&form(&[turn("completed"), turn("started")]));
        assert!(difference.unwrap().contains("entry 0"));
    }
}
