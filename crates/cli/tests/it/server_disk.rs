//! A full disk, and a data directory that is in use.

use std::path::Path;
use std::process::{Command, Stdio};

use interlingua_client::MessageRequest;

use crate::server_process::{ServerProcess, check_rules, event_type};

/// Starts a server whose data directory is on a disk of this size; `None` if this system does not allow the mount.
fn start_on_small_disk(dir: &Path, mebibytes: u32) -> Option<ServerProcess> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c"]);
    let can_mount = |script: &str| {
        let mut command = Command::new("unshare");
        let arguments = ["--mount", "--map-root-user", "sh", "-c", script, "sh"];
        command.args(arguments).arg(dir).status().is_ok_and(|status| status.success())
    };
    let mount = format!("mount -t tmpfs -o size={mebibytes}m none \"$1\"");
    if !can_mount(&mount) {
        eprintln!("skipped: this system does not allow users to mount a disk");
        return None;
    }
    unshare.arg(format!("{mount} && exec \"$2\" server --no-token --port 0 --log error --data-dir \"$1/data\""));
    unshare.arg("sh").arg(dir).arg(env!("CARGO_BIN_EXE_interlingua"));
    Some(ServerProcess::spawn(unshare.stdin(Stdio::null())))
}

#[tokio::test]
async fn a_full_disk_is_507_and_stored_events_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = start_on_small_disk(dir.path(), 3) else { return };
    server.create("old").await;
    server.create("s").await;
    server.send("s", "echo before").await;
    let before = server.follow("s", 0).await.until("turn.ended").await;

    // The turn waits for a permission, so further messages stay queued and fill the disk.
    server.send("old", "permission").await;
    server.follow("old", 0).await.until("permission.requested").await;
    let long = MessageRequest::new("x".repeat(100 * 1024));
    let mut sent = 0;
    let error = loop {
        if let Err(error) = server.client.send_message("old", &long).await {
            break error;
        }
        sent += 1;
        assert!(sent < 100, "the disk is not full after {sent} messages");
    };
    let problem = error.problem().unwrap();
    assert_eq!((problem.status, problem.kind()), (507, "storage_full"));

    assert_eq!(server.client.health().await.unwrap().status, "ok");
    assert_eq!(server.follow("s", 0).await.until("turn.ended").await, before);
    check_rules(&before);
}

#[tokio::test]
async fn a_second_server_in_the_same_data_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let second = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["server", "--no-token", "--port", "0", "--data-dir"])
        .arg(dir.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert!(stderr.contains("is in use by process") && stderr.contains("--data-dir"), "{stderr}");
    server.create("s").await;
}

/// Fills the disk with messages that wait behind a permission request of session `old`.
async fn fill_disk(server: &ServerProcess) {
    server.send("old", "permission").await;
    server.follow("old", 0).await.until("permission.requested").await;
    for length in [100_000, 10_000, 500] {
        let message = MessageRequest::new("x".repeat(length));
        while server.client.send_message("old", &message).await.is_ok() {}
    }
}

#[tokio::test]
async fn sessions_are_ended_and_deleted_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = start_on_small_disk(dir.path(), 8) else { return };
    for id in ["old", "s", "t"] {
        server.create(id).await;
        server.send(id, "echo before").await;
        server.follow(id, 0).await.until("turn.ended").await;
    }
    server.send("t", "permission").await;
    server.follow("t", 0).await.until("permission.requested").await;
    fill_disk(&server).await;

    server.client.terminate("t").await.unwrap();
    check_rules(&server.follow("t", 0).await.until("session.ended").await);
    server.client.delete_session("s").await.unwrap();
    server.client.delete_session("old").await.unwrap();
    // There is space again.
    server.create("new").await;
    server.send("new", "echo after").await;
    check_rules(&server.follow("new", 0).await.until("turn.ended").await);
}

#[tokio::test]
async fn a_session_that_reaches_its_limit_gets_an_error_event() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &["--max-session-bytes", "200KB"]);
    server.create("s").await;
    server.send("s", "flood 3").await;
    let events = server.follow("s", 0).await.until("turn.ended").await;
    check_rules(&events);
    let error = events.iter().find(|event| event_type(event) == "error").expect("an error event");
    assert!(error.contains("--max-session-bytes") && error.contains("\"code\":\"limit\""), "{error}");
    assert!(events.last().unwrap().contains("\"failed\""));

    let refused = server.client.send_message("s", &MessageRequest::new("x".repeat(200_000))).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!((problem.status, problem.kind()), (507, "storage_full"));
    // Other sessions are not affected, and this one can be ended.
    server.create("other").await;
    server.send("other", "echo hi").await;
    server.follow("other", 0).await.until("turn.ended").await;
    server.client.terminate("s").await.unwrap();
    check_rules(&server.follow("s", 0).await.until("session.ended").await);
}

#[tokio::test]
async fn a_store_that_reaches_its_limit_refuses_more_until_sessions_are_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &["--max-store-bytes", "1MB"]);
    server.create("s").await;
    server.send("s", "flood 5").await;
    let events = server.follow("s", 0).await.until("turn.ended").await;
    assert!(events.iter().any(|event| event_type(event) == "error" && event.contains("--max-store-bytes")));
    assert!(dir.path().join("interlingua.db").metadata().unwrap().len() < 1_200_000);
    let refused = server.client.send_message("s", &MessageRequest::new("x".repeat(1_000_000))).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().kind(), "storage_full");
    server.client.delete_session("s").await.unwrap();
    server.create("t").await;
    server.send("t", "echo hi").await;
    server.follow("t", 0).await.until("turn.ended").await;
}
