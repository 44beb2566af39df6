//! The form of a recording: what two runs of the same scenario on the same version have in common.
//!
//! Besides ids and times, runs differ in how the agent cuts a text into deltas and in the order in which things that
//! have nothing to do with each other arrive: a rate limit and an item, the end of one command and that of another,
//! an HTTP answer and an event. So the form has lanes. What stands in one lane has an order that means something;
//! between lanes there is none.

use std::collections::{BTreeMap, HashMap};

use interlingua_convert::Agent;
use serde_json::{Value, json};

use crate::heard::{By, Heard};
use crate::redact;

/// How much of an entry is shown.
const SHOWN: usize = 600;

/// The lanes of a recording, each a list of what stands in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Form {
    lanes: BTreeMap<String, Vec<Value>>,
}

/// The form of what was heard.
pub(crate) fn of(agent: Agent, heard: &[Heard]) -> Form {
    let mut form = Form::default();
    let mut lanes = Lanes::default();
    for heard in heard {
        let Some(lane) = lanes.lane(agent, heard) else { continue };
        if heard.kind.starts_with("item/started") {
            // Items that run at the same time start in any order, but what kinds of them there are has one.
            form.add("started".to_owned(), &Heard { value: Value::Null, ..heard.clone() });
        }
        // OpenCode says what a message, a part or a session is when it gets round to saying it: a busy one tells of the
        // end where an idle one tells of the beginning, and may never tell a session's last figures.
        let state = ["message.updated", "message.part.updated", "session.updated"];
        if state.iter().any(|kind| heard.kind.starts_with(kind)) {
            if heard.kind != "session.updated" {
                form.put_last(format!("{lane} at last"), heard);
            }
            form.add(lane, &Heard { value: Value::Null, ..heard.clone() });
        } else {
            form.add(lane, heard);
        }
    }
    form
}

impl Form {
    /// Adds something to its lane. Deltas are joined, repetitions are left out.
    fn add(&mut self, lane: String, heard: &Heard) {
        let mut value = redact::value(&heard.value);
        let delta = take_delta(&mut value);
        let entry = json!({"kind": heard.kind, "value": value, "delta": delta});
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

    /// Makes something all that stands in its lane.
    fn put_last(&mut self, lane: String, heard: &Heard) {
        self.lanes.insert(lane, vec![redact::value(&heard.value)]);
    }

    /// The first difference to another form, as a person would want to see it.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let lanes = self.lanes.keys().chain(other.lanes.keys().filter(|lane| !self.lanes.contains_key(*lane)));
        for lane in lanes {
            let none = Vec::new();
            let (before, now) = (self.lanes.get(lane).unwrap_or(&none), other.lanes.get(lane).unwrap_or(&none));
            if let Some(difference) = self::difference(before, now) {
                return Some(format!("lane {lane}, {difference}"));
            }
        }
        None
    }
}

/// The first difference between two lists, and what stands there.
pub(crate) fn difference(before: &[Value], now: &[Value]) -> Option<String> {
    let at = before.iter().zip(now).position(|(before, now)| before != now);
    let at = at.or_else(|| (before.len() != now.len()).then_some(before.len().min(now.len())))?;
    let show = |list: &[Value]| list.get(at).map_or_else(|| "nothing".to_owned(), shortened);
    Some(format!("entry {at}:\n  before {}\n  now    {}", show(before), show(now)))
}

/// An entry, short enough to read.
fn shortened(entry: &Value) -> String {
    let text = entry.to_string();
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain("…".chars()).collect() }
}

/// Takes the piece of text out of a delta.
fn take_delta(value: &mut Value) -> Option<String> {
    let places = [
        "/params/delta",
        "/properties/delta",
        "/event/delta/text",
        "/event/delta/thinking",
        "/event/delta/partial_json",
    ];
    places.iter().find_map(|place| {
        let text = value.pointer_mut(place).filter(|text| text.is_string())?;
        text.take().as_str().map(str::to_owned)
    })
}

/// Gives out lanes. Sessions, items and parts have ids that differ; they are numbered as they come.
#[derive(Default)]
struct Lanes {
    numbers: HashMap<(&'static str, String), usize>,
    counts: HashMap<&'static str, usize>,
}

/// Whether it comes or does not come as it pleases.
pub(crate) fn is_chatter(kind: &str) -> bool {
    // Codex up to 0.98 says everything twice, and each of the two at its own pace.
    CHATTER.contains(&kind) || kind.starts_with("codex/event/")
}

/// Whether its place among the others means something.
pub(crate) fn has_a_place(kind: &str) -> bool {
    let answer = kind.starts_with("result of") || kind.starts_with(|letter: char| letter.is_ascii_digit());
    let aside = ASIDES.contains(&kind) || kind.starts_with("control_request") || kind == "session.created";
    !answer && !aside && !is_chatter(kind)
}

/// What an agent says of itself at any time. Each has a lane of its own.
const ASIDES: [&str; 28] = [
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

/// What comes or does not come as it pleases, and says nothing that is not said elsewhere.
const CHATTER: [&str; 9] = [
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

impl Lanes {
    fn lane(&mut self, agent: Agent, heard: &Heard) -> Option<String> {
        let kind = heard.kind.as_str();
        if is_chatter(kind) {
            return None;
        }
        if heard.by == By::Host {
            return Some("host".to_owned());
        }
        if heard.by == By::Process {
            return Some("process".to_owned());
        }
        let value = &heard.value;
        let whose = match agent {
            Agent::Codex => self.number("thread", value["params"]["threadId"].as_str()),
            Agent::Claude | Agent::Amp => self.number("call", value["parent_tool_use_id"].as_str()),
            Agent::OpenCode => self.number("session", value["properties"]["sessionID"].as_str()),
        };
        if kind.starts_with("control_request") {
            return Some("requests".to_owned());
        }
        if ASIDES.contains(&kind) {
            return Some(format!("{kind} {whose}"));
        }
        let thing = match agent {
            Agent::Codex if kind.starts_with("result of") || kind.starts_with("error to") => "answers".to_owned(),
            Agent::Codex if kind.starts_with("item/") => {
                let params = &value["params"];
                let id = [&params["itemId"], &params["item"]["id"]].into_iter().find_map(Value::as_str);
                let item = self.number("item", id);
                // A request has its place among the others; what happens to an item is the item's own affair.
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
        Some(format!("{whose} {thing}"))
    }

    /// A thing by its number among its like; nothing if it has no id.
    fn number(&mut self, what: &'static str, id: Option<&str>) -> String {
        let Some(id) = id else { return String::new() };
        if redact::text(id) == id {
            // The model gave it out: it is the same in every run.
            return id.to_owned();
        }
        let count = self.counts.entry(what).or_default();
        let number = self.numbers.entry((what, id.to_owned())).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{what} {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heard;

    fn form(lines: &[Value]) -> Form {
        let records = lines.iter().map(|line| json!({"t": 1, "dir": "recv", "line": line.to_string()}).to_string());
        let log: Vec<String> = std::iter::once(json!({"wirelog": 1}).to_string()).chain(records).collect();
        let log = log.join("\n") + "\n";
        of(Agent::Codex, &heard::read(Agent::Codex, log.as_bytes()).unwrap())
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
    fn how_a_text_is_cut_does_not_matter_but_the_text_does() {
        let one = form(&[delta("Hello "), delta("world")]);
        assert_eq!(one.difference(&form(&[delta("Hel"), delta("lo wor"), delta("ld")])), None);
        assert!(one.difference(&form(&[delta("Hello")])).is_some());
    }

    #[test]
    fn what_has_nothing_to_do_with_each_other_has_no_order() {
        let limit = json!({"method": "account/rateLimits/updated", "params": {}});
        let one = form(&[started("x"), started("y"), completed("x", "1"), limit.clone(), completed("y", "2")]);
        let other = form(&[started("x"), limit, started("y"), completed("y", "2"), completed("x", "1")]);
        assert_eq!(one.difference(&other), None);
    }

    #[test]
    fn what_is_only_said_once_more_does_not_count() {
        let again = json!({"method": "codex/event/item_started", "params": {"id": "0"}});
        let one = form(&[again.clone(), started("x"), completed("x", "1")]);
        assert_eq!(one.difference(&form(&[started("x"), completed("x", "1"), again])), None);
    }

    #[test]
    fn order_within_a_lane_counts() {
        let turn = |what: &str| json!({"method": format!("turn/{what}"), "params": {}});
        let difference =
            form(&[turn("started"), turn("completed")]).difference(&form(&[turn("completed"), turn("started")]));
        assert!(difference.unwrap().contains("entry 0"));
    }
}
