//! Two sessions, "s" and "t", that share a server.

use std::time::Duration;

use interlingua_schema::{Message, UniversalEvent};
use interlingua_store::RawPayloads;
use tokio::time::timeout;

use crate::stand_in::StandIn;
use crate::test_runtime::{events, is_turn_end};

const TEST_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) async fn create_two_sessions(stand_in: &StandIn) {
    for id in ["s", "t"] {
        stand_in.test.runtime.create(id.into(), stand_in.session()).await.unwrap();
    }
}

/// Runs a turn in each session, at the same time. Returns the events of both.
pub(crate) async fn run_both_turns(stand_in: &StandIn) -> [Vec<UniversalEvent>; 2] {
    for (id, text) in [("s", "slow one"), ("t", "cmd two")] {
        let message = Message::new(text);
        stand_in.test.runtime.send(&id.into(), message).await.unwrap();
    }
    [wait_for_turn_end(stand_in, "s").await, wait_for_turn_end(stand_in, "t").await]
}

/// Waits for the end of a session's turn. Returns its events.
async fn wait_for_turn_end(stand_in: &StandIn, id: &str) -> Vec<UniversalEvent> {
    let mut reader = stand_in.test.store.reader(stand_in.test.session(id).await.key, 0, RawPayloads::Omit);
    let ended = timeout(TEST_TIMEOUT, async {
        while let Some(batch) = reader.next().await.unwrap() {
            let is_end = |json: &str| is_turn_end(&serde_json::from_str(json).unwrap());
            if batch.iter().any(|(_, json)| is_end(json)) {
                return;
            }
        }
    });
    assert!(ended.await.is_ok(), "the turn of session {id} did not end");
    events(&stand_in.test.store, id).await
}
