//! An agent that talks as fast as it can.

use std::fmt::Write as _;
use std::time::Duration;

use interlingua_runtime::mock::MockDriver;
use interlingua_schema::{TurnStatus, UniversalEvent};
use interlingua_store::{EventReader, RawPayloads};

use crate::stage::{Stage, is_turn_end, kinds, nth, said, status};

const PIECES: usize = 4000;

/// Numbers, each between these.
fn numbers(count: usize, before: &str, after: &str) -> String {
    (0..count).fold(String::new(), |mut all, number| {
        let _ = write!(all, "{before}{number}{after}");
        all
    })
}

/// A turn that streams a message in so many pieces.
fn flood(pieces: usize) -> String {
    format!("[[turn]]\nstep = [{{ stream = [{}] }}]\n", numbers(pieces, "\"", " \", "))
}

/// Reads to the end of the turn, and sleeps now and then if it is to be slow.
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
async fn a_flood_reaches_every_reader_in_order_without_a_gap() {
    let stage = Stage::playing(&flood(PIECES)).created().await;
    let key = stage.session("s").await.key;
    let readers =
        [false, true, false].map(|slow| tokio::spawn(read(stage.store.reader(key, 0, RawPayloads::Omit), slow)));
    stage.send("go").await.unwrap();
    let [first, second, third] = readers;
    let (first, second, third) = (first.await.unwrap(), second.await.unwrap(), third.await.unwrap());
    assert!(first == second && second == third, "{} {} {}", first.len(), second.len(), third.len());

    let events: Vec<UniversalEvent> = first.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
    // One more is the user's own message.
    assert_eq!(kinds(&events).iter().filter(|kind| **kind == "item.delta").count(), PIECES + 1);
    assert_eq!(said(&events), ["go".to_owned(), numbers(PIECES, "", " ")]);
    stage.assert_rules().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_is_heard_in_a_flood() {
    let stage = Stage::playing(&flood(10 * PIECES)).created().await;
    stage.send("go").await.unwrap();
    stage.until(nth("item.delta", 10)).await;
    stage.runtime.interrupt(&"s".into()).await.unwrap();
    let events = stage.events().await;
    assert!(is_turn_end(events.last().unwrap()), "an interrupt returns after the turn");
    assert_eq!(status(&events), Some(TurnStatus::Interrupted));
    assert!(events.len() < 5 * PIECES, "{} events", events.len());
    stage.assert_rules().await;
}

#[tokio::test]
async fn turns_without_a_pause_between_them_lose_nothing() {
    let stage = Stage::with(MockDriver::new()).created().await;
    for number in 0..40 {
        stage.send(&format!("number {number}")).await.unwrap();
    }
    let events = stage.until(nth("turn.ended", 40)).await;
    let expected: Vec<String> =
        (0..40).flat_map(|number| [format!("number {number}"), format!("number {number}")]).collect();
    assert_eq!(said(&events), expected);
    stage.assert_rules().await;
}
