//! A connection that is cut in any phase of a write: the write is there once.

use interlingua_schema::Message;
use interlingua_store::{Append, Enqueued, NewMessage, NewSession, PostgresOptions, RawPayloads, Store, StoreError};
use interlingua_test_postgres::{Direction, Proxy};

use crate::fixtures::{create_session, event, read_all, to_json};

/// Bytes after which a connection is cut: in steps through everything that a small commit sends or receives.
fn cuts(direction: Direction) -> impl Iterator<Item = usize> {
    match direction {
        Direction::ToServer => (0..2400).step_by(61),
        Direction::ToClient => (0..400).step_by(11),
    }
}

async fn connect(proxy: &Proxy, dir: &tempfile::TempDir) -> Store {
    let schema = format!("cut_{}", proxy.port());
    let options = PostgresOptions::new(proxy.url(&schema).parse().unwrap(), dir.path());
    Store::connect(options.connections(6)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_answer_was_lost_is_stored_once() {
    let Some(cluster) = interlingua_test_postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    for direction in [Direction::ToServer, Direction::ToClient] {
        let proxy = Proxy::start(cluster.port());
        let store = connect(&proxy, &dir).await;
        let session = create_session(&store, "s").await;
        let (mut last, mut has_cut) = (0, 0);
        for bytes in cuts(direction) {
            proxy.cut_after(direction, bytes);
            store.append(session.key, Append::events((last + 1..=last + 3).map(event)).busy(true)).await.unwrap();
            last += 3;
            has_cut += usize::from(!proxy.disarm());
        }
        assert!(has_cut > 10, "only {has_cut} connections were cut");
        // The connection for reading may have been cut too, which the next request finds.
        while let Err(StoreError::Unavailable(_)) = store.session(&session.id).await {}
        assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await, to_json((1..=last).map(event)));
        assert_eq!(store.session(&session.id).await.unwrap().unwrap().event_count, last);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn creating_and_queuing_are_done_once_too() {
    let Some(cluster) = interlingua_test_postgres::shared() else { return };
    let dir = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(cluster.port());
    let store = connect(&proxy, &dir).await;
    let session = create_session(&store, "s").await;
    let mut created = 1;
    for direction in [Direction::ToServer, Direction::ToClient] {
        for bytes in cuts(direction).step_by(3) {
            created += 1;
            let name = format!("{direction:?} {bytes}");
            proxy.cut_after(direction, bytes);
            store.create(NewSession::new(name.as_str(), "mock")).await.unwrap();
            proxy.disarm();
            proxy.cut_after(direction, bytes);
            let queued = store.enqueue(session.key, NewMessage::new(&name, Message::new(&name))).await.unwrap();
            proxy.disarm();
            // The second attempt may find what the first one has done.
            let (Enqueued::New(id) | Enqueued::Existing(interlingua_store::MessageRecord { id, .. })) = queued;
            proxy.cut_after(direction, bytes);
            assert!(store.cancel_message(session.key, id).await.unwrap(), "{name}");
            proxy.disarm();
        }
    }
    assert_eq!(store.queued_messages(session.key, None, usize::MAX).await.unwrap(), []);
    let all = store.count_sessions(&interlingua_store::SessionFilter::default()).await.unwrap();
    assert_eq!(all, created);
}
