//! Servers that share a store in Postgres, as programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use interlingua_client::{CreateSessionRequest, SessionQuery};
use interlingua_test_postgres::Cluster;

use crate::server_process::{ServerProcess, check_rules};

const PROGRAM: &str = env!("CARGO_BIN_EXE_interlingua");

/// A server command without the variables of this process that matter.
fn server_command(data_dir: &Path, store: Option<&str>) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(data_dir).stdin(Stdio::null());
    for variable in ["INTERLINGUA_STORE", "PGPASSWORD", "PGPASSFILE", "PGUSER"] {
        command.env_remove(variable);
    }
    if let Some(store) = store {
        command.env("INTERLINGUA_STORE", store);
    }
    command
}

/// Runs a server that cannot start: its error, which is one line.
fn refused(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    let error = text.lines().last().unwrap_or_default().to_owned();
    assert!(error.starts_with("error: "), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    error
}

#[test]
fn a_store_that_cannot_be_used_is_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    for (store, parts) in [
        ("mysql://u:s3cret@h/d", &["postgres://USER@HOST"][..]),
        ("postgres://u:s3cret@127.0.0.1:1/d", &["postgres://u@127.0.0.1:1/d", "refused", "--store"]),
        ("postgres://u:s3cret@127.0.0.1:1/d?sslmode=maybe", &["sslmode"]),
    ] {
        let mut by_option = server_command(dir.path(), None);
        for error in
            [refused(&mut server_command(dir.path(), Some(store))), refused(by_option.args(["--store", store]))]
        {
            assert!(parts.iter().all(|part| error.contains(part)), "expected {parts:?} in: {error}");
        }
    }
    for option in [["--server-name", "a"], ["--resume-home", "/"], ["--store-connections", "8"]] {
        let error = refused(server_command(dir.path(), None).args(option));
        assert!(error.contains(option[0]) && error.contains("INTERLINGUA_STORE"), "{error}");
    }
    let Some(cluster) = interlingua_test_postgres::shared() else { return };
    let store = cluster.schema_url("of_homes");
    let shared = tempfile::tempdir().unwrap();
    let mut elsewhere = server_command(dir.path(), Some(&store));
    let error = refused(elsewhere.env("HOME", dir.path()).arg("--resume-home").arg(shared.path()));
    assert!(error.contains("--resume-home") && error.contains("set HOME"), "{error}");
    let check = Command::new(PROGRAM).args(["store", "check"]).env("INTERLINGUA_STORE", &store).output().unwrap();
    assert!(String::from_utf8_lossy(&check.stderr).contains("pg_dump"), "{check:?}");
}

#[tokio::test]
async fn the_password_comes_from_a_file_and_is_in_no_log() {
    let Some(mut cluster) = Cluster::start(&[]) else { return };
    cluster.run_sql("CREATE ROLE guarded LOGIN PASSWORD 's3cret'; CREATE SCHEMA interlingua AUTHORIZATION guarded");
    let rules = "local all interlingua trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    fs::write(cluster.data_folder().join("pg_hba.conf"), rules).unwrap();
    cluster.stop();
    cluster.restart();
    let dir = tempfile::tempdir().unwrap();
    let address = format!("127.0.0.1:{}/postgres", cluster.port());
    let url = format!("postgres://guarded@{address}");
    let error = refused(&mut server_command(&dir.path().join("a"), Some(&url)));
    assert!(error.contains("password"), "{error}");

    let file = dir.path().join("pgpass");
    fs::write(&file, format!("127.0.0.1:{}:*:guarded:s3cret\n", cluster.port())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let mut by_file = server_command(&dir.path().join("a"), Some(&url));
    by_file.env("PGPASSFILE", &file);
    assert!(refused(&mut by_file).contains("chmod 600"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();

    let log = dir.path().join("log");
    let with_url = format!("postgres://guarded:s3cret@{address}");
    let mut variants =
        [by_file, server_command(&dir.path().join("b"), Some(&url)), server_command(&dir.path().join("c"), None)];
    variants[1].env("PGPASSWORD", "s3cret");
    variants[2].args(["--store", &with_url]);
    for command in &mut variants {
        command.args(["--log", "trace"]);
        // The log of a server that listens, and has done something.
        let mut child = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
        let text = loop {
            let text = fs::read_to_string(&log).unwrap();
            if text.contains("server started") {
                break text;
            }
            assert!(child.try_wait().unwrap().is_none(), "{text}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!text.contains("s3cret"), "the password is in the log");
        let address = format!("postgres://guarded@{address}");
        assert!(text.contains(&address), "{}", text.len());
    }
    // Other users can see the command line.
    assert!(fs::read_to_string(&log).unwrap().contains("process list"));
}

#[tokio::test]
async fn sessions_go_on_at_the_other_server_when_one_is_stopped() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    let dir = tempfile::tempdir().unwrap();
    let start = |name: &str| {
        let mut command = server_command(&dir.path().join(name), Some(&url));
        ServerProcess::spawn(command.args(["--server-name", name, "--drain", "60s"]))
    };
    let (mut a, b) = (start("a"), start("b"));
    a.create("s").await;
    a.send("s", "permission").await;
    let mut reader = b.follow("s", 0).await;
    let mut events = reader.until("permission.requested").await;
    b.send("s", "echo from the queue").await;
    // It lets its turn end, starts no other, and gives the session away.
    a.signal("TERM");
    let info = b.client.session("s").await.unwrap();
    assert_eq!(info.server.as_deref(), Some("a"));
    b.client.interrupt("s").await.unwrap();
    events.extend(reader.until("turn.ended").await);
    events.extend(reader.until("turn.ended").await);
    assert!(events.iter().any(|event| event.contains("echo from the queue")));
    check_rules(&events);
    assert!(a.wait().success());
    b.client.delete_session("s").await.unwrap();
}

#[tokio::test]
async fn histories_are_imported_beside_running_servers() {
    let Some(url) = interlingua_test_postgres::shared_url() else { return };
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::spawn(server_command(&dir.path().join("a"), Some(&url)).args(["--server-name", "a"]));
    let home = crate::history::home();
    let mut import = Command::new(PROGRAM);
    import.args(["history", "import", "--all", "--server-name", "laptop", "--store", &url, "--data-dir"]);
    let output = import.arg(dir.path().join("import")).env("HOME", home.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let page = server.client.sessions(&SessionQuery::default()).await.unwrap();
    assert_eq!(page.sessions.len(), 1);
    // Its files are on the machine of the import.
    assert_eq!(page.sessions[0].placement.as_deref(), Some("laptop"));
    let mut create = CreateSessionRequest::new("mock");
    create.placement = Some("laptop".to_owned());
    server.client.create_session("placed", &create).await.unwrap();
}
