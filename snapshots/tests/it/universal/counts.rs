//! Whatever stands in the native log stands in the stream, once: texts, reasoning, user messages, tool calls, results,
//! permissions, questions, errors.
//!
//! What is native is counted here by walking plain JSON, without the types and converters that are under test.

mod amp;
mod claude;
mod codex;
mod opencode;

use std::collections::BTreeMap;

use interlingua_convert::Agent;
use interlingua_schema::{EventData, ItemKind, ItemStatus, Role, Source, UniversalEvent};
use interlingua_snapshots::{CorpusEntry, Line};
use interlingua_wirelog::Input;
use serde_json::Value;

use crate::corpus;

/// What is said and done in a session.
#[derive(Debug, Default)]
struct Said {
    /// The agent's texts.
    texts: Vec<String>,
    /// What it thought.
    reasoning: Vec<String>,
    /// The user's messages; not the prompts of sub-agents.
    users: Vec<String>,
    /// The ids of tool calls.
    calls: Vec<String>,
    /// The ids of the calls that have a result.
    results: Vec<String>,
    permissions: usize,
    questions: usize,
    /// Failures that the agent tells of.
    errors: usize,
}

impl Said {
    /// What the stream has. Messages that were cut off are told apart.
    fn in_stream(events: &[UniversalEvent]) -> (Self, Vec<String>) {
        let mut said = Self::default();
        let mut cut_off = Vec::new();
        for event in events {
            match &event.data {
                EventData::ItemStarted(data) if data.item.kind == ItemKind::ToolCall => {
                    let call = serde_json::to_value(&data.item.content[0]).unwrap();
                    said.calls.push(text(&call["call_id"]));
                }
                EventData::ItemCompleted(data) => {
                    let item = &data.item;
                    let content = serde_json::to_value(&item.content).unwrap();
                    let parts = content.as_array().unwrap();
                    let failed = item.status == ItemStatus::Failed;
                    match (item.kind.clone(), item.role.clone()) {
                        (ItemKind::ToolResult, _) => said.results.push(text(&parts[0]["call_id"])),
                        (ItemKind::Message, Some(Role::User)) if item.parent_id.is_none() => {
                            said.users.push(item.streamed_text().collect());
                        }
                        (ItemKind::Message, Some(Role::Assistant)) => {
                            let reasons = parts.iter().any(|part| part["type"] == "reasoning");
                            let text = item.streamed_text().collect();
                            if failed {
                                cut_off.push(text);
                            } else if reasons {
                                said.reasoning.push(text);
                            } else {
                                said.texts.push(text);
                            }
                        }
                        _ => {}
                    }
                }
                EventData::PermissionRequested(_) => said.permissions += 1,
                EventData::QuestionRequested(_) => said.questions += 1,
                EventData::Error(_) if event.origin.source() == Source::Agent => said.errors += 1,
                _ => {}
            }
        }
        (said, cut_off)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The JSON of what was received.
fn received(lines: &[Line]) -> impl Iterator<Item = Value> {
    lines.iter().filter_map(|line| match line {
        Input::Received(line) => serde_json::from_str(line).ok(),
        _ => None,
    })
}

/// The JSON of what was sent.
fn sent(lines: &[Line]) -> impl Iterator<Item = Value> {
    lines.iter().filter_map(|line| match line {
        Input::Sent(line) => serde_json::from_str(line).ok(),
        _ => None,
    })
}

/// How often each text is there. Whitespace does not count.
fn counted(texts: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for text in texts {
        let text: String = text.split_whitespace().collect();
        if !text.is_empty() {
            *counts.entry(text).or_default() += 1;
        }
    }
    counts
}

/// What differs, one line each. `cut_off` may hold what is missing among the texts, and anything besides.
fn compare(what: &str, native: &[String], stream: &[String], cut_off: &[String], problems: &mut Vec<String>) {
    let (native, stream, cut_off) = (counted(native), counted(stream), counted(cut_off));
    for (text, expected) in &native {
        let found = stream.get(text).copied().unwrap_or(0);
        let with_cut_off = found + cut_off.get(text).copied().unwrap_or(0);
        if found > *expected || with_cut_off < *expected {
            problems.push(format!("{what}: {expected} native, {found} in the stream: {text:.80}"));
        }
    }
    for text in stream.keys().filter(|text| !native.contains_key(*text)) {
        problems.push(format!("{what}: not in the native log: {text:.80}"));
    }
}

#[test]
fn whatever_is_native_is_in_the_stream_once() {
    let mut problems = Vec::new();
    for CorpusEntry { recording, converted } in corpus().entries() {
        let lines = recording.lines().unwrap();
        let argv = recording.reader().unwrap().header().map(|header| header.argv.clone()).unwrap_or_default();
        let native = match recording.agent {
            Agent::Amp => amp::said(&lines, &argv),
            Agent::Claude => claude::said(&lines, &argv),
            Agent::Codex => codex::said(&lines, &argv),
            Agent::OpenCode => opencode::said(&lines, &argv),
        };
        let (stream, cut_off) = Said::in_stream(&converted.events);
        let mut found = Vec::new();
        compare("text", &native.texts, &stream.texts, &cut_off, &mut found);
        compare("reasoning", &native.reasoning, &stream.reasoning, &cut_off, &mut found);
        compare("user", &native.users, &stream.users, &[], &mut found);
        compare("call", &native.calls, &stream.calls, &[], &mut found);
        compare("result", &native.results, &stream.results, &[], &mut found);
        for (what, native, stream) in [
            ("permissions", native.permissions, stream.permissions),
            ("questions", native.questions, stream.questions),
            ("errors", native.errors, stream.errors),
        ] {
            if native != stream {
                found.push(format!("{what}: {native} native, {stream} in the stream"));
            }
        }
        let name = recording.name();
        problems.extend(found.into_iter().map(|problem| format!("{name}: {problem}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
