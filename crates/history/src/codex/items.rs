//! Items as they are on disk, translated to items as they are on the wire.
//!
//! Types are `CommandExecution` on disk and `commandExecution` on the wire, fields `exit_code` and `exitCode`, and a few
//! fields have another shape.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::json::ObjectWriter;

/// Key of the arguments of a call, as text: what a model wrote keeps its order. [`write`] writes them as they are.
pub(super) const RAW_ARGUMENTS: &str = "arguments";

/// Translates an item. An unknown item keeps its fields: the converter reports its type.
pub(super) fn to_wire(item: &str) -> Option<Map<String, Value>> {
    let item: BTreeMap<String, &RawValue> = serde_json::from_str(item).ok()?;
    let kind: String = serde_json::from_str(item.get("type")?.get()).ok()?;
    let mut wire = Map::new();
    for (key, value) in item {
        let value = match key.as_str() {
            RAW_ARGUMENTS => Value::String(value.get().to_owned()),
            _ => serde_json::from_str(value.get()).ok()?,
        };
        wire.insert(camel_case(&key), value);
    }
    wire.insert("type".to_owned(), Value::String(lower_first(&kind)));
    match kind.as_str() {
        "UserMessage" => translate_user_message(&mut wire),
        "AgentMessage" => translate_agent_message(&mut wire),
        "Reasoning" => {
            rename(&mut wire, "summaryText", "summary");
            rename(&mut wire, "rawContent", "content");
        }
        "CommandExecution" => translate_command(&mut wire),
        "FileChange" => {
            if let Some(changes) = wire.get_mut("changes") {
                *changes = super::changes::to_wire(changes.take());
            }
            camel_case_value(&mut wire, "status");
        }
        "McpToolCall" | "DynamicToolCall" => {
            camel_case_value(&mut wire, "status");
            translate_duration(&mut wire);
            translate_content_items(&mut wire);
            if let Some(Value::String(error)) = wire.get("error").cloned() {
                wire.insert("error".to_owned(), json!({ "message": error }));
            }
        }
        "WebSearch" => {
            if let Some(Value::Object(action)) = wire.get_mut("action") {
                camel_case_value(action, "type");
            }
        }
        "CollabAgentToolCall" => translate_collab_call(&mut wire),
        "SubAgentActivity" => camel_case_value(&mut wire, "kind"),
        "ImageView" => strip_file_scheme(&mut wire, "path"),
        "ExitedReviewMode" => {
            if let Some(output) = wire.remove("reviewOutput").filter(|_| !wire.contains_key("review")) {
                wire.insert("review".to_owned(), Value::String(render_review(&output)));
            }
        }
        "EnteredReviewMode" => rename(&mut wire, "userFacingHint", "review"),
        _ => {}
    }
    Some(wire)
}

/// The item as it is on the wire when it starts; `None` if its start does not matter.
pub(super) fn started(item: &Map<String, Value>) -> Option<Map<String, Value>> {
    let kind = item.get("type")?.as_str()?;
    let mut started = item.clone();
    match kind {
        "commandExecution" => {
            for key in ["aggregatedOutput", "formattedOutput", "stdout", "stderr", "exitCode", "durationMs"] {
                started.remove(key);
            }
        }
        "fileChange" => {
            started.remove("stdout");
            started.remove("stderr");
        }
        "mcpToolCall" | "dynamicToolCall" => {
            for key in ["result", "error", "durationMs", "contentItems", "success"] {
                started.remove(key);
            }
        }
        "collabAgentToolCall" => {
            started.insert("agentsStates".to_owned(), json!({}));
            if started.get("tool").and_then(Value::as_str) == Some("spawnAgent") {
                started.insert("receiverThreadIds".to_owned(), json!([]));
                started.remove("model");
            }
        }
        "agentMessage" | "plan" => {
            started.insert("text".to_owned(), json!(""));
        }
        "webSearch" | "imageView" | "sleep" | "imageGeneration" => {}
        "subAgentActivity" if item.get("kind").and_then(Value::as_str) != Some("completed") => {}
        _ => return None,
    }
    if started.contains_key("status") {
        started.insert("status".to_owned(), json!("inProgress"));
    }
    Some(started)
}

/// Writes an item.
pub(super) fn write(item: &Map<String, Value>) -> String {
    let mut object = ObjectWriter::with_capacity(512);
    for (key, value) in item {
        match value {
            Value::String(arguments) if key == RAW_ARGUMENTS => object.json(key, arguments),
            value => object.json(key, &value.to_string()),
        };
    }
    object.finish()
}

/// `turn_id` becomes `turnId`.
pub(super) fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        camel.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(chars.as_str());
    }
    camel
}

fn lower_first(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

fn rename(item: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = item.remove(from) {
        item.insert(to.to_owned(), value);
    }
}

/// Names of errors are in snake case on disk.
pub(super) fn translate_error(error: &Value) -> Value {
    let info = match error.get("codex_error_info") {
        Some(Value::String(name)) => Value::String(camel_case(name)),
        Some(Value::Object(info)) => {
            let camel = |fields: &Value| match fields {
                Value::Object(fields) => {
                    Value::Object(fields.iter().map(|(key, value)| (camel_case(key), value.clone())).collect())
                }
                other => other.clone(),
            };
            Value::Object(info.iter().map(|(name, fields)| (camel_case(name), camel(fields))).collect())
        }
        _ => Value::Null,
    };
    json!({ "message": error.get("message"), "codexErrorInfo": info, "additionalDetails": error.get("additional_details") })
}

/// The names of values are in snake case on disk: `in_progress`.
fn camel_case_value(item: &mut Map<String, Value>, key: &str) {
    if let Some(Value::String(name)) = item.get_mut(key) {
        *name = camel_case(name);
    }
}

/// Paths on disk are URIs in newer versions.
fn strip_file_scheme(item: &mut Map<String, Value>, key: &str) {
    if let Some(Value::String(path)) = item.get_mut(key)
        && let Some(rest) = path.strip_prefix("file://")
    {
        *path = percent_decode(rest);
    }
}

fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn translate_user_message(item: &mut Map<String, Value>) {
    for part in item.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(part) = part.as_object_mut() else { continue };
        camel_case_value(part, "type");
        rename(part, "image_url", "url");
    }
}

/// The text of a message is in parts on disk.
fn translate_agent_message(item: &mut Map<String, Value>) {
    if let Some(Value::Array(parts)) = item.remove("content") {
        let text: String = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
        item.insert("text".to_owned(), Value::String(text));
    }
}

fn translate_command(item: &mut Map<String, Value>) {
    strip_file_scheme(item, "cwd");
    camel_case_value(item, "status");
    camel_case_value(item, "source");
    translate_duration(item);
    if let Some(Value::Array(words)) = item.get("command") {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let command = join_words(&words);
        item.insert("command".to_owned(), Value::String(command));
    }
    if let Some(Value::Array(actions)) = item.remove("parsedCmd") {
        let actions = actions.into_iter().map(translate_command_action).collect();
        item.insert("commandActions".to_owned(), Value::Array(actions));
    }
}

fn translate_command_action(mut action: Value) -> Value {
    if let Some(action) = action.as_object_mut() {
        camel_case_value(action, "type");
        rename(action, "cmd", "command");
        strip_file_scheme(action, "path");
    }
    action
}

/// The words of a command as one line for a shell.
pub(super) fn join_words(words: &[&str]) -> String {
    shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
}

/// Durations are seconds and nanoseconds on disk.
fn translate_duration(item: &mut Map<String, Value>) {
    if let Some(millis) = item.remove("duration").as_ref().and_then(duration_millis) {
        item.insert("durationMs".to_owned(), json!(millis));
    }
}

/// Milliseconds of a duration.
pub(super) fn duration_millis(duration: &Value) -> Option<u64> {
    let seconds = duration.get("secs")?.as_u64()?;
    let nanos = duration.get("nanos")?.as_u64()?;
    Some(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000))
}

fn translate_content_items(item: &mut Map<String, Value>) {
    for part in item.get_mut("contentItems").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(part) = part.as_object_mut() else { continue };
        camel_case_value(part, "type");
        rename(part, "image_url", "imageUrl");
    }
}

fn translate_collab_call(item: &mut Map<String, Value>) {
    camel_case_value(item, "tool");
    camel_case_value(item, "status");
    if let Some(Value::Object(states)) = item.get_mut("agentsStates") {
        for state in states.values_mut() {
            *state = agent_state(state.take());
        }
    }
}

/// The state of a sub-agent: a name, or a name with a message.
pub(super) fn agent_state(state: Value) -> Value {
    match state {
        Value::String(name) => json!({ "status": camel_case(&name), "message": null }),
        Value::Object(states) => match states.into_iter().next() {
            Some((name, message)) => json!({ "status": camel_case(&name), "message": message }),
            None => Value::Null,
        },
        other => other,
    }
}

/// The result of a review as text, as Codex shows it.
pub(super) fn render_review(output: &Value) -> String {
    if let Value::String(text) = output {
        return text.clone();
    }
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    let mut parts = vec![text(output, "overall_explanation")];
    let findings: Vec<&Value> = output.get("findings").and_then(Value::as_array).into_iter().flatten().collect();
    if !findings.is_empty() {
        parts.push(if findings.len() == 1 { "Review comment:" } else { "Full review comments:" }.to_owned());
    }
    for finding in findings {
        let location = &finding["code_location"];
        let line = |key: &str| location["line_range"][key].as_u64().unwrap_or_default();
        let place = format!("{}:{}-{}", text(location, "absolute_file_path"), line("start"), line("end"));
        let body = text(finding, "body").replace('\n', "\n  ");
        parts.push(format!("- {} — {place}\n  {body}", text(finding, "title")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_shape_of_the_wire() {
        let item = r#"{"type":"CommandExecution","id":"c","command":["/bin/bash","-lc","echo a; ls"],"cwd":"file:///my%20dir",
            "parsed_cmd":[{"type":"list_files","cmd":"ls","path":null}],"source":"unified_exec_startup","status":"failed",
            "aggregated_output":"a\n","exit_code":2,"duration":{"secs":1,"nanos":5000000}}"#;
        let wire = Value::Object(to_wire(item).unwrap());
        assert_eq!(
            wire,
            json!({
                "type": "commandExecution", "id": "c", "command": "/bin/bash -lc 'echo a; ls'", "cwd": "/my dir",
                "commandActions": [{ "type": "listFiles", "command": "ls", "path": null }],
                "source": "unifiedExecStartup", "status": "failed", "aggregatedOutput": "a\n", "exitCode": 2,
                "durationMs": 1005
            })
        );
    }

    #[test]
    fn the_states_of_sub_agents_are_objects() {
        assert_eq!(agent_state(json!("pending_init")), json!({ "status": "pendingInit", "message": null }));
        assert_eq!(agent_state(json!({ "completed": "7" })), json!({ "status": "completed", "message": "7" }));
    }
}
