//! The report of an audit: counts per native type.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use interlingua_convert::Agent;
use interlingua_wirelog::{Entry, Input, Reader};
use serde::Serialize;

use super::line::{DecodeStatus, LineAudit, LineAuditor, generic_path};

/// Maximum number of characters of an example.
const MAX_EXAMPLE_CHARS: usize = 60;
/// Maximum number of reasons per type.
const MAX_REASONS: usize = 5;
/// Maximum number of different parts per type.
const MAX_PARTS: usize = 100;

/// The audit of one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// File name as given by the user.
    pub file: String,
    /// Agent of the log.
    pub agent: Agent,
    /// One report per native type, sorted by name.
    pub types: Vec<TypeReport>,
}

/// The audit of one native type.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TypeReport {
    /// Native type: the payload's tag, or the request that it answers.
    #[serde(rename = "type")]
    pub name: String,
    /// Number of lines.
    pub lines: u64,
    /// Lines that decoded into the variant of their tag.
    pub decoded: u64,
    /// Lines with a tag that the types do not know.
    pub unknown_tag: u64,
    /// Lines that do not match the type of their tag, cannot be read, or are broken JSON.
    pub malformed: u64,
    /// Payloads that there is no type for; never an issue.
    pub untyped: u64,
    /// Lines of plain text; never an issue.
    pub not_json: u64,
    /// Fields that the types do not know, with an example value.
    pub unknown_fields: BTreeMap<String, String>,
    /// Parts that were left out, because they do not match their type or lack a required field.
    pub misfits: Vec<PartReport>,
    /// Expected fields that are missing or null.
    pub missing: Vec<PartReport>,
    /// Enum values and kinds of JSON that the types do not know.
    pub unknown_values: Vec<PartReport>,
    /// The first five different reasons why lines are malformed or have an unknown tag.
    pub reasons: Vec<String>,
}

/// A part of payloads that does not match the types.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartReport {
    /// Path, e.g. `params.item.content[].text`.
    pub path: String,
    /// Why it does not match.
    pub reason: String,
    /// Number of occurrences.
    pub count: u64,
}

impl FileReport {
    /// Whether a tag is unknown or a payload is malformed. With `strict`, also whether fields or values are unknown, or
    /// parts were left out.
    #[must_use]
    pub fn has_issues(&self, strict: bool) -> bool {
        self.types.iter().any(|row| {
            let parts = [&row.misfits, &row.missing, &row.unknown_values];
            let is_complete = row.unknown_fields.is_empty() && parts.iter().all(|parts| parts.is_empty());
            row.unknown_tag > 0 || row.malformed > 0 || (strict && !is_complete)
        })
    }
}

/// Audits the log of one agent.
///
/// # Errors
/// If the input cannot be read.
pub fn audit<R: BufRead>(file: &str, reader: &mut Reader<R>, agent: Agent) -> io::Result<FileReport> {
    let mut auditor = LineAuditor::new(agent);
    let mut types: BTreeMap<String, TypeReport> = BTreeMap::new();
    while let Some(entry) = reader.next()? {
        let line = match entry {
            Entry::Record(record) => match record.input {
                Input::Received(line) => auditor.audit_received(&line),
                Input::Reply { .. } => LineAudit::new("HTTP reply", DecodeStatus::Untyped),
                Input::Sent(line) => {
                    auditor.observe_sent(&line);
                    continue;
                }
                Input::Unreadable { error, .. } => LineAudit::new("unreadable line", DecodeStatus::Malformed(error)),
                Input::Stderr(_) | Input::Request { .. } | Input::Close | Input::Exit { .. } => continue,
            },
            Entry::Invalid(line) => LineAudit::new("unreadable line", DecodeStatus::Malformed(line.to_string())),
        };
        add_line(&mut types, line);
    }
    Ok(FileReport { file: file.to_owned(), agent, types: types.into_values().collect() })
}

/// Adds the audit of a line to the report of its type.
fn add_line(types: &mut BTreeMap<String, TypeReport>, line: LineAudit) {
    let row = types.entry(line.name.clone()).or_default();
    row.name = line.name;
    row.lines += 1;
    let reason = match line.status {
        DecodeStatus::Decoded => {
            row.decoded += 1;
            None
        }
        DecodeStatus::UnknownTag(tag) => {
            row.unknown_tag += 1;
            Some(tag)
        }
        DecodeStatus::Malformed(reason) => {
            row.malformed += 1;
            Some(reason)
        }
        DecodeStatus::Untyped => {
            row.untyped += 1;
            None
        }
        DecodeStatus::NotJson => {
            row.not_json += 1;
            None
        }
    };
    if let Some(reason) = reason
        && row.reasons.len() < MAX_REASONS
        && !row.reasons.contains(&reason)
    {
        row.reasons.push(reason);
    }
    for field in line.unknown_fields {
        row.unknown_fields.entry(field.path).or_insert_with(|| truncate(&field.example.to_string(), MAX_EXAMPLE_CHARS));
    }
    for repair in line.repairs {
        add_part(&mut row.misfits, &repair.path, repair.reason);
    }
    for missing in line.missing {
        add_part(&mut row.missing, &missing.path, missing.reason);
    }
    for unknown in line.unknown_values {
        add_part(&mut row.unknown_values, &unknown.path, unknown.reason);
    }
}

fn add_part(parts: &mut Vec<PartReport>, path: &str, reason: String) {
    let path = generic_path(path);
    if let Some(part) = parts.iter_mut().find(|part| part.path == path && part.reason == reason) {
        part.count += 1;
    } else if parts.len() < MAX_PARTS {
        parts.push(PartReport { path, reason, count: 1 });
    }
}

/// Shortens a text to `max_chars` characters.
pub(super) fn truncate(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::table;

    fn audit_log(log: &str, agent: Agent) -> (FileReport, String) {
        let report = audit("log", &mut Reader::new(log.as_bytes()).unwrap(), agent).unwrap();
        let mut out = Vec::new();
        table::write(&report, &mut out).unwrap();
        (report, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_type_name_of_any_length_is_printed() {
        let name = "x".repeat(70_000);
        let (report, out) = audit_log(&format!("{{\"type\":\"{name}\"}}\n"), Agent::Claude);
        assert_eq!(report.types[0].name, name);
        assert!(out.contains("xxx…") && out.len() < 2000, "{out}");
    }

    #[test]
    fn mismatches_are_counted_by_path_and_reason() {
        let line = r#"{"type":"assistant","session_id":"s","message":{"content":[5,{"type":"text","text":1}],"stop_reason":"new"}}"#;
        let (report, out) = audit_log(&format!("{line}\n{line}\n"), Agent::Claude);
        let row = &report.types[0];
        assert!(report.has_issues(true) && !report.has_issues(false));
        assert_eq!((row.misfits[0].path.as_str(), row.misfits[0].count), ("message.content[]", 2));
        assert_eq!((row.unknown_values[0].path.as_str(), row.unknown_values[0].count), ("message.stop_reason", 2));
        assert!(out.contains("message.stop_reason: unknown value `new` of "), "{out}");
    }
}
