//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{ModelResponse, string, write_pieces};
use crate::conversation::{Conversation, Entry, content_text};
use crate::offered_tool::OfferedTool;
use crate::reply::{Frame, Part, Piece, ToolCall, ToolInput, join_text, split_arguments, sse_event};
use crate::scenario::StopReason;

pub(super) fn parse_request(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = content_text(&body["instructions"]);
    let mut tools = OfferedTool::parse_list(&body["tools"]);
    if let Some(text) = body["input"].as_str() {
        entries.push(Entry::User(text.to_owned()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => entries.push(Entry::User(content_text(&item["content"]))),
            ("message", Some("developer" | "system")) => instructions += &content_text(&item["content"]),
            ("function_call" | "custom_tool_call", _) => {
                entries.push(Entry::ToolCall {
                    id: string(&item["call_id"]),
                    name: string(&item["name"]),
                    arguments: string(&item["arguments"]),
                });
            }
            ("function_call_output" | "custom_tool_call_output", _) => {
                entries.push(Entry::ToolResult { id: string(&item["call_id"]), text: content_text(&item["output"]) });
            }
            // Agents may also add tools in the middle of the conversation.
            ("additional_tools", _) => tools.extend(OfferedTool::parse_list(&item["tools"])),
            _ => {}
        }
    }
    Conversation {
        session: string(&body["prompt_cache_key"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools,
        is_streaming: body["stream"] == true,
        output_limit: body["max_output_tokens"].as_u64(),
    }
}

/// A stream that is being encoded.
struct Stream<'a> {
    response: &'a ModelResponse<'a>,
    frames: Vec<Frame>,
    /// Completed items.
    output: Vec<Value>,
    /// Number of events so far.
    sequence: u64,
}

pub(super) fn encode_stream(response: &ModelResponse<'_>) -> Vec<Frame> {
    let mut stream = Stream { response, frames: Vec::new(), output: Vec::new(), sequence: 0 };
    stream.write_event(json!({"type": "response.created", "response": response_object(response, "in_progress", &[])}));
    stream.write_event(
        json!({"type": "response.in_progress", "response": response_object(response, "in_progress", &[])}),
    );
    for part in response.parts {
        let is_ended = match part {
            Part::Text(pieces) => stream.write_text(pieces),
            Part::Reasoning(pieces) => stream.write_reasoning(pieces),
            Part::ToolCall(call) => stream.write_tool_call(call),
            Part::Wait(wait) => stream.write_pieces(&[Piece::Wait(wait.clone())], |_| Value::Null),
            Part::Failure(failure) => stream.write_pieces(&[Piece::Failure(failure.clone())], |_| Value::Null),
            Part::Stop(reason) => {
                let object = incomplete_object(response, *reason, &stream.output);
                stream.write_event(json!({"type": "response.incomplete", "response": object}));
                true
            }
        };
        if is_ended {
            return stream.frames;
        }
    }
    let completed = response_object(response, "completed", &stream.output);
    stream.write_event(json!({"type": "response.completed", "response": completed}));
    stream.frames
}

pub(super) fn encode_body(response: &ModelResponse<'_>) -> Value {
    let mut output = Vec::new();
    let mut stop = None;
    for part in response.parts {
        let id = item_id(response, output.len());
        match part {
            Part::Text(pieces) => output.push(message(&id, &join_text(pieces), "completed")),
            Part::Reasoning(pieces) => output.push(reasoning(&id, &join_text(pieces))),
            Part::ToolCall(call) => output.push(tool_call_item(&id, call, call.input.text(), "completed")),
            Part::Stop(reason) => stop = Some(*reason),
            Part::Wait(_) | Part::Failure(_) => {}
        }
    }
    match stop {
        Some(reason) => incomplete_object(response, reason, &output),
        None => response_object(response, "completed", &output),
    }
}

impl Stream<'_> {
    fn write_event(&mut self, mut data: Value) {
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.frames.push(sse_event(data["type"].as_str(), &data));
    }

    /// Writes pieces of text or reasoning. Returns whether the text fails.
    fn write_pieces(&mut self, pieces: &[Piece], delta: impl Fn(&str) -> Value) -> bool {
        write_pieces(
            self,
            pieces,
            |stream| &mut stream.frames,
            |stream, text| stream.write_event(delta(text)),
            |stream, message| {
                let mut failed = response_object(stream.response, "failed", &stream.output);
                failed["error"] = json!({"code": "server_error", "message": message});
                stream.write_event(json!({"type": "response.failed", "response": failed}));
            },
        )
    }

    fn start_item(&mut self, item: &Value) {
        self.write_event(
            json!({"type": "response.output_item.added", "output_index": self.output.len(), "item": item}),
        );
    }

    /// Ends an item. Returns `false`, because the part did not fail.
    fn end_item(&mut self, item: Value) -> bool {
        self.write_event(json!({"type": "response.output_item.done", "output_index": self.output.len(), "item": item}));
        self.output.push(item);
        false
    }

    /// Builds an event of the current item.
    fn item_event(&self, kind: &str, key: &str, value: Value) -> Value {
        let index = self.output.len();
        let mut event = json!({"type": kind, "item_id": item_id(self.response, index), "output_index": index});
        let index_key = if kind.contains("summary") { "summary_index" } else { "content_index" };
        if !kind.contains("call") {
            event[index_key] = json!(0);
        }
        event[key] = value;
        event
    }

    fn write_text(&mut self, pieces: &[Piece]) -> bool {
        let (id, full_text) = (item_id(self.response, self.output.len()), join_text(pieces));
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let mut started = message(&id, "", "in_progress");
        started["content"] = json!([]);
        self.start_item(&started);
        self.write_event(self.item_event("response.content_part.added", "part", part("")));
        let event = self.item_event("response.output_text.delta", "delta", Value::Null);
        if self.write_pieces(pieces, |text| with_delta(&event, text)) {
            return true;
        }
        self.write_event(self.item_event("response.output_text.done", "text", json!(full_text)));
        self.write_event(self.item_event("response.content_part.done", "part", part(&full_text)));
        self.end_item(message(&id, &full_text, "completed"))
    }

    fn write_reasoning(&mut self, pieces: &[Piece]) -> bool {
        let (id, full_text) = (item_id(self.response, self.output.len()), join_text(pieces));
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        let mut started = reasoning(&id, "");
        started["summary"] = json!([]);
        self.start_item(&started);
        self.write_event(self.item_event("response.reasoning_summary_part.added", "part", part("")));
        let event = self.item_event("response.reasoning_summary_text.delta", "delta", Value::Null);
        if self.write_pieces(pieces, |text| with_delta(&event, text)) {
            return true;
        }
        self.write_event(self.item_event("response.reasoning_summary_text.done", "text", json!(full_text)));
        self.write_event(self.item_event("response.reasoning_summary_part.done", "part", part(&full_text)));
        self.end_item(reasoning(&id, &full_text))
    }

    fn write_tool_call(&mut self, call: &ToolCall) -> bool {
        let id = item_id(self.response, self.output.len());
        let (kind, key) = match call.input {
            ToolInput::Json(_) => ("response.function_call_arguments", "arguments"),
            ToolInput::Text(_) => ("response.custom_tool_call_input", "input"),
        };
        self.start_item(&tool_call_item(&id, call, "", "in_progress"));
        for chunk in split_arguments(call.input.text()) {
            self.write_event(self.item_event(&format!("{kind}.delta"), "delta", json!(chunk)));
        }
        self.write_event(self.item_event(&format!("{kind}.done"), key, json!(call.input.text())));
        self.end_item(tool_call_item(&id, call, call.input.text(), "completed"))
    }
}

fn with_delta(event: &Value, text: &str) -> Value {
    let mut event = event.clone();
    event["delta"] = json!(text);
    event
}

fn item_id(response: &ModelResponse<'_>, index: usize) -> String {
    format!("item_{}_{index}", response.id)
}

fn message(id: &str, text: &str, status: &str) -> Value {
    json!({
        "type": "message", "id": id, "role": "assistant", "status": status,
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn reasoning(id: &str, text: &str) -> Value {
    json!({
        "type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "c2NyaXB0ZWQ=",
    })
}

fn tool_call_item(id: &str, call: &ToolCall, input: &str, status: &str) -> Value {
    let (kind, key) = match call.input {
        ToolInput::Json(_) => ("function_call", "arguments"),
        ToolInput::Text(_) => ("custom_tool_call", "input"),
    };
    let mut item = json!({"type": kind, "id": id, "call_id": call.id, "name": call.name, "status": status});
    item[key] = json!(input);
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn response_object(response: &ModelResponse<'_>, status: &str, output: &[Value]) -> Value {
    let usage = response.usage();
    let usage = json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    });
    json!({
        "id": format!("resp_{}", response.id), "object": "response", "created_at": 0, "status": status, "error": null,
        "incomplete_details": null, "model": response.model, "output": output,
        "usage": if status == "in_progress" { Value::Null } else { usage },
    })
}

fn incomplete_object(response: &ModelResponse<'_>, stop: StopReason, output: &[Value]) -> Value {
    let mut object = response_object(response, "incomplete", output);
    let reason = match stop {
        StopReason::Length => "max_output_tokens",
        StopReason::Refusal => "content_filter",
    };
    object["incomplete_details"] = json!({"reason": reason});
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed() {
        let conversation = parse_request(&json!({
            "model": "m", "stream": true, "prompt_cache_key": "s", "tools": [{"type": "function", "name": "exec_command"}],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be good"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
                {"type": "function_call", "call_id": "call_t1_0_0", "name": "exec_command", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_t1_0_0", "output": "out"},
                {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]},
            ],
        }));
        assert_eq!(
            conversation.entries,
            [
                Entry::User("Hello".to_owned()),
                Entry::ToolCall {
                    id: "call_t1_0_0".to_owned(),
                    name: "exec_command".to_owned(),
                    arguments: "{}".to_owned()
                },
                Entry::ToolResult { id: "call_t1_0_0".to_owned(), text: "out".to_owned() },
            ]
        );
        assert!(conversation.has_tool("exec") && conversation.is_streaming);
        assert_eq!(conversation.session, "s");
    }
}
