//! A full disk, and a data directory that is in use.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use interlingua_client::MessageRequest;

use crate::server_process::{ServerProcess, check_rules, event_type};

/// Starts a server whose data directory is on a disk of this size; `None` if this system does not allow the mount. When a
/// file `fill` is created in `signals`, another program fills the disk, and then creates `full`.
fn start_on_small_disk(dir: &Path, mebibytes: u32, signals: &Path) -> Option<ServerProcess> {
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
    let fill = "for try in $(seq 1200); do [ -e \"$3/fill\" ] && break; sleep 0.1; done; \
                for size in 64k 4k 1k; do dd if=/dev/zero of=\"$1/$size\" bs=$size 2>/dev/null; done; touch \"$3/full\"";
    let server = "exec \"$2\" server --no-token --port 0 --log error --data-dir \"$1/data\"";
    unshare.arg(format!("{mount} && {{ ({fill}) >/dev/null 2>&1 & {server}; }}"));
    unshare.arg("sh").arg(dir).arg(env!("CARGO_BIN_EXE_interlingua")).arg(signals);
    Some(ServerProcess::spawn(unshare.stdin(Stdio::null())))
}

#[tokio::test]
async fn a_full_disk_is_507_and_stored_events_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let signals = tempfile::tempdir().unwrap();
    let Some(server) = start_on_small_disk(dir.path(), 3, signals.path()) else { return };
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
    let signals = tempfile::tempdir().unwrap();
    let Some(server) = start_on_small_disk(dir.path(), 8, signals.path()) else { return };
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
async fn many_sessions_are_ended_and_deleted_on_a_disk_that_another_program_filled() {
    let (dir, signals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(server) = start_on_small_disk(dir.path(), 48, signals.path()) else { return };
    let ids: Vec<String> = (0..40).map(|number| format!("s{number}")).collect();
    for id in &ids {
        server.create(id).await;
        server.send(id, "permission").await;
    }
    for id in &ids {
        server.follow(id, 0).await.until("permission.requested").await;
    }
    std::fs::write(signals.path().join("fill"), "").unwrap();
    while !signals.path().join("full").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for id in &ids {
        server.client.terminate(id).await.unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    for id in &ids {
        check_rules(&server.follow(id, 0).await.until("session.ended").await);
        server.client.delete_session(id).await.unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    assert_eq!(server.client.health().await.unwrap().status, "ok");
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

#[tokio::test]
async fn the_text_of_a_large_message_is_stored_once() {
    const BYTES: usize = 3_000_000;
    // Text that does not compress, which is in the queue first, and then in a delta and in a completed item.
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + u8::try_from(state >> 58).unwrap())
    });
    let text: String = letters.filter(|letter| *letter != '\\').take(BYTES).collect();
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    server.send("s", &format!("status {text}")).await;
    let events = server.follow("s", 0).await.until("turn.ended").await;
    assert_eq!(events.iter().filter(|event| event.len() > BYTES).count(), 2);
    // The space that the message had in the queue is given back in the background.
    let start = Instant::now();
    loop {
        let stored = dir.path().join("interlingua.db").metadata().unwrap().len();
        if (BYTES as u64..BYTES as u64 * 12 / 10).contains(&stored) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{stored} bytes for {BYTES} bytes");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
