//! A server that is killed, paused, or has a wrong clock.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use interlingua_client::{Client, EventQuery, Frame, FrameStream};
use serde_json::Value;

use super::history::History;
use super::node::{Node, NodeOptions};
use super::two_servers::wait_until;
use crate::test_server::check_rules;

/// The events of a session as they arrive at one server.
pub(crate) struct Following {
    frames: FrameStream,
    events: Vec<Value>,
}

impl Following {
    pub(crate) async fn start(client: &Client, session: &str) -> Self {
        Self { frames: client.event_frames(session, EventQuery::default()).await.unwrap(), events: Vec::new() }
    }

    /// Reads up to the first further event for which this is true, and returns it.
    pub(crate) async fn until(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let reading = async {
            loop {
                let frame = self.frames.next().await.unwrap().expect("the stream ended before the event");
                let Frame::Event(event) = frame else { continue };
                self.events.push(serde_json::from_slice(&event.data).unwrap());
                let last = self.events.last().unwrap();
                assert_eq!(last["sequence"], self.events.len(), "a gap or a duplicate");
                if is_wanted(last) {
                    return last.clone();
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), reading).await.expect("the event does not come")
    }

    pub(crate) async fn until_type(&mut self, kind: &str) -> Value {
        self.until(|event| event["type"] == kind).await
    }

    pub(crate) async fn until_text(&mut self, text: &str) -> Value {
        self.until(|event| event.to_string().contains(text)).await
    }

    fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| event["type"] == kind).count()
    }
}

fn start_two() -> Option<[Node; 2]> {
    let url = interlingua_test_postgres::shared_url()?;
    Some(["a", "b"].map(|name| Node::start(&NodeOptions::new(&url, name))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_owner_is_replaced_and_what_it_left_open_is_closed_once() {
    let Some([a, b]) = start_two() else { return };
    a.create("s").await;
    a.send("s", "permission").await;
    let mut reader = Following::start(&b.client, "s").await;
    reader.until_type("permission.requested").await;
    b.send("s", "echo from the queue").await;
    drop(a);
    let resolved = reader.until_type("permission.resolved").await;
    assert_eq!(resolved["data"]["status"], "denied");
    let ended = reader.until_type("turn.ended").await;
    assert_eq!(ended["data"]["status"], "failed");
    reader.until_text("echo from the queue").await;
    reader.until_type("turn.ended").await;
    assert_eq!(reader.count("turn.ended"), 2);
    assert_eq!(reader.count("permission.resolved"), reader.count("permission.requested"));
    check_rules(&reader.events);
    assert_eq!(b.leases().await, 0, "an idle session has no owner");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_started_again_goes_on_at_once() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    // The lease would last much longer than this test.
    let options = NodeOptions { lease_ms: 60_000, ..NodeOptions::new(&url, "a") };
    let a = Node::start(&options);
    a.create("s").await;
    a.send("s", "permission").await;
    Following::start(&a.client, "s").await.until_type("permission.requested").await;
    a.send("s", "echo from the queue").await;
    let again = a.restart();
    let mut reader = Following::start(&again.client, "s").await;
    reader.until_text("echo from the queue").await;
    reader.until_type("turn.ended").await;
    check_rules(&reader.events);
}

/// Pauses the owner of a session in a turn until another server has taken over, then lets it go on. Returns what a
/// checker finds wrong.
async fn pause_owner(is_fenced: bool) -> Option<Vec<String>> {
    let url = interlingua_test_postgres::shared_url()?;
    let options = |name| NodeOptions { pace_ms: 150, is_fenced, ..NodeOptions::new(&url, name) };
    let (a, b) = (Node::start(&options("a")), Node::start(&options("b")));
    a.create("s").await;
    // Streamed in several lines.
    let text = |number: usize| format!("markdown {number}");
    a.send("s", &text(0)).await;
    let mut reader = Following::start(&b.client, "s").await;
    // In the middle of the turn, with more to come.
    reader.until(|event| event["type"] == "item.delta" && event["source"] == "agent").await;
    a.signal("STOP");
    b.send("s", &text(1)).await;
    reader.until_type("turn.ended").await;
    reader.until_text("markdown 1").await;
    a.signal("CONT");
    let history = History::default();
    for message in [text(0), text(1)] {
        history.acknowledge("s", &message);
    }
    let has_given_up = async || a.leases().await == 0 && b.leases().await == 0;
    if is_fenced {
        reader.until_type("turn.ended").await;
        wait_until("the paused server has given up", has_given_up).await;
    } else {
        // The log may have any shape now.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    for event in &reader.events {
        // As a reader got it: without a change of the order of keys.
        history.observe_event("s", event);
    }
    Some(history.check(&["s".to_owned()], &[a.client.clone(), b.client.clone()]).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_owner_can_write_nothing_when_it_goes_on() {
    if let Some(violations) = pause_owner(true).await {
        assert_eq!(violations, Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_fencing_the_checker_finds_what_a_paused_owner_writes() {
    // The pause may end between two appends of the paused server: then nothing goes wrong.
    for _ in 0..5 {
        match pause_owner(false).await {
            None => return,
            Some(violations) if violations.is_empty() => {}
            Some(violations) => {
                assert!(violations.iter().all(|violation| violation.starts_with("s: ")), "{violations:?}");
                return;
            }
        }
    }
    panic!("the checker did not find the fault");
}

/// The library that gives a program another time.
fn find_faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    folders.map(|folder| folder.path().join("faketime/libfaketime.so.1")).find(|library| library.exists())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_wrong_by_an_hour_costs_no_lease() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    let Some(library) = find_faketime() else {
        assert!(!interlingua_test_postgres::is_required(), "run `apt-get install libfaketime`");
        return eprintln!("skipped: libfaketime is not installed (`apt-get install libfaketime`)");
    };
    let with_clock = |name: &str, offset: &str| {
        let mut program = Command::new(std::env::current_exe().unwrap());
        // Only the clock on the wall is wrong.
        program.env("LD_PRELOAD", &library).env("FAKETIME", offset).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Node::start_with(&NodeOptions::new(&url, name), program)
    };
    let (fast, slow) = (with_clock("fast", "+1h"), with_clock("slow", "-1h"));
    fast.create("s").await;
    let created = slow.client.session("s").await.unwrap().created_at;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert!(created > i64::try_from(now).unwrap() + 3_000_000, "the clock is not wrong");
    fast.send("s", "permission").await;
    let mut reader = Following::start(&slow.client, "s").await;
    reader.until_type("permission.requested").await;
    // Several times the duration of a lease.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let info = slow.client.session("s").await.unwrap();
    assert_eq!(info.server.as_deref(), Some("fast"), "the lease was lost to a clock");
    drop(fast);
    reader.until_type("turn.ended").await;
    slow.send("s", "echo later").await;
    reader.until_text("echo later").await;
    reader.until_type("turn.ended").await;
    // Also that the time of the stream never goes back.
    check_rules(&reader.events);
}
