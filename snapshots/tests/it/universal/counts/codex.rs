//! What Codex's lines say, in both dialects.

use std::collections::BTreeSet;

use interlingua_snapshots::Line;
use serde_json::Value;

use super::{Said, received, sent, text};

/// Items that are tools, in both dialects.
const TOOLS: [&str; 16] = [
    "commandExecution",
    "fileChange",
    "mcpToolCall",
    "dynamicToolCall",
    "collabAgentToolCall",
    "collabToolCall",
    "webSearch",
    "imageView",
    "imageGeneration",
    "sleep",
    "functionCallOutput",
    "command_execution",
    "file_change",
    "mcp_tool_call",
    "collab_tool_call",
    "web_search",
];

pub(super) fn said(lines: &[Line], argv: &[String]) -> Said {
    let mut said = Said::default();
    let mut calls = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let children = children(lines);
    for line in received(lines) {
        let kind = line["method"].as_str().or(line["type"].as_str()).unwrap_or_default().to_owned();
        let params = if line["params"].is_null() { &line } else { &line["params"] };
        let item = &params["item"];
        // Of what a sub-agent does, its calls; not what is told of it.
        let is_activity = item["type"] == "subAgentActivity" && text(&item["id"]).starts_with("call_");
        let is_tool = is_activity || item["type"].as_str().is_some_and(|kind| TOOLS.contains(&kind));
        let is_brief = item["type"] == "userMessage" && children.contains(&text(&params["threadId"]));
        match kind.as_str() {
            "item/started" | "item.started" if is_tool => {
                calls.insert((text(&params["threadId"]), text(&item["id"])));
            }
            "item/completed" | "item.completed" => {
                if is_tool {
                    calls.insert((text(&params["threadId"]), text(&item["id"])));
                } else if !is_brief
                    && seen.insert((text(&params["threadId"]), text(&item["id"]), text(&params["turnId"])))
                {
                    said_in(item, &mut said);
                }
            }
            "error" if line["method"].is_string() => {
                said.errors += usize::from(params["willRetry"] != Value::Bool(true));
            }
            "turn.failed" => said.errors += 1,
            "item/commandExecution/requestApproval"
            | "item/fileChange/requestApproval"
            | "item/permissions/requestApproval"
            | "execCommandApproval"
            | "applyPatchApproval" => said.permissions += 1,
            "item/tool/requestUserInput" => said.questions += params["questions"].as_array().map_or(0, Vec::len),
            "mcpServer/elicitation/request" => {
                if params["_meta"]["codex_approval_kind"].is_string() {
                    said.permissions += 1;
                } else {
                    said.questions += 1;
                }
            }
            _ => {}
        }
        // Requests that the agent refuses.
        said.errors += usize::from(line["id"].is_number() && line["error"].is_object());
    }
    said.calls = calls.iter().map(|(_, id)| id.clone()).collect();
    said.results.clone_from(&said.calls);
    let silent = unrepeated(lines, &said.users);
    said.users.extend(silent);
    if argv.get(1).is_some_and(|word| word == "exec") {
        said.users.extend(argv.last().filter(|word| !word.starts_with('-')).cloned());
    }
    said
}

/// The messages that the agent took and does not repeat: 0.77 is silent about those that join a running turn.
fn unrepeated(lines: &[Line], repeated: &[String]) -> Vec<String> {
    let taken: BTreeSet<String> =
        received(lines).filter(|line| line["result"]["turn"].is_object()).map(|line| line["id"].to_string()).collect();
    let prompts = sent(lines).filter(|line| line["method"] == "turn/start" && taken.contains(&line["id"].to_string()));
    let said = prompts.map(|line| {
        let parts = line["params"]["input"].as_array().into_iter().flatten();
        parts.map(|part| text(&part["text"])).collect::<String>()
    });
    said.filter(|said| !repeated.contains(said)).collect()
}

/// The threads of sub-agents, whose user messages are their briefs.
fn children(lines: &[Line]) -> BTreeSet<String> {
    let mut children = BTreeSet::new();
    for line in received(lines) {
        let item = &line["params"]["item"];
        children.extend(item["receiverThreadIds"].as_array().into_iter().flatten().map(text));
        children.extend(item["agentThreadId"].as_str().map(str::to_owned));
    }
    children
}

fn said_in(item: &Value, said: &mut Said) {
    let list = |key: &str| {
        let parts = item[key].as_array().into_iter().flatten();
        parts.map(|part| part.as_str().map_or_else(|| text(&part["text"]), str::to_owned)).collect::<String>()
    };
    match item["type"].as_str() {
        Some("agentMessage" | "agent_message" | "plan") => said.texts.push(text(&item["text"])),
        Some("reasoning") => {
            said.reasoning.push(list("summary"));
            said.reasoning.push(list("content"));
            said.reasoning.push(text(&item["text"]));
        }
        Some("userMessage") => said.users.push(list("content")),
        _ => {}
    }
}
