//! Texts and exit codes in `rawOutput`, whose format is the agent's own.

use serde_json::{Map, Value};

/// Keys of an object that contain the text of the output, the most specific first.
const TEXT_KEYS: [&str; 9] = [
    "output",
    "formatted_output",
    "aggregated_output",
    "content",
    "text",
    "result",
    "error",
    "message",
    "returnDisplay",
];
const EXIT_CODE_KEYS: [&str; 6] = ["exit_code", "exitCode", "exit", "returncode", "return_code", "returnCode"];

/// The output of a command that the agent reports as such.
pub(super) fn command_output(raw: &Value) -> Option<String> {
    let inner = embedded(raw);
    let fields = inner.as_ref().unwrap_or(raw).as_object()?;
    let text = |key: &str| fields.get(key)?.as_str().map(str::to_owned);
    let outputs = ["output", "formatted_output", "aggregated_output"];
    streams(fields).or_else(|| outputs.into_iter().find_map(text))
}

/// What a command wrote to its two streams.
fn streams(fields: &Map<String, Value>) -> Option<String> {
    let streams = ["stdout", "stderr"].map(|key| fields.get(key).and_then(Value::as_str));
    if streams.iter().all(Option::is_none) {
        return None;
    }
    let mut output = String::new();
    for stream in streams.into_iter().flatten().filter(|stream| !stream.is_empty()) {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(stream);
    }
    Some(output)
}

/// An object that is written as a text of JSON.
fn embedded(raw: &Value) -> Option<Value> {
    let text = raw.as_str().filter(|text| text.starts_with('{'))?;
    serde_json::from_str(text).ok().filter(Value::is_object)
}

/// The text of an output; `None` if it has none.
pub(super) fn raw_text(raw: &Value) -> Option<String> {
    let text = match raw {
        Value::String(text) => embedded(raw).and_then(|inner| raw_text(&inner)).or_else(|| Some(text.clone())),
        Value::Array(list) => list_text(list),
        Value::Object(fields) => streams(fields).filter(|text| !text.is_empty()).or_else(|| {
            let texts = TEXT_KEYS.iter().filter_map(|key| fields.get(*key)).filter(|value| !value.is_null());
            texts.filter_map(raw_text).find(|text| !text.is_empty())
        }),
        _ => None,
    };
    text.filter(|text| !text.is_empty())
}

/// The texts of a list of blocks.
fn list_text(list: &[Value]) -> Option<String> {
    let texts: Vec<&str> = list.iter().filter_map(|block| block.get("text").unwrap_or(block).as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// An output without a text, as JSON. An empty one says nothing.
pub(super) fn text_of_other(raw: &Value) -> Option<String> {
    let is_empty = match raw {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(Value::is_null),
        Value::Bool(_) | Value::Number(_) => false,
    };
    (!is_empty).then(|| raw.to_string())
}

/// The exit code of a command, wherever the agent puts it. A command that a signal ended has none.
pub(super) fn exit_code(raw: &Value) -> Option<i32> {
    let inner = embedded(raw);
    let fields = inner.as_ref().unwrap_or(raw).as_object()?;
    if fields.get("signal").is_some_and(|signal| !signal.is_null()) {
        return None;
    }
    let code = EXIT_CODE_KEYS.iter().find_map(|key| fields.get(*key)?.as_i64());
    let nested = || fields.get("metadata").and_then(exit_code);
    let listed = || fields.get("contents")?.as_array()?.iter().find_map(exit_code);
    code.and_then(|code| i32::try_from(code).ok()).or_else(nested).or_else(listed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_an_output_is_found_in_the_formats_of_the_agents() {
        for (raw, text) in [
            (json!("plain"), Some("plain")),
            (json!({ "output": "", "error": "no file" }), Some("no file")),
            (json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }), Some("a\nb")),
            (json!({ "stdout": "out", "exit_code": 1 }), Some("out")),
            (json!({ "stdout": "out", "stderr": "err" }), Some("out\nerr")),
            (json!({ "result": null, "error": { "message": "no" } }), Some("no")),
            (json!(r#"{"stdout":"out","returncode":0}"#), Some("out")),
            (json!("{not json"), Some("{not json")),
            (json!({ "exit_code": 0 }), None),
            (json!(null), None),
        ] {
            assert_eq!(raw_text(&raw).as_deref(), text, "{raw}");
        }
    }

    #[test]
    fn an_output_without_a_text_is_json() {
        assert_eq!(text_of_other(&json!(42)).as_deref(), Some("42"));
        assert_eq!(text_of_other(&json!([{ "a": 1 }])).as_deref(), Some(r#"[{"a":1}]"#));
        for empty in [json!(""), json!({}), json!([]), json!({ "error": null })] {
            assert_eq!(text_of_other(&empty), None, "{empty}");
        }
    }

    #[test]
    fn a_command_has_both_of_its_streams() {
        assert_eq!(command_output(&json!({ "stdout": "a\n", "stderr": "b\n" })).as_deref(), Some("a\nb\n"));
        assert_eq!(command_output(&json!({ "stdout": "", "stderr": "" })).as_deref(), Some(""));
        assert_eq!(command_output(&json!({ "output": "", "exitCode": 0 })).as_deref(), Some(""));
        assert_eq!(command_output(&json!({ "content": "a" })), None);
    }

    #[test]
    fn the_exit_code_is_found_in_the_formats_of_the_agents() {
        for raw in [
            json!({ "exit_code": 3 }),
            json!({ "metadata": { "exit": 3 } }),
            json!({ "contents": [{ "type": "text" }, { "type": "shell_exit", "exitCode": 3 }] }),
            json!(r#"{"stdout":"","returncode":3}"#),
        ] {
            assert_eq!(exit_code(&raw), Some(3), "{raw}");
        }
        assert_eq!(exit_code(&json!({ "output": "exit 3" })), None);
        assert_eq!(exit_code(&json!({ "exitCode": 0, "signal": 15 })), None);
    }
}
