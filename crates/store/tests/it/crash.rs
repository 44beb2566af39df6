//! `kill -9` at any moment: acknowledged events are durable, and the sequence has no gap.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use interlingua_schema::RawJson;
use interlingua_store::{Append, Enqueued, MessageRecord, RawPayloads, Store};

use crate::fixtures::{self, event_with_raw, open_store, read_all, to_json};

const SESSIONS: usize = 3;

/// The event with this sequence, the same in every process. It shares its payload with a neighbour.
fn event(sequence: u64) -> interlingua_schema::UniversalEvent {
    event_with_raw(sequence, &RawJson::from_payload(&format!("{{\"payload\": {}}}", sequence / 2)))
}

/// Not a test: the process that the test below starts and kills. Appends to several sessions at the same time and
/// prints the acknowledged sequences.
#[test]
#[ignore = "started by `a_killed_writer_loses_nothing_it_acknowledged`"]
fn write_until_killed() {
    let Some(dir) = std::env::var_os("CRASH_TEST_DATA_DIR") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open_store(Path::new(&dir));
        let tasks = tokio::task::LocalSet::new();
        for index in 0..SESSIONS {
            tasks.spawn_local(append_forever(store.clone(), index));
        }
        tasks.await;
    });
}

async fn append_forever(store: Store, index: usize) {
    let id = format!("s{index}");
    let session = match store.session(&id.as_str().into()).await.unwrap() {
        Some(session) => session,
        None => fixtures::create_session(&store, &id).await,
    };
    let mut last = session.event_count;
    loop {
        let message = fixtures::new_message(&format!("after {last}"));
        let (Enqueued::New(message) | Enqueued::Existing(MessageRecord { id: message, .. })) =
            store.enqueue(session.key, message).await.unwrap();
        let count = 1 + last % 5;
        let append = Append::events((last + 1..=last + count).map(event)).begin(message, last);
        store.append(session.key, append).await.unwrap();
        last += count;
        println!("acknowledged {index} {last}");
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = [0; SESSIONS];
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::write_until_killed", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CRASH_TEST_DATA_DIR", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut parse_line = |line: &str| {
            // The test harness prints text around the child's lines.
            let Some((_, acknowledgement)) = line.split_once("acknowledged ") else { return false };
            let (index, last) = acknowledgement.split_once(' ').unwrap();
            acknowledged[index.parse::<usize>().unwrap()] = last.parse().unwrap();
            true
        };
        let mut remaining = 40 + 37 * round;
        while remaining > 0 {
            let line = lines.next().expect("the writing process ended before it was killed").unwrap();
            remaining -= usize::from(parse_line(&line));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Lines that it printed before it was killed count too, up to the last complete one.
        for line in lines.map_while(Result::ok).filter(|line| line.split(' ').count() >= 3) {
            parse_line(&line);
        }
        check(dir.path(), &acknowledged);
    }
    assert!(acknowledged.iter().all(|last| *last > 100), "{acknowledged:?}");
}

fn check(dir: &Path, acknowledged: &[u64; SESSIONS]) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let store = open_store(dir);
        for (index, acknowledged) in acknowledged.iter().enumerate() {
            let session = store.session(&format!("s{index}").as_str().into()).await.unwrap().unwrap();
            assert!(session.event_count >= *acknowledged, "{} < {acknowledged}", session.event_count);
            let events = read_all(&store, session.key, RawPayloads::Include).await;
            assert_eq!(events.len() as u64, session.event_count);
            assert_eq!(events, to_json((1..=session.event_count).map(event)));
        }
    });
}
