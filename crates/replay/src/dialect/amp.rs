//! Amp's stream-json: user messages in, five kinds of lines out, no control protocol.

use serde_json::{Value, json};

use super::{Extra, Interruption};
use crate::said::{Role, Said, Sense};

pub(super) fn heard(line: &str) -> Said {
    match serde_json::from_str::<Value>(line) {
        Ok(line) if line["type"] == "user" => Said { begins_turn: true, ..Said::new("message", Role::Flow) },
        _ => Said::noise(),
    }
}

pub(super) fn sense(line: &str) -> Sense {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    Sense {
        session: line["session_id"].as_str().map(str::to_owned),
        ends_turn: line["type"] == "result",
        ..Sense::default()
    }
}

pub(super) fn unforeseen(said: &Said) -> Vec<Extra> {
    if said.begins_turn { vec![result("", "The recording has no further turn")] } else { Vec::new() }
}

/// Amp knows interrupts only as signals.
pub(super) fn interrupted(interruption: &Interruption) -> Vec<Extra> {
    if interruption.running {
        vec![result(&interruption.session, "User cancelled (SIGINT/SIGTERM)")]
    } else {
        Vec::new()
    }
}

fn result(session: &str, error: &str) -> Extra {
    let result = json!({
        "type": "result",
        "subtype": "error_during_execution",
        "duration_ms": 0,
        "is_error": true,
        "num_turns": 1,
        "error": error,
        "session_id": session,
    });
    Extra::Line(result.to_string())
}
