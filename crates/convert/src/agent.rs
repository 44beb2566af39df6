//! The agents, by the names a user gives them.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use crate::Converter;
use crate::amp::AmpConverter;
use crate::claude::ClaudeConverter;
use crate::codex::CodexConverter;
use crate::opencode::OpenCodeConverter;

/// A coding agent whose wire format is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex, its app server or `codex exec --json`.
    Codex,
    /// OpenCode.
    OpenCode,
    /// Amp.
    Amp,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Amp];

    /// The name that headers, folders and commands use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Amp => "amp",
        }
    }

    /// A converter for this agent.
    #[must_use]
    pub fn converter(self) -> Box<dyn Converter> {
        match self {
            Self::Claude => Box::new(ClaudeConverter::default()),
            Self::Codex => Box::new(CodexConverter::default()),
            Self::OpenCode => Box::new(OpenCodeConverter::default()),
            Self::Amp => Box::new(AmpConverter::default()),
        }
    }

    /// Whose output a line looks like; `None` if it could be anybody's.
    #[must_use]
    pub fn of_line(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let has = |key: &str| value.get(key).is_some();
        if has("event_id") && has("sequence") {
            // A universal event, whose types sound like those of `codex exec`.
            return None;
        }
        let tag = value.get("type").and_then(Value::as_str).unwrap_or_default();
        if has("method") || (has("id") && (has("result") || has("error")) && !has("type")) {
            return Some(Self::Codex);
        }
        if [
            "thread.started",
            "turn.started",
            "turn.completed",
            "turn.failed",
            "item.started",
            "item.updated",
            "item.completed",
        ]
        .contains(&tag)
        {
            return Some(Self::Codex);
        }
        if has("properties") || has("payload") || has("syncEvent") || tag.starts_with("session.next.") {
            return Some(Self::OpenCode);
        }
        // Amp prints the shapes of Claude Code's format, with thread ids that begin with `T-`.
        match value.get("session_id").and_then(Value::as_str) {
            Some(id) if id.starts_with("T-") => Some(Self::Amp),
            Some(_) => Some(Self::Claude),
            None => ["control_request", "control_response", "stream_event", "keep_alive"]
                .contains(&tag)
                .then_some(Self::Claude),
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|agent| agent.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|agent| agent.name()).collect();
            format!("unknown agent `{name}`: expected one of {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_whose_it_is() {
        for (line, agent) in [
            (r#"{"type":"system","subtype":"init","session_id":"T-1"}"#, Some(Agent::Amp)),
            (r#"{"type":"system","subtype":"init","session_id":"0a1b"}"#, Some(Agent::Claude)),
            (r#"{"type":"control_request","request_id":"1"}"#, Some(Agent::Claude)),
            (r#"{"method":"turn/started","params":{}}"#, Some(Agent::Codex)),
            (r#"{"id":1,"result":{}}"#, Some(Agent::Codex)),
            (r#"{"type":"thread.started","thread_id":"1"}"#, Some(Agent::Codex)),
            (r#"{"type":"server.connected","properties":{}}"#, Some(Agent::OpenCode)),
            (r#"{"type":"error","message":"x"}"#, None),
            (r#"{"event_id":"evt_1","sequence":1,"type":"turn.started"}"#, None),
            ("plain text", None),
        ] {
            assert_eq!(Agent::of_line(line), agent, "{line}");
        }
    }
}
