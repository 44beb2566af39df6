//! The first line of a wirelog.

use serde::Serialize;
use serde_json::{Map, Value};

/// Metadata of a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// Version of the wirelog format: 1.
    pub wirelog: u64,
    /// The agent: `claude`, `codex`, `opencode`, `amp`. Omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's version. Omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Name of the recorded scenario. Omitted if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Command line of the agent. It may contain the prompt of a one-shot run. Omitted if it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// Prompt of a one-shot run. Omitted if there is none, or if it is in `argv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Start of the recording in RFC 3339. Omitted if it is not known; times then count from 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// Other fields of the header.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Header {
    /// Header of a recording of this agent.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { wirelog: 1, agent: Some(agent.into()), ..Self::default() }
    }

    /// Parses a header; `None` if the line is not one. A field of the wrong type counts as absent, so that a recording
    /// with a damaged header can still be read.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_slice(line).ok()?;
        let wirelog = fields.remove("wirelog")?.as_u64()?;
        let mut text = |name| match fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Some(Self {
            wirelog,
            agent: text("agent"),
            version: text("version"),
            scenario: text("scenario"),
            prompt: text("prompt"),
            recorded_at: text("recorded_at"),
            argv: match fields.remove("argv") {
                Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                _ => Vec::new(),
            },
            other: fields,
        })
    }
}
