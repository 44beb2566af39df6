//! Stopping the server.

use std::time::{Duration, Instant};

use interlingua_client::{ClientError, EventQuery, TurnQuery};

use crate::served::served;

#[tokio::test]
async fn open_streams_are_closed_and_not_waited_for() {
    let served = served().await;
    served.create("s").await;
    let mut idle = served.follow("s", EventQuery::after(1000)).await;
    let mut turn = served.stream_turn("s", "permission", TurnQuery::held()).await;
    turn.until("permission.requested").await;
    let client = served.client.clone();
    let began = Instant::now();
    served.stop().await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(idle.next().await, None);
    while turn.next().await.is_some() {}
    assert!(matches!(client.health().await, Err(ClientError::Connect { .. })));
}
