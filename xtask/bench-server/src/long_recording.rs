//! Recordings that are long enough to measure: short ones in which a section is repeated.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use interlingua_recordings::Transcripts;
use serde_json::Value;

/// A recording, and the section in it that is repeated.
#[derive(Debug)]
pub(crate) struct RepeatedSection {
    pub(crate) agent: &'static str,
    /// The recording, as `agent/version/scenario`.
    pub(crate) recording: &'static str,
    /// Text that identifies the first line of the section.
    first_line: &'static str,
    /// Text that identifies the last line of the section.
    last_line: &'static str,
    /// Prefix of the ids that must be different in each repetition.
    id_prefix: &'static str,
}

/// One section per agent: a message with deltas, or a tool call if the agent sends no deltas.
pub(crate) const SECTIONS: [RepeatedSection; 4] = [
    RepeatedSection {
        agent: "claude",
        recording: "claude/2.1.325/speaks-in-small-pieces",
        first_line: r#""type":"message_start""#,
        last_line: r#""type":"message_stop""#,
        id_prefix: "msg_",
    },
    RepeatedSection {
        agent: "codex",
        recording: "codex/0.166.0/text_deltas",
        first_line: r#""type":"agentMessage""#,
        last_line: r#""method":"item/completed""#,
        id_prefix: "msg_",
    },
    RepeatedSection {
        agent: "opencode",
        recording: "opencode/1.18.33/text_deltas",
        first_line: r#""type":"text","text":"","time""#,
        last_line: r#""end":"#,
        id_prefix: "prt_",
    },
    RepeatedSection {
        agent: "amp",
        recording: "amp/0.0.1790142911-g7618fb/file-tools",
        first_line: r#""type":"tool_use""#,
        last_line: r#""type":"tool_result""#,
        id_prefix: "TU-",
    },
];

impl RepeatedSection {
    /// Writes the recording to a file, with about this number of lines. It ends after the turn of the section.
    pub(crate) fn write(&self, transcripts: &Path, lines: usize, file: &Path) -> Result<()> {
        let path = Transcripts::new(transcripts).find(self.recording)?;
        let short = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let long =
            self.repeat(&short, lines).with_context(|| format!("{} does not have the section", path.display()))?;
        fs::write(file, long).with_context(|| format!("cannot write {}", file.display()))
    }

    fn repeat(&self, short: &str, lines: usize) -> Option<Vec<u8>> {
        let records: Vec<&str> = short.lines().collect();
        let parse = |record: &str| serde_json::from_str::<Value>(record).unwrap_or_default();
        let contains =
            |record: &str, text: &str| parse(record)["line"].as_str().is_some_and(|line| line.contains(text));
        let first = records.iter().position(|record| contains(record, self.first_line))?;
        let last = first + records[first..].iter().position(|record| contains(record, self.last_line))?;
        let rest = &records[last + 1..];
        let next_turn = rest.iter().position(|record| parse(record)["dir"] == "send").unwrap_or(rest.len());
        let section = &records[first..=last];
        let mut long = Vec::new();
        let mut write = |record: &str| writeln!(long, "{record}").ok();
        for record in &records[..first] {
            write(record)?;
        }
        for repetition in 0..lines.div_ceil(section.len()) {
            for record in section {
                write(&self.rename_ids(record, repetition))?;
            }
        }
        for record in &rest[..next_turn] {
            write(record)?;
        }
        Some(long)
    }

    /// Adds the number of the repetition to the ids in a record.
    fn rename_ids(&self, record: &str, repetition: usize) -> String {
        let mut pieces = record.split(self.id_prefix);
        let mut renamed = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
            let (id, rest) = piece.split_at(end);
            renamed.extend([self.id_prefix, id, "x", &repetition.to_string(), rest]);
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_found_and_each_repetition_has_its_own_ids() {
        let transcripts = Transcripts::in_repository();
        for section in &SECTIONS {
            let short = fs::read_to_string(transcripts.find(section.recording).unwrap()).unwrap();
            let long = String::from_utf8(section.repeat(&short, 1000).unwrap()).unwrap();
            assert!((1000..1200).contains(&long.lines().count()), "{}: {}", section.agent, long.lines().count());
            for repetition in [0, 7] {
                assert!(long.contains(&format!("x{repetition}\\\"")), "{}", section.agent);
            }
            assert_eq!(long.lines().next(), short.lines().next());
        }
    }
}
