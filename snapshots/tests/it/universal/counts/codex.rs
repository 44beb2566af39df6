//! Collects the content of recordings of Codex, of the app server and of `codex exec`.

use std::collections::BTreeSet;

use interlingua_wirelog::Input;
use serde_json::Value;

use super::{SessionContent, received_json, sent_json, text};

/// Types of items that are tool calls, of the app server and of `codex exec`.
const TOOL_ITEM_TYPES: [&str; 16] = [
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

pub(super) fn native_content(inputs: &[Input], argv: &[String]) -> SessionContent {
    let mut content = SessionContent::default();
    let mut calls = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let sub_agents = sub_agent_threads(inputs);
    for line in received_json(inputs) {
        let kind = line["method"].as_str().or(line["type"].as_str()).unwrap_or_default().to_owned();
        let params = if line["params"].is_null() { &line } else { &line["params"] };
        let item = &params["item"];
        // Of the activities of a sub-agent, only its calls.
        let is_activity = item["type"] == "subAgentActivity" && text(&item["id"]).starts_with("call_");
        let is_tool = is_activity || item["type"].as_str().is_some_and(|kind| TOOL_ITEM_TYPES.contains(&kind));
        let is_sub_agent_prompt = item["type"] == "userMessage" && sub_agents.contains(&text(&params["threadId"]));
        match kind.as_str() {
            "item/started" | "item.started" if is_tool => {
                calls.insert((text(&params["threadId"]), text(&item["id"])));
            }
            "item/completed" | "item.completed" => {
                if is_tool {
                    calls.insert((text(&params["threadId"]), text(&item["id"])));
                } else if !is_sub_agent_prompt
                    && seen.insert((text(&params["threadId"]), text(&item["id"]), text(&params["turnId"])))
                {
                    collect_item(item, &mut content);
                }
            }
            "error" if line["method"].is_string() => {
                content.errors += usize::from(params["willRetry"] != Value::Bool(true));
            }
            "turn.failed" => content.errors += 1,
            "item/commandExecution/requestApproval"
            | "item/fileChange/requestApproval"
            | "item/permissions/requestApproval"
            | "execCommandApproval"
            | "applyPatchApproval" => content.permissions += 1,
            "item/tool/requestUserInput" => content.questions += params["questions"].as_array().map_or(0, Vec::len),
            "mcpServer/elicitation/request" => {
                if params["_meta"]["codex_approval_kind"].is_string() {
                    content.permissions += 1;
                } else {
                    content.questions += 1;
                }
            }
            _ => {}
        }
        // Codex refuses a request of the host.
        content.errors += usize::from(line["id"].is_number() && line["error"].is_object());
    }
    content.calls = calls.iter().map(|(_, id)| id.clone()).collect();
    content.results.clone_from(&content.calls);
    let prompts = prompts_without_echo(inputs, &content.user_messages);
    content.user_messages.extend(prompts);
    if argv.get(1).is_some_and(|word| word == "exec") {
        content.user_messages.extend(argv.last().filter(|word| !word.starts_with('-')).cloned());
    }
    content
}

/// The prompts that Codex accepts but does not echo: 0.77 sends no echo for prompts that join a running turn.
fn prompts_without_echo(inputs: &[Input], echoed: &[String]) -> Vec<String> {
    let accepted: BTreeSet<String> = received_json(inputs)
        .filter(|line| line["result"]["turn"].is_object())
        .map(|line| line["id"].to_string())
        .collect();
    let prompts =
        sent_json(inputs).filter(|line| line["method"] == "turn/start" && accepted.contains(&line["id"].to_string()));
    let texts = prompts.map(|line| {
        let parts = line["params"]["input"].as_array().into_iter().flatten();
        parts.map(|part| text(&part["text"])).collect::<String>()
    });
    texts.filter(|text| !echoed.contains(text)).collect()
}

/// Ids of the threads of sub-agents. Their user messages are prompts of the main agent.
fn sub_agent_threads(inputs: &[Input]) -> BTreeSet<String> {
    let mut threads = BTreeSet::new();
    for line in received_json(inputs) {
        let item = &line["params"]["item"];
        threads.extend(item["receiverThreadIds"].as_array().into_iter().flatten().map(text));
        threads.extend(item["agentThreadId"].as_str().map(str::to_owned));
    }
    threads
}

fn collect_item(item: &Value, content: &mut SessionContent) {
    let joined_texts = |key: &str| {
        let parts = item[key].as_array().into_iter().flatten();
        parts.map(|part| part.as_str().map_or_else(|| text(&part["text"]), str::to_owned)).collect::<String>()
    };
    match item["type"].as_str() {
        Some("agentMessage" | "agent_message" | "plan") => content.texts.push(text(&item["text"])),
        Some("reasoning") => {
            content.reasoning.push(joined_texts("summary"));
            content.reasoning.push(joined_texts("content"));
            content.reasoning.push(text(&item["text"]));
        }
        Some("userMessage") => content.user_messages.push(joined_texts("content")),
        _ => {}
    }
}
