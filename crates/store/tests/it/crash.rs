//! `kill -9` at any moment: what was acknowledged is there, and the sequence has no gap.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use interlingua_schema::{Message, RawJson};
use interlingua_store::{Append, RawPayloads, Store};

use crate::made::{self, all, open, with_raw, written};

const SESSIONS: usize = 3;

/// The event that is always the how-manieth, whoever writes it, made from a payload it shares with its neighbour.
fn event(sequence: u64) -> interlingua_schema::UniversalEvent {
    with_raw(sequence, &RawJson::from_payload(&format!("{{\"payload\": {}}}", sequence / 2)))
}

/// Not a test by itself: what the test below starts and kills. Appends to several sessions at once, and prints what
/// was acknowledged.
#[test]
#[ignore = "started by `a_killed_writer_loses_nothing_it_acknowledged`"]
fn write_until_killed() {
    let Some(folder) = std::env::var_os("CRASH_FOLDER") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&folder));
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
        None => made::session(&store, &id).await,
    };
    let mut last = session.event_count;
    loop {
        let message = store.enqueue(session.key, Message::default()).await.unwrap();
        let more = 1 + last % 5;
        let append = Append::events((last + 1..=last + more).map(event)).dequeue(message);
        store.append(session.key, append).await.unwrap();
        last += more;
        println!("acknowledged {index} {last}");
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = [0; SESSIONS];
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::write_until_killed", "--ignored", "--nocapture", "--test-threads=1"])
            .env("CRASH_FOLDER", folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut note = |line: &str| {
            // The test harness prints its own words around the child's.
            let Some((_, said)) = line.split_once("acknowledged ") else { return false };
            let (index, last) = said.split_once(' ').unwrap();
            acknowledged[index.parse::<usize>().unwrap()] = last.parse().unwrap();
            true
        };
        let mut wanted = 40 + 37 * round;
        while wanted > 0 {
            let line = lines.next().expect("the child died by itself").unwrap();
            wanted -= usize::from(note(&line));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died counts, down to the last whole line.
        for line in lines.map_while(Result::ok).filter(|line| line.split(' ').count() >= 3) {
            note(&line);
        }
        check(folder.path(), &acknowledged);
    }
    assert!(acknowledged.iter().all(|last| *last > 100), "{acknowledged:?}");
}

fn check(folder: &Path, acknowledged: &[u64; SESSIONS]) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let store = open(folder);
        for (index, acknowledged) in acknowledged.iter().enumerate() {
            let session = store.session(&format!("s{index}").as_str().into()).await.unwrap().unwrap();
            assert!(session.event_count >= *acknowledged, "{} < {acknowledged}", session.event_count);
            let events = all(&store, session.key, RawPayloads::Include).await;
            assert_eq!(events.len() as u64, session.event_count);
            assert_eq!(events, written((1..=session.event_count).map(event)));
        }
    });
}
