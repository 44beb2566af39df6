//! What Amp's lines say.

use interlingua_snapshots::Line;
use serde_json::Value;

use super::{Said, received, text};

pub(super) fn said(lines: &[Line], argv: &[String]) -> Said {
    let mut said = Said::default();
    for line in received(lines) {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            match (line["type"].as_str(), block["type"].as_str()) {
                (Some("assistant"), Some("text")) => said.texts.push(text(&block["text"])),
                (Some("assistant"), Some("thinking")) => said.reasoning.push(text(&block["thinking"])),
                (Some("assistant"), Some("tool_use")) => said.calls.push(text(&block["id"])),
                (Some("user"), Some("text")) => said.users.push(text(&block["text"])),
                (Some("user"), Some("tool_result")) => said.results.push(text(&block["tool_use_id"])),
                _ => {}
            }
        }
        let error = line["error"].as_str().unwrap_or_default();
        said.errors += usize::from(line["is_error"] == Value::Bool(true) && !error.starts_with("User cancelled"));
    }
    // What was never repeated is known from the command line.
    if said.users.is_empty() {
        let flag = argv.iter().position(|word| word == "-x");
        said.users.extend(flag.and_then(|flag| argv.get(flag + 1)).cloned());
    }
    // A call that the server never let run ends with its turn.
    said.results.clone_from(&said.calls);
    said
}
