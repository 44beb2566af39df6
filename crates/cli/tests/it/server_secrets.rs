//! Sessions with secrets across `kill -9`: their queue waits until the values are supplied again.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use interlingua_client::{CreateSessionRequest, SessionState};

use crate::server_process::{EventLines, ServerProcess, check_rules};

const SECRET: &str = "s3cret-value-0123456789";

/// Asserts that no file of the data directory has the secret.
fn assert_not_on_disk(data_dir: &Path) {
    for entry in std::fs::read_dir(data_dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{}", path.display());
        }
    }
}

fn output(mut command: Command) -> Output {
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

async fn turns(events: &mut EventLines, count: usize) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.extend(events.until("turn.ended").await);
    }
    all
}

#[tokio::test]
async fn the_queue_of_a_session_with_secrets_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    let mut create = CreateSessionRequest::new("mock");
    create.env = ["A", "B", "C"].map(|name| (name.to_owned(), SECRET.to_owned())).into();
    server.client.create_session("s", &create).await.unwrap();
    for message in ["permission", "echo one", "echo two"] {
        server.send("s", message).await;
    }
    server.follow("s", 0).await.until("permission.requested").await;
    drop(server);
    assert_not_on_disk(dir.path());

    let server = ServerProcess::start(dir.path(), &[]);
    let mut events = server.follow("s", 0).await;
    let mut all = turns(&mut events, 1).await;
    let info = server.client.session("s").await.unwrap();
    assert_eq!((info.state, info.event_count), (SessionState::NeedsSecrets, all.len() as u64));
    assert_eq!(info.secrets_missing, ["A", "B", "C"]);
    server.send("s", "echo three").await;

    let secrets = |arguments: &[&str]| server.sessions_command(&[&["secrets", "s"], arguments].concat());
    assert!(stdout(&output(server.sessions_command(&["list"]))).contains("needs_secrets"));
    assert_eq!(stdout(&output(secrets(&[]))), "s waits for A, B, C\n");
    let mut from_env = secrets(&["--env", "A"]);
    from_env.env("A", SECRET);
    assert_eq!(stdout(&output(from_env)), "s waits for B, C\n");
    let mut unknown = secrets(&["--env", "D"]);
    unknown.env("D", SECRET);
    let unknown = output(unknown);
    let stderr = String::from_utf8_lossy(&unknown.stderr);
    assert!(unknown.status.code() == Some(2) && stderr.contains("A, B, C") && !stderr.contains(SECRET), "{stderr}");
    let refused = output(secrets(&["--env", &format!("B={SECRET}")]));
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && stderr.contains("--env B"), "{stderr}");

    // A second restart loses what was supplied.
    drop(server);
    let server = ServerProcess::start(dir.path(), &[]);
    assert_eq!(server.client.session("s").await.unwrap().secrets_missing, ["A", "B", "C"]);
    let mut command = server.sessions_command(&["secrets", "s", "--stdin", "--json"]);
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let body = format!(r#"{{"env":{{"A":"{SECRET}","B":"{SECRET}","C":"{SECRET}"}}}}"#);
    process.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    assert_eq!(stdout(&process.wait_with_output().unwrap()), "{\"secretsMissing\":[]}\n");

    let mut events = server.follow("s", all.len() as u64).await;
    let queued = turns(&mut events, 3).await;
    for (turn, text) in ["one", "two", "three"].iter().enumerate() {
        let text = format!("echo {text}");
        assert_eq!(
            queued.iter().filter(|event| event.contains(&text) && event.contains("item.completed")).count(),
            1,
            "{turn}"
        );
    }
    assert!(queued.iter().all(|event| !event.contains(r#""type":"error""#)), "{queued:?}");
    all.extend(queued);
    check_rules(&all);
    assert_eq!(server.client.session("s").await.unwrap().state, SessionState::Idle);
    assert_not_on_disk(dir.path());
}
