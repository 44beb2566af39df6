//! Recordings that are long enough to be timed: a short one with a passage of its turn said over and over.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use interlingua_recordings::Transcripts;
use serde_json::Value;

/// A recording, and the passage in it that is said over and over.
#[derive(Debug)]
pub(crate) struct Passage {
    pub(crate) agent: &'static str,
    /// The recording, as `agent/version/scenario`.
    pub(crate) recording: &'static str,
    /// What the first line of the passage has in it.
    from: &'static str,
    /// What the last line of the passage has in it.
    to: &'static str,
    /// How the names begin of what the passage makes anew each time.
    names: &'static str,
}

/// One of each agent: messages in pieces where the agent speaks so, calls of a tool where it does not.
pub(crate) const PASSAGES: [Passage; 4] = [
    Passage {
        agent: "claude",
        recording: "claude/2.1.325/speaks-in-small-pieces",
        from: r#""type":"message_start""#,
        to: r#""type":"message_stop""#,
        names: "msg_",
    },
    Passage {
        agent: "codex",
        recording: "codex/0.166.0/text_deltas",
        from: r#""type":"agentMessage""#,
        to: r#""method":"item/completed""#,
        names: "msg_",
    },
    Passage {
        agent: "opencode",
        recording: "opencode/1.18.33/text_deltas",
        from: r#""type":"text","text":"","time""#,
        to: r#""end":"#,
        names: "prt_",
    },
    Passage {
        agent: "amp",
        recording: "amp/0.0.1790142911-g7618fb/file-tools",
        from: r#""type":"tool_use""#,
        to: r#""type":"tool_result""#,
        names: "TU-",
    },
];

impl Passage {
    /// Writes the recording with about so many lines to a file. It ends with the turn that the passage is in.
    pub(crate) fn write(&self, transcripts: &Path, lines: usize, file: &Path) -> Result<()> {
        let path = Transcripts::new(transcripts).find(self.recording)?;
        let short = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let long = self.repeat(&short, lines).with_context(|| format!("{} has another shape", path.display()))?;
        fs::write(file, long).with_context(|| format!("cannot write {}", file.display()))
    }

    fn repeat(&self, short: &str, lines: usize) -> Option<Vec<u8>> {
        let records: Vec<&str> = short.lines().collect();
        let crossed = |record: &str| serde_json::from_str::<Value>(record).unwrap_or_default();
        let holds =
            |record: &str, words: &str| crossed(record)["line"].as_str().is_some_and(|line| line.contains(words));
        let first = records.iter().position(|record| holds(record, self.from))?;
        let last = first + records[first..].iter().position(|record| holds(record, self.to))?;
        let rest = &records[last + 1..];
        let next_turn = rest.iter().position(|record| crossed(record)["dir"] == "send").unwrap_or(rest.len());
        let passage = &records[first..=last];
        let mut long = Vec::new();
        let mut write = |record: &str| writeln!(long, "{record}").ok();
        for record in &records[..first] {
            write(record)?;
        }
        for time in 0..lines.div_ceil(passage.len()) {
            for record in passage {
                write(&self.renamed(record, time))?;
            }
        }
        for record in &rest[..next_turn] {
            write(record)?;
        }
        Some(long)
    }

    /// A record with names that no other time has.
    fn renamed(&self, record: &str, time: usize) -> String {
        let mut pieces = record.split(self.names);
        let mut renamed = pieces.next().unwrap_or_default().to_owned();
        for piece in pieces {
            let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
            let (name, rest) = piece.split_at(end);
            renamed.extend([self.names, name, "x", &time.to_string(), rest]);
        }
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_passage_is_found_and_named_anew_each_time() {
        let transcripts = Transcripts::in_repository();
        for passage in &PASSAGES {
            let short = fs::read_to_string(transcripts.find(passage.recording).unwrap()).unwrap();
            let long = String::from_utf8(passage.repeat(&short, 1000).unwrap()).unwrap();
            assert!((1000..1200).contains(&long.lines().count()), "{}: {}", passage.agent, long.lines().count());
            for time in [0, 7] {
                assert!(long.contains(&format!("x{time}\\\"")), "{}", passage.agent);
            }
            assert_eq!(long.lines().next(), short.lines().next());
        }
    }
}
