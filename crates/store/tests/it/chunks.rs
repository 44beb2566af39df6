//! Events are stored many in a row; nobody who reads them can tell.

use interlingua_schema::{RawJson, UniversalEvent};
use interlingua_store::{Append, RawPayloads, ReadLimits, SessionKey, Store};
use proptest::prelude::*;

use crate::made::{self, all, open, padded, session, written};

/// An event that is to be made: how long its text is, and which payload it has, one of a few, or that of the event
/// before.
#[derive(Clone, Debug)]
struct Wanted {
    padding: usize,
    payload: Payload,
}

#[derive(Clone, Debug)]
enum Payload {
    None,
    Same,
    New(usize),
}

/// Mostly short, sometimes long enough to fill a chunk with few others, or by itself.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0..300_usize, 3 => 2_000..10_000_usize, 1 => 15_000..40_000_usize]
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let payload = prop_oneof![1 => Just(Payload::None), 2 => Just(Payload::Same), 2 => length().prop_map(Payload::New)];
    (length(), payload).prop_map(|(padding, payload)| Wanted { padding, payload })
}

fn make(wanted: &[Wanted]) -> Vec<UniversalEvent> {
    let mut last: Option<RawJson> = None;
    let make = |(sequence, wanted): (u64, &Wanted)| {
        let mut event = padded(sequence, wanted.padding);
        if let Payload::New(length) = wanted.payload {
            last =
                Some(RawJson::from_payload(&format!("{{\"of\": \"{sequence}\", \"\": \"{}\"}}", "y".repeat(length))));
        }
        event.raw = if matches!(wanted.payload, Payload::None) { None } else { last.clone() };
        event
    };
    (1..).zip(wanted).map(make).collect()
}

fn without_raw(events: &[UniversalEvent]) -> Vec<String> {
    written(events.iter().cloned().map(|mut event| {
        event.raw = None;
        event
    }))
}

/// How many of these a reader is given at once, by what the limits promise.
fn allowed(events: &[String], limits: ReadLimits) -> usize {
    let mut bytes = 0;
    let full = events.iter().position(|event| {
        bytes += event.len();
        bytes >= limits.max_bytes
    });
    full.map_or(events.len(), |index| index + 1).min(limits.max_events.max(1))
}

/// Reads everything from `after` on, so much at a time.
async fn read_on(
    store: &Store,
    session: SessionKey,
    after: usize,
    expected: &[String],
    limits: ReadLimits,
    raw: RawPayloads,
) {
    let mut at = after;
    loop {
        let batch = store.read(session, at as u64, limits, raw).await.unwrap();
        let rest = expected.get(at..).unwrap_or_default();
        let found: Vec<(u64, &str)> = batch.iter().collect();
        let next: Vec<(u64, &str)> = (at as u64 + 1..).zip(rest.iter().map(String::as_str)).collect();
        assert_eq!(found, next[..allowed(rest, limits)]);
        assert_eq!(batch.byte_len(), found.iter().map(|(_, json)| json.len()).sum::<usize>());
        if found.is_empty() {
            break;
        }
        at += found.len();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_appended_is_read_from_anywhere_in_pieces_of_any_size(
        appends in proptest::collection::vec(proptest::collection::vec(wanted(), 0..60), 1..5),
        after in 0..150_usize,
        max_events in prop_oneof![0..5_usize, Just(70), Just(usize::MAX)],
        max_bytes in prop_oneof![0..1000_usize, 10_000..200_000_usize, Just(usize::MAX)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = open(folder.path());
            // A neighbour on either side, whose events must not be mixed with these.
            let (before, session, behind) =
                (session(&store, "before").await, session(&store, "s").await, session(&store, "behind").await);
            made::append(&store, before.key, 1..=3).await;
            made::append(&store, behind.key, 1..=3).await;
            let all = make(&appends.concat());
            let mut rest = all.clone();
            for append in &appends {
                let later = rest.split_off(append.len());
                store.append(session.key, Append::events(std::mem::replace(&mut rest, later))).await.unwrap();
            }
            let limits = ReadLimits { max_events, max_bytes };
            read_on(&store, session.key, after, &without_raw(&all), limits, RawPayloads::Omit).await;
            read_on(&store, session.key, after, &written(all), limits, RawPayloads::Include).await;
        });
    }
}

#[tokio::test]
async fn an_append_becomes_few_rows() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let payload = |sequence: u64| RawJson::from_payload(&format!("[{sequence}]"));
    let events = || (1..=1000).map(|sequence| made::with_raw(sequence, &payload(sequence / 2)));
    store.append(session.key, Append::events(events())).await.unwrap();
    assert_eq!(all(&store, session.key, RawPayloads::Include).await, written(events()));
    drop(store);
    let database = rusqlite::Connection::open(folder.path().join("interlingua.db")).unwrap();
    let longest: i64 = database.query_row("SELECT max(length(json)) FROM events", [], |row| row.get(0)).unwrap();
    assert!(longest <= 16 * 1024, "{longest}");
    let rows: i64 = database.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    assert!((5..40).contains(&rows), "{rows}");
}

#[tokio::test]
async fn a_payload_shared_across_the_border_of_two_chunks_is_there_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let raw = RawJson::from_payload(r#"{"shared" : true}"#);
    let events = || {
        (1..=6).map(|sequence| {
            let mut event = padded(sequence, 6_000);
            event.raw = Some(raw.clone());
            event
        })
    };
    store.append(session.key, Append::events(events())).await.unwrap();
    for after in 0..6 {
        let batch = store
            .read(session.key, after, ReadLimits { max_events: 1, max_bytes: 1 }, RawPayloads::Include)
            .await
            .unwrap();
        let expected = written(events().skip(usize::try_from(after).unwrap()).take(1));
        assert_eq!(batch.iter().map(|(_, json)| json).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn an_event_that_is_not_there_is_said_to_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    made::append(&store, session.key, 1..=2).await;
    made::append(&store, session.key, 3..=4).await;
    drop(store);
    let database = rusqlite::Connection::open(folder.path().join("interlingua.db")).unwrap();
    database.execute("DELETE FROM events WHERE place = (SELECT min(place) FROM events)", []).unwrap();
    drop(database);
    let store = open(folder.path());
    let error = store.read(session.key, 0, made::ALL, RawPayloads::Omit).await.unwrap_err();
    assert!(error.to_string().contains("sequence 1 is missing"), "{error}");
    assert_eq!(store.read(session.key, 2, made::ALL, RawPayloads::Omit).await.unwrap().last_sequence(), Some(4));
}
