//! TLS to the database, and passwords.

use std::path::Path;
use std::process::Command;

use interlingua_store::{PostgresOptions, Store};
use interlingua_test_postgres::Cluster;

use super::refused::expect_refusal;
use crate::fixtures::create_session;

/// Makes an authority `ca.pem` and a certificate of it for `localhost`, `server.crt` with `server.key`.
fn make_certificates(folder: &Path) {
    let script = r#"
        set -e
        cd "$1"
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority 2>/dev/null
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost 2>/dev/null
        printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' >extensions
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.crt -days 2 \
            -extfile extensions 2>/dev/null
        chmod 600 server.key
    "#;
    let made = Command::new("sh").args(["-c", script, "sh"]).arg(folder).status().unwrap();
    assert!(made.success(), "openssl cannot make certificates");
}

/// A cluster with TLS on TCP, where every user needs a password.
fn start_cluster() -> Option<Cluster> {
    let mut cluster = Cluster::start(&[])?;
    let data = cluster.data_folder();
    cluster.run_sql("CREATE ROLE guarded LOGIN PASSWORD 's3cret'; CREATE SCHEMA interlingua AUTHORIZATION guarded");
    make_certificates(cluster.folder());
    for file in ["server.crt", "server.key"] {
        std::fs::copy(cluster.folder().join(file), data.join(file)).unwrap();
        cluster.programs().give_file(&data.join(file)).unwrap();
    }
    std::fs::write(data.join("pg_hba.conf"), "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        .unwrap();
    cluster.stop();
    cluster.set("ssl", "on");
    cluster.restart();
    Some(cluster)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sslmode_and_the_password_are_honoured() {
    let Some(cluster) = start_cluster() else { return };
    let ca = cluster.folder().join("ca.pem");
    let url = |user: &str, host: &str, parameters: &str| {
        format!("postgres://{user}@{host}:{}/postgres?{parameters}", cluster.port())
    };
    let with_ca = |mode: &str| format!("sslmode={mode}&sslrootcert={}", ca.display());
    for parameters in
        ["sslmode=prefer".to_owned(), "sslmode=require".to_owned(), with_ca("require"), with_ca("verify-ca")]
    {
        let dir = tempfile::tempdir().unwrap();
        let url = url("guarded:s3cret", "127.0.0.1", &parameters);
        let store = Store::connect(PostgresOptions::new(url.parse().unwrap(), dir.path())).await.unwrap();
        create_session(&store, &parameters).await;
        let encrypted = cluster.run_sql(
            "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE usename = 'guarded'",
        );
        assert_eq!(encrypted, "t", "{parameters}");
        store.close().await;
    }
    let dir = tempfile::tempdir().unwrap();
    let by_name = url("guarded:s3cret", "localhost", &with_ca("verify-full"));
    Store::connect(PostgresOptions::new(by_name.parse().unwrap(), dir.path())).await.unwrap().close().await;

    expect_refusal(&url("guarded:wrong-s3cret", "127.0.0.1", "sslmode=require"), &["password", "PGPASSFILE"]).await;
    let plain = url("guarded:s3cret", "127.0.0.1", "sslmode=disable");
    expect_refusal(&plain, &["no encryption", "check the user"]).await;
    // The certificate is for another host, or of an authority that is not trusted.
    let other_host = url("guarded:s3cret", "127.0.0.1", &with_ca("verify-full"));
    expect_refusal(&other_host, &["not valid for name", "sslrootcert"]).await;
    let untrusted = url("guarded:s3cret", "localhost", "sslmode=verify-full&sslrootcert=system");
    expect_refusal(&untrusted, &["sslrootcert"]).await;
    let missing = url("guarded:s3cret", "localhost", "sslmode=verify-full&sslrootcert=/no/such.pem");
    expect_refusal(&missing, &["/no/such.pem", "sslrootcert"]).await;
    // A database without TLS.
    let shared = interlingua_test_postgres::shared().unwrap();
    let without = format!("postgres://interlingua@127.0.0.1:{}/postgres?sslmode=require", shared.port());
    expect_refusal(&without, &["TLS", "check sslmode"]).await;
}
