//! A server that is told to stop, stops: whoever still listens.

use std::time::{Duration, Instant};

use crate::running::Running;

async fn stops_on(signal: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Running::start(folder.path(), &[]);
    server.create("s").await;
    server.send("s", "permission").await;
    let mut stream = server.follow("s", 0).await;
    let mut events = stream.until("permission.requested").await;
    let mut idle = server.follow("s", 1000).await;

    let began = Instant::now();
    server.signal(signal);
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    assert_eq!(idle.next().await, None);
    assert!(server.wait().success());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());

    // The session goes on with the next server, and what a client saw is there.
    let server = Running::start(folder.path(), &[]);
    server.send("s", "echo again").await;
    let mut stream = server.follow("s", 0).await;
    let mut all = stream.until("turn.ended").await;
    all.extend(stream.until("turn.ended").await);
    crate::running::check(&all);
    assert!(all.starts_with(&events));
}

#[tokio::test]
async fn sigterm_closes_streams_and_ends_the_server() {
    stops_on("TERM").await;
}

#[tokio::test]
async fn sigint_closes_streams_and_ends_the_server() {
    stops_on("INT").await;
}
