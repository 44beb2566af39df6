//! Shutdown of the server.

use std::time::{Duration, Instant};

use interlingua_client::{ClientError, EventQuery, TurnQuery};

use crate::test_server::start_server;

#[tokio::test]
async fn shutdown_closes_open_streams_without_waiting() {
    let server = start_server().await;
    server.create("s").await;
    server.create("idle").await;
    let mut idle = server.follow("idle", EventQuery::after(1)).await;
    let mut turn = server.stream_turn("s", "permission", TurnQuery::held()).await;
    turn.until("permission.requested").await;
    let client = server.client.clone();
    let started = Instant::now();
    server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    assert_eq!(idle.next().await, None);
    while turn.next().await.is_some() {}
    assert!(matches!(client.health().await, Err(ClientError::Connect { .. })));
}
