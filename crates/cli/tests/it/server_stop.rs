//! SIGTERM and SIGINT stop the server, even with open streams.

use std::time::{Duration, Instant};

use crate::server_process::ServerProcess;

async fn check_stop(signal: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    server.send("s", "permission").await;
    let mut stream = server.follow("s", 0).await;
    let mut events = stream.until("permission.requested").await;
    server.create("idle").await;
    let mut idle = server.follow("idle", 0).await;
    idle.until("session.started").await;

    let started = Instant::now();
    server.signal(signal);
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    while idle.next().await.is_some() {}
    assert!(server.wait().success());
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());

    // The session continues on the next server, with all events that the client received.
    let server = ServerProcess::start(dir.path(), &[]);
    server.send("s", "echo again").await;
    let mut stream = server.follow("s", 0).await;
    let mut all = stream.until("turn.ended").await;
    all.extend(stream.until("turn.ended").await);
    crate::server_process::check_rules(&all);
    assert!(all.starts_with(&events));
}

#[tokio::test]
async fn sigterm_closes_streams_and_stops_the_server() {
    check_stop("TERM").await;
}

#[tokio::test]
async fn sigint_closes_streams_and_stops_the_server() {
    check_stop("INT").await;
}
