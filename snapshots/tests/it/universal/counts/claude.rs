//! Collects the content of recordings of Claude Code.

use interlingua_wirelog::Input;
use serde_json::Value;

use super::{SessionContent, received_json, sent_json, text};

pub(super) fn native_content(inputs: &[Input], argv: &[String]) -> SessionContent {
    let mut content = SessionContent::default();
    let mut interrupted = false;
    let mut tool_inputs = Vec::new();
    for line in received_json(inputs) {
        match line["type"].as_str() {
            Some("assistant") if line["message"]["model"] != "<synthetic>" => {
                collect_message(&line, &mut content);
                let blocks = line["message"]["content"].as_array().into_iter().flatten();
                tool_inputs.extend(blocks.map(|block| block["input"].clone()));
            }
            Some("user") => {
                for block in line["message"]["content"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_result" {
                        content.results.push(text(&block["tool_use_id"]));
                    }
                    let block_text = block["text"].as_str().unwrap_or_default();
                    interrupted |= block_text.starts_with("[Request interrupted by user");
                }
            }
            Some("control_request") => collect_request(&line["request"], &mut content),
            // Claude Code refuses a request of the host.
            Some("control_response") => content.errors += usize::from(line["response"]["subtype"] == "error"),
            Some("result") => {
                let answer = text(&line["result"]);
                if line["is_error"] == Value::Bool(true) {
                    content.errors += usize::from(!std::mem::take(&mut interrupted));
                    continue;
                }
                // An answer may be only in the result. A structured answer is the input of the tool that returns it.
                let is_known = content.texts.iter().any(|text| text.trim() == answer.trim())
                    || serde_json::from_str::<Value>(&answer).is_ok_and(|answer| tool_inputs.contains(&answer));
                if !answer.is_empty() && !is_known {
                    content.texts.push(answer);
                }
            }
            _ => {}
        }
    }
    content.user_messages =
        sent_json(inputs).filter(|line| line["type"] == "user").map(|line| message_text(&line)).collect();
    let has_streamed_input = argv.windows(2).any(|pair| pair[0] == "--input-format" && pair[1] == "stream-json");
    if !has_streamed_input {
        content.user_messages.extend(argv.last().filter(|word| !word.starts_with('-')).cloned());
    }
    content.results.sort();
    content.results.dedup();
    content
}

fn collect_message(line: &Value, content: &mut SessionContent) {
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => content.texts.push(text(&block["text"])),
            Some("thinking") => content.reasoning.push(text(&block["thinking"])),
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => content.calls.push(text(&block["id"])),
            Some(kind) if kind.ends_with("_tool_result") => content.results.push(text(&block["tool_use_id"])),
            _ => {}
        }
    }
}

fn collect_request(request: &Value, content: &mut SessionContent) {
    match (request["subtype"].as_str(), request["tool_name"].as_str()) {
        (Some("can_use_tool"), Some("AskUserQuestion")) => {
            content.questions += request["input"]["questions"].as_array().map_or(0, Vec::len);
        }
        (Some("can_use_tool"), Some("ExitPlanMode")) | (Some("elicitation"), _) => content.questions += 1,
        (Some("can_use_tool"), _) => content.permissions += 1,
        _ => {}
    }
}

fn message_text(line: &Value) -> String {
    match &line["message"]["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.as_array().into_iter().flatten().map(|block| text(&block["text"])).collect(),
    }
}
