//! An agent that prints as fast as it can.

use std::fmt::Write as _;
use std::time::Duration;

use interlingua_runtime::mock::MockDriver;
use interlingua_schema::{TurnStatus, UniversalEvent};
use interlingua_store::{EventReader, RawPayloads};

use crate::test_runtime::{TestRuntime, event_types, is_nth, is_turn_end, texts, turn_status};

const DELTAS: usize = 4000;

/// The numbers up to `count`, each with a prefix and a suffix.
fn numbers(count: usize, prefix: &str, suffix: &str) -> String {
    (0..count).fold(String::new(), |mut all, number| {
        let _ = write!(all, "{prefix}{number}{suffix}");
        all
    })
}

/// A scenario with a turn that streams a message in `deltas` deltas.
fn scenario(deltas: usize) -> String {
    format!("[[turn]]\nstep = [{{ stream = [{}] }}]\n", numbers(deltas, "\"", " \", "))
}

/// Reads to the end of the turn. A slow reader sleeps after each batch.
async fn read(mut reader: EventReader, slow: bool) -> Vec<String> {
    let mut events = Vec::new();
    while let Some(batch) = reader.next().await.unwrap() {
        for (sequence, json) in batch.iter() {
            assert_eq!(sequence, events.len() as u64 + 1);
            events.push(json.to_owned());
        }
        if events.last().is_some_and(|last| last.contains(r#""type":"turn.ended""#)) {
            break;
        }
        if slow {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    events
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reader_gets_all_events_of_a_fast_agent_in_order() {
    let test = TestRuntime::with_scenario(&scenario(DELTAS)).with_session().await;
    let key = test.session("s").await.key;
    let readers =
        [false, true, false].map(|slow| tokio::spawn(read(test.store.reader(key, 0, RawPayloads::Omit), slow)));
    test.send("go").await.unwrap();
    let [first, second, third] = readers;
    let (first, second, third) = (first.await.unwrap(), second.await.unwrap(), third.await.unwrap());
    assert!(first == second && second == third, "{} {} {}", first.len(), second.len(), third.len());

    let events: Vec<UniversalEvent> = first.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
    // One more delta is the message of the user.
    assert_eq!(event_types(&events).iter().filter(|kind| **kind == "item.delta").count(), DELTAS + 1);
    assert_eq!(texts(&events), ["go".to_owned(), numbers(DELTAS, "", " ")]);
    test.assert_no_violations().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_stops_a_fast_agent() {
    let test = TestRuntime::with_scenario(&scenario(10 * DELTAS)).with_session().await;
    test.send("go").await.unwrap();
    test.wait_for(is_nth("item.delta", 10)).await;
    test.runtime.interrupt(&"s".into()).await.unwrap();
    let events = test.events().await;
    assert!(is_turn_end(events.last().unwrap()), "the interrupt returned before the end of the turn");
    assert_eq!(turn_status(&events), Some(TurnStatus::Interrupted));
    assert!(events.len() < 5 * DELTAS, "{} events", events.len());
    test.assert_no_violations().await;
}

#[tokio::test]
async fn back_to_back_turns_lose_no_event() {
    let test = TestRuntime::with_mock(MockDriver::new()).with_session().await;
    for number in 0..40 {
        test.send(&format!("number {number}")).await.unwrap();
    }
    let events = test.wait_for(is_nth("turn.ended", 40)).await;
    let expected: Vec<String> =
        (0..40).flat_map(|number| [format!("number {number}"), format!("number {number}")]).collect();
    assert_eq!(texts(&events), expected);
    test.assert_no_violations().await;
}
