//! Collects the content of recordings of ACP agents.

use std::collections::BTreeSet;

use interlingua_wirelog::Input;
use serde_json::Value;

use super::{SessionContent, text};

/// Collects the content line by line, because a message ends where something else comes.
#[derive(Default)]
struct Collector {
    content: SessionContent,
    /// Kind, id and text of the message that is streaming.
    message: Option<(String, Value, String)>,
    calls: Vec<String>,
    /// Sessions that the agent knows.
    sessions: BTreeSet<String>,
}

pub(super) fn native_content(inputs: &[Input]) -> SessionContent {
    let mut collector = Collector::default();
    for input in inputs {
        match input {
            Input::Sent(line) => collector.observe_sent(&serde_json::from_str(line).unwrap_or_default()),
            Input::Received(line) => collector.observe_received(&serde_json::from_str(line).unwrap_or_default()),
            _ => {}
        }
    }
    collector.finish()
}

impl Collector {
    fn observe_sent(&mut self, line: &Value) {
        if line["method"] == "session/resume" {
            self.sessions.insert(text(&line["params"]["sessionId"]));
        }
        let is_known = self.sessions.contains(&text(&line["params"]["sessionId"]));
        if line["method"] == "session/prompt" && is_known {
            self.end_message();
            let blocks = line["params"]["prompt"].as_array().into_iter().flatten();
            self.content.user_messages.push(blocks.map(|block| text(&block["text"])).collect());
        }
    }

    fn observe_received(&mut self, line: &Value) {
        let params = &line["params"];
        match line["method"].as_str() {
            Some("session/update") => {
                self.sessions.insert(text(&params["sessionId"]));
                self.observe_update(&params["update"]);
            }
            Some("session/request_permission") => {
                self.end_message();
                // Some agents ask questions, or whether a plan is approved, with a permission request.
                let input = &params["toolCall"]["rawInput"];
                match input["questions"].as_array() {
                    Some(questions) => self.content.questions += questions.len(),
                    None if input["plan"].is_string() => self.content.questions += 1,
                    None => self.content.permissions += 1,
                }
                let call = text(&params["toolCall"]["toolCallId"]);
                self.add_call(&call);
            }
            Some("elicitation/create") => {
                let fields = params["requestedSchema"]["properties"].as_object();
                // A field for own words belongs to the question before it.
                let is_own_words = |name: &str| {
                    let question = name.strip_suffix("_custom");
                    question.is_some_and(|question| fields.is_some_and(|fields| fields.contains_key(question)))
                };
                let questions = fields.map_or(1, |fields| fields.keys().filter(|name| !is_own_words(name)).count());
                self.content.questions += questions.max(1);
            }
            Some(_) => {}
            None => {
                self.end_message();
                if let Some(session) = line["result"]["sessionId"].as_str() {
                    self.sessions.insert(session.to_owned());
                }
                self.content.errors += usize::from(line["error"].is_object());
            }
        }
    }

    fn observe_update(&mut self, update: &Value) {
        let kind = text(&update["sessionUpdate"]);
        match kind.as_str() {
            "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk" => {
                let chunk = text(&update["content"]["text"]);
                if chunk.is_empty() {
                    return;
                }
                let id = update["messageId"].clone();
                if !matches!(&self.message, Some((other, other_id, _)) if *other == kind && *other_id == id) {
                    self.end_message();
                    self.message = Some((kind, id, String::new()));
                }
                if let Some((_, _, text)) = &mut self.message {
                    text.push_str(&chunk);
                }
            }
            "tool_call" | "tool_call_update" => {
                self.end_message();
                let call = text(&update["toolCallId"]);
                self.add_call(&call);
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &str) {
        if !self.calls.iter().any(|known| known == call) {
            self.calls.push(call.to_owned());
        }
    }

    fn end_message(&mut self) {
        let Some((kind, _, text)) = self.message.take() else { return };
        match kind.as_str() {
            "agent_message_chunk" => self.content.texts.push(text),
            "agent_thought_chunk" => self.content.reasoning.push(text),
            _ => self.content.user_messages.push(text),
        }
    }

    fn finish(mut self) -> SessionContent {
        self.end_message();
        // Every call gets a result: one that the agent never finishes is cut off with its turn.
        self.content.results.clone_from(&self.calls);
        self.content.calls = self.calls;
        self.content
    }
}
