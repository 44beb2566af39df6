//! Everything in a recording is in its universal stream, once: texts, reasoning, user messages, tool calls, results,
//! permissions, questions, errors.
//!
//! The native content is collected from plain JSON, without the generated types and converters under test.

mod acp;
mod amp;
mod claude;
mod codex;
mod opencode;

use std::collections::BTreeMap;

use interlingua_convert::Agent;
use interlingua_schema::{EventData, ItemKind, ItemStatus, Role, Source, UniversalEvent};
use interlingua_snapshots::CorpusEntry;
use interlingua_wirelog::Input;
use serde_json::Value;

use crate::corpus;

/// The content of a recording or of a stream, as far as it is compared.
#[derive(Debug, Default)]
struct SessionContent {
    /// The agent's texts.
    texts: Vec<String>,
    /// Its reasoning.
    reasoning: Vec<String>,
    /// The user's messages, without the prompts of sub-agents.
    user_messages: Vec<String>,
    /// Ids of the tool calls.
    calls: Vec<String>,
    /// Ids of the tool calls that have a result.
    results: Vec<String>,
    permissions: usize,
    questions: usize,
    /// Failures that the agent reports.
    errors: usize,
}

impl SessionContent {
    /// Collects the content of a stream. Interrupted messages of the agent are returned separately.
    fn from_stream(events: &[UniversalEvent]) -> (Self, Vec<String>) {
        let mut collected = Self::default();
        let mut interrupted = Vec::new();
        for event in events {
            match &event.data {
                EventData::ItemStarted(data) if data.item.kind == ItemKind::ToolCall => {
                    let call = serde_json::to_value(&data.item.content[0]).unwrap();
                    collected.calls.push(text(&call["call_id"]));
                }
                EventData::ItemCompleted(data) => {
                    let item = &data.item;
                    let content = serde_json::to_value(&item.content).unwrap();
                    let parts = content.as_array().unwrap();
                    let failed = item.status == ItemStatus::Failed;
                    match (item.kind.clone(), item.role.clone()) {
                        (ItemKind::ToolResult, _) => collected.results.push(text(&parts[0]["call_id"])),
                        (ItemKind::Message, Some(Role::User)) if item.parent_id.is_none() => {
                            collected.user_messages.push(item.streamed_text().collect());
                        }
                        (ItemKind::Message, Some(Role::Assistant)) => {
                            let is_reasoning = parts.iter().any(|part| part["type"] == "reasoning");
                            let text = item.streamed_text().collect();
                            if failed {
                                interrupted.push(text);
                            } else if is_reasoning {
                                collected.reasoning.push(text);
                            } else {
                                collected.texts.push(text);
                            }
                        }
                        _ => {}
                    }
                }
                EventData::PermissionRequested(_) => collected.permissions += 1,
                EventData::QuestionRequested(_) => collected.questions += 1,
                EventData::Error(_) if event.origin.source() == Source::Agent => collected.errors += 1,
                _ => {}
            }
        }
        (collected, interrupted)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The received lines as JSON.
fn received_json(inputs: &[Input]) -> impl Iterator<Item = Value> {
    inputs.iter().filter_map(|input| match input {
        Input::Received(line) => serde_json::from_str(line).ok(),
        _ => None,
    })
}

/// The sent lines as JSON.
fn sent_json(inputs: &[Input]) -> impl Iterator<Item = Value> {
    inputs.iter().filter_map(|input| match input {
        Input::Sent(line) => serde_json::from_str(line).ok(),
        _ => None,
    })
}

/// Counts how often each text occurs, ignoring whitespace.
fn count_texts(texts: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        let text: String = text.split_whitespace().collect();
        if !text.is_empty() {
            *counts.entry(text).or_default() += 1;
        }
    }
    counts
}

/// Adds a line to `problems` for each text that differs. A native text that is missing in the stream may be among the
/// `interrupted` texts, which may also contain texts that are not native.
fn compare(kind: &str, native: &[String], stream: &[String], interrupted: &[String], problems: &mut Vec<String>) {
    let (native, stream, interrupted) = (count_texts(native), count_texts(stream), count_texts(interrupted));
    for (text, expected) in &native {
        let found = stream.get(text).copied().unwrap_or(0);
        let with_interrupted = found + interrupted.get(text).copied().unwrap_or(0);
        if found > *expected || with_interrupted < *expected {
            problems.push(format!("{kind}: {expected} in the recording, {found} in the stream: {text:.80}"));
        }
    }
    for text in stream.keys().filter(|text| !native.contains_key(*text)) {
        problems.push(format!("{kind}: not in the recording: {text:.80}"));
    }
}

#[test]
fn everything_in_a_recording_is_in_its_stream_once() {
    let mut problems = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let inputs = recording.inputs().unwrap();
        let argv = recording.reader().unwrap().header().map(|header| header.argv.clone()).unwrap_or_default();
        let native = match recording.agent {
            Agent::Amp => amp::native_content(&inputs, &argv),
            Agent::Acp => acp::native_content(&inputs),
            Agent::Claude => claude::native_content(&inputs, &argv),
            Agent::Codex => codex::native_content(&inputs, &argv),
            Agent::OpenCode => opencode::native_content(&inputs),
        };
        let (stream, interrupted) = SessionContent::from_stream(&converted.events);
        let mut found = Vec::new();
        compare("text", &native.texts, &stream.texts, &interrupted, &mut found);
        compare("reasoning", &native.reasoning, &stream.reasoning, &interrupted, &mut found);
        compare("user message", &native.user_messages, &stream.user_messages, &[], &mut found);
        compare("call", &native.calls, &stream.calls, &[], &mut found);
        compare("result", &native.results, &stream.results, &[], &mut found);
        for (kind, native, stream) in [
            ("permissions", native.permissions, stream.permissions),
            ("questions", native.questions, stream.questions),
            ("errors", native.errors, stream.errors),
        ] {
            if native != stream {
                found.push(format!("{kind}: {native} in the recording, {stream} in the stream"));
            }
        }
        let name = recording.name();
        problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
    }
    assert!(problems.is_empty(), "streams that differ from their recordings:\n{}", problems.join("\n"));
}
