//! Databases that cannot be used: one clear line, without the password.

use interlingua_store::{OpenError, PostgresOptions, ServerIdentity, Store, StoreError};
use interlingua_test_postgres::Cluster;

use crate::fixtures::create_session;

/// Tries to connect. The error is one line that has these parts and never a password.
pub(crate) async fn expect_refusal(url: &str, parts: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let error = match url.parse() {
        Ok(url) => Store::connect(PostgresOptions::new(url, dir.path())).await.expect_err("the database is usable"),
        Err(error) => OpenError::Url(error),
    };
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.contains("s3cret"), "{text}");
    for part in parts {
        assert!(text.contains(part), "expected {part:?} in: {text}");
    }
}

/// A URL over TCP for a user.
fn tcp_url(cluster: &Cluster, user: &str, database: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{}/{database}?sslmode=disable", cluster.port())
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_with_a_remedy() {
    let Some(cluster) = interlingua_test_postgres::shared() else { return };
    expect_refusal("mysql://u:s3cret@h/d", &["postgres://USER@HOST"]).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("postgres://u@127.0.0.1:{closed}/d");
    expect_refusal(&format!("postgres://u:s3cret@127.0.0.1:{closed}/d"), &[&address, "refused", "check that it runs"])
        .await;
    expect_refusal("postgres://u:s3cret@does-not-exist.invalid/d", &["does-not-exist.invalid", "check that it runs"])
        .await;
    let missing = tcp_url(cluster, "interlingua", "no_such_database");
    expect_refusal(&missing, &["database \"no_such_database\" does not exist", "createdb"]).await;
    expect_refusal("postgres:///d?host=/no/such/folder&user=u", &["/no/such/folder", "check that it runs"]).await;
}

#[tokio::test]
async fn a_user_needs_its_own_schema_and_nothing_else() {
    let Some(cluster) = interlingua_test_postgres::shared() else { return };
    cluster.run_sql("CREATE ROLE limited LOGIN");
    let url = tcp_url(cluster, "limited", "postgres") + "&schema=of_limited";
    let remedy = "CREATE SCHEMA of_limited AUTHORIZATION limited";
    expect_refusal(&url, &["permission denied", remedy]).await;
    cluster.run_sql(remedy);
    let dir = tempfile::tempdir().unwrap();
    let options = PostgresOptions::new(url.parse().unwrap(), dir.path()).server(ServerIdentity::new("a"));
    let store = Store::connect(options).await.unwrap();
    create_session(&store, "s").await;
    store.close().await;
    // Tables of another user are not touched.
    cluster.run_sql("CREATE SCHEMA foreign_schema; CREATE TABLE foreign_schema.schema_version (version integer)");
    let foreign = tcp_url(cluster, "limited", "postgres") + "&schema=foreign_schema";
    expect_refusal(&foreign, &["permission denied"]).await;
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    let dir = tempfile::tempdir().unwrap();
    let store = Store::connect(PostgresOptions::new(url.parse().unwrap(), dir.path())).await.unwrap();
    store.close().await;
    let schema = url.rsplit_once("schema=").unwrap().1;
    let cluster = interlingua_test_postgres::shared().unwrap();
    cluster.run_sql(&format!("UPDATE {schema}.schema_version SET version = 99"));
    expect_refusal(&url, &["version 99", "version 1 at most", "use a newer version of interlingua"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_start_together_migrate_once() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    let starts = (0..6).map(|_| {
        let url = url.clone();
        tokio::spawn(async move {
            let dir = tempfile::tempdir().unwrap();
            Store::connect(PostgresOptions::new(url.parse().unwrap(), dir.path()).connections(6)).await.unwrap()
        })
    });
    let mut stores = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        stores.push(start.await.unwrap());
    }
    let session = create_session(&stores[0], "s").await;
    for store in &stores {
        assert_eq!(store.session(&session.id).await.unwrap().unwrap().key, session.key);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_connections_are_a_clear_line_and_later_a_temporary_error() {
    // Three connections are reserved for superusers.
    let settings = [("max_connections", "12"), ("superuser_reserved_connections", "3")];
    let Some(cluster) = Cluster::start(&settings) else { return };
    cluster.run_sql("CREATE ROLE limited LOGIN; CREATE SCHEMA interlingua AUTHORIZATION limited");
    let url = tcp_url(&cluster, "limited", "postgres");
    let dir = tempfile::tempdir().unwrap();
    let options = PostgresOptions::new(url.parse().unwrap(), dir.path()).connections(6);
    let store = Store::connect(options).await.unwrap();
    let session = create_session(&store, "s").await;
    // Other programs take the rest.
    let mut others = Vec::new();
    loop {
        let config: tokio_postgres::Config = url.parse().unwrap();
        match config.connect(tokio_postgres::NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                others.push(client);
            }
            Err(_) => break,
        }
    }
    expect_refusal(&url, &["remaining connection slots", "max_connections", "--store-connections"]).await;
    // More reads at once than there are connections: those that get none fail for the moment.
    let reads = (0..40).map(|_| {
        let (store, id) = (store.clone(), session.id.clone());
        tokio::spawn(async move { store.session(&id).await })
    });
    for read in reads.collect::<Vec<_>>() {
        match read.await.unwrap() {
            Ok(found) => assert_eq!(found.unwrap().key, session.key),
            Err(StoreError::Unavailable(reason)) => assert!(reason.contains("max_connections"), "{reason}"),
            Err(error) => panic!("{error}"),
        }
    }
    drop(others);
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while store.session(&session.id).await.is_err() {
        assert!(tokio::time::Instant::now() < deadline, "the store does not recover");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}
