//! Calls that have no item on disk, from the model's call and its output: commands, patches and sub-agents of older
//! formats, and commands that were declined.

use serde_json::{Map, Value, json};

use super::changes::parse_patch;
use crate::json::minify;

use super::items::{agent_state, camel_case, join_words};

/// What a call of the model is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallKind {
    Command,
    Patch,
    Mcp,
    Collab,
    ImageView,
    /// Writes to the input of a running command, or polls it.
    CommandInput,
    /// Changes the plan, which is not an item.
    Plan,
    /// Asks the user.
    Question,
    /// Has no item: the wire does not show it.
    None,
}

/// A call of the model.
#[derive(Clone, Debug)]
pub(super) struct ModelCall {
    pub(super) kind: CallKind,
    pub(super) arguments: Value,
    /// The item when the call starts; `None` if there is no item.
    pub(super) item: Option<Map<String, Value>>,
}

/// Reads a call of the model. `arguments` are JSON, or the input of a custom tool.
pub(super) fn read_call(
    id: &str,
    name: &str,
    namespace: Option<&str>,
    arguments: &str,
    is_custom: bool,
    cwd: Option<&str>,
    thread_id: &str,
) -> ModelCall {
    let parsed: Value = if is_custom { Value::Null } else { serde_json::from_str(arguments).unwrap_or_default() };
    let text = |key: &str| parsed.get(key).and_then(Value::as_str);
    let base = name.rsplit('.').next().unwrap_or(name);
    let (kind, item) = match base {
        "exec_command" | "shell_command" => {
            let command = text("cmd").or_else(|| text("command")).unwrap_or_default();
            let words = ["/bin/bash", "-lc", command];
            (CallKind::Command, Some(command_item(id, &join_words(&words), command, text("workdir").or(cwd))))
        }
        "shell" | "container.exec" | "exec" if parsed.get("command").is_some() => {
            let words: Vec<&str> = parsed
                .get("command")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let command = join_words(&words);
            let typed = words.get(2).filter(|_| words.get(1) == Some(&"-lc")).copied().unwrap_or(&command).to_owned();
            (CallKind::Command, Some(command_item(id, &command, &typed, text("workdir").or(cwd))))
        }
        "apply_patch" => {
            let patch = if is_custom { arguments } else { text("input").or_else(|| text("patch")).unwrap_or_default() };
            let item = json!({
                "type": "fileChange", "id": id, "changes": parse_patch(patch, cwd), "status": "inProgress",
            });
            (CallKind::Patch, as_object(item))
        }
        "view_image" => {
            let item =
                json!({ "type": "imageView", "id": id, "path": absolute(text("path").unwrap_or_default(), cwd) });
            (CallKind::ImageView, as_object(item))
        }
        "write_stdin" => (CallKind::CommandInput, None),
        "update_plan" => (CallKind::Plan, None),
        "request_user_input" => (CallKind::Question, None),
        "spawn_agent" | "send_input" | "resume_agent" | "wait" | "wait_agent" | "close_agent" => {
            (CallKind::Collab, Some(collab_item(id, base, &parsed, thread_id)))
        }
        _ => match mcp_tool(name, namespace) {
            Some((server, tool)) => {
                let item = json!({
                    "type": "mcpToolCall", "id": id, "server": server, "tool": tool, "arguments": raw_arguments(arguments),
                    "status": "inProgress",
                });
                (CallKind::Mcp, as_object(item))
            }
            None => (CallKind::None, None),
        },
    };
    ModelCall { kind, arguments: parsed, item }
}

fn as_object(item: Value) -> Option<Map<String, Value>> {
    match item {
        Value::Object(item) => Some(item),
        _ => None,
    }
}

fn absolute(path: &str, cwd: Option<&str>) -> String {
    match cwd {
        Some(cwd) if !path.starts_with('/') => format!("{}/{path}", cwd.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

fn command_item(id: &str, command: &str, typed: &str, cwd: Option<&str>) -> Map<String, Value> {
    let item = json!({
        "type": "commandExecution", "id": id, "command": command, "cwd": cwd, "status": "inProgress",
        "source": "agent", "commandActions": [{ "type": "unknown", "command": typed }],
    });
    as_object(item).unwrap_or_default()
}

fn collab_item(id: &str, name: &str, arguments: &Value, thread_id: &str) -> Map<String, Value> {
    let tool = if name == "wait_agent" { "wait".to_owned() } else { camel_case(name) };
    let targets: Vec<&Value> = match (arguments.get("targets").or_else(|| arguments.get("ids")), name) {
        (Some(Value::Array(targets)), _) => targets.iter().collect(),
        (_, "spawn_agent") => Vec::new(),
        _ => arguments.get("target").or_else(|| arguments.get("id")).into_iter().collect(),
    };
    let mut item = as_object(json!({
        "type": "collabAgentToolCall", "id": id, "tool": tool, "status": "inProgress",
        "senderThreadId": thread_id, "receiverThreadIds": targets, "agentsStates": {},
    }))
    .unwrap_or_default();
    if let Some(prompt) = arguments.get("message").or_else(|| arguments.get("prompt")) {
        item.insert("prompt".to_owned(), prompt.clone());
    }
    item
}

/// The arguments in the order in which the model wrote them, if they are JSON.
fn raw_arguments(arguments: &str) -> String {
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(arguments).is_ok();
    if is_json { minify(arguments) } else { "null".to_owned() }
}

/// The server and tool of a call: `mcp__server__tool`, or a tool in the namespace `mcp__server__`.
fn mcp_tool(name: &str, namespace: Option<&str>) -> Option<(String, String)> {
    if let Some(server) = namespace.and_then(|namespace| namespace.strip_prefix("mcp__")) {
        return Some((server.trim_end_matches('_').to_owned(), name.to_owned()));
    }
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some((server.to_owned(), tool.to_owned()))
}

/// The output of a command, as the model sees it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CommandOutput {
    pub(super) text: String,
    pub(super) exit_code: Option<i64>,
    /// The command is still running, under this number.
    pub(super) session: Option<String>,
    pub(super) duration_ms: Option<u64>,
    pub(super) status: CommandStatus,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CommandStatus {
    #[default]
    Ended,
    Declined,
    Failed,
}

impl CommandOutput {
    /// Reads the output of a call.
    pub(super) fn parse(output: &str) -> Self {
        // Older versions: an object with the output and metadata.
        if let Ok(Value::Object(fields)) = serde_json::from_str(output)
            && let Some(text) = fields.get("output").and_then(Value::as_str)
        {
            let metadata = fields.get("metadata").cloned().unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
            let duration_ms =
                metadata.get("duration_seconds").and_then(Value::as_f64).map(|seconds| (seconds * 1000.0) as u64);
            let exit_code = metadata.get("exit_code").and_then(Value::as_i64);
            return Self { text: text.to_owned(), exit_code, duration_ms, ..Self::default() };
        }
        if output.contains("Rejected(") {
            return Self { status: CommandStatus::Declined, ..Self::default() };
        }
        if output.starts_with("aborted by user") || output.starts_with("aborted") {
            return Self { status: CommandStatus::Failed, ..Self::default() };
        }
        let Some((head, text)) = output.split_once("Output:\n").filter(|(head, _)| is_head(head)) else {
            let status = CommandStatus::Failed;
            return Self { text: output.to_owned(), status, ..Self::default() };
        };
        let mut parsed = Self { text: text.to_owned(), ..Self::default() };
        for line in head.lines() {
            if let Some(code) =
                line.strip_prefix("Process exited with code ").or_else(|| line.strip_prefix("Exit code: "))
            {
                parsed.exit_code = code.trim().parse().ok();
            } else if let Some(session) = line.strip_prefix("Process running with session ID ") {
                parsed.session = Some(session.trim().to_owned());
            }
        }
        parsed
    }
}

/// Whether the text before the output is what Codex writes there.
fn is_head(head: &str) -> bool {
    const KEYS: [&str; 7] = [
        "Chunk ID: ",
        "Wall time: ",
        "Process exited with code ",
        "Process running with session ID ",
        "Original token count: ",
        "Exit code: ",
        "Total output lines: ",
    ];
    head.lines().all(|line| line.is_empty() || KEYS.iter().any(|key| line.starts_with(key)))
}

/// Ends the item of a command.
pub(super) fn complete_command(mut item: Map<String, Value>, output: &CommandOutput) -> Map<String, Value> {
    let status = match (output.status, output.exit_code) {
        (CommandStatus::Declined, _) => "declined",
        (CommandStatus::Ended, Some(0)) => "completed",
        _ => "failed",
    };
    item.insert("status".to_owned(), json!(status));
    item.insert("aggregatedOutput".to_owned(), json!(output.text));
    item.insert("exitCode".to_owned(), json!(output.exit_code));
    item.insert("durationMs".to_owned(), json!(output.duration_ms));
    item
}

/// Whether the output says that the call was never made.
pub(super) fn is_rejected(output: &str) -> bool {
    output.starts_with("unsupported call") || output.starts_with("failed to parse function arguments")
}

/// Ends an item with the output that the model sees. Commands have [their own](complete_command).
pub(super) fn complete(
    mut item: Map<String, Value>,
    kind: &CallKind,
    output: &str,
    agents: &mut Map<String, Value>,
) -> Map<String, Value> {
    let is_cut_off = output.starts_with("aborted");
    let mut status = if is_cut_off { "failed" } else { "completed" };
    match kind {
        CallKind::Patch => {
            let parsed = CommandOutput::parse(output);
            status = match (parsed.status, parsed.exit_code) {
                (CommandStatus::Declined, _) => "declined",
                (CommandStatus::Ended, None | Some(0)) => "completed",
                _ if output.starts_with("Success.") => "completed",
                _ => "failed",
            };
        }
        CallKind::Mcp => complete_mcp(&mut item, output, &mut status),
        CallKind::Collab => complete_collab(&mut item, output, &mut status, agents),
        _ => {}
    }
    item.insert("status".to_owned(), json!(status));
    item
}

fn complete_mcp(item: &mut Map<String, Value>, output: &str, status: &mut &str) {
    let text = match output.split_once("Output:\n").filter(|(head, _)| is_head(head)) {
        Some((_, text)) => text,
        None => output,
    };
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let content = match parsed {
        Some(Value::Array(content)) => Value::Array(content),
        Some(Value::Object(result)) if result.contains_key("content") => {
            if result.get("isError").or_else(|| result.get("is_error")) == Some(&Value::Bool(true)) {
                *status = "failed";
            }
            result.get("content").cloned().unwrap_or_default()
        }
        _ => json!([{ "type": "text", "text": text }]),
    };
    item.insert("result".to_owned(), json!({ "content": content }));
}

/// `known` are the last known states of the sub-agents.
fn complete_collab(item: &mut Map<String, Value>, output: &str, status: &mut &str, known: &mut Map<String, Value>) {
    let Ok(Value::Object(output)) = serde_json::from_str::<Value>(output) else {
        *status = "failed";
        return;
    };
    let mut reported = Map::new();
    if let Some(Value::String(agent)) = output.get("agent_id") {
        item.insert("receiverThreadIds".to_owned(), json!([agent]));
        reported.insert(agent.clone(), agent_state(json!("pending_init")));
    }
    for (id, state) in output.get("status").and_then(Value::as_object).into_iter().flatten() {
        reported.insert(id.clone(), agent_state(state.clone()));
    }
    let targets: Vec<String> = item
        .get("receiverThreadIds")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|target| target.as_str().map(str::to_owned))
        .collect();
    if let (Some(state), [target]) = (output.get("previous_status"), targets.as_slice()) {
        reported.insert(target.clone(), agent_state(state.clone()));
    }
    known.extend(reported.clone());
    // A message to a sub-agent is answered with the state that it was in.
    for target in targets.iter().filter(|_| output.contains_key("submission_id")) {
        if let Some(state) = known.get(target) {
            reported.insert(target.clone(), state.clone());
        }
    }
    item.insert("agentsStates".to_owned(), Value::Object(reported));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_command_has_its_exit_code() {
        let output =
            "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 3\nOriginal token count: 1\nOutput:\nx\n";
        let parsed = CommandOutput::parse(output);
        assert_eq!((parsed.text.as_str(), parsed.exit_code), ("x\n", Some(3)));
        let parsed = CommandOutput::parse("Chunk ID: a\nProcess running with session ID 7\nOutput:\nx");
        assert_eq!(parsed.session.as_deref(), Some("7"));
        let parsed = CommandOutput::parse(r#"{"output":"y","metadata":{"exit_code":0,"duration_seconds":0.5}}"#);
        assert_eq!((parsed.text.as_str(), parsed.exit_code, parsed.duration_ms), ("y", Some(0), Some(500)));
        let rejected = "exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }";
        assert_eq!(CommandOutput::parse(rejected).status, CommandStatus::Declined);
        assert_eq!(CommandOutput::parse("unsupported call").status, CommandStatus::Failed);
    }

    #[test]
    fn tools_of_servers_are_recognized() {
        assert_eq!(mcp_tool("add", Some("mcp__tiny__")), Some(("tiny".to_owned(), "add".to_owned())));
        assert_eq!(mcp_tool("mcp__tiny__add", None), Some(("tiny".to_owned(), "add".to_owned())));
        assert_eq!(mcp_tool("add", Some("collaboration")), None);
    }
}
