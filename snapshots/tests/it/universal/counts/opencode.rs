//! What OpenCode says, in events of the current form, the older one and `session.next.*`, and in its HTTP replies.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_snapshots::Line;
use interlingua_wirelog::Input;
use serde_json::Value;

use super::{Said, text};

/// What is known after the last event.
#[derive(Default)]
struct Log {
    said: Said,
    roles: BTreeMap<String, String>,
    parts: BTreeMap<String, Value>,
    calls: BTreeSet<String>,
    ended: BTreeSet<String>,
    /// The sessions of sub-agents.
    children: BTreeSet<String>,
    /// Sessions that repeat another one's past, until they get a prompt of their own.
    forks: BTreeSet<String>,
    /// Messages that sum up what was said, for the model to go on from.
    summaries: BTreeSet<String>,
    /// Sessions that are too long for the model; whether that is an error, shows what follows.
    too_long: BTreeSet<String>,
    /// What was asked for, by the number of the call.
    requests: BTreeMap<u64, (String, Value)>,
}

pub(super) fn said(lines: &[Line], _: &[String]) -> Said {
    let mut log = Log { forks: forks(lines), ..Log::default() };
    for line in lines {
        match line {
            Input::Received(line) => log.event(&serde_json::from_str(line).unwrap_or_default()),
            Input::Request { call, method, path, body } => {
                if method == "POST" && (path.ends_with("/message") || path.ends_with("/prompt_async")) {
                    log.forks.retain(|fork| !path.contains(fork));
                }
                let body = body.as_ref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
                log.requests.insert(*call, (path.clone(), body));
            }
            Input::Reply { call, status, body: Some(body) } => {
                log.reply(*call, *status, &serde_json::from_str(body).unwrap_or_default());
            }
            _ => {}
        }
    }
    log.sum()
}

impl Log {
    fn event(&mut self, line: &Value) {
        let event = if line["payload"].is_object() { &line["payload"] } else { line };
        let properties = &event["properties"];
        let said = &mut self.said;
        match event["type"].as_str().unwrap_or_default() {
            "session.created" if properties["info"]["parentID"].is_string() => {
                self.children.insert(text(&properties["info"]["id"]));
            }
            "message.updated" => {
                let info = &properties["info"];
                self.roles.insert(text(&info["id"]), text(&info["role"]));
                if info["role"] == "assistant" && info["summary"] == Value::Bool(true) {
                    self.summaries.insert(text(&info["id"]));
                    self.too_long.remove(&text(&info["sessionID"]));
                }
            }
            "message.part.updated" => {
                let part = &properties["part"];
                if !self.forks.contains(&text(&part["sessionID"])) {
                    self.parts.insert(text(&part["id"]), part.clone());
                }
            }
            "permission.asked" | "permission.updated" | "permission.v2.asked" => said.permissions += 1,
            "question.asked" | "question.v2.asked" => {
                said.questions += properties["questions"].as_array().map_or(0, Vec::len);
            }
            "session.error" if properties["error"]["name"] == "ContextOverflowError" => {
                self.too_long.insert(text(&properties["sessionID"]));
            }
            "session.error" => said.errors += usize::from(properties["error"]["name"] != "MessageAbortedError"),
            "session.next.step.failed" => {
                let words = text(&properties["error"]["message"]);
                said.errors += usize::from(!words.contains("interrupted"));
            }
            "session.next.text.ended" => said.texts.push(text(&properties["text"])),
            "session.next.reasoning.ended" => said.reasoning.push(text(&properties["text"])),
            "session.next.prompted" => said.users.push(text(&properties["prompt"]["text"])),
            "session.next.tool.called" => {
                self.calls.insert(text(&properties["callID"]));
            }
            "session.next.tool.success" | "session.next.tool.failed" => {
                self.ended.insert(text(&properties["callID"]));
            }
            _ => {}
        }
    }

    /// A request that is refused is an error, and so is a web page. An answer may come here alone, where the events
    /// are another folder's.
    fn reply(&mut self, call: u64, status: u16, body: &Value) {
        let is_page = body.as_str().is_some_and(|page| page.trim_start().to_lowercase().starts_with("<!doctype"));
        self.said.errors += usize::from((status >= 400 && !body.is_null()) || is_page);
        let id = text(&body["info"]["id"]);
        if body["info"]["role"] == "assistant" && !self.roles.contains_key(&id) {
            self.roles.insert(id, "assistant".to_owned());
            for part in body["parts"].as_array().into_iter().flatten() {
                self.parts.insert(text(&part["id"]), part.clone());
            }
            if let Some((_, request)) = self.requests.get(&call) {
                let parts = request["parts"].as_array().into_iter().flatten();
                self.said.users.push(parts.map(|part| text(&part["text"])).collect());
            }
        }
    }

    fn sum(self) -> Said {
        let Self { mut said, roles, parts, mut calls, mut ended, children, summaries, too_long, .. } = self;
        said.errors += too_long.len();
        let mut users: BTreeMap<String, String> = BTreeMap::new();
        for part in parts.values().filter(|part| !summaries.contains(&text(&part["messageID"]))) {
            let role = roles.get(&text(&part["messageID"])).map(String::as_str);
            let is_synthetic = part["synthetic"] == Value::Bool(true);
            match (part["type"].as_str(), role) {
                (Some("text"), Some("assistant")) => said.texts.push(text(&part["text"])),
                (Some("reasoning"), _) => said.reasoning.push(text(&part["text"])),
                (Some("text"), Some("user")) if !is_synthetic && !children.contains(&text(&part["sessionID"])) => {
                    users.entry(text(&part["messageID"])).or_default().push_str(&text(&part["text"]));
                }
                (Some("tool"), _) => {
                    calls.insert(text(&part["callID"]));
                    ended.insert(text(&part["callID"]));
                }
                _ => {}
            }
        }
        said.users.extend(users.into_values());
        said.calls.extend(calls);
        said.results.extend(ended);
        said
    }
}

fn forks(lines: &[Line]) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    let mut forks = BTreeSet::new();
    for line in lines {
        match line {
            Input::Request { call, path, .. } if path.contains("/fork") => {
                asked.insert(*call);
            }
            Input::Reply { call, body: Some(body), .. } if asked.contains(call) => {
                let body: Value = serde_json::from_str(body).unwrap_or_default();
                forks.insert(text(&body["id"]));
            }
            _ => {}
        }
    }
    forks
}
