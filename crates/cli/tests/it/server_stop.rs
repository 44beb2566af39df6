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

#[tokio::test]
async fn a_draining_server_finishes_its_turns_and_starts_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &["--drain", "60s"]);
    server.create("s").await;
    server.send("s", "permission").await;
    let mut stream = server.follow("s", 0).await;
    let mut events = stream.until("permission.requested").await;
    events.extend(stream.until("permission.requested").await);
    server.signal("TERM");
    // The server goes on, and says that it should get no new work.
    while server.client.ready().await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.send("s", "echo later").await;
    for event in &events {
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        if let Some(id) = event["data"]["permission_id"].as_str() {
            let answer = interlingua_client::PermissionAnswer::Once;
            server.client.reply_permission("s", id, answer).await.unwrap();
        }
    }
    events.extend(stream.until("turn.ended").await);
    assert!(events.last().unwrap().contains("\"completed\""), "{:?}", events.last());
    assert_eq!(stream.next().await, None, "the server stops after the turn");
    assert!(server.wait().success());

    // The message that came while the server was draining has its turn on the next one.
    let server = ServerProcess::start(dir.path(), &[]);
    let mut stream = server.follow("s", 0).await;
    let mut all = stream.until("turn.ended").await;
    all.extend(stream.until("turn.ended").await);
    crate::server_process::check_rules(&all);
    assert!(all.starts_with(&events) && all.iter().any(|event| event.contains("later")));
}

#[tokio::test]
async fn a_drain_ends_when_its_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = ServerProcess::start(dir.path(), &["--drain", "200ms"]);
    server.create("s").await;
    server.send("s", "permission").await;
    let mut stream = server.follow("s", 0).await;
    stream.until("permission.requested").await;
    server.signal("TERM");
    while stream.next().await.is_some() {}
    assert!(server.wait().success());
    let server = ServerProcess::start(dir.path(), &[]);
    let events = server.follow("s", 0).await.until("turn.ended").await;
    assert!(events.last().unwrap().contains("\"interrupted\""), "{events:?}");
}
