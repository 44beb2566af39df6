//! A disk that is really full, and a folder that is really in use.

use std::path::Path;
use std::process::Command;

use interlingua_client::MessageRequest;

use crate::running::Running;

/// Starts a server whose data folder is on a disk of 3 MiB. Where that is not allowed, there is nothing to test.
fn on_a_small_disk(folder: &Path) -> Option<Running> {
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c"]);
    let may_mount = |script: &str| {
        let mut command = Command::new("unshare");
        let arguments = ["--mount", "--map-root-user", "sh", "-c", script, "sh"];
        command.args(arguments).arg(folder).status().is_ok_and(|status| status.success())
    };
    let mount = "mount -t tmpfs -o size=3m none \"$1\"";
    if !may_mount(mount) {
        eprintln!("not tested: this system does not let its users mount a disk");
        return None;
    }
    unshare.arg(format!("{mount} && exec \"$2\" server --no-token --port 0 --log error --data-dir \"$1/data\""));
    unshare.arg("sh").arg(folder).arg(env!("CARGO_BIN_EXE_interlingua"));
    Some(Running::spawn(unshare))
}

#[tokio::test]
async fn a_server_on_a_full_disk_says_so_and_serves_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = on_a_small_disk(folder.path()) else { return };
    server.create("old").await;
    server.create("s").await;
    server.send("s", "echo before").await;
    let before = server.follow("s", 0).await.until("turn.ended").await;

    // Messages that nobody takes up fill the disk.
    server.send("old", "permission").await;
    server.follow("old", 0).await.until("permission.requested").await;
    let long = MessageRequest::new("x".repeat(100 * 1024));
    let mut sent = 0;
    let refusal = loop {
        if let Err(refusal) = server.client.send_message("old", &long).await {
            break refusal;
        }
        sent += 1;
        assert!(sent < 100, "the disk does not get full");
    };
    let problem = refusal.problem().unwrap();
    assert_eq!((problem.status, problem.kind()), (507, "storage_full"));

    assert_eq!(server.client.health().await.unwrap().status, "ok");
    assert_eq!(server.follow("s", 0).await.until("turn.ended").await, before);
    crate::running::check(&before);
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Running::start(folder.path(), &[]);
    let second = Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["server", "--no-token", "--port", "0", "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(2));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("is in use by process") && said.contains("--data-dir"), "{said}");
    server.create("s").await;
}
