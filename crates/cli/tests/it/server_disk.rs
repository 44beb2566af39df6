//! A full disk, and a data directory that is in use.

use std::path::Path;
use std::process::{Command, Stdio};

use interlingua_client::MessageRequest;

use crate::server_process::ServerProcess;

/// Starts a server whose data directory is on a disk of 3 MiB; `None` if this system does not allow the mount.
fn start_on_small_disk(dir: &Path) -> Option<ServerProcess> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c"]);
    let can_mount = |script: &str| {
        let mut command = Command::new("unshare");
        let arguments = ["--mount", "--map-root-user", "sh", "-c", script, "sh"];
        command.args(arguments).arg(dir).status().is_ok_and(|status| status.success())
    };
    let mount = "mount -t tmpfs -o size=3m none \"$1\"";
    if !can_mount(mount) {
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
    let Some(server) = start_on_small_disk(dir.path()) else { return };
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
    crate::server_process::check_rules(&before);
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
