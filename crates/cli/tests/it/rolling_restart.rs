//! Rolling restarts with `--drain` under load: no turn is interrupted, and clients notice no more than a lost connection.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use interlingua_client::{Client, ClientError, CreateSessionRequest, EventQuery, MessageRequest, SessionState};
use interlingua_schema::{EventData, TurnStatus, UniversalEvent};
use tokio::time::sleep;

use crate::server_process::ServerProcess;

const SESSIONS: usize = 8;
const RESTARTS: usize = 3;
const RETRY_DELAY: Duration = Duration::from_millis(20);

fn start(data_dir: &Path, port: u16) -> ServerProcess {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(["server", "--no-token", "--port", &port.to_string(), "--drain", "60s", "--mock-pace", "4"]);
    command.arg("--data-dir").arg(data_dir).stdin(Stdio::null());
    ServerProcess::spawn(&mut command)
}

/// Whether an error is that of a connection, which a client opens again.
fn is_lost_connection(error: &ClientError) -> bool {
    matches!(error, ClientError::Connect { .. } | ClientError::Transport { .. } | ClientError::BrokenStream { .. })
}

/// Sends messages, one after the other, until it is stopped. Returns how many, and how often it lost its connection.
async fn send_messages(client: Client, session: String, is_done: Arc<AtomicBool>) -> (usize, usize) {
    let (mut sent, mut lost) = (0, 0);
    while !is_done.load(Ordering::Relaxed) {
        let message = MessageRequest::new("markdown").id(format!("m{sent}"));
        match client.send_message(&session, &message).await {
            Ok(()) => {
                sent += 1;
                sleep(Duration::from_millis(40)).await;
            }
            Err(error) => {
                assert!(is_lost_connection(&error), "{session}: {error}");
                lost += 1;
                sleep(RETRY_DELAY).await;
            }
        }
    }
    (sent, lost)
}

/// Follows a session until it ends. Returns its events, and how often it lost its connection.
async fn follow(client: Client, session: String) -> (Vec<UniversalEvent>, usize) {
    let lost = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&lost);
    let events = client.follow_events(&session, EventQuery::default()).await.unwrap();
    let mut events = events.on_reconnect(move |reconnect| {
        assert!(is_lost_connection(reconnect.cause), "{}", reconnect.cause);
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let mut received = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        received.push(event);
    }
    (received, lost.load(Ordering::Relaxed))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restarts_under_load_interrupt_no_turn() {
    let dir = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = start(dir.path(), port);
    let client = Client::new(format!("http://127.0.0.1:{port}")).unwrap();
    let is_done = Arc::new(AtomicBool::new(false));
    let (mut senders, mut followers) = (Vec::new(), Vec::new());
    for index in 0..SESSIONS {
        let session = format!("s{index}");
        client.create_session(&session, &CreateSessionRequest::new("mock")).await.unwrap();
        senders.push(tokio::spawn(send_messages(client.clone(), session.clone(), Arc::clone(&is_done))));
        followers.push(tokio::spawn(follow(client.clone(), session)));
    }
    for _ in 0..RESTARTS {
        sleep(Duration::from_millis(700)).await;
        server.signal("TERM");
        assert!(tokio::task::block_in_place(|| server.wait()).success());
        server = start(dir.path(), port);
    }
    sleep(Duration::from_millis(300)).await;
    is_done.store(true, Ordering::Relaxed);
    let mut sent = BTreeMap::new();
    let mut lost_by_senders = 0;
    for (index, sender) in senders.into_iter().enumerate() {
        let (count, lost) = sender.await.unwrap();
        sent.insert(index, count);
        lost_by_senders += lost;
    }
    // The turns of all messages, then the end of the sessions.
    for (index, sent) in &sent {
        let session = format!("s{index}");
        while client.session(&session).await.unwrap().state != SessionState::Idle {
            sleep(RETRY_DELAY).await;
        }
        assert!(*sent > 5, "{session} had no load: {sent} messages");
        client.terminate(&session).await.unwrap();
    }
    for (index, follower) in followers.into_iter().enumerate() {
        let (events, lost) = follower.await.unwrap();
        assert!((1..=RESTARTS * 40).contains(&lost), "s{index} lost its connection {lost} times");
        let lines: Vec<String> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        crate::server_process::check_rules(&lines);
        let mut message_ids = Vec::new();
        let mut completed = 0;
        for event in &events {
            match &event.data {
                EventData::TurnStarted(started) => {
                    message_ids.extend(started.metadata.as_ref().and_then(|metadata| metadata.message_ids.clone()));
                }
                EventData::TurnEnded(ended) => {
                    assert_eq!(ended.status, TurnStatus::Completed, "s{index}: {ended:?}");
                    completed += 1;
                }
                EventData::Error(error) => panic!("s{index}: {error:?}"),
                _ => {}
            }
        }
        assert_eq!(completed, sent[&index], "s{index}");
        let expected: Vec<String> = (0..completed).map(|number| format!("m{number}")).collect();
        assert_eq!(message_ids.concat(), expected, "every message has one turn, in order");
    }
    assert!(lost_by_senders > 0, "no sender met a restart");
}
