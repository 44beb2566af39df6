//! A full disk of the database: a clear error, and what was acknowledged is there.

use interlingua_schema::{EventData, ItemDelta, Origin, Timestamp, UniversalEvent};
use interlingua_store::{Append, PostgresOptions, RawPayloads, Store, StoreError};
use interlingua_test_postgres::Cluster;

use crate::fixtures::{create_session, read_all, to_json};

/// An event of 60 KB that cannot be compressed.
fn event(sequence: u64) -> UniversalEvent {
    let mut state = sequence;
    let text: String = (0..60_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + u8::try_from(state >> 58).unwrap())
        })
        .collect();
    let data = EventData::ItemDelta(ItemDelta::new("itm_1", None, text));
    UniversalEvent::new(format!("evt_{sequence}"), sequence, Timestamp::EPOCH, "s", Origin::AGENT, data)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_fails_the_append_and_nothing_else() {
    let Some(cluster) = Cluster::start_with_small_disk(24) else { return };
    let url = cluster.schema_url("small");
    let dir = tempfile::tempdir().unwrap();
    let store = Store::connect(PostgresOptions::new(url.parse().unwrap(), dir.path())).await.unwrap();
    let session = create_session(&store, "s").await;
    cluster.run_sql("CREATE TABLE ballast AS SELECT repeat(md5(i::text), 30) FROM generate_series(1, 6000) AS i");
    let mut last = 0;
    let error = loop {
        match store.append(session.key, Append::events([event(last + 1)])).await {
            Ok(()) => last += 1,
            Err(error) => break error,
        }
        assert!(last < 1000, "the disk does not fill up");
    };
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    assert!(error.to_string().contains("disk is full") && error.to_string().contains("No space left"), "{error}");
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await, to_json((1..=last).map(event)));
    assert!(store.stats().failures > 0);
    // Once there is space, writing works without connecting again.
    cluster.run_sql("DROP TABLE ballast");
    store.append(session.key, Append::events([event(last + 1)])).await.unwrap();
    assert_eq!(store.session(&session.id).await.unwrap().unwrap().event_count, last + 1);
}
