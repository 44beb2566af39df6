//! The first line of a wirelog.

use serde::Serialize;
use serde_json::{Map, Value};

/// What a recording says about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Header {
    /// The version of the format: 1.
    pub wirelog: u64,
    /// The agent: `claude`, `codex`, `opencode`, `amp`. Left out when the recorder did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The agent's version. Left out when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A name for what was recorded. Left out when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The command line the agent was started with; the prompt of a one-shot run may be in it. Left out when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The prompt of a one-shot run. Left out when there is none, or it stands in `argv`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// When the recording began, in RFC 3339. Left out when it is not known; times then count from 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// Whatever else the header has.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Header {
    /// The header of a recording of this agent.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { wirelog: 1, agent: Some(agent.into()), ..Self::default() }
    }

    /// Reads a header, if the line is one. A field of the wrong type counts as not said: a recording is worth
    /// reading even when its label is smudged.
    pub(crate) fn read(line: &[u8]) -> Option<Self> {
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
