//! Amp's stream-json: user messages in, five kinds of lines out, no control protocol.

use serde_json::{Value, json};

use super::{Interruption, SyntheticOutput};
use crate::message::{HostMessage, LineInfo};

pub(super) fn parse_host_line(line: &str) -> HostMessage {
    match serde_json::from_str::<Value>(line) {
        Ok(line) if line["type"] == "user" => HostMessage::prompt(),
        _ => HostMessage::unreadable(),
    }
}

pub(super) fn parse_agent_line(line: &str) -> LineInfo {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    LineInfo {
        session: line["session_id"].as_str().map(str::to_owned),
        ends_turn: line["type"] == "result",
        ..LineInfo::default()
    }
}

pub(super) fn answer_unrecorded(message: &HostMessage) -> Vec<SyntheticOutput> {
    if message.starts_turn { vec![failed_turn("", "The recording has no further turn")] } else { Vec::new() }
}

/// Amp has no interrupt request: only signals interrupt it.
pub(super) fn interrupt_turn(interruption: &Interruption) -> Vec<SyntheticOutput> {
    if interruption.is_running {
        vec![failed_turn(&interruption.session, "User cancelled (SIGINT/SIGTERM)")]
    } else {
        Vec::new()
    }
}

/// The `result` line of a turn that failed.
fn failed_turn(session: &str, error: &str) -> SyntheticOutput {
    let result = json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "is_error": true,
        "num_turns": 1,
        "error": error,
        "session_id": session,
    });
    SyntheticOutput::Line(result.to_string())
}
