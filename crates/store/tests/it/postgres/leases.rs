//! Leases: one owner at a time, and an owner that lost its lease writes nothing.

use std::time::Duration;

use interlingua_store::{Acquired, Append, Lease, PostgresOptions, ServerIdentity, SessionKey, Store, StoreError};
use tempfile::TempDir;

use crate::fixtures::{create_session, event, new_message};

/// Servers of one store.
struct Servers {
    url: String,
    dirs: Vec<TempDir>,
}

impl Servers {
    fn new() -> Option<Self> {
        Some(Self { url: interlingua_test_postgres::shared_url()?, dirs: Vec::new() })
    }

    async fn start(&mut self, name: &str) -> Store {
        let dir = tempfile::tempdir().unwrap();
        let options = PostgresOptions::new(self.url.parse().unwrap(), dir.path()).server(ServerIdentity::new(name));
        self.dirs.push(dir);
        Store::connect(options.connections(6).lease(Duration::from_secs(1))).await.unwrap()
    }
}

async fn acquire(store: &Store, session: SessionKey) -> Option<Lease> {
    match store.acquire(session).await.unwrap() {
        Acquired::Lease(lease) => Some(lease),
        Acquired::HeldBy(_) => None,
    }
}

/// Makes a server that does not exist the owner of a session, as one is that died.
fn abandon(url: &str, session: SessionKey) {
    let schema = url.rsplit_once("schema=").unwrap().1;
    let cluster = interlingua_test_postgres::shared().unwrap();
    cluster.run_sql(&format!("UPDATE {schema}.sessions SET owner = -1 WHERE key = {}", session.to_number()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_servers_that_race_for_a_lease_one_gets_it() {
    let Some(mut servers) = Servers::new() else { return };
    let (a, b) = (servers.start("a").await, servers.start("b").await);
    let session = create_session(&a, "s").await;
    let mut wins = [0; 2];
    for round in 1..=200_u64 {
        // In every fourth round, the session belongs to a dead server.
        if round % 4 == 0 {
            abandon(&servers.url, session.key);
        }
        let (first, second) = tokio::join!(acquire(&a, session.key), acquire(&b, session.key));
        let append = |lease: Option<&Lease>| {
            let append = Append::events([event(round)]);
            if let Some(lease) = lease { append.lease(lease) } else { append }
        };
        // The loser tries to write at the same time.
        let results =
            tokio::join!(a.append(session.key, append(first.as_ref())), b.append(session.key, append(second.as_ref())));
        let lost = Err(StoreError::LeaseLost);
        let (winner, store, expected, index) = match (first, second) {
            (Some(lease), None) => (lease, &a, (Ok(()), lost), 0),
            (None, Some(lease)) => (lease, &b, (lost, Ok(())), 1),
            both => panic!("round {round}: {both:?}"),
        };
        assert_eq!(results, expected, "round {round}");
        wins[index] += 1;
        store.release(&winner);
        // A release is done in the background; the next round must not find the old owner.
        while a.session(&session.id).await.unwrap().unwrap().owner.is_some() {}
    }
    assert!(wins.iter().all(|wins| *wins > 0), "{wins:?}");
    assert_eq!(a.session(&session.id).await.unwrap().unwrap().event_count, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_lost_its_lease_can_write_nothing() {
    let Some(mut servers) = Servers::new() else { return };
    let (a, b) = (servers.start("a").await, servers.start("b").await);
    let session = create_session(&a, "s").await;
    let mut old = acquire(&a, session.key).await.unwrap();
    a.append(session.key, Append::events([event(1)]).lease(&old)).await.unwrap();
    assert_eq!(a.session(&session.id).await.unwrap().unwrap().owner.as_deref(), Some("a"));
    // Neither another server nor an append without a lease gets past the owner.
    assert!(acquire(&b, session.key).await.is_none());
    for store in [&a, &b] {
        let refused = store.append(session.key, Append::events([event(2)])).await;
        assert_eq!(refused, Err(StoreError::LeaseLost));
    }
    abandon(&servers.url, session.key);
    let new = acquire(&b, session.key).await.unwrap();
    b.append(session.key, Append::events([event(2)]).lease(&new)).await.unwrap();
    // Whatever the append has: the next event, an event that was written by the new owner, or none.
    for append in [
        Append::events([event(3)]),
        Append::events([event(2)]),
        Append::events([]).busy(true),
        Append::events([event(3)]).essential(true),
    ] {
        assert_eq!(a.append(session.key, append.lease(&old)).await, Err(StoreError::LeaseLost));
    }
    tokio::time::timeout(Duration::from_secs(5), old.lost()).await.expect("the owner learns that it lost the lease");
    let now = b.session(&session.id).await.unwrap().unwrap();
    assert_eq!((now.event_count, now.busy), (2, false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_is_replaced_when_its_lease_has_expired() {
    let Some(mut servers) = Servers::new() else { return };
    let (a, b) = (servers.start("a").await, servers.start("b").await);
    let session = create_session(&a, "s").await;
    let lease = acquire(&a, session.key).await.unwrap();
    a.append(session.key, Append::events([event(1)]).busy(true).lease(&lease)).await.unwrap();
    let fleet = b.fleet().unwrap();
    assert_eq!(fleet.sessions_with_work().await.unwrap(), []);
    // Without a word: its leases are not given back.
    drop((a, lease));
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while fleet.sessions_with_work().await.unwrap().is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "the lease does not expire");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(acquire(&b, session.key).await.is_some());
    // An idle session is no work for any server.
    let idle = create_session(&b, "idle").await;
    assert!(fleet.sessions_with_work().await.unwrap().iter().all(|session| session.key != idle.key));
    b.enqueue(idle.key, new_message("m")).await.unwrap();
    assert!(fleet.sessions_with_work().await.unwrap().iter().any(|session| session.key == idle.key));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_a_store_gives_its_leases_back() {
    let Some(mut servers) = Servers::new() else { return };
    let (a, b) = (servers.start("a").await, servers.start("b").await);
    let session = create_session(&a, "s").await;
    let lease = acquire(&a, session.key).await.unwrap();
    assert!(acquire(&b, session.key).await.is_none());
    a.close().await;
    assert!(acquire(&b, session.key).await.is_some());
    let refused = a.append(session.key, Append::events([event(1)]).lease(&lease)).await;
    assert_eq!(refused, Err(StoreError::Closed));
}
