//! Events share rows. Readers do not notice.

use interlingua_schema::{RawJson, UniversalEvent};
use interlingua_store::{Append, RawPayloads, ReadLimits, SessionKey, Store};
use proptest::prelude::*;

use crate::backend::{Backend, conformance};
use crate::fixtures::{self, create_session, open_store, padded_event, read_all, to_json};

conformance!(a_payload_shared_by_events_of_two_chunks_is_read_with_both);

/// Description of a generated event: the size of its text, and its payload.
#[derive(Clone, Debug)]
struct EventSpec {
    padding: usize,
    payload: Payload,
}

#[derive(Clone, Debug)]
enum Payload {
    None,
    /// The payload of the previous event.
    Same,
    /// A new payload of this size.
    New(usize),
}

/// Mostly short, sometimes long enough to fill a chunk with a few others or alone.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0..300_usize, 3 => 2_000..10_000_usize, 1 => 15_000..40_000_usize]
}

fn event_spec() -> impl Strategy<Value = EventSpec> {
    let payload = prop_oneof![1 => Just(Payload::None), 2 => Just(Payload::Same), 2 => length().prop_map(Payload::New)];
    (length(), payload).prop_map(|(padding, payload)| EventSpec { padding, payload })
}

fn make_events(specs: &[EventSpec]) -> Vec<UniversalEvent> {
    let mut last: Option<RawJson> = None;
    let make_event = |(sequence, spec): (u64, &EventSpec)| {
        let mut event = padded_event(sequence, spec.padding);
        if let Payload::New(length) = spec.payload {
            last =
                Some(RawJson::from_payload(&format!("{{\"of\": \"{sequence}\", \"\": \"{}\"}}", "y".repeat(length))));
        }
        event.raw = if matches!(spec.payload, Payload::None) { None } else { last.clone() };
        event
    };
    (1..).zip(specs).map(make_event).collect()
}

fn to_json_without_raw(events: &[UniversalEvent]) -> Vec<String> {
    to_json(events.iter().cloned().map(|mut event| {
        event.raw = None;
        event
    }))
}

/// Number of events that one read returns with these limits.
fn batch_len(events: &[String], limits: ReadLimits) -> usize {
    let mut bytes = 0;
    let full = events.iter().position(|event| {
        bytes += event.len();
        bytes >= limits.max_bytes
    });
    full.map_or(events.len(), |index| index + 1).min(limits.max_events.max(1))
}

/// Reads all events after `after` in batches, and compares them with `expected`.
async fn check_batches(
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
        assert_eq!(found, next[..batch_len(rest, limits)]);
        assert_eq!(batch.byte_len(), found.iter().map(|(_, json)| json.len()).sum::<usize>());
        if found.is_empty() {
            break;
        }
        at += found.len();
    }
}

/// Appends of generated events, and how they are read.
#[derive(Clone, Debug)]
struct Case {
    appends: Vec<Vec<EventSpec>>,
    after: usize,
    limits: ReadLimits,
}

fn case() -> impl Strategy<Value = Case> {
    (
        proptest::collection::vec(proptest::collection::vec(event_spec(), 0..60), 1..5),
        0..150_usize,
        prop_oneof![0..5_usize, Just(70), Just(usize::MAX)],
        prop_oneof![0..1000_usize, 10_000..200_000_usize, Just(usize::MAX)],
    )
        .prop_map(|(appends, after, max_events, max_bytes)| {
            let limits = ReadLimits { max_events, max_bytes };
            Case { appends, after, limits }
        })
}

fn check_case(backend: &Backend, case: &Case) {
    let Case { appends, after, limits } = case;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = backend.open().await;
        // The events of sessions with adjacent keys must not be mixed with these.
        let (before, session, behind) = (
            create_session(&store, "before").await,
            create_session(&store, "s").await,
            create_session(&store, "behind").await,
        );
        fixtures::append_events(&store, before.key, 1..=3).await;
        fixtures::append_events(&store, behind.key, 1..=3).await;
        let all = make_events(&appends.concat());
        let mut rest = all.clone();
        for append in appends {
            let later = rest.split_off(append.len());
            store.append(session.key, Append::events(std::mem::replace(&mut rest, later))).await.unwrap();
        }
        check_batches(&store, session.key, *after, &to_json_without_raw(&all), *limits, RawPayloads::Omit).await;
        check_batches(&store, session.key, *after, &to_json(all), *limits, RawPayloads::Include).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_reads_from_any_sequence_in_batches_of_any_size(case in case()) {
        check_case(&Backend::sqlite(), &case);
    }

    #[test]
    fn postgres_reads_from_any_sequence_in_batches_of_any_size(case in case()) {
        if let Some(backend) = Backend::postgres() {
            check_case(&backend, &case);
        }
    }
}

#[tokio::test]
async fn the_events_of_an_append_share_few_rows() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let payload = |sequence: u64| RawJson::from_payload(&format!("[{sequence}]"));
    let events = || (1..=1000).map(|sequence| fixtures::event_with_raw(sequence, &payload(sequence / 2)));
    store.append(session.key, Append::events(events())).await.unwrap();
    assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, to_json(events()));
    drop(store);
    let database = rusqlite::Connection::open(dir.path().join("interlingua.db")).unwrap();
    let longest: i64 = database.query_row("SELECT max(length(json)) FROM events", [], |row| row.get(0)).unwrap();
    assert!(longest <= 16 * 1024, "{longest}");
    let rows: i64 = database.query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    assert!((5..40).contains(&rows), "{rows}");
}

async fn a_payload_shared_by_events_of_two_chunks_is_read_with_both(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let raw = RawJson::from_payload(r#"{"shared" : true}"#);
    let events = || {
        (1..=6).map(|sequence| {
            let mut event = padded_event(sequence, 6_000);
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
        let expected = to_json(events().skip(usize::try_from(after).unwrap()).take(1));
        assert_eq!(batch.iter().map(|(_, json)| json).collect::<Vec<_>>(), expected);
    }
}
