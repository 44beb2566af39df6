//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{Answer, speak, string};
use crate::conversation::{Conversation, Entry, text_of};
use crate::offered::Offered;
use crate::reply::{Frame, Input, Part, Piece, ToolUse, argument_pieces, event, text};
use crate::scenario::StopReason;

pub(super) fn read(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = text_of(&body["instructions"]);
    let mut tools = Offered::list(&body["tools"]);
    if let Some(text) = body["input"].as_str() {
        entries.push(Entry::User(text.to_owned()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => entries.push(Entry::User(text_of(&item["content"]))),
            ("message", Some("developer" | "system")) => instructions += &text_of(&item["content"]),
            ("function_call" | "custom_tool_call", _) => {
                entries.push(Entry::Called {
                    id: string(&item["call_id"]),
                    name: string(&item["name"]),
                    arguments: string(&item["arguments"]),
                });
            }
            ("function_call_output" | "custom_tool_call_output", _) => {
                entries.push(Entry::Output { id: string(&item["call_id"]), text: text_of(&item["output"]) });
            }
            // Tools may also come in the middle of the conversation.
            ("additional_tools", _) => tools.extend(Offered::list(&item["tools"])),
            _ => {}
        }
    }
    Conversation {
        session: string(&body["prompt_cache_key"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools,
        stream: body["stream"] == true,
        output_limit: body["max_output_tokens"].as_u64(),
    }
}

/// The stream so far.
struct Stream<'a> {
    answer: &'a Answer<'a>,
    frames: Vec<Frame>,
    /// The items that are whole.
    output: Vec<Value>,
    /// How many events were sent.
    sequence: u64,
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Frame> {
    let mut stream = Stream { answer, frames: Vec::new(), output: Vec::new(), sequence: 0 };
    stream.event(json!({"type": "response.created", "response": response(answer, "in_progress", &[])}));
    stream.event(json!({"type": "response.in_progress", "response": response(answer, "in_progress", &[])}));
    for part in answer.parts {
        let broken = match part {
            Part::Say(pieces) => stream.say(pieces),
            Part::Think(pieces) => stream.think(pieces),
            Part::Call(call) => stream.call(call),
            Part::Wait(wait) => stream.speech(&[Piece::Wait(wait.clone())], |_| Value::Null),
            Part::Break(broken) => stream.speech(&[Piece::Break(broken.clone())], |_| Value::Null),
            Part::Stop(reason) => {
                let response = incomplete(answer, *reason, &stream.output);
                stream.event(json!({"type": "response.incomplete", "response": response}));
                true
            }
        };
        if broken {
            return stream.frames;
        }
    }
    let completed = response(answer, "completed", &stream.output);
    stream.event(json!({"type": "response.completed", "response": completed}));
    stream.frames
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut output = Vec::new();
    let mut stop = None;
    for part in answer.parts {
        let id = item_id(answer, output.len());
        match part {
            Part::Say(pieces) => output.push(message(&id, &text(pieces), "completed")),
            Part::Think(pieces) => output.push(reasoning(&id, &text(pieces))),
            Part::Call(call) => output.push(call_item(&id, call, call.input.text(), "completed")),
            Part::Stop(reason) => stop = Some(*reason),
            Part::Wait(_) | Part::Break(_) => {}
        }
    }
    match stop {
        Some(reason) => incomplete(answer, reason, &output),
        None => response(answer, "completed", &output),
    }
}

impl Stream<'_> {
    fn event(&mut self, mut data: Value) {
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.frames.push(event(data["type"].as_str(), &data));
    }

    /// Words or thoughts; says whether they broke off.
    fn speech(&mut self, pieces: &[Piece], delta: impl Fn(&str) -> Value) -> bool {
        speak(
            self,
            pieces,
            |stream| &mut stream.frames,
            |stream, text| stream.event(delta(text)),
            |stream, message| {
                let mut failed = response(stream.answer, "failed", &stream.output);
                failed["error"] = json!({"code": "server_error", "message": message});
                stream.event(json!({"type": "response.failed", "response": failed}));
            },
        )
    }

    fn begin(&mut self, item: &Value) {
        self.event(json!({"type": "response.output_item.added", "output_index": self.output.len(), "item": item}));
    }

    /// Ends an item, which by that did not break off.
    fn end(&mut self, item: Value) -> bool {
        self.event(json!({"type": "response.output_item.done", "output_index": self.output.len(), "item": item}));
        self.output.push(item);
        false
    }

    /// An event about the item at hand.
    fn about(&self, kind: &str, key: &str, value: Value) -> Value {
        let index = self.output.len();
        let mut event = json!({"type": kind, "item_id": item_id(self.answer, index), "output_index": index});
        let place = if kind.contains("summary") { "summary_index" } else { "content_index" };
        if !kind.contains("call") {
            event[place] = json!(0);
        }
        event[key] = value;
        event
    }

    fn say(&mut self, pieces: &[Piece]) -> bool {
        let (id, said) = (item_id(self.answer, self.output.len()), text(pieces));
        let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
        let mut started = message(&id, "", "in_progress");
        started["content"] = json!([]);
        self.begin(&started);
        self.event(self.about("response.content_part.added", "part", part("")));
        let about = self.about("response.output_text.delta", "delta", Value::Null);
        if self.speech(pieces, |text| with_delta(&about, text)) {
            return true;
        }
        self.event(self.about("response.output_text.done", "text", json!(said)));
        self.event(self.about("response.content_part.done", "part", part(&said)));
        self.end(message(&id, &said, "completed"))
    }

    fn think(&mut self, pieces: &[Piece]) -> bool {
        let (id, thought) = (item_id(self.answer, self.output.len()), text(pieces));
        let part = |text: &str| json!({"type": "summary_text", "text": text});
        let mut started = reasoning(&id, "");
        started["summary"] = json!([]);
        self.begin(&started);
        self.event(self.about("response.reasoning_summary_part.added", "part", part("")));
        let about = self.about("response.reasoning_summary_text.delta", "delta", Value::Null);
        if self.speech(pieces, |text| with_delta(&about, text)) {
            return true;
        }
        self.event(self.about("response.reasoning_summary_text.done", "text", json!(thought)));
        self.event(self.about("response.reasoning_summary_part.done", "part", part(&thought)));
        self.end(reasoning(&id, &thought))
    }

    fn call(&mut self, call: &ToolUse) -> bool {
        let id = item_id(self.answer, self.output.len());
        let (kind, key) = match call.input {
            Input::Json(_) => ("response.function_call_arguments", "arguments"),
            Input::Text(_) => ("response.custom_tool_call_input", "input"),
        };
        self.begin(&call_item(&id, call, "", "in_progress"));
        for piece in argument_pieces(call.input.text()) {
            self.event(self.about(&format!("{kind}.delta"), "delta", json!(piece)));
        }
        self.event(self.about(&format!("{kind}.done"), key, json!(call.input.text())));
        self.end(call_item(&id, call, call.input.text(), "completed"))
    }
}

fn with_delta(about: &Value, text: &str) -> Value {
    let mut event = about.clone();
    event["delta"] = json!(text);
    event
}

fn item_id(answer: &Answer<'_>, index: usize) -> String {
    format!("item_{}_{index}", answer.id)
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

fn call_item(id: &str, call: &ToolUse, input: &str, status: &str) -> Value {
    let (kind, key) = match call.input {
        Input::Json(_) => ("function_call", "arguments"),
        Input::Text(_) => ("custom_tool_call", "input"),
    };
    let mut item = json!({"type": kind, "id": id, "call_id": call.id, "name": call.name, "status": status});
    item[key] = json!(input);
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn response(answer: &Answer<'_>, status: &str, output: &[Value]) -> Value {
    let usage = answer.usage();
    let usage = json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    });
    json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": 0, "status": status, "error": null,
        "incomplete_details": null, "model": answer.model, "output": output,
        "usage": if status == "in_progress" { Value::Null } else { usage },
    })
}

fn incomplete(answer: &Answer<'_>, stop: StopReason, output: &[Value]) -> Value {
    let mut response = response(answer, "incomplete", output);
    let reason = match stop {
        StopReason::Length => "max_output_tokens",
        StopReason::Refusal => "content_filter",
    };
    response["incomplete_details"] = json!({"reason": reason});
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read() {
        let conversation = read(&json!({
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
                Entry::Called {
                    id: "call_t1_0_0".to_owned(),
                    name: "exec_command".to_owned(),
                    arguments: "{}".to_owned()
                },
                Entry::Output { id: "call_t1_0_0".to_owned(), text: "out".to_owned() },
            ]
        );
        assert!(conversation.offers("exec") && conversation.stream);
        assert_eq!(conversation.session, "s");
    }
}
