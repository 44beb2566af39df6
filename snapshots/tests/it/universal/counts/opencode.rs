//! Collects the content of recordings of OpenCode: events of the current form, of the older one and `session.next.*`,
//! and HTTP replies.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_wirelog::Input;
use serde_json::Value;

use super::{SessionContent, text};

/// The state after the inputs so far.
#[derive(Default)]
struct Collector {
    content: SessionContent,
    roles: BTreeMap<String, String>,
    parts: BTreeMap<String, Value>,
    calls: BTreeSet<String>,
    finished_calls: BTreeSet<String>,
    /// Sessions of sub-agents.
    children: BTreeSet<String>,
    /// Forked sessions. They repeat the messages of the original session until they get their first prompt.
    forks: BTreeSet<String>,
    /// Messages that summarise the conversation for the model (compaction).
    summaries: BTreeSet<String>,
    /// Sessions whose context is too long for the model. It is an error unless a summary follows.
    too_long: BTreeSet<String>,
    /// Path and body of each HTTP request, by the number of the call.
    requests: BTreeMap<u64, (String, Value)>,
}

pub(super) fn native_content(inputs: &[Input]) -> SessionContent {
    let mut collector = Collector { forks: forked_sessions(inputs), ..Collector::default() };
    for input in inputs {
        match input {
            Input::Received(line) => collector.receive_event(&serde_json::from_str(line).unwrap_or_default()),
            Input::Request { call, method, path, body } => {
                if method == "POST" && (path.ends_with("/message") || path.ends_with("/prompt_async")) {
                    collector.forks.retain(|fork| !path.contains(fork));
                }
                let body = body.as_ref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
                collector.requests.insert(*call, (path.clone(), body));
            }
            Input::Reply { call, status, body: Some(body) } => {
                collector.receive_reply(*call, *status, &serde_json::from_str(body).unwrap_or_default());
            }
            _ => {}
        }
    }
    collector.finish()
}

impl Collector {
    fn receive_event(&mut self, line: &Value) {
        let event = if line["payload"].is_object() { &line["payload"] } else { line };
        let properties = &event["properties"];
        let content = &mut self.content;
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
            "permission.asked" | "permission.updated" | "permission.v2.asked" => content.permissions += 1,
            "question.asked" | "question.v2.asked" => {
                content.questions += properties["questions"].as_array().map_or(0, Vec::len);
            }
            "session.error" if properties["error"]["name"] == "ContextOverflowError" => {
                self.too_long.insert(text(&properties["sessionID"]));
            }
            "session.error" => content.errors += usize::from(properties["error"]["name"] != "MessageAbortedError"),
            "session.next.step.failed" => {
                let message = text(&properties["error"]["message"]);
                content.errors += usize::from(!message.contains("interrupted"));
            }
            "session.next.text.ended" => content.texts.push(text(&properties["text"])),
            "session.next.reasoning.ended" => content.reasoning.push(text(&properties["text"])),
            "session.next.prompted" => content.user_messages.push(text(&properties["prompt"]["text"])),
            "session.next.tool.called" => {
                self.calls.insert(text(&properties["callID"]));
            }
            "session.next.tool.success" | "session.next.tool.failed" => {
                self.finished_calls.insert(text(&properties["callID"]));
            }
            _ => {}
        }
    }

    /// A refused request is an error, and so is a reply with a web page. If the event stream belongs to another folder,
    /// the agent's message is only in the reply.
    fn receive_reply(&mut self, call: u64, status: u16, body: &Value) {
        let is_page = body.as_str().is_some_and(|page| page.trim_start().to_lowercase().starts_with("<!doctype"));
        self.content.errors += usize::from((status >= 400 && !body.is_null()) || is_page);
        let id = text(&body["info"]["id"]);
        if body["info"]["role"] == "assistant" && !self.roles.contains_key(&id) {
            self.roles.insert(id, "assistant".to_owned());
            for part in body["parts"].as_array().into_iter().flatten() {
                self.parts.insert(text(&part["id"]), part.clone());
            }
            if let Some((_, request)) = self.requests.get(&call) {
                let parts = request["parts"].as_array().into_iter().flatten();
                self.content.user_messages.push(parts.map(|part| text(&part["text"])).collect());
            }
        }
    }

    fn finish(self) -> SessionContent {
        let Self { mut content, roles, parts, mut calls, mut finished_calls, children, summaries, too_long, .. } = self;
        content.errors += too_long.len();
        let mut users: BTreeMap<String, String> = BTreeMap::new();
        for part in parts.values().filter(|part| !summaries.contains(&text(&part["messageID"]))) {
            let role = roles.get(&text(&part["messageID"])).map(String::as_str);
            let is_synthetic = part["synthetic"] == Value::Bool(true);
            match (part["type"].as_str(), role) {
                (Some("text"), Some("assistant")) => content.texts.push(text(&part["text"])),
                (Some("reasoning"), _) => content.reasoning.push(text(&part["text"])),
                (Some("text"), Some("user")) if !is_synthetic && !children.contains(&text(&part["sessionID"])) => {
                    users.entry(text(&part["messageID"])).or_default().push_str(&text(&part["text"]));
                }
                (Some("tool"), _) => {
                    calls.insert(text(&part["callID"]));
                    finished_calls.insert(text(&part["callID"]));
                }
                _ => {}
            }
        }
        content.user_messages.extend(users.into_values());
        content.calls.extend(calls);
        content.results.extend(finished_calls);
        content
    }
}

fn forked_sessions(inputs: &[Input]) -> BTreeSet<String> {
    let mut fork_calls = BTreeSet::new();
    let mut forks = BTreeSet::new();
    for input in inputs {
        match input {
            Input::Request { call, path, .. } if path.contains("/fork") => {
                fork_calls.insert(*call);
            }
            Input::Reply { call, body: Some(body), .. } if fork_calls.contains(call) => {
                let body: Value = serde_json::from_str(body).unwrap_or_default();
                forks.insert(text(&body["id"]));
            }
            _ => {}
        }
    }
    forks
}
