//! The stores of the servers in tests: `SQLite`, or Postgres if the variable [`STORE_VARIABLE`] says so.

use std::fs;
use std::path::Path;

use interlingua_store::{Acquired, Append, PostgresOptions, ServerIdentity, SessionKey, Store, StoreOptions};

/// With the value `postgres`, every server gets a schema of its own in a Postgres database.
pub(crate) const STORE_VARIABLE: &str = "INTERLINGUA_TEST_STORE";
/// File in the data directory with the address of its store.
const URL_FILE: &str = "test-store-url";

/// Whether the servers of this process use Postgres.
pub(crate) fn is_postgres() -> bool {
    std::env::var(STORE_VARIABLE).is_ok_and(|store| store == "postgres")
}

/// Opens the store of a data directory.
pub(crate) async fn open(data_dir: &Path, options: StoreOptions) -> Store {
    if !is_postgres() {
        return Store::open(data_dir, options).unwrap();
    }
    let file = data_dir.join(URL_FILE);
    // A server that is started again in the same directory has the same store.
    let url = fs::read_to_string(&file).unwrap_or_else(|_| {
        let url = interlingua_test_postgres::shared_url().expect("Postgres is installed");
        fs::write(&file, &url).unwrap();
        url
    });
    let options = postgres_options(&url, data_dir, "test-server")
        .max_session_bytes(options.max_session_bytes)
        .max_store_bytes(options.max_store_bytes);
    Store::connect(options).await.unwrap()
}

/// Options of a server with this name.
pub(crate) fn postgres_options(url: &str, data_dir: &Path, name: &str) -> PostgresOptions {
    PostgresOptions::new(url.parse().unwrap(), data_dir).server(ServerIdentity::new(name)).connections(6)
}

/// Appends to a session, as its actor would. The actor of the session, if it has one, loses its lease.
pub(crate) async fn append(store: &Store, session: SessionKey, append: Append) {
    let Acquired::Lease(lease) = store.acquire(session).await.unwrap() else {
        panic!("another server owns the session")
    };
    store.append(session, append.lease(&lease)).await.unwrap();
    store.release(&lease);
}
