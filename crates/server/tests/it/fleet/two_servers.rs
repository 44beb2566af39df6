//! Two servers in this process that share a store.

use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::driver::Driver;
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{Runtime, RuntimeOptions};
use interlingua_server::{Access, ServerConfig};
use interlingua_store::{PostgresOptions, Store};
use tokio::net::TcpListener;

use crate::test_server::stores::postgres_options;
use crate::test_server::{TestServer, start_with_store};

/// File in a server's data directory with the address of its store.
pub(crate) const URL_FILE: &str = "store-url";

/// Two servers with the names `a` and `b`; `None` if Postgres is not installed.
pub(crate) async fn start_two() -> Option<(TestServer, TestServer)> {
    start_two_with(&|options| options, &|| Arc::new(MockDriver::new())).await
}

/// As [`start_two`], with options of their stores and with this agent.
pub(crate) async fn start_two_with(
    change: &dyn Fn(PostgresOptions) -> PostgresOptions,
    driver: &dyn Fn() -> Arc<dyn Driver>,
) -> Option<(TestServer, TestServer)> {
    let url = interlingua_test_postgres::shared_url()?;
    let first = start_one(&url, "a", change, driver()).await;
    let second = start_one(&url, "b", change, driver()).await;
    Some((first, second))
}

/// One server of a fleet.
pub(crate) async fn start_one(
    url: &str,
    name: &str,
    change: &dyn Fn(PostgresOptions) -> PostgresOptions,
    driver: Arc<dyn Driver>,
) -> TestServer {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(URL_FILE), url).unwrap();
    let options = postgres_options(url, dir.path(), name).lease(Duration::from_secs(3));
    let store = Store::connect(change(options)).await.unwrap();
    let runtime = Runtime::start(store.clone(), vec![driver], RuntimeOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    start_with_store(dir, ServerConfig::new(Access::Loopback), store, runtime, listener)
}

/// Waits until a condition is true.
pub(crate) async fn wait_until(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap_or_else(|_| panic!("{what}: not in time"));
}
