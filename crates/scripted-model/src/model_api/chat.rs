//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{ModelResponse, string, write_pieces};
use crate::conversation::{Conversation, Entry, content_text};
use crate::offered_tool::OfferedTool;
use crate::reply::{Frame, Part, Piece, ToolCall, join_text, split_arguments, sse_event};
use crate::scenario::StopReason;

pub(super) fn parse_request(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let text = content_text(&message["content"]);
        match message["role"].as_str() {
            Some("user") => entries.push(Entry::User(text)),
            Some("assistant") => {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    entries.push(Entry::ToolCall {
                        id: string(&call["id"]),
                        name: string(&call["function"]["name"]),
                        arguments: string(&call["function"]["arguments"]),
                    });
                }
            }
            Some("tool") => entries.push(Entry::ToolResult { id: string(&message["tool_call_id"]), text }),
            _ => instructions += &text,
        }
    }
    let limits = [&body["max_completion_tokens"], &body["max_tokens"]];
    Conversation {
        session: string(&body["user"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools: OfferedTool::parse_list(&body["tools"]),
        is_streaming: body["stream"] == true,
        output_limit: limits.iter().find_map(|limit| limit.as_u64()),
    }
}

pub(super) fn encode_stream(response: &ModelResponse<'_>) -> Vec<Frame> {
    let mut frames = vec![chunk_event(response, &json!({"role": "assistant", "content": ""}), &Value::Null, None)];
    let mut finish = if response.has_tool_calls() { "tool_calls" } else { "stop" };
    let mut calls = 0;
    for part in response.parts {
        let is_ended = match part {
            Part::Text(pieces) => write_text(response, &mut frames, pieces, "content"),
            Part::Reasoning(pieces) => write_text(response, &mut frames, pieces, "reasoning_content"),
            Part::Wait(wait) => write_text(response, &mut frames, &[Piece::Wait(wait.clone())], ""),
            Part::Failure(failure) => write_text(response, &mut frames, &[Piece::Failure(failure.clone())], ""),
            Part::ToolCall(call) => {
                let mut start = tool_call_value(call, "");
                start["index"] = json!(calls);
                frames.push(chunk_event(response, &json!({"tool_calls": [start]}), &Value::Null, None));
                for chunk in split_arguments(call.input.text()) {
                    let delta = json!({"tool_calls": [{"index": calls, "function": {"arguments": chunk}}]});
                    frames.push(chunk_event(response, &delta, &Value::Null, None));
                }
                calls += 1;
                false
            }
            Part::Stop(reason) => {
                finish = finish_reason(*reason);
                false
            }
        };
        if is_ended {
            return frames;
        }
    }
    frames.push(chunk_event(response, &json!({}), &json!(finish), Some(usage(response))));
    frames.push(Frame::Bytes("data: [DONE]\n\n".to_owned()));
    frames
}

/// Writes pieces of text or reasoning under their key. Returns whether the text fails.
fn write_text(response: &ModelResponse<'_>, frames: &mut Vec<Frame>, pieces: &[Piece], key: &str) -> bool {
    write_pieces(
        frames,
        pieces,
        |frames| frames,
        |frames, text| {
            let mut delta = json!({});
            delta[key] = json!(text);
            frames.push(chunk_event(response, &delta, &Value::Null, None));
        },
        |frames, message| {
            let error = json!({"message": message, "type": "server_error", "param": null, "code": null});
            frames.push(sse_event(None, &json!({"error": error})));
        },
    )
}

pub(super) fn encode_body(response: &ModelResponse<'_>) -> Value {
    let mut finish = if response.has_tool_calls() { "tool_calls" } else { "stop" };
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in response.parts {
        match part {
            Part::Text(pieces) => content += &join_text(pieces),
            Part::Reasoning(pieces) => reasoning += &join_text(pieces),
            Part::ToolCall(call) => calls.push(tool_call_value(call, call.input.text())),
            Part::Stop(reason) => finish = finish_reason(*reason),
            Part::Wait(_) | Part::Failure(_) => {}
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": format!("chatcmpl_{}", response.id), "object": "chat.completion", "created": 0, "model": response.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage(response),
    })
}

fn tool_call_value(call: &ToolCall, arguments: &str) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn chunk_event(response: &ModelResponse<'_>, delta: &Value, finish: &Value, usage: Option<Value>) -> Frame {
    let mut data = json!({
        "id": format!("chatcmpl_{}", response.id), "object": "chat.completion.chunk", "created": 0,
        "model": response.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    if let Some(usage) = usage {
        data["usage"] = usage;
    }
    sse_event(None, &data)
}

fn usage(response: &ModelResponse<'_>) -> Value {
    let usage = response.usage();
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Length => "length",
        StopReason::Refusal => "content_filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed() {
        let conversation = parse_request(&json!({
            "model": "m", "max_tokens": 8192,
            "messages": [
                {"role": "system", "content": "Be good"},
                {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "call_t1_0_0", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "call_t1_0_0", "content": "out"},
            ],
        }));
        assert_eq!(
            conversation.entries,
            [
                Entry::User("Hello".to_owned()),
                Entry::ToolCall { id: "call_t1_0_0".to_owned(), name: "bash".to_owned(), arguments: "{}".to_owned() },
                Entry::ToolResult { id: "call_t1_0_0".to_owned(), text: "out".to_owned() },
            ]
        );
        assert!(!conversation.is_streaming);
    }
}
