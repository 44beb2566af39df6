//! A damaged row costs the events that are damaged, and no others.

use interlingua_schema::{EventData, RawJson, UniversalEvent};
use interlingua_store::{Append, RawPayloads};

use crate::backend::Backend;
use crate::fixtures::{create_session, event_with_raw, padded_event, read_all, to_json};

/// Sequences of the events that are read in the place of unreadable ones. All others have to be those that were stored.
fn unreadable(read: &[String], stored: &[String]) -> Vec<u64> {
    assert_eq!(read.len(), stored.len());
    let mut unreadable = Vec::new();
    for (json, stored) in read.iter().zip(stored) {
        let event: UniversalEvent = serde_json::from_str(json).unwrap();
        match event.data {
            EventData::AgentUnparsed(_) => unreadable.push(event.sequence),
            _ => assert_eq!(json, stored),
        }
    }
    unreadable
}

/// SQL that changes a byte of a column. `place` is counted from its end.
fn change_byte(column: &str, place: &str) -> String {
    let at = format!("octet_length({column}) - {place}");
    format!("UPDATE events SET {column} = set_byte({column}, {at}, get_byte({column}, {at}) # 1) WHERE last = 20")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_bit_costs_the_events_that_depend_on_it() {
    let Some(backend) = Backend::postgres() else { return };
    let store = backend.open().await;
    // Short events are stored as text, longer ones compressed.
    for (padding, id) in [(10, "short"), (300, "long")] {
        let session = create_session(&store, id).await;
        let events = || (1..=20).map(|sequence| padded_event(sequence, padding));
        store.append(session.key, Append::events(events())).await.unwrap();
        let stored = to_json(events());
        let change = |place| format!("{} AND session = {}", change_byte("json", place), session.key.to_number());
        backend.run_sql(&change("10"));
        let read = read_all(&store, session.key, RawPayloads::Omit).await;
        assert_eq!(unreadable(&read, &stored), [20], "{id}");
        assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, read);
        // Damage in the middle costs some of those behind it, if they are compressed.
        backend.run_sql(&change("octet_length(json) / 2"));
        let lost = unreadable(&read_all(&store, session.key, RawPayloads::Omit).await, &stored);
        assert!(lost.contains(&20) && lost.len() > 1 && lost.len() < 20, "{id}: {lost:?}");
        // The session goes on.
        store.append(session.key, Append::events([padded_event(21, 0)])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_row_costs_its_events_and_damaged_payloads_the_payloads() {
    let Some(backend) = Backend::postgres() else { return };
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let raw = RawJson::from_payload(r#"{"native":true}"#);
    for first in [1, 5, 9] {
        let events = (first..first + 4).map(|sequence| event_with_raw(sequence, &raw));
        store.append(session.key, Append::events(events)).await.unwrap();
    }
    let without_payloads = to_json((1..=12).map(|sequence| padded_event(sequence, 0)));
    backend.run_sql("UPDATE events SET payloads = '\\x0102030405'");
    assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, without_payloads);
    backend.run_sql("DELETE FROM events WHERE last = 8");
    let read = read_all(&store, session.key, RawPayloads::Include).await;
    assert_eq!(unreadable(&read, &without_payloads), [5, 6, 7, 8]);
    let mut reader = store.reader(session.key, 6, RawPayloads::Omit);
    let batch = reader.next().await.unwrap().unwrap();
    assert_eq!(batch.iter().map(|(_, json)| json.to_owned()).collect::<Vec<_>>(), read[6..]);
}
