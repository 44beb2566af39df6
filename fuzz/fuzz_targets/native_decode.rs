//! Decodes a line of an agent. What was decoded and encoded again decodes to the same value.
//!
//! Input: a byte that selects the agent, and the line.

#![no_main]

use interlingua_native::{Native, acp, amp, claude, codex, opencode};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;

fuzz_target!(|data: &[u8]| {
    let Some((agent, line)) = data.split_first() else { return };
    let Ok(line) = std::str::from_utf8(line) else { return };
    match agent % 9 {
        0 => round_trip::<claude::StdoutMessage>(line),
        1 => round_trip::<amp::StreamMessage>(line),
        2 => round_trip::<opencode::Event>(line),
        3 => round_trip::<codex::ServerNotificationEnvelope>(line),
        4 => round_trip::<codex::ServerRequestEnvelope>(line),
        5 => round_trip::<codex::exec::ThreadEvent>(line),
        6 => round_trip::<acp::AgentNotificationEnvelope>(line),
        7 => round_trip::<acp::AgentRequestEnvelope>(line),
        _ => round_trip::<acp::ClientRequestEnvelope>(line),
    }
});

fn round_trip<T: Native + Serialize>(line: &str) {
    let Ok(decoded) = T::decode(line) else { return };
    let encoded = serde_json::to_string(&decoded.value).expect("a decoded value can be encoded");
    let again = T::decode(&encoded).unwrap_or_else(|error| panic!("{error}: {encoded}"));
    let encoded_again = serde_json::to_string(&again.value).expect("a decoded value can be encoded");
    assert_eq!(encoded, encoded_again, "decoded from {line}");
}
