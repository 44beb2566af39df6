//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Answer, speak, string};
use crate::conversation::{Conversation, Entry, text_of};
use crate::offered::Offered;
use crate::reply::{Frame, Part, Piece, ToolUse, Usage, argument_pieces, event, text};
use crate::scenario::StopReason;

/// Thoughts are signed; nobody here checks.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

pub(super) fn read(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = text_of(&body["system"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("user") => read_user(content, &mut entries),
            Some("assistant") => {
                for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
                    entries.push(Entry::Called {
                        id: string(&block["id"]),
                        name: string(&block["name"]),
                        arguments: block["input"].to_string(),
                    });
                }
            }
            _ => {
                let text = text_of(content);
                instructions += &text;
                entries.push(Entry::Told(text));
            }
        }
    }
    Conversation {
        session: string(&body["metadata"]["user_id"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools: Offered::list(&body["tools"]),
        stream: body["stream"] == true,
        output_limit: body["max_tokens"].as_u64(),
    }
}

/// A user's message holds what the user said and what came of tool calls.
fn read_user(content: &Value, entries: &mut Vec<Entry>) {
    let Some(blocks) = content.as_array() else {
        entries.push(Entry::User(text_of(content)));
        return;
    };
    let mut said = Vec::new();
    for block in blocks {
        if block["type"] == "tool_result" {
            entries.push(Entry::Output { id: string(&block["tool_use_id"]), text: text_of(&block["content"]) });
        } else {
            said.push(text_of(block));
        }
    }
    if !said.is_empty() {
        entries.push(Entry::User(said.join("\n")));
    }
}

/// The stream so far.
struct Stream {
    frames: Vec<Frame>,
    /// The number of the next block.
    index: usize,
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Frame> {
    let mut stream = Stream { frames: Vec::new(), index: 0 };
    stream.event(&json!({"type": "message_start", "message": message(answer, &json!([]), &Value::Null, 1)}));
    let mut stop = if answer.calls() { "tool_use" } else { "end_turn" };
    for part in answer.parts {
        let broken = match part {
            Part::Say(pieces) => stream.say(pieces),
            Part::Think(pieces) => stream.think(pieces),
            Part::Call(call) => stream.call(call),
            Part::Wait(wait) => stream.speech(&[Piece::Wait(wait.clone())], |_| Value::Null),
            Part::Break(broken) => stream.speech(&[Piece::Break(broken.clone())], |_| Value::Null),
            Part::Stop(reason) => {
                stop = stop_reason(*reason);
                false
            }
        };
        if broken {
            return stream.frames;
        }
    }
    stream.event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null, "container": null, "stop_details": null},
        "usage": usage(answer.usage(), answer.usage().output),
        "context_management": null,
    }));
    stream.event(&json!({"type": "message_stop"}));
    stream.frames
}

impl Stream {
    fn event(&mut self, data: &Value) {
        self.frames.push(event(data["type"].as_str(), data));
    }

    fn say(&mut self, pieces: &[Piece]) -> bool {
        self.begin(&json!({"type": "text", "text": "", "citations": null}));
        self.speech(pieces, |text| json!({"type": "text_delta", "text": text})) || self.end()
    }

    fn think(&mut self, pieces: &[Piece]) -> bool {
        self.begin(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        if self.speech(pieces, |text| json!({"type": "thinking_delta", "thinking": text, "estimated_tokens": null})) {
            return true;
        }
        self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
        self.end()
    }

    fn call(&mut self, call: &ToolUse) -> bool {
        self.begin(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}));
        for piece in argument_pieces(call.input.text()) {
            self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.end()
    }

    /// Words or thoughts; says whether they broke off.
    fn speech(&mut self, pieces: &[Piece], delta: impl Fn(&str) -> Value) -> bool {
        speak(
            self,
            pieces,
            |stream| &mut stream.frames,
            |stream, text| stream.delta(&delta(text)),
            |stream, message| stream.event(&error("overloaded_error", message)),
        )
    }

    fn begin(&mut self, block: &Value) {
        self.event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}));
    }

    fn delta(&mut self, delta: &Value) {
        self.event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
    }

    /// Ends a block, which by that did not break off.
    fn end(&mut self) -> bool {
        self.event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        false
    }
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut stop = if answer.calls() { "tool_use" } else { "end_turn" };
    let mut content = Vec::new();
    for part in answer.parts {
        match part {
            Part::Say(pieces) => content.push(json!({"type": "text", "text": text(pieces), "citations": null})),
            Part::Think(pieces) => {
                content.push(json!({"type": "thinking", "thinking": text(pieces), "signature": SIGNATURE}));
            }
            Part::Call(call) => content.push(json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": input(call),
            })),
            Part::Stop(reason) => stop = stop_reason(*reason),
            Part::Wait(_) | Part::Break(_) => {}
        }
    }
    message(answer, &json!(content), &json!(stop), answer.usage().output)
}

/// The body of an error, in the stream or instead of it.
pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn message(answer: &Answer<'_>, content: &Value, stop: &Value, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(answer.usage(), output),
        "container": null, "context_management": null, "diagnostics": null, "stop_details": null,
    })
}

/// Every field that the vendor declares, so that the agent has them all to pass on.
fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": usage.cached,
        "output_tokens": output, "service_tier": "standard",
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "fallback_credit": null, "inference_geo": null, "iterations": null, "output_tokens_details": null,
        "server_tool_use": null, "speed": null,
    })
}

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Length => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}

/// The arguments as a value, as far as they are one.
fn input(call: &ToolUse) -> Value {
    serde_json::from_str(call.input.text()).unwrap_or_else(|_| json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let conversation = read(&json!({
            "model": "m", "stream": true, "max_tokens": 9, "system": [{"type": "text", "text": "Be good"}],
            "metadata": {"user_id": "u"}, "tools": [{"name": "Bash", "input_schema": {}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "<reminder/>"}, {"type": "text", "text": "Hello"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_t1_0_0", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_t1_0_0", "content": [{"type": "text", "text": "out"}]}]},
                {"role": "user", "content": "More"},
            ],
        }));
        assert_eq!(
            conversation.entries,
            [
                Entry::User("<reminder/>\nHello".to_owned()),
                Entry::Called { id: "toolu_t1_0_0".to_owned(), name: "Bash".to_owned(), arguments: "{}".to_owned() },
                Entry::Output { id: "toolu_t1_0_0".to_owned(), text: "out".to_owned() },
                Entry::User("More".to_owned()),
            ]
        );
        assert_eq!((conversation.instructions.as_str(), conversation.output_limit), ("Be good", Some(9)));
    }
}
