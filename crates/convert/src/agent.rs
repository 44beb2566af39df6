//! The converter of each agent, and detection of the agent from a line.

use interlingua_agents::Agent;
use serde_json::Value;

use crate::{Converter, Drafts, Input, InputRef};

/// Creates a converter for this agent. If the feature of the agent is off, the converter reports every payload as
/// unparsed.
#[must_use]
pub fn converter_for(agent: Agent) -> Box<dyn Converter> {
    match agent {
        #[cfg(feature = "acp")]
        Agent::Acp => Box::new(crate::acp::AcpConverter::default()),
        #[cfg(feature = "claude")]
        Agent::Claude => Box::new(crate::claude::ClaudeConverter::default()),
        #[cfg(feature = "codex")]
        Agent::Codex => Box::new(crate::codex::CodexConverter::default()),
        #[cfg(feature = "opencode")]
        Agent::OpenCode => Box::new(crate::opencode::OpenCodeConverter::default()),
        #[cfg(feature = "amp")]
        Agent::Amp => Box::new(crate::amp::AmpConverter::default()),
        #[cfg(not(all(
            feature = "acp",
            feature = "amp",
            feature = "claude",
            feature = "codex",
            feature = "opencode"
        )))]
        other => Box::new(DisabledConverter(other)),
    }
}

/// The converter of an agent whose feature is off.
#[cfg_attr(
    all(feature = "acp", feature = "amp", feature = "claude", feature = "codex", feature = "opencode"),
    allow(dead_code)
)]
struct DisabledConverter(Agent);

impl Converter for DisabledConverter {
    fn agent(&self) -> &'static str {
        self.0.id()
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        if let Input::Received(_) = input {
            let reason = format!("interlingua-convert was built without the feature `{}`", self.0.id());
            out.current_session().unparsed(self.0.id(), reason, None);
        }
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
    // Amp prints Claude Code's format, with session ids that begin with `T-`. Lines without a type, such as those of Codex's
    // list of prompts, are not of this format.
    match value.get("session_id").and_then(Value::as_str).filter(|_| has("type")) {
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
    fn payloads_of_an_agent_without_its_feature_are_unparsed() {
        let mut conversion =
            crate::Conversion::new(DisabledConverter(Agent::Codex), crate::ConversionOptions::default());
        let mut events: Vec<interlingua_schema::UniversalEvent> = Vec::new();
        conversion.push(None, Input::Received("{}"), &mut events);
        conversion.finish(None, crate::StreamEnd::Log, &mut events);
        let text = format!("{events:?}");
        assert!(text.contains("AgentUnparsed") && text.contains("the feature `codex`"), "{text}");
    }

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
            (r#"{"session_id":"0a1b","ts":1,"text":"fix the test"}"#, None),
            (r#"{"event_id":"evt_1","sequence":1,"type":"turn.started"}"#, None),
            ("plain text", None),
        ] {
            assert_eq!(detect_agent(line), agent, "{line}");
        }
    }
}
