//! The commands over many sessions: `sessions search`, `sessions export` and `sessions tail --all`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::sessions::{Server, check_events};

/// A running `sessions tail --all`. It is killed when dropped.
struct Tail {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Tail {
    fn start(server: &Server, arguments: &[&str]) -> Self {
        let mut command = server.command(&["tail", "--all"]);
        let mut process = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It says when it is connected.
        let mut connected = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut connected).unwrap();
        assert!(connected.starts_with("following all sessions"), "{connected}");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The lines up to the one that contains a text.
    fn until(&mut self, text: &str) -> Vec<String> {
        let mut read = Vec::new();
        for line in self.lines.by_ref() {
            read.push(line.unwrap());
            if read.last().unwrap().contains(text) {
                return read;
            }
        }
        panic!("the command ended without a line with {text:?}: {read:?}");
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn create(server: &Server, id: &str, messages: &[&str]) {
    server.ok(&["create", id, "--agent", "mock"]);
    for message in messages {
        server.ok(&["send", id, message, "--follow"]);
    }
}

#[test]
fn words_are_found_in_all_sessions() {
    let server = Server::start();
    create(&server, "s1", &["echo the zebra crosses", "echo nothing"]);
    create(&server, "s2", &["echo a zebra"]);
    let found = server.ok(&["search", "zebra", "--limit", "3"]);
    let places: Vec<&str> = found.lines().filter(|line| line.contains("  event ")).collect();
    assert!(places.len() == 3 && places[0].starts_with("s2  event "), "{found}");
    assert!(found.contains("    the zebra crosses\n") || found.contains("    echo a zebra\n"), "{found}");
    assert!(found.contains("(there are more"), "{found}");
    let json: Value = serde_json::from_str(&server.ok(&["search", "--json", "\"the zebra\""])).unwrap();
    assert_eq!(json["results"].as_array().unwrap().len(), 2);
    let nothing = server.sessions(&["search", "giraffe"]);
    assert_eq!((nothing.status.code(), nothing.stdout.as_slice()), (Some(1), &b"nothing found\n"[..]));
    let failed = server.sessions(&["search", " "]);
    assert_eq!(failed.status.code(), Some(2));
}

#[test]
fn a_session_is_exported_in_every_format() {
    let server = Server::start();
    create(&server, "s1", &["markdown", "tool"]);
    let events = server.ok(&["export", "s1"]);
    assert_eq!(check_events(&events).last().unwrap(), "turn.ended");
    assert_eq!(events, server.ok(&["events", "s1", "--json"]));
    for (name, start) in [("s1.html", "<!doctype html>"), ("s1.md", "# "), ("s1.jsonl", "{\"event_id\"")] {
        let file = server.data_dir.path().join(name);
        let printed = server.ok(&["export", "s1", "--output", file.to_str().unwrap()]);
        assert!(printed.starts_with("exported s1 to ") && printed.contains(" bytes)"), "{printed}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.to_lowercase().starts_with(start), "{name}: {}", &text[..40]);
    }
    let markdown = server.ok(&["export", "s1", "--format", "markdown"]);
    assert_eq!(markdown, std::fs::read_to_string(server.data_dir.path().join("s1.md")).unwrap());
    let unknown = server.data_dir.path().join("unknown.md");
    let failed = server.sessions(&["export", "unknown", "--output", unknown.to_str().unwrap()]);
    assert!(failed.status.code() == Some(2) && !unknown.exists());
    assert!(
        std::fs::read_dir(server.data_dir.path()).unwrap().all(|entry| !entry.unwrap().path().ends_with(".partial"))
    );
}

#[test]
fn every_session_is_followed() {
    let server = Server::start();
    create(&server, "before", &["echo stored"]);
    let mut all = Tail::start(&server, &["--from-start", "--json"]);
    let stored = all.until("\"turn.ended\"");
    let mut new = Tail::start(&server, &[]);
    create(&server, "s1", &["echo hello"]);
    create(&server, "s2", &["echo world"]);
    let first = all.until("\"turn.ended\"");
    let second = all.until("\"turn.ended\"");
    for events in [stored, first, second] {
        check_events(&(events.join("\n") + "\n"));
    }
    let lines = new.until("s2  turn completed");
    for expected in ["s1  session started", "s1  user: echo hello", "s1  assistant: hello", "s2  assistant: world"] {
        assert!(lines.iter().any(|line| line == expected), "expected {expected:?} in {lines:?}");
    }
    assert!(lines.iter().all(|line| !line.starts_with("before")), "{lines:?}");
    for option in [&["--all"][..], &["--from-start"], &["--agent", "mock"], &["--label", "team"]] {
        let conflict = server.sessions(&[&["tail", "s1"], option].concat());
        assert_eq!(conflict.status.code(), Some(2), "{option:?}");
        assert!(String::from_utf8_lossy(&conflict.stderr).contains("cannot be used with"), "{option:?}");
    }
    assert_eq!(server.sessions(&["tail"]).status.code(), Some(2));
}
