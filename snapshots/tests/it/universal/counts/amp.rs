//! Collects the content of recordings of Amp.

use interlingua_wirelog::Input;
use serde_json::Value;

use super::{SessionContent, received_json, text};

pub(super) fn native_content(inputs: &[Input], argv: &[String]) -> SessionContent {
    let mut content = SessionContent::default();
    for line in received_json(inputs) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            match (line["type"].as_str(), block["type"].as_str()) {
                (Some("assistant"), Some("text")) => content.texts.push(text(&block["text"])),
                (Some("assistant"), Some("thinking")) => content.reasoning.push(text(&block["thinking"])),
                (Some("assistant"), Some("tool_use")) => content.calls.push(text(&block["id"])),
                (Some("user"), Some("text")) => content.user_messages.push(text(&block["text"])),
                (Some("user"), Some("tool_result")) => content.results.push(text(&block["tool_use_id"])),
                _ => {}
            }
        }
        let error = line["error"].as_str().unwrap_or_default();
        content.errors += usize::from(line["is_error"] == Value::Bool(true) && !error.starts_with("User cancelled"));
    }
    // If Amp does not echo the prompt, it is on the command line.
    if content.user_messages.is_empty() {
        let flag = argv.iter().position(|word| word == "-x");
        content.user_messages.extend(flag.and_then(|flag| argv.get(flag + 1)).cloned());
    }
    // A call that the server never runs gets a synthetic result at the end of its turn.
    content.results.clone_from(&content.calls);
    content
}
