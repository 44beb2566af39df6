//! The tests of this program once more, with servers whose store is Postgres.

use std::process::Command;

use crate::test_server::stores::{STORE_VARIABLE, is_postgres};

/// Tests that have nothing to do with the store, or are about files of the other one.
const SKIPPED: [&str; 7] = [
    "on_postgres::",
    // These start servers with Postgres themselves.
    "fleet::",
    "inspector::",
    "tokens::",
    "agent_peers::",
    "docs::",
    // A limit of the database file.
    "errors::a_full_disk_is_507_and_stored_events_are_served",
];

#[test]
fn the_tests_pass_with_postgres() {
    if is_postgres() || !interlingua_test_postgres::is_available() {
        return;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.env(STORE_VARIABLE, "postgres");
    for skipped in SKIPPED {
        tests.args(["--skip", skipped]);
    }
    let output = tests.output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("test result: ok"), "{text}");
}
