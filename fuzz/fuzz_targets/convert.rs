//! Converts a recording. The stream keeps every rule, is valid JSON, and every payload is accounted for.
//!
//! Input: a byte that selects the agent, and the recording, plain or as a wirelog.

#![no_main]

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::{Checker, UniversalEvent};
use interlingua_wirelog::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((agent, log)) = data.split_first() else { return };
    let agent = Agent::ALL[usize::from(*agent) % Agent::ALL.len()];
    let mut reader = Reader::with_max_line_bytes(log, 1 << 16).expect("memory can be read");
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut checker = Checker::new();
    convert_log(&mut reader, &mut conversion, |event| {
        let json = serde_json::to_string(&event).expect("an event can be written");
        let read: UniversalEvent = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
        assert_eq!(read, event);
        let violations = checker.push(&event);
        assert!(violations.is_empty(), "{violations:?}");
        Ok(())
    })
    .expect("memory can be read");
    assert_eq!(conversion.stats().unaccounted, 0);
});
