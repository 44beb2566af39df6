//! Reads the body of a request. A body that is not JSON is 400, and JSON of the wrong shape is 422.
//!
//! Input: a byte that selects the request, and the body.

#![no_main]

use interlingua_server::fuzzing::parse_body;
use libfuzzer_sys::fuzz_target;
use serde::de::IgnoredAny;

fuzz_target!(|data: &[u8]| {
    let Some((request, body)) = data.split_first() else { return };
    let is_json = serde_json::from_slice::<IgnoredAny>(body).is_ok();
    match parse_body(*request, body) {
        Ok(()) => assert!(is_json, "accepted a body that is not JSON"),
        Err(status) => assert_eq!(status, if is_json { 422 } else { 400 }),
    }
});
