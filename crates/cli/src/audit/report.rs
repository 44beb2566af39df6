//! The table of an audit: per native type, how many lines fit.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use interlingua_convert::Agent;
use interlingua_wirelog::{Entry, Input, Reader};
use serde::Serialize;

use super::judge::{Judge, Judgement, Verdict, generic_path};

/// How much of an example is shown.
const EXAMPLE: usize = 60;
/// How many reasons are told of one type.
const MOST_REASONS: usize = 5;
/// How many different parts that did not fit are told of one type.
const MAX_PARTS: usize = 100;

/// The audit of one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The file, as it was named.
    pub file: String,
    /// Whose log it is.
    pub agent: Agent,
    /// Per native type, sorted by name.
    pub types: Vec<TypeReport>,
}

/// The audit of one native type.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TypeReport {
    /// The payload's tag, or what it answers.
    #[serde(rename = "type")]
    pub name: String,
    /// How many lines there are.
    pub lines: u64,
    /// How many decoded into the variant their tag names.
    pub decoded: u64,
    /// How many have a tag that the types do not know.
    pub unknown_tag: u64,
    /// How many do not fit the type their tag names, cannot be read, or are not JSON where JSON is due.
    pub malformed: u64,
    /// How many are payloads that the types do not cover; never a failure.
    pub untyped: u64,
    /// How many are plain text on the agent's output; never a failure.
    pub not_json: u64,
    /// The fields that the types do not know, with an example of each.
    pub unknown_fields: BTreeMap<String, String>,
    /// Parts that did not fit their declared type or lack a needed field, and were left out.
    pub misfits: Vec<PartReport>,
    /// Expected fields that are missing or null.
    pub missing: Vec<PartReport>,
    /// Values and kinds of JSON that the types do not know.
    pub unknown_values: Vec<PartReport>,
    /// Why lines are malformed or have an unknown tag, each reason once, the first five.
    pub reasons: Vec<String>,
}

/// A part of payloads that did not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// Where it stands: `params.item.content[].text`.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
    /// How often that came.
    pub count: u64,
}

impl FileReport {
    /// Whether a tag is unknown or a payload malformed; `strict` also asks for no unknown fields and values, and for
    /// nothing that was left out.
    #[must_use]
    pub fn fails(&self, strict: bool) -> bool {
        self.types.iter().any(|row| {
            let parts = [&row.misfits, &row.missing, &row.unknown_values];
            let is_whole = row.unknown_fields.is_empty() && parts.iter().all(|parts| parts.is_empty());
            row.unknown_tag > 0 || row.malformed > 0 || (strict && !is_whole)
        })
    }
}

/// Audits the log of one agent.
///
/// # Errors
/// When the input cannot be read.
pub fn audit<R: BufRead>(file: &str, reader: &mut Reader<R>, agent: Agent) -> io::Result<FileReport> {
    let mut judge = Judge::new(agent);
    let mut types: BTreeMap<String, TypeReport> = BTreeMap::new();
    while let Some(entry) = reader.next()? {
        let judgement = match entry {
            Entry::Record(record) => match record.input {
                Input::Received(line) => judge.received(&line),
                Input::Reply { .. } => Judgement::new("HTTP reply", Verdict::Untyped),
                Input::Sent(line) => {
                    judge.sent(&line);
                    continue;
                }
                Input::Unreadable { error, .. } => Judgement::new("unreadable line", Verdict::Malformed(error)),
                Input::Stderr(_) | Input::Request { .. } | Input::Close | Input::Exit { .. } => continue,
            },
            Entry::Invalid(bad) => Judgement::new("unreadable line", Verdict::Malformed(bad.to_string())),
        };
        count(&mut types, judgement);
    }
    Ok(FileReport { file: file.to_owned(), agent, types: types.into_values().collect() })
}

fn count(types: &mut BTreeMap<String, TypeReport>, judgement: Judgement) {
    let row = types.entry(judgement.name.clone()).or_default();
    row.name = judgement.name;
    row.lines += 1;
    let reason = match judgement.verdict {
        Verdict::Decoded => {
            row.decoded += 1;
            None
        }
        Verdict::UnknownTag(tag) => {
            row.unknown_tag += 1;
            Some(tag)
        }
        Verdict::Malformed(reason) => {
            row.malformed += 1;
            Some(reason)
        }
        Verdict::Untyped => {
            row.untyped += 1;
            None
        }
        Verdict::NotJson => {
            row.not_json += 1;
            None
        }
    };
    if let Some(reason) = reason
        && row.reasons.len() < MOST_REASONS
        && !row.reasons.contains(&reason)
    {
        row.reasons.push(reason);
    }
    for field in judgement.unknown_fields {
        row.unknown_fields.entry(field.path).or_insert_with(|| shortened(&field.example.to_string(), EXAMPLE));
    }
    for repair in judgement.repairs {
        count_part(&mut row.misfits, &repair.path, repair.reason);
    }
    for missing in judgement.missing {
        count_part(&mut row.missing, &missing.path, missing.reason);
    }
    for unknown in judgement.unknown_values {
        count_part(&mut row.unknown_values, &unknown.path, unknown.reason);
    }
}

fn count_part(parts: &mut Vec<PartReport>, path: &str, reason: String) {
    let path = generic_path(path);
    if let Some(part) = parts.iter_mut().find(|part| part.path == path && part.reason == reason) {
        part.count += 1;
    } else if parts.len() < MAX_PARTS {
        parts.push(PartReport { path, reason, count: 1 });
    }
}

/// The text, or its beginning if it is longer than `limit` characters.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::table;

    fn printed(log: &str, agent: Agent) -> (FileReport, String) {
        let report = audit("log", &mut Reader::new(log.as_bytes()).unwrap(), agent).unwrap();
        let mut out = Vec::new();
        table::write(&report, &mut out).unwrap();
        (report, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_type_name_of_any_length_is_printed() {
        let name = "x".repeat(70_000);
        let (report, out) = printed(&format!("{{\"type\":\"{name}\"}}\n"), Agent::Claude);
        assert_eq!(report.types[0].name, name);
        assert!(out.contains("xxx…") && out.len() < 2000, "{out}");
    }

    #[test]
    fn parts_that_do_not_fit_are_counted_by_path_and_reason() {
        let line = r#"{"type":"assistant","session_id":"s","message":{"content":[5,{"type":"text","text":1}],"stop_reason":"new"}}"#;
        let (report, out) = printed(&format!("{line}\n{line}\n"), Agent::Claude);
        let row = &report.types[0];
        assert!(report.fails(true) && !report.fails(false));
        assert_eq!((row.misfits[0].path.as_str(), row.misfits[0].count), ("message.content[]", 2));
        assert_eq!((row.unknown_values[0].path.as_str(), row.unknown_values[0].count), ("message.stop_reason", 2));
        assert!(out.contains("message.stop_reason: unknown value `new` of "), "{out}");
    }
}
