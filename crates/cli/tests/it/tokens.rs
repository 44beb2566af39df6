//! `interlingua tokens`, and a server that uses them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::server_process::ServerProcess;

fn run_tokens(data_dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.arg("tokens").args(arguments).arg("--data-dir").arg(data_dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn a_server_without_a_token_of_its_own_uses_the_named_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let token = stdout(&run_tokens(dir.path(), &["add", "ci"])).trim().to_owned();
    let listed = stdout(&run_tokens(dir.path(), &["list"]));
    assert!(listed.starts_with("ci ") && listed.contains("read,drive") && !listed.contains(&token), "{listed}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(["server", "--port", "0", "--data-dir"]).arg(dir.path()).env_remove("INTERLINGUA_TOKEN");
    let server = ServerProcess::spawn(&mut command);
    let base = server.client.base_url().to_string();
    let client = interlingua_client::Client::builder(&base).token(&token).build().unwrap();
    client.agents().await.unwrap();
    assert_eq!(server.client.agents().await.unwrap_err().problem().unwrap().status, 401);
    stdout(&run_tokens(dir.path(), &["revoke", "ci"]));
    assert_eq!(client.agents().await.unwrap_err().problem().unwrap().status, 401);
}

#[tokio::test]
async fn the_data_directory_is_private_whichever_command_creates_it() {
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let parent = tempfile::tempdir().unwrap();
    let (first, second) = (parent.path().join("a"), parent.path().join("b"));
    stdout(&run_tokens(&first, &["add", "ci"]));
    let server = ServerProcess::start(&second, &[]);
    server.create("s").await;
    for dir in [first, second] {
        assert_eq!(mode(&dir), 0o700);
        for entry in std::fs::read_dir(&dir).unwrap() {
            let file = entry.unwrap().path();
            assert_eq!(mode(&file) & 0o077, 0, "{}", file.display());
        }
    }
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    stdout(&run_tokens(dir.path(), &["add", "ci", "--scope", "read"]));
    for (arguments, expected) in [
        (&["add", "ci"][..], "revoke it first"),
        (&["add", "two words"], "invalid name"),
        (&["add", "x", "--scope", "write"], "expected one of read, drive, admin"),
        (&["revoke", "other"], "interlingua tokens list"),
    ] {
        let output = run_tokens(dir.path(), arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}
