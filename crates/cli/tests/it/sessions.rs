//! The commands `run`, `server` and `sessions`.

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

/// Checks that these are universal events that break no rule. Returns their types.
#[track_caller]
pub(crate) fn check_events(events: &str) -> Vec<String> {
    let mut checker = interlingua_schema::Checker::new();
    let mut types = Vec::new();
    for line in events.lines() {
        assert_eq!(checker.push_line(line).unwrap(), [], "{line}");
        let event: Value = serde_json::from_str(line).unwrap();
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    types
}

/// A running server. It is killed when dropped.
pub(crate) struct Server {
    process: Child,
    endpoint: String,
    pub(crate) data_dir: TempDir,
    log: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(TempDir::new().unwrap(), "0", &[])
    }

    fn start_in(data_dir: TempDir, port: &str, arguments: &[&str]) -> Self {
        let mut process = interlingua()
            .args(["server", "--port", port, "--log", "warn", "--data-dir"])
            .arg(data_dir.path())
            .args(arguments)
            .env("INTERLINGUA_TOKEN", TOKEN)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let endpoint = line.trim().strip_prefix("interlingua listens on ").expect(&line).to_owned();
        Self { process, endpoint, data_dir, log }
    }

    fn port(&self) -> &str {
        self.endpoint.rsplit(':').next().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = interlingua();
        command.args(["sessions", "--endpoint", &self.endpoint]).args(arguments).env("INTERLINGUA_TOKEN", TOKEN);
        command
    }

    pub(crate) fn sessions(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed. Returns its output.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.sessions(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Kills the server and returns its data directory.
    fn kill(mut self) -> TempDir {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.take_data_dir()
    }

    /// Takes the data directory of a server that has ended.
    fn take_data_dir(&mut self) -> TempDir {
        std::mem::replace(&mut self.data_dir, TempDir::new().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Value of a field of the first event of this type.
fn find_field(events: &str, kind: &str, field: &str) -> String {
    events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|event| event["type"] == kind)
        .and_then(|event| event["data"][field].as_str().map(str::to_owned))
        .unwrap_or_else(|| panic!("no {kind} in {events}"))
}

/// Repeats `poll` until it returns a value.
fn wait_for<T>(mut poll: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = poll() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "no result after 30 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn run_needs_no_setup() {
    let output = run(&["run", "mock", "hello"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("you:\n  hello\nagent:\n  hello\n"), "{shown}");
}

#[test]
fn the_exit_code_says_whether_the_turn_completed() {
    assert_eq!(run(&["run", "mock", "error"]).status.code(), Some(1));
    let unknown = run(&["run", "unknown", "hi"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("`unknown`"), "{}", stderr(&unknown));
    let mode = run(&["run", "mock", "hi", "--agent-mode", "nonsense"]);
    assert_eq!((mode.status.code(), stderr(&mode).lines().count()), (Some(2), 1), "{}", stderr(&mode));
}

#[test]
fn run_with_json_prints_a_valid_stream() {
    let output = run(&["run", "mock", "demo", "--json", "--reply", "once"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let types = check_events(&stdout(&output));
    assert_eq!(types.first().map(String::as_str), Some("session.started"));
    assert_eq!(types.last().map(String::as_str), Some("session.ended"));
    let raw = run(&["run", "mock", "hi", "--json", "--raw"]);
    assert!(stdout(&raw).contains(r#""raw":{"type":"said""#), "{}", stdout(&raw));
}

#[test]
fn without_a_terminal_permissions_are_denied_and_questions_rejected() {
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
fn a_session_in_a_data_directory_is_continued_by_the_next_run() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().to_str().unwrap();
    for (message, first) in [("one", "session.started"), ("two", "turn.started")] {
        let output = run(&["run", "mock", message, "--json", "--data-dir", data, "--session", "s"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let first_line: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
        assert_eq!(first_line["type"], first);
        assert_eq!(first_line["session_id"], "s");
    }
}

#[test]
fn run_reads_the_message_from_standard_input_and_the_scenario_from_a_file() {
    let dir = TempDir::new().unwrap();
    let scenario = dir.path().join("scenario.toml");
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
fn a_server_needs_a_token_or_no_token_and_a_loopback_address() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().to_str().unwrap();
    let without = run(&["server", "--data-dir", data]);
    assert_eq!(without.status.code(), Some(2));
    assert!(stderr(&without).contains("--no-token"), "{}", stderr(&without));
    let open = run(&["server", "--no-token", "--host", "0.0.0.0", "--port", "0", "--data-dir", data]);
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("loopback"), "{}", stderr(&open));
    assert!(!stderr(&open).contains("listens on"), "{}", stderr(&open));
    let empty = dir.path().join("token");
    std::fs::write(&empty, "\n").unwrap();
    std::fs::set_permissions(&empty, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let empty = run(&["server", "--token-file", empty.to_str().unwrap(), "--data-dir", data]);
    assert!(stderr(&empty).contains("the token is empty"), "{}", stderr(&empty));
}

#[test]
fn with_a_json_log_every_line_of_the_server_is_json() {
    let dir = TempDir::new().unwrap();
    let server = |arguments: &[&str]| {
        let mut command = interlingua();
        command.args(["server", "--log-format", "json", "--log", "off", "--data-dir"]).arg(dir.path()).args(arguments);
        command
    };
    let refused = server(&["--no-token", "--host", "0.0.0.0", "--port", "0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let error: Value = serde_json::from_str(stderr(&refused).trim()).unwrap();
    assert!(error["fields"]["error"].as_str().unwrap().contains("loopback"), "{error}");

    let mut process = server(&["--no-token", "--port", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let listening: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(listening["fields"]["message"], "listening");
    assert!(listening["fields"]["address"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{listening}");
}

#[test]
fn a_session_can_be_created_used_ended_and_deleted() {
    let server = Server::start();
    assert_eq!(server.ok(&["list"]), "no sessions\n");
    assert_eq!(server.ok(&["create", "a/b", "--agent", "mock", "--title", "A title"]), "created a/b (mock-a/b)\n");
    assert_eq!(server.ok(&["send", "a/b", "hello"]), "queued\n");
    let followed = server.ok(&["send", "a/b", "echo again", "--follow"]);
    assert!(followed.contains("agent:\n  again\n"), "{followed}");
    let events = server.ok(&["events", "a/b", "--json"]);
    assert_eq!(check_events(&events).iter().filter(|event_type| *event_type == "turn.ended").count(), 2);
    assert_eq!(server.ok(&["events", "a/b", "--json", "--offset", "3", "--limit", "2"]).lines().count(), 2);
    assert!(server.ok(&["events", "a/b", "--json", "--raw"]).contains(r#""raw":{"type":"said""#));
    let list = server.ok(&["list"]);
    assert!(list.starts_with("SESSION") && list.contains("A title"), "{list}");
    let json: Value = serde_json::from_str(&server.ok(&["list", "--json"])).unwrap();
    assert_eq!(json["sessions"][0]["sessionId"], "a/b");
    assert_eq!(server.ok(&["interrupt", "a/b"]), "interrupted a/b\n");
    assert_eq!(server.ok(&["terminate", "a/b"]), "terminated a/b\n");
    let tail = server.ok(&["tail", "a/b", "--json"]);
    assert_eq!(check_events(&tail).last().map(String::as_str), Some("session.ended"));
    assert_eq!(server.ok(&["delete", "a/b", "--json"]), "{\"ok\":true}\n");
    let deleted = server.sessions(&["tail", "a/b"]);
    assert_eq!(deleted.status.code(), Some(2));
    assert!(stderr(&deleted).contains("session_not_found, 404"), "{}", stderr(&deleted));
}

#[test]
fn permissions_and_questions_are_answered_by_other_commands() {
    let server = Server::start();
    server.ok(&["create", "s", "--agent", "mock"]);
    server.ok(&["send", "s", "permission"]);
    let events = wait_for(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches("permission.requested").count() == 2).then_some(events)
    });
    let first = find_field(&events, "permission.requested", "permission_id");
    server.ok(&["reply-permission", "s", &first, "once"]);
    let twice = server.sessions(&["reply-permission", "s", &first, "once"]);
    assert!(stderr(&twice).contains("already_resolved, 409"), "{}", stderr(&twice));
    server.ok(&["interrupt", "s"]);
    server.ok(&["send", "s", "question"]);
    let events = wait_for(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches("question.requested").count() == 2).then_some(events)
    });
    let question = find_field(&events, "question.requested", "question_id");
    server.ok(&["reply-question", "s", &question, "SQLite", "Postgres"]);
    let other = events.lines().last().unwrap();
    let other = find_field(other, "question.requested", "question_id");
    server.ok(&["reply-question", "s", &other, "--reject"]);
    let events = wait_for(|| {
        let events = server.ok(&["events", "s", "--json"]);
        (events.matches(r#""type":"turn.ended""#).count() == 2).then_some(events)
    });
    assert!(events.contains(r#""response":"SQLite, Postgres""#), "{events}");
    check_events(&events);
}

#[test]
fn a_wrong_token_and_a_missing_server_are_reported() {
    let server = Server::start();
    let output = server.command(&["list"]).env("INTERLINGUA_TOKEN", "wrong").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("token_invalid, 401"), "{}", stderr(&output));
    assert_eq!(run(&["health", "--endpoint", &server.endpoint]).status.code(), Some(0));
    let unhealthy = run(&["health", "--endpoint", "http://127.0.0.1:1"]);
    assert_eq!(unhealthy.status.code(), Some(1), "{}", stderr(&unhealthy));
    let no_server = run(&["sessions", "--endpoint", "http://127.0.0.1:1", "list"]);
    assert!(stderr(&no_server).contains("interlingua server"), "{}", stderr(&no_server));
}

#[test]
fn tail_continues_after_the_server_was_killed_and_restarted() {
    let server = Server::start();
    server.ok(&["create", "s", "--agent", "mock"]);
    let mut tail =
        server.command(&["tail", "s", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap());
    let mut printed = String::new();
    server.ok(&["send", "s", "permission"]);
    while !printed.contains("permission.requested") {
        assert_ne!(lines.read_line(&mut printed).unwrap(), 0);
    }
    let port = server.port().to_owned();
    let data_dir = server.kill();
    let server = Server::start_in(data_dir, &port, &[]);
    server.ok(&["send", "s", "after"]);
    server.ok(&["terminate", "s"]);
    lines.read_to_string(&mut printed).unwrap();
    assert!(tail.wait().unwrap().success());
    let types = check_events(&printed);
    assert_eq!(types.last().map(String::as_str), Some("session.ended"));
    assert_eq!(server.ok(&["events", "s", "--json"]), printed);
}

#[test]
fn a_stopped_server_closes_streams_and_interrupts_turns() {
    for signal in ["-TERM", "-INT"] {
        let mut server = Server::start();
        server.ok(&["create", "s", "--agent", "mock"]);
        server.ok(&["send", "s", "permission"]);
        let mut tail =
            server.command(&["tail", "s", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut lines = BufReader::new(tail.stdout.take().unwrap());
        lines.read_line(&mut line).unwrap();
        let started = Instant::now();
        server.signal(signal);
        let status = server.process.wait().unwrap();
        assert!(started.elapsed() < Duration::from_secs(5), "{signal}");
        tail.kill().unwrap();
        tail.wait().unwrap();
        let mut log = String::new();
        server.log.read_to_string(&mut log).unwrap();
        assert_eq!(status.code(), Some(0), "{signal}: {log}");
        assert!(!log.contains(TOKEN), "{log}");
        let data_dir = server.take_data_dir();
        let server = Server::start_in(data_dir, "0", &[]);
        let events = server.ok(&["events", "s", "--json"]);
        assert!(events.contains(r#""status":"interrupted""#), "{events}");
        check_events(&events);
    }
}

#[test]
fn help_has_examples() {
    let commands = [&["run"][..], &["server"], &["sessions"], &["agents", "list"], &["agents", "install"]];
    let sessions = [
        "list",
        "create",
        "send",
        "events",
        "tail",
        "secrets",
        "interrupt",
        "terminate",
        "delete",
        "reply-permission",
        "reply-question",
    ];
    let sessions = sessions.map(|command| ["sessions", command]);
    for command in commands.into_iter().chain(sessions.iter().map(|command| &command[..])) {
        let output = run(&[command, &["--help"]].concat());
        assert!(stdout(&output).contains("Example"), "{command:?}");
    }
}

#[test]
fn two_servers_cannot_share_a_data_directory() {
    let server = Server::start();
    let data: &Path = server.data_dir.path();
    let second = run(&["server", "--no-token", "--port", "0", "--data-dir", data.to_str().unwrap()]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("is in use"), "{}", stderr(&second));
}

#[test]
fn sessions_are_found_shown_labelled_and_their_queue_is_listed() {
    let server = Server::start();
    let sessions = |arguments: &[&str]| server.sessions(arguments);
    sessions(&["create", "a", "--agent", "mock", "--title", "Fix build"]);
    sessions(&["create", "b", "--agent", "mock"]);
    assert_eq!(stdout(&sessions(&["label", "a", "team=core", "draft="])), "draft= team=core\n");
    assert_eq!(stdout(&sessions(&["label", "a", "--remove", "draft"])), "team=core\n");
    let list = stdout(&sessions(&["list", "--label", "team=core", "--text", "BUILD", "--state", "idle"]));
    assert_eq!(list.lines().count(), 2, "{list}");
    assert!(list.contains("Fix build"), "{list}");
    assert_eq!(stdout(&sessions(&["list", "--agent", "claude"])), "no sessions\n");
    assert!(stdout(&sessions(&["list", "--limit", "1"])).contains("(1 of 2 sessions; more: --cursor"));

    // The turn waits for an answer, and two messages wait for the turn.
    assert_eq!(stdout(&sessions(&["send", "a", "permission"])), "queued\n");
    for _ in 0..2 {
        assert_eq!(stdout(&sessions(&["send", "a", "echo one", "--message-id", "m1"])), "queued\n");
    }
    sessions(&["send", "a", "echo two", "--message-id", "m2"]);
    let conflict = sessions(&["send", "a", "echo other", "--message-id", "m1"]);
    assert_eq!(conflict.status.code(), Some(2), "{}", stdout(&conflict));
    // The first message may not have begun its turn yet.
    let queue = stdout(&sessions(&["queue", "a"]));
    assert!(queue.ends_with("m1  echo one\nm2  echo two\n"), "{queue}");
    assert_eq!(stdout(&sessions(&["queue", "a", "--cancel", "m2"])), "cancelled m2\n");
    let queue: Value = serde_json::from_str(&stdout(&sessions(&["queue", "a", "--json"]))).unwrap();
    assert_eq!(queue["messages"].as_array().unwrap().last().unwrap()["id"], "m1");

    let shown = stdout(&sessions(&["show", "a"]));
    assert!(shown.contains("title        Fix build\n") && shown.contains("labels       team=core\n"), "{shown}");
    let shown: Value = serde_json::from_str(&stdout(&sessions(&["show", "b", "--json"]))).unwrap();
    assert_eq!((shown["state"].as_str(), shown["model"].as_str()), (Some("idle"), Some("mock")));
    assert_eq!(sessions(&["show", "none"]).status.code(), Some(2));
}
