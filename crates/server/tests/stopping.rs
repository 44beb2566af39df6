//! Stopping the server.

mod served;

use std::time::{Duration, Instant};

use serde_json::json;
use served::served;
use served::sse::Frames;

#[tokio::test]
async fn open_streams_are_closed_and_not_waited_for() {
    let served = served().await;
    served.create("s").await;
    let mut idle = served.follow("s", "?offset=1000").await;
    let path = "/v1/sessions/s/messages/stream?hold=true";
    let mut turn = Frames::of(served.post(path, json!({ "message": "permission" })).await);
    turn.until("permission.requested").await;
    let (base, client) = (served.base.clone(), served.client.clone());
    let began = Instant::now();
    served.stop().await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(idle.next().await, None);
    while turn.next().await.is_some() {}
    assert!(client.get(format!("{base}/v1/health")).send().await.is_err());
}
