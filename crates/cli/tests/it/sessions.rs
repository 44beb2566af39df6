//! `run`, `server` and `sessions`, as a user runs them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

const TOKEN: &str = "s3cret-token";

fn interlingua() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.env_remove("INTERLINGUA_TOKEN").env_remove("INTERLINGUA_ENDPOINT").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    interlingua().args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Asserts that these are universal events that keep every rule, and returns their types.
#[track_caller]
fn checked(events: &str) -> Vec<String> {
    let mut checker = interlingua_schema::Checker::new();
    let mut kinds = Vec::new();
    for line in events.lines() {
        assert_eq!(checker.push_line(line).unwrap(), [], "{line}");
        let event: Value = serde_json::from_str(line).unwrap();
        kinds.push(event["type"].as_str().unwrap().to_owned());
    }
    kinds
}

/// A running server, ended when dropped.
struct Server {
    process: Child,
    endpoint: String,
    folder: TempDir,
    log: BufReader<ChildStderr>,
}

impl Server {
    fn start() -> Self {
        Self::start_in(TempDir::new().unwrap(), "0", &[])
    }

    fn start_in(folder: TempDir, port: &str, more: &[&str]) -> Self {
        let mut process = interlingua()
            .args(["server", "--port", port, "--log", "warn", "--data-dir"])
            .arg(folder.path())
            .args(more)
            .env("INTERLINGUA_TOKEN", TOKEN)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let endpoint = line.trim().strip_prefix("interlingua listens on ").expect(&line).to_owned();
        Self { process, endpoint, folder, log }
    }

    fn port(&self) -> &str {
        self.endpoint.rsplit(':').next().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = interlingua();
        command.args(["sessions", "--endpoint", &self.endpoint]).args(arguments).env("INTERLINGUA_TOKEN", TOKEN);
        command
    }

    fn sessions(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command that must succeed prints.
    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let output = self.sessions(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends the server as nobody can prepare for, and gives its folder back.
    fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::mem::replace(&mut self.folder, TempDir::new().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The id in the first event of this type.
fn id_of(events: &str, kind: &str, field: &str) -> String {
    events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|event| event["type"] == kind)
        .and_then(|event| event["data"][field].as_str().map(str::to_owned))
        .unwrap_or_else(|| panic!("no {kind} in {events}"))
}

/// Waits for something that takes a moment.
fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_turn_runs_with_nothing_set_up() {
    let output = run(&["run", "mock", "hello"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("you:\n  hello\nagent:\n  hello\n"), "{shown}");
}

#[test]
fn the_exit_code_says_whether_the_turn_completed() {
    assert_eq!(run(&["run", "mock", "error"]).status.code(), Some(1));
    let nobody = run(&["run", "nobody", "hi"]);
    assert_eq!(nobody.status.code(), Some(2));
    assert!(stderr(&nobody).contains("there is no agent `nobody`: expected one of"), "{}", stderr(&nobody));
    let mode = run(&["run", "mock", "hi", "--agent-mode", "nonsense"]);
    assert_eq!((mode.status.code(), stderr(&mode).lines().count()), (Some(2), 1), "{}", stderr(&mode));
}

#[test]
fn json_is_one_valid_stream() {
    let output = run(&["run", "mock", "demo", "--json", "--reply", "once"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let kinds = checked(&stdout(&output));
    assert_eq!(kinds.first().map(String::as_str), Some("session.started"));
    assert_eq!(kinds.last().map(String::as_str), Some("session.ended"));
    let raw = run(&["run", "mock", "hi", "--json", "--raw"]);
    assert!(stdout(&raw).contains(r#""raw":{"type":"said""#), "{}", stdout(&raw));
}

#[test]
fn what_nobody_can_be_asked_is_refused() {
    let output = run(&["run", "mock", "permission", "--json"]);
    assert!(output.status.success());
    assert_eq!(stdout(&output).matches(r#""status":"denied""#).count(), 2);
    assert!(stderr(&output).contains("--reply once"), "{}", stderr(&output));
    let allowed = run(&["run", "mock", "permission", "--json", "--reply", "always"]);
    assert_eq!(stdout(&allowed).matches(r#""scope":"session""#).count(), 2);
    let question = run(&["run", "mock", "question", "--json"]);
    assert_eq!(stdout(&question).matches(r#""status":"rejected""#).count(), 2);
}

#[test]
fn a_session_in_a_folder_goes_on_with_the_next_run() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    for (message, first) in [("one", "session.started"), ("two", "turn.started")] {
        let output = run(&["run", "mock", message, "--json", "--data-dir", data, "--session", "s"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let first_line: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        assert_eq!(first_line["type"], first);
        assert_eq!(first_line["session_id"], "s");
    }
}

#[test]
fn a_message_can_come_from_standard_input_and_a_scenario_from_a_file() {
    let folder = TempDir::new().unwrap();
    let scenario = folder.path().join("scenario.toml");
    std::fs::write(&scenario, "[[turn]]\nstep = [{ say = \"As written.\" }]\n").unwrap();
    let mut child = interlingua()
        .args(["run", "mock", "-", "--mock-scenario"])
        .arg(&scenario)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"from a pipe").unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = stdout(&output);
    assert!(shown.contains("  from a pipe\n") && shown.contains("  As written.\n"), "{shown}");
    std::fs::write(&scenario, "[[turn]]\nstep = [{ dance = true }]\n").unwrap();
    let broken = run(&["run", "mock", "hi", "--mock-scenario", scenario.to_str().unwrap()]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(stderr(&broken).contains("dance"), "{}", stderr(&broken));
}

#[test]
fn a_server_wants_a_token_or_is_told_to_do_without() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().to_str().unwrap();
    let without = run(&["server", "--data-dir", data]);
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("--no-token"), "{}", stderr(&without));
    let open = run(&["server", "--no-token", "--host", "0.0.0.0", "--port", "0", "--data-dir", data]);
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("loopback"), "{}", stderr(&open));
    let empty = folder.path().join("token");
    std::fs::write(&empty, "\n").unwrap();
    let empty = run(&["server", "--token-file", empty.to_str().unwrap(), "--data-dir", data]);
    assert!(stderr(&empty).contains("the token is empty"), "{}", stderr(&empty));
}

#[test]
fn a_session_lives_from_create_to_delete() {
    let server = Server::start();
    assert_eq!(server.ok(&["list"]), "no sessions\n");
    assert_eq!(server.ok(&["create", "a/b", "--agent", "mock", "--title", "A title"]), "created a/b (mock-a/b)\n");
    assert_eq!(server.ok(&["send", "a/b", "hello"]), "queued\n");
    let followed = server.ok(&["send", "a/b", "echo again", "--follow"]);
    assert!(followed.contains("agent:\n  again\n"), "{followed}");
    let events = server.ok(&["events", "a/b", "--json"]);
    assert_eq!(checked(&events).iter().filter(|kind| *kind == "turn.ended").count(), 2);
    assert_eq!(server.ok(&["events", "a/b", "--json", "--offset", "3", "--limit", "2"]).lines().count(), 2);
    assert!(server.ok(&["events", "a/b", "--json", "--raw"]).contains(r#""raw":{"type":"said""#));
    let list = server.ok(&["list"]);
    assert!(list.starts_with("SESSION") && list.contains("A title"), "{list}");
    let json: Value = serde_json::from_str(&server.ok(&["list", "--json"])).unwrap();
    assert_eq!(json["sessions"][0]["sessionId"], "a/b");
    assert_eq!(server.ok(&["interrupt", "a/b"]), "interrupted a/b\n");
    assert_eq!(server.ok(&["terminate", "a/b"]), "terminated a/b\n");
    let tail = server.ok(&["tail", "a/b", "--json"]);
    assert_eq!(checked(&tail).last().map(String::as_str), Some("session.ended"));
    assert_eq!(server.ok(&["delete", "a/b", "--json"]), "{\"ok\":true}\n");
    let gone = server.sessions(&["tail", "a/b"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(stderr(&gone).contains("session_not_found, 404"), "{}", stderr(&gone));
}

#[test]
fn permissions_and_questions_are_answered_from_elsewhere() {
    let server = Server::start();
    server.ok(&["create", "s", "--agent", "mock"]);
    server.ok(&["send", "s", "permission"]);
    let asked = eventually(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches("permission.requested").count() == 2).then_some(events)
    });
    let first = id_of(&asked, "permission.requested", "permission_id");
    server.ok(&["reply-permission", "s", &first, "once"]);
    let twice = server.sessions(&["reply-permission", "s", &first, "once"]);
    assert!(stderr(&twice).contains("already_resolved, 409"), "{}", stderr(&twice));
    server.ok(&["interrupt", "s"]);
    server.ok(&["send", "s", "question"]);
    let asked = eventually(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches("question.requested").count() == 2).then_some(events)
    });
    let question = id_of(&asked, "question.requested", "question_id");
    server.ok(&["reply-question", "s", &question, "SQLite", "Postgres"]);
    let other = asked.lines().last().unwrap();
    let other = id_of(other, "question.requested", "question_id");
    server.ok(&["reply-question", "s", &other, "--reject"]);
    let events = eventually(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches(r#""type":"turn.ended""#).count() == 2).then_some(events)
    });
    assert!(events.contains(r#""response":"SQLite, Postgres""#), "{events}");
    checked(&events);
}

#[test]
fn without_the_token_nothing_is_told() {
    let server = Server::start();
    let output = server.command(&["list"]).env("INTERLINGUA_TOKEN", "wrong").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("token_invalid, 401"), "{}", stderr(&output));
    let nowhere = run(&["sessions", "--endpoint", "http://127.0.0.1:1", "list"]);
    assert!(stderr(&nowhere).contains("interlingua server"), "{}", stderr(&nowhere));
}

#[test]
fn a_tail_survives_a_server_that_is_killed_and_started_again() {
    let server = Server::start();
    server.ok(&["create", "s", "--agent", "mock"]);
    let mut tail =
        server.command(&["tail", "s", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap());
    let mut seen = String::new();
    server.ok(&["send", "s", "permission"]);
    while !seen.contains("permission.requested") {
        assert_ne!(lines.read_line(&mut seen).unwrap(), 0);
    }
    let port = server.port().to_owned();
    let folder = server.kill();
    let server = Server::start_in(folder, &port, &[]);
    server.ok(&["send", "s", "after"]);
    server.ok(&["terminate", "s"]);
    lines.read_to_string(&mut seen).unwrap();
    assert!(tail.wait().unwrap().success());
    let kinds = checked(&seen);
    assert_eq!(kinds.last().map(String::as_str), Some("session.ended"));
    assert_eq!(server.ok(&["events", "s", "--json"]), seen);
}

#[test]
fn a_server_that_is_asked_to_stop_closes_its_streams_and_leaves_in_good_order() {
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start();
        server.ok(&["create", "s", "--agent", "mock"]);
        server.ok(&["send", "s", "permission"]);
        let mut tail =
            server.command(&["tail", "s", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(tail.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let began = Instant::now();
        server.signal(signal);
        let status = server.process.wait().unwrap();
        assert!(began.elapsed() < Duration::from_secs(5), "{signal}");
        tail.kill().unwrap();
        tail.wait().unwrap();
        let mut log = String::new();
        server.log.read_to_string(&mut log).unwrap();
        assert_eq!(status.code(), Some(0), "{signal}: {log}");
        assert!(!log.contains(TOKEN), "{log}");
        let folder = server.kill_gone();
        let server = Server::start_in(folder, "0", &[]);
        let events = server.ok(&["events", "s", "--json"]);
        assert!(events.contains(r#""status":"interrupted""#), "{events}");
        checked(&events);
    }
}

impl Server {
    /// The folder of a server that has left.
    fn kill_gone(mut self) -> TempDir {
        std::mem::replace(&mut self.folder, TempDir::new().unwrap())
    }
}

#[test]
fn help_teaches() {
    for command in [&["run"][..], &["server"], &["sessions"]] {
        let output = run(&[command, &["--help"]].concat());
        assert!(stdout(&output).contains("Examples:"), "{command:?}");
    }
}

#[test]
fn two_servers_do_not_share_a_folder() {
    let server = Server::start();
    let data: &Path = server.folder.path();
    let second = run(&["server", "--no-token", "--port", "0", "--data-dir", data.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("is in use"), "{}", stderr(&second));
}
