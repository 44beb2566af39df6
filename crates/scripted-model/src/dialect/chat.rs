//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{Answer, speak, string};
use crate::conversation::{Conversation, Entry, text_of};
use crate::offered::Offered;
use crate::reply::{Frame, Part, Piece, ToolUse, argument_pieces, event, text};
use crate::scenario::StopReason;

pub(super) fn read(body: &Value) -> Conversation {
    let mut entries = Vec::new();
    let mut instructions = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("user") => entries.push(Entry::User(text)),
            Some("assistant") => {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    entries.push(Entry::Called {
                        id: string(&call["id"]),
                        name: string(&call["function"]["name"]),
                        arguments: string(&call["function"]["arguments"]),
                    });
                }
            }
            Some("tool") => entries.push(Entry::Output { id: string(&message["tool_call_id"]), text }),
            _ => instructions += &text,
        }
    }
    let limits = [&body["max_completion_tokens"], &body["max_tokens"]];
    Conversation {
        session: string(&body["user"]),
        model: string(&body["model"]),
        instructions,
        entries,
        tools: Offered::list(&body["tools"]),
        stream: body["stream"] == true,
        output_limit: limits.iter().find_map(|limit| limit.as_u64()),
    }
}

pub(super) fn stream(answer: &Answer<'_>) -> Vec<Frame> {
    let mut frames = vec![chunk(answer, &json!({"role": "assistant", "content": ""}), &Value::Null, None)];
    let mut finish = if answer.calls() { "tool_calls" } else { "stop" };
    let mut calls = 0;
    for part in answer.parts {
        let broken = match part {
            Part::Say(pieces) => speech(answer, &mut frames, pieces, "content"),
            Part::Think(pieces) => speech(answer, &mut frames, pieces, "reasoning_content"),
            Part::Wait(wait) => speech(answer, &mut frames, &[Piece::Wait(wait.clone())], ""),
            Part::Break(broken) => speech(answer, &mut frames, &[Piece::Break(broken.clone())], ""),
            Part::Call(call) => {
                let mut start = call_value(call, "");
                start["index"] = json!(calls);
                frames.push(chunk(answer, &json!({"tool_calls": [start]}), &Value::Null, None));
                for piece in argument_pieces(call.input.text()) {
                    let delta = json!({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]});
                    frames.push(chunk(answer, &delta, &Value::Null, None));
                }
                calls += 1;
                false
            }
            Part::Stop(reason) => {
                finish = finish_reason(*reason);
                false
            }
        };
        if broken {
            return frames;
        }
    }
    frames.push(chunk(answer, &json!({}), &json!(finish), Some(usage(answer))));
    frames.push(Frame::Bytes("data: [DONE]\n\n".to_owned()));
    frames
}

/// Words or thoughts, under their key; says whether they broke off.
fn speech(answer: &Answer<'_>, frames: &mut Vec<Frame>, pieces: &[Piece], key: &str) -> bool {
    speak(
        frames,
        pieces,
        |frames| frames,
        |frames, text| {
            let mut delta = json!({});
            delta[key] = json!(text);
            frames.push(chunk(answer, &delta, &Value::Null, None));
        },
        |frames, message| {
            let error = json!({"message": message, "type": "server_error", "param": null, "code": null});
            frames.push(event(None, &json!({"error": error})));
        },
    )
}

pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut finish = if answer.calls() { "tool_calls" } else { "stop" };
    let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for part in answer.parts {
        match part {
            Part::Say(pieces) => content += &text(pieces),
            Part::Think(pieces) => reasoning += &text(pieces),
            Part::Call(call) => calls.push(call_value(call, call.input.text())),
            Part::Stop(reason) => finish = finish_reason(*reason),
            Part::Wait(_) | Part::Break(_) => {}
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
        "id": format!("chatcmpl_{}", answer.id), "object": "chat.completion", "created": 0, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage(answer),
    })
}

fn call_value(call: &ToolUse, arguments: &str) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn chunk(answer: &Answer<'_>, delta: &Value, finish: &Value, usage: Option<Value>) -> Frame {
    let mut data = json!({
        "id": format!("chatcmpl_{}", answer.id), "object": "chat.completion.chunk", "created": 0,
        "model": answer.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    if let Some(usage) = usage {
        data["usage"] = usage;
    }
    event(None, &data)
}

fn usage(answer: &Answer<'_>) -> Value {
    let usage = answer.usage();
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
    fn a_request_is_read() {
        let conversation = read(&json!({
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
                Entry::Called { id: "call_t1_0_0".to_owned(), name: "bash".to_owned(), arguments: "{}".to_owned() },
                Entry::Output { id: "call_t1_0_0".to_owned(), text: "out".to_owned() },
            ]
        );
        assert!(!conversation.stream);
    }
}
