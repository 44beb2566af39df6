//! Two sessions, "s" and "t", that share a server.

use std::time::Duration;

use interlingua_schema::{Message, UniversalEvent};
use interlingua_store::RawPayloads;
use tokio::time::timeout;

use crate::cast::Cast;
use crate::stage::{events, is_turn_end};

const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) async fn create_both(cast: &Cast) {
    for id in ["s", "t"] {
        cast.stage.runtime.create(id.into(), cast.session()).await.unwrap();
    }
}

/// A turn in each of them, at the same time: their events.
pub(crate) async fn both_turns(cast: &Cast) -> [Vec<UniversalEvent>; 2] {
    for (id, text) in [("s", "slow one"), ("t", "cmd two")] {
        let message = Message::new(text);
        cast.stage.runtime.send(&id.into(), message).await.unwrap();
    }
    [turn_of(cast, "s").await, turn_of(cast, "t").await]
}

/// The events of a session once its turn has ended.
async fn turn_of(cast: &Cast, id: &str) -> Vec<UniversalEvent> {
    let mut reader = cast.stage.store.reader(cast.stage.session(id).await.key, 0, RawPayloads::Omit);
    let ended = timeout(PATIENCE, async {
        while let Some(batch) = reader.next().await.unwrap() {
            let ends = |json: &str| is_turn_end(&serde_json::from_str(json).unwrap());
            if batch.iter().any(|(_, json)| ends(json)) {
                return;
            }
        }
    });
    assert!(ended.await.is_ok(), "the turn of {id} does not end");
    events(&cast.stage.store, id).await
}
