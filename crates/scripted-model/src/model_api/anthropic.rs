//! Anthropic Messages.

use serde_json::{Value, json};

use super::{ModelResponse, string, write_pieces};
use crate::conversation::{Conversation, Entry, content_text};
use crate::offered_tool::OfferedTool;
use crate::reply::{Frame, Part, Piece, ToolCall, Usage, join_text, split_arguments, sse_event};
use crate::scenario::StopReason;

/// Signature of reasoning blocks. Agents pass it on without checking it.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

pub(super) fn parse_request(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = content_text(&body["system"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("user") => parse_user_message(content, &mut entries),
            Some("assistant") => {
                for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use") {
                    entries.push(Entry::ToolCall {
                        id: string(&block["id"]),
                        name: string(&block["name"]),
                        arguments: block["input"].to_string(),
                    });
                }
            }
            _ => {
                let text = content_text(content);
                instructions += &text;
                entries.push(Entry::System(text));
            }
        }
    }
    Conversation {
        session: string(&body["metadata"]["user_id"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools: OfferedTool::parse_list(&body["tools"]),
        is_streaming: body["stream"] == true,
        output_limit: body["max_tokens"].as_u64(),
    }
}

/// Parses a user message, which contains texts of the user and tool results.
fn parse_user_message(content: &Value, entries: &mut Vec<Entry>) {
    let Some(blocks) = content.as_array() else {
        entries.push(Entry::User(content_text(content)));
        return;
    };
    let mut texts = Vec::new();
    for block in blocks {
        if block["type"] == "tool_result" {
            entries
                .push(Entry::ToolResult { id: string(&block["tool_use_id"]), text: content_text(&block["content"]) });
        } else {
            texts.push(content_text(block));
        }
    }
    if !texts.is_empty() {
        entries.push(Entry::User(texts.join("\n")));
    }
}

/// A stream that is being encoded.
struct Stream {
    frames: Vec<Frame>,
    /// Index of the next content block.
    index: usize,
}

pub(super) fn encode_stream(response: &ModelResponse<'_>) -> Vec<Frame> {
    let mut stream = Stream { frames: Vec::new(), index: 0 };
    stream.write_event(&json!({"type": "message_start", "message": message(response, &json!([]), &Value::Null, 1)}));
    let mut stop = if response.has_tool_calls() { "tool_use" } else { "end_turn" };
    for part in response.parts {
        let is_ended = match part {
            Part::Text(pieces) => stream.write_text(pieces),
            Part::Reasoning(pieces) => stream.write_reasoning(pieces),
            Part::ToolCall(call) => stream.write_tool_call(call),
            Part::Wait(wait) => stream.write_pieces(&[Piece::Wait(wait.clone())], |_| Value::Null),
            Part::Failure(failure) => stream.write_pieces(&[Piece::Failure(failure.clone())], |_| Value::Null),
            Part::Stop(reason) => {
                stop = stop_reason(*reason);
                false
            }
        };
        if is_ended {
            return stream.frames;
        }
    }
    stream.write_event(&json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null, "container": null, "stop_details": null},
        "usage": usage(response.usage(), response.usage().output),
        "context_management": null,
    }));
    stream.write_event(&json!({"type": "message_stop"}));
    stream.frames
}

impl Stream {
    fn write_event(&mut self, data: &Value) {
        self.frames.push(sse_event(data["type"].as_str(), data));
    }

    fn write_text(&mut self, pieces: &[Piece]) -> bool {
        self.start_block(&json!({"type": "text", "text": "", "citations": null}));
        self.write_pieces(pieces, |text| json!({"type": "text_delta", "text": text})) || self.end_block()
    }

    fn write_reasoning(&mut self, pieces: &[Piece]) -> bool {
        self.start_block(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        if self
            .write_pieces(pieces, |text| json!({"type": "thinking_delta", "thinking": text, "estimated_tokens": null}))
        {
            return true;
        }
        self.write_delta(&json!({"type": "signature_delta", "signature": SIGNATURE}));
        self.end_block()
    }

    fn write_tool_call(&mut self, call: &ToolCall) -> bool {
        self.start_block(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}));
        for chunk in split_arguments(call.input.text()) {
            self.write_delta(&json!({"type": "input_json_delta", "partial_json": chunk}));
        }
        self.end_block()
    }

    /// Writes pieces of text or reasoning. Returns whether the text fails.
    fn write_pieces(&mut self, pieces: &[Piece], delta: impl Fn(&str) -> Value) -> bool {
        write_pieces(
            self,
            pieces,
            |stream| &mut stream.frames,
            |stream, text| stream.write_delta(&delta(text)),
            |stream, message| stream.write_event(&error_body("overloaded_error", message)),
        )
    }

    fn start_block(&mut self, block: &Value) {
        self.write_event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}));
    }

    fn write_delta(&mut self, delta: &Value) {
        self.write_event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}));
    }

    /// Ends a block. Returns `false`, because the part did not fail.
    fn end_block(&mut self) -> bool {
        self.write_event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        false
    }
}

pub(super) fn encode_body(response: &ModelResponse<'_>) -> Value {
    let mut stop = if response.has_tool_calls() { "tool_use" } else { "end_turn" };
    let mut content = Vec::new();
    for part in response.parts {
        match part {
            Part::Text(pieces) => content.push(json!({"type": "text", "text": join_text(pieces), "citations": null})),
            Part::Reasoning(pieces) => {
                content.push(json!({"type": "thinking", "thinking": join_text(pieces), "signature": SIGNATURE}));
            }
            Part::ToolCall(call) => content.push(json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": tool_input(call),
            })),
            Part::Stop(reason) => stop = stop_reason(*reason),
            Part::Wait(_) | Part::Failure(_) => {}
        }
    }
    message(response, &json!(content), &json!(stop), response.usage().output)
}

/// The body of an error: of an HTTP error, or of an error event in the stream.
pub(super) fn error_body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn message(response: &ModelResponse<'_>, content: &Value, stop: &Value, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", response.id), "type": "message", "role": "assistant", "model": response.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(response.usage(), output),
        "container": null, "context_management": null, "diagnostics": null, "stop_details": null,
    })
}

/// Token usage with every field that the vendor declares, so that the agent can pass all of them on.
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

/// The arguments of a tool call as JSON; an empty object if they are not JSON.
fn tool_input(call: &ToolCall) -> Value {
    serde_json::from_str(call.input.text()).unwrap_or_else(|_| json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed() {
        let conversation = parse_request(&json!({
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
                Entry::ToolCall { id: "toolu_t1_0_0".to_owned(), name: "Bash".to_owned(), arguments: "{}".to_owned() },
                Entry::ToolResult { id: "toolu_t1_0_0".to_owned(), text: "out".to_owned() },
                Entry::User("More".to_owned()),
            ]
        );
        assert_eq!((conversation.instructions.as_str(), conversation.output_limit), ("Be good", Some(9)));
    }
}
