//! What Claude Code's lines say.

use interlingua_snapshots::Line;
use serde_json::Value;

use super::{Said, received, sent, text};

pub(super) fn said(lines: &[Line], argv: &[String]) -> Said {
    let mut said = Said::default();
    let mut interrupted = false;
    let mut inputs = Vec::new();
    for line in received(lines) {
        match line["type"].as_str() {
            Some("assistant") if line["message"]["model"] != "<synthetic>" => {
                assistant(&line, &mut said);
                let blocks = line["message"]["content"].as_array().into_iter().flatten();
                inputs.extend(blocks.map(|block| block["input"].clone()));
            }
            Some("user") => {
                for block in line["message"]["content"].as_array().into_iter().flatten() {
                    if block["type"] == "tool_result" {
                        said.results.push(text(&block["tool_use_id"]));
                    }
                    let words = block["text"].as_str().unwrap_or_default();
                    interrupted |= words.starts_with("[Request interrupted by user");
                }
            }
            Some("control_request") => asked(&line["request"], &mut said),
            // A request of the host's that is refused.
            Some("control_response") => said.errors += usize::from(line["response"]["subtype"] == "error"),
            Some("result") => {
                let answer = text(&line["result"]);
                if line["is_error"] == Value::Bool(true) {
                    said.errors += usize::from(!std::mem::take(&mut interrupted));
                    continue;
                }
                // An answer may stand only here; a structured one is the input of the tool that gives it.
                let is_said = said.texts.iter().any(|text| text.trim() == answer.trim())
                    || serde_json::from_str::<Value>(&answer).is_ok_and(|answer| inputs.contains(&answer));
                if !answer.is_empty() && !is_said {
                    said.texts.push(answer);
                }
            }
            _ => {}
        }
    }
    said.users = sent(lines).filter(|line| line["type"] == "user").map(|line| content(&line)).collect();
    let streams_in = argv.windows(2).any(|pair| pair[0] == "--input-format" && pair[1] == "stream-json");
    if !streams_in {
        said.users.extend(argv.last().filter(|word| !word.starts_with('-')).cloned());
    }
    said.results.sort();
    said.results.dedup();
    said
}

fn assistant(line: &Value, said: &mut Said) {
    for block in line["message"]["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("text") => said.texts.push(text(&block["text"])),
            Some("thinking") => said.reasoning.push(text(&block["thinking"])),
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => said.calls.push(text(&block["id"])),
            Some(kind) if kind.ends_with("_tool_result") => said.results.push(text(&block["tool_use_id"])),
            _ => {}
        }
    }
}

fn asked(request: &Value, said: &mut Said) {
    match (request["subtype"].as_str(), request["tool_name"].as_str()) {
        (Some("can_use_tool"), Some("AskUserQuestion")) => {
            said.questions += request["input"]["questions"].as_array().map_or(0, Vec::len);
        }
        (Some("can_use_tool"), Some("ExitPlanMode")) | (Some("elicitation"), _) => said.questions += 1,
        (Some("can_use_tool"), _) => said.permissions += 1,
        _ => {}
    }
}

fn content(line: &Value) -> String {
    match &line["message"]["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks.as_array().into_iter().flatten().map(|block| text(&block["text"])).collect(),
    }
}
