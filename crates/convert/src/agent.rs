//! The converter of each agent, and detection of the agent from a line.

use interlingua_agents::Agent;
use serde_json::Value;

use crate::Converter;
use crate::acp::AcpConverter;
use crate::amp::AmpConverter;
use crate::claude::ClaudeConverter;
use crate::codex::CodexConverter;
use crate::opencode::OpenCodeConverter;

/// Creates a converter for this agent.
#[must_use]
pub fn converter_for(agent: Agent) -> Box<dyn Converter> {
    match agent {
        Agent::Claude => Box::new(ClaudeConverter::default()),
        Agent::Codex => Box::new(CodexConverter::default()),
        Agent::OpenCode => Box::new(OpenCodeConverter::default()),
        Agent::Amp => Box::new(AmpConverter::default()),
        Agent::Acp => Box::new(AcpConverter::default()),
    }
}

/// Detects the agent that wrote a line; `None` if it could be any of them.
#[must_use]
pub fn detect_agent(line: &str) -> Option<Agent> {
    let value: Value = serde_json::from_str(line).ok()?;
    let has = |key: &str| value.get(key).is_some();
    if has("event_id") && has("sequence") {
        // A universal event. Its types look like those of `codex exec`.
        return None;
    }
    // Codex speaks JSON-RPC without this member.
    if has("jsonrpc") {
        return Some(Agent::Acp);
    }
    let tag = value.get("type").and_then(Value::as_str).unwrap_or_default();
    if has("method") || (has("id") && (has("result") || has("error")) && !has("type")) {
        return Some(Agent::Codex);
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
        return Some(Agent::Codex);
    }
    if has("properties") || has("payload") || has("syncEvent") || tag.starts_with("session.next.") {
        return Some(Agent::OpenCode);
    }
    // Amp prints Claude Code's format, with session ids that begin with `T-`.
    match value.get("session_id").and_then(Value::as_str) {
        Some(id) if id.starts_with("T-") => Some(Agent::Amp),
        Some(_) => Some(Agent::Claude),
        None => ["control_request", "control_response", "stream_event", "keep_alive"]
            .contains(&tag)
            .then_some(Agent::Claude),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_detected_from_a_line() {
        for (line, agent) in [
            (r#"{"type":"system","subtype":"init","session_id":"T-1"}"#, Some(Agent::Amp)),
            (r#"{"type":"system","subtype":"init","session_id":"0a1b"}"#, Some(Agent::Claude)),
            (r#"{"type":"control_request","request_id":"1"}"#, Some(Agent::Claude)),
            (r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#, Some(Agent::Acp)),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some(Agent::Acp)),
            (r#"{"method":"turn/started","params":{}}"#, Some(Agent::Codex)),
            (r#"{"id":1,"result":{}}"#, Some(Agent::Codex)),
            (r#"{"type":"thread.started","thread_id":"1"}"#, Some(Agent::Codex)),
            (r#"{"type":"server.connected","properties":{}}"#, Some(Agent::OpenCode)),
            (r#"{"type":"error","message":"x"}"#, None),
            (r#"{"event_id":"evt_1","sequence":1,"type":"turn.started"}"#, None),
            ("plain text", None),
        ] {
            assert_eq!(detect_agent(line), agent, "{line}");
        }
    }
}
