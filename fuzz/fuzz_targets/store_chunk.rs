//! Stores events and payloads as a chunk and reads them again, and reads a chunk of arbitrary bytes.
//!
//! Input: lines. The odd ones are events, the even ones their payloads.

#![no_main]

use interlingua_store::fuzzing::{decode_chunk, round_trip_chunk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    decode_chunk(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines: Vec<&str> = text.split('\n').collect();
    let events = lines.iter().step_by(2).copied();
    let payloads = lines.iter().skip(1).step_by(2).copied();
    round_trip_chunk(events, payloads);
});
