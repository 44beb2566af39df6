//! The table of an audit: per native type, how many lines fit.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use interlingua_convert::Agent;
use interlingua_wirelog::{Entry, Reader, Wire};
use serde::Serialize;

use super::judge::{Judge, Judgement, Verdict};

/// How much of an example is shown.
const EXAMPLE: usize = 60;
/// How many reasons are told of one type.
const MOST_REASONS: usize = 5;

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
    /// Parts that did not fit their declared type and were left out, with the reason.
    pub misfits: BTreeMap<String, String>,
    /// Why lines are malformed or have an unknown tag, each reason once, the first five.
    pub reasons: Vec<String>,
}

impl FileReport {
    /// Whether a tag is unknown or a payload malformed; `strict` also asks for no unknown fields.
    #[must_use]
    pub fn fails(&self, strict: bool) -> bool {
        self.types.iter().any(|row| {
            row.unknown_tag > 0
                || row.malformed > 0
                || (strict && (!row.unknown_fields.is_empty() || !row.misfits.is_empty()))
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
            Entry::Record(record) => match record.wire {
                Wire::Received { line } => judge.received(&line),
                Wire::Reply { .. } => Judgement::new("HTTP reply", Verdict::Untyped),
                Wire::Sent { line } => {
                    judge.sent(&line);
                    continue;
                }
                Wire::Stderr { .. } | Wire::Request { .. } | Wire::Close | Wire::Exit { .. } => continue,
            },
            Entry::Bad(bad) => Judgement::new("unreadable line", Verdict::Malformed(bad.to_string())),
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
            Some(format!("unknown tag: {tag}"))
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
        row.unknown_fields.entry(field.path).or_insert_with(|| shortened(&field.example.to_string()));
    }
    for repair in judgement.repairs {
        row.misfits.entry(repair.path).or_insert(repair.reason);
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= EXAMPLE {
        return text.to_owned();
    }
    text.chars().take(EXAMPLE - 1).chain(['…']).collect()
}
