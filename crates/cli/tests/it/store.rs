//! `interlingua store`, and what a stopped server leaves on the disk.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use interlingua_client::{CreateSessionRequest, SearchRequest};

use crate::server_process::{EventLines, ServerProcess, check_rules};

const DELETED: &str = "text-that-is-to-be-deleted";

/// Runs `interlingua store`. Returns the exit code, standard output and standard error.
fn store(arguments: &[&str], data_dir: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    let output = command.arg("store").args(arguments).arg("--data-dir").arg(data_dir).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn stop(mut server: ServerProcess) {
    server.signal("TERM");
    assert!(server.wait().success());
}

async fn run_turn(server: &ServerProcess, id: &str, message: &str) -> Vec<String> {
    let after = server.client.session(id).await.unwrap().event_count;
    server.send(id, message).await;
    let mut events: EventLines = server.follow(id, after).await;
    events.until("turn.ended").await
}

/// Files of a directory and the directories in it, with their sizes.
fn files(dir: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), path.metadata().unwrap().len()));
        }
    }
    found
}

#[tokio::test]
async fn the_database_file_of_a_stopped_server_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    let events = run_turn(&server, "s", "echo hello").await;
    stop(server);
    assert!(!dir.path().join("interlingua.db-wal").exists());

    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("interlingua.db"), copy.path().join("interlingua.db")).unwrap();
    let server = ServerProcess::start(copy.path(), &[]);
    let all = server.follow("s", 0).await.until("turn.ended").await;
    assert!(all.ends_with(&events));
    check_rules(&all);
}

#[tokio::test]
async fn a_backup_of_a_running_server_can_be_restored_and_a_lost_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    run_turn(&server, "s", "echo hello").await;
    let restored = tempfile::tempdir().unwrap();
    let target = restored.path().join("interlingua.db");
    let (code, stdout, stderr) = store(&["backup", target.to_str().unwrap()], dir.path());
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.starts_with("copied ") && stdout.contains("bytes"), "{stdout}");
    let (code, _, stderr) = store(&["backup", target.to_str().unwrap()], dir.path());
    assert!(code == Some(2) && stderr.contains("interlingua.db"), "{stderr}");
    let (code, stdout, stderr) = store(&["check"], dir.path());
    assert!(code == Some(0) && stdout.contains("in 1 sessions") && stdout.contains("no damage"), "{stdout}{stderr}");
    let (code, _, stderr) = store(&["check", "--repair"], dir.path());
    assert!(code == Some(2) && stderr.contains("is in use by process"), "{stderr}");

    let copy = ServerProcess::start(restored.path(), &[]);
    check_rules(&copy.follow("s", 0).await.until("turn.ended").await);
    drop(copy);

    // A copy of the database file alone, from a server that runs.
    let torn = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("interlingua.db"), torn.path().join("interlingua.db")).unwrap();
    let mut refused = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    refused.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(torn.path());
    let refused = refused.output().unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("are lost") && stderr.contains("store check --repair"), "{stderr}");
    let (code, stdout, stderr) = store(&["check", "--repair", "--json"], torn.path());
    assert!(code == Some(0) && stdout.contains("\"repaired\":true"), "{stdout}{stderr}");
    drop(ServerProcess::start(torn.path(), &[]));
}

#[tokio::test]
async fn a_killed_server_keeps_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    run_turn(&server, "s", "echo hello").await;
    drop(server);
    let server = ServerProcess::start(dir.path(), &[]);
    check_rules(&server.follow("s", 0).await.until("turn.ended").await);
}

#[tokio::test]
async fn no_text_of_deleted_sessions_is_left_in_the_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    for number in 0..8 {
        let id = format!("{DELETED}-{number}");
        let mut create = CreateSessionRequest::new("mock");
        create.title = Some(DELETED.to_owned());
        server.client.create_session(&id, &create).await.unwrap();
        run_turn(&server, &id, &format!("echo {DELETED} {}", format!("{DELETED}{number} ").repeat(2000))).await;
        run_turn(&server, &id, "flood 2").await;
        server.send(&id, "permission").await;
        server.send(&id, DELETED).await;
    }
    for number in 0..8 {
        server.client.delete_session(&format!("{DELETED}-{number}")).await.unwrap();
    }
    let check = || {
        let files = files(dir.path());
        let size: u64 = files.iter().map(|(_, size)| size).sum();
        assert!(size < 5 * 1024 * 1024, "{files:?}");
        for (file, _) in files {
            // A file may be gone meanwhile.
            let bytes = std::fs::read(&file).unwrap_or_default();
            let found = bytes.windows(DELETED.len()).any(|window| window == DELETED.as_bytes());
            assert!(!found, "{}", file.display());
        }
    };
    check();
    stop(server);
    check();
}

/// Size of the reserved space, and of the logs of a server that runs.
const FIXED_BYTES: u64 = 24_000_000;

/// Measured with `FLOOD_MEGABYTES=1000 cargo test --release -p interlingua --test it -- stored_output --nocapture`, which
/// takes some minutes. Then nothing is allowed beside the 1.6 times.
#[tokio::test]
async fn stored_output_takes_at_most_1_6_times_its_size() {
    let megabytes: u64 = std::env::var("FLOOD_MEGABYTES").map_or(10, |megabytes| megabytes.parse().unwrap());
    let limit = megabytes * 1_600_000 + if megabytes < 1000 { FIXED_BYTES } else { 0 };
    let dir = tempfile::tempdir().unwrap();
    let measure = |state: &str| {
        let files = files(dir.path());
        let size: u64 = files.iter().map(|(_, size)| size).sum();
        println!("{state}: {size} bytes for {megabytes} MB of text: {} %", size / (megabytes * 10_000));
        assert!(size <= limit, "{state}: {files:?}");
    };
    let server = ServerProcess::start(dir.path(), &[]);
    server.create("s").await;
    server.send("s", &format!("flood {megabytes}")).await;
    // Followed as a client does, but without keeping the events.
    let mut events = server.follow("s", 0).await;
    while let Some(event) = events.next().await {
        if event.contains("\"type\":\"turn.ended\"") {
            assert!(event.contains("\"completed\""), "{event}");
            break;
        }
    }
    drop(events);
    while !server.client.search(&SearchRequest::new("line")).await.unwrap().complete {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    measure("running");
    stop(server);
    measure("stopped");
    let server = ServerProcess::start(dir.path(), &[]);
    let started = Instant::now();
    server.client.delete_session("s").await.unwrap();
    println!("deleted in {:.1?}", started.elapsed());
    let left: u64 = files(dir.path()).iter().map(|(_, size)| size).sum();
    assert!(left < 5 * 1024 * 1024, "{left} bytes are left");
}
