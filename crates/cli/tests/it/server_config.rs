//! `--config`, `interlingua config check`, reloading, and the notifications of a service manager.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, MessageRequest, SessionQuery};
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server_process::ServerProcess;

fn interlingua(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(arguments).env_remove("INTERLINGUA_TOKEN").env_remove("INTERLINGUA_ENDPOINT").stdin(Stdio::null());
    command
}

fn check(path: &Path) -> Output {
    interlingua(&["config", "check", path.to_str().unwrap()]).output().unwrap()
}

fn start(config: &Path, arguments: &[&str]) -> ServerProcess {
    let config = config.to_str().unwrap();
    ServerProcess::spawn(interlingua(&["server", "--config", config]).args(arguments))
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

async fn wait_until(mut condition: impl AsyncFnMut() -> bool) {
    for _ in 0..2000 {
        if condition().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the condition did not come true");
}

#[test]
fn a_configuration_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.toml");
    let shown = path.display();
    fs::write(&path, "no-token = true\nport = 0\nretain = \"30d\"\n").unwrap();
    let output = check(&path);
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{shown}: no errors\n"));
    let missing = folder.path().join("missing");
    let text = format!(
        "no-tokn = true\nport = 70000\n\nfs = true\nfs-root = \"{}\"\ntoken-file = \"/no/such/token\"\n",
        missing.display()
    );
    fs::write(&path, &text).unwrap();
    let output = check(&path);
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{stdout}");
    assert_eq!(lines[0], format!("{shown}:1: unknown key `no-tokn`; did you mean `no-token`?"));
    assert!(lines[1].starts_with(&format!("{shown}:2: `port`: invalid value '70000'")), "{stdout}");
    // Once the keys are right, the files that they name are looked at.
    fs::write(&path, text.replace("no-tokn = true\nport = 70000\n", "\n\n")).unwrap();
    let stdout = String::from_utf8(check(&path).stdout).unwrap();
    assert!(stdout.contains(&format!("{shown}:6: `token-file`: cannot read")), "{stdout}");
    assert!(stdout.contains(&format!("{shown}:5: `fs-root`: cannot use")), "{stdout}");
    assert_eq!(check(&missing).status.code(), Some(2));
    // The server refuses it with the same words.
    let refused =
        interlingua(&["server", "--config", path.to_str().unwrap(), "--log-format", "json"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    fs::write(&path, "prot = 1\n").unwrap();
    let refused = interlingua(&["server", "--config", path.to_str().unwrap()]).output().unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(stderr, format!("error: {shown}:1: unknown key `prot`; did you mean `port`?\n"));
}

#[tokio::test]
async fn a_server_runs_with_the_options_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.toml");
    let (data, socket, token) =
        (folder.path().join("data"), folder.path().join("api.sock"), folder.path().join("token"));
    write_private(&token, "t0ken\n");
    let text = format!(
        "data-dir = {data:?}\ntoken-file = {token:?}\nlisten = [\"tcp://127.0.0.1:0\", \"unix:{}\"]\nfs = true\n",
        socket.display()
    );
    fs::write(&path, text).unwrap();
    let mut server = start(&path, &[]);
    let client = Client::builder(format!("unix:{}", socket.display())).token("t0ken").build().unwrap();
    client.create_session("s", &CreateSessionRequest::new("mock")).await.unwrap();
    let tcp = Client::builder(server.client.base_url().as_str()).token("t0ken").build().unwrap();
    assert_eq!(tcp.sessions(&SessionQuery::default()).await.unwrap().total, 1);
    // Commands find the socket by the data directory.
    let listed =
        interlingua(&["sessions", "list", "--data-dir", data.to_str().unwrap(), "--token-file"]).arg(&token).output();
    let listed = listed.unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("mock"), "{}", String::from_utf8_lossy(&listed.stderr));
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(!socket.exists());
}

#[tokio::test]
async fn sighup_loads_the_configuration_again() {
    let folder = tempfile::tempdir().unwrap();
    let (path, token) = (folder.path().join("server.toml"), folder.path().join("token"));
    write_private(&token, "first");
    let options = format!("data-dir = {:?}\nport = 0\ntoken-file = {token:?}\n", folder.path().join("data"));
    fs::write(&path, &options).unwrap();
    let server = start(&path, &[]);
    let with = |token: &str| Client::builder(server.client.base_url().as_str()).token(token).build().unwrap();
    let is_accepted = async |token: &str| with(token).agents().await.is_ok();
    assert!(is_accepted("first").await && !is_accepted("second").await);

    write_private(&token, "second");
    server.signal("HUP");
    wait_until(async || is_accepted("second").await).await;
    assert!(!is_accepted("first").await);

    // Files, and how long sessions are kept.
    let client = with("second");
    client.create_session("old", &CreateSessionRequest::new("mock")).await.unwrap();
    let listed = client.list_files(&interlingua_client::FilePath::in_session("old", ".")).await;
    assert_eq!(listed.unwrap_err().problem().unwrap().kind(), "not_found");
    fs::write(&path, format!("{options}fs = true\nretain = \"1s\"\nmax-store-bytes = \"1GB\"\n")).unwrap();
    server.signal("HUP");
    wait_until(async || client.sessions(&SessionQuery::default()).await.unwrap().total == 0).await;
    let listed = client.list_files(&interlingua_client::FilePath::new(".")).await;
    assert_eq!(listed.unwrap_err().problem().unwrap().kind(), "invalid_request", "there is no root");

    // A file with an error changes nothing.
    fs::write(&path, "no-token = true\nretian = \"1s\"\n").unwrap();
    server.signal("HUP");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(is_accepted("second").await && server.client.agents().await.is_err());
}

/// What the server tells the service manager.
struct Manager(UnixDatagram);

impl Manager {
    fn next(&self) -> String {
        let mut buffer = [0; 1024];
        let length = self.0.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// The next message other than a sign of life.
    fn next_state(&self) -> String {
        loop {
            let message = self.next();
            if message != "WATCHDOG=1" {
                return message;
            }
        }
    }
}

#[test]
fn a_service_manager_is_told_the_state_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("notify");
    let manager = Manager(UnixDatagram::bind(&socket).unwrap());
    manager.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let data = folder.path().join("data");
    let mut command = interlingua(&["server", "--no-token", "--port", "0", "--drain", "1s", "--data-dir"]);
    command.arg(&data).env("NOTIFY_SOCKET", &socket).env("WATCHDOG_USEC", "200000");
    let mut server = ServerProcess::spawn(&mut command);
    let ready = manager.next_state();
    assert!(ready.starts_with("READY=1\nSTATUS=listening on http://127.0.0.1:"), "{ready}");
    assert_eq!(manager.next(), "WATCHDOG=1");
    assert_eq!(manager.next(), "WATCHDOG=1");
    server.signal("HUP");
    let reloading = manager.next_state();
    let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(micros.parse::<u64>().unwrap() > 0);
    assert!(manager.next_state().starts_with("READY=1\n"));
    server.signal("TERM");
    let stopping = manager.next_state();
    assert!(stopping.starts_with("STOPPING=1\n") && stopping.contains("EXTEND_TIMEOUT_USEC=31000000"), "{stopping}");
    assert!(server.wait().success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_service_manager_can_have_an_abstract_socket() {
    use std::os::linux::net::SocketAddrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let name = format!("interlingua-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager(UnixDatagram::bind_addr(&address).unwrap());
    manager.0.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = interlingua(&["server", "--no-token", "--port", "0", "--data-dir"]);
    let _server = ServerProcess::spawn(command.arg(folder.path()).env("NOTIFY_SOCKET", format!("@{name}")));
    assert!(manager.next().starts_with("READY=1\n"));
}

#[tokio::test]
async fn a_trace_is_passed_to_the_process_of_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let (agent, result) = (folder.path().join("agent"), folder.path().join("result"));
    let mut script = fs::File::create(&agent).unwrap();
    let print = result.with_extension("new");
    // It is also run to ask for its version.
    writeln!(script, "#!/bin/sh\n[ $# = 0 ] && echo \"$TRACEPARENT\" > {print:?} && mv {print:?} {result:?}").unwrap();
    drop(script);
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let data = folder.path().join("data");
    let named = format!("tracer={}", agent.display());
    let server = ServerProcess::start(&data, &["--acp-agent", &named]);
    server.client.create_session("s", &CreateSessionRequest::new("tracer")).await.unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = server.client.request(reqwest::Method::POST, "/v1/sessions/s/messages").header("traceparent", trace);
    server.client.execute(request.json(&MessageRequest::new("hi"))).await.unwrap();
    wait_until(async || result.exists()).await;
    assert_eq!(fs::read_to_string(&result).unwrap().trim(), trace);
}

#[tokio::test]
async fn options_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    for (arguments, expected) in [
        (&["--listen", "tcp://127.0.0.1:0", "--port", "1"][..], "cannot be used with"),
        (&["--listen", "http://127.0.0.1:0"], "expected tcp://HOST:PORT or unix:PATH"),
        (&["--tls-cert", "cert.pem"], "--tls-key"),
        (&["--fs-root", "/"], "--fs"),
        (&["--fs", "--fs-root", "/no/such/directory", "--port", "0"], "cannot serve the files of /no/such/directory"),
        (&["--retain", "0s"], "every session would be deleted"),
        (&["--compat", "other"], "sandbox-agent"),
        (&["--listen", "tcp://0.0.0.0:0"], "without a token"),
        (&["--tls-cert", "/none/cert.pem", "--tls-key", "/none/key.pem", "--port", "0"], "cannot read /none/cert.pem"),
    ] {
        let output = interlingua(&["server", "--no-token", "--data-dir", data]).args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[tokio::test]
async fn a_program_that_starts_a_server_gets_all_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let socket = format!("unix:{}", folder.path().join("api.sock").display());
    let mut command =
        interlingua(&["server", "--no-token", "--print-address", "--listen", "tcp://127.0.0.1:0", "--listen"]);
    command.arg(&socket).arg("--data-dir").arg(folder.path().join("data"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(printed["address"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{printed}");
    assert_eq!(printed["addresses"], serde_json::json!([printed["address"], socket]));
    Client::new(socket).unwrap().health().await.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn each_request_is_a_line_of_the_log_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let added = interlingua(&["tokens", "add", "ci", "--data-dir", data]).output().unwrap();
    let token = String::from_utf8(added.stdout).unwrap().trim().to_owned();
    let mut command = interlingua(&["server", "--port", "0", "--log-format", "json", "--data-dir", data]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let mut next = |wanted: &str| -> serde_json::Value {
        loop {
            let line = lines.next().unwrap().unwrap();
            assert!(!line.contains(&token) && !line.contains("s3cret"), "{line}");
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["fields"]["message"] == wanted {
                return line["fields"].clone();
            }
        }
    };
    let address = next("listening")["address"].as_str().unwrap().to_owned();
    let client = Client::builder(address).token(&token).build().unwrap();
    let request = client.request(reqwest::Method::GET, "/v1/sessions?q=s3cret").header("x-request-id", "build-7");
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    client.execute(request.header("traceparent", trace)).await.unwrap();
    let line = next("request");
    for (field, expected) in [
        ("request_id", "build-7"),
        ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"),
        ("token", "ci"),
        ("method", "GET"),
        ("path", "/v1/sessions"),
    ] {
        assert_eq!(line[field], expected, "{line}");
    }
    assert!(line["status"] == 200 && line["elapsed_us"].as_u64().unwrap() > 0, "{line}");
    assert_eq!(client.delete_session("none").await.unwrap_err().problem().unwrap().kind(), "insufficient_scope");
    let line = next("request");
    assert_eq!((&line["status"], &line["token"]), (&serde_json::json!(403), &serde_json::json!("ci")));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn requests_of_agents_expire() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(folder.path(), &["--request-timeout", "100ms"]);
    for (id, message, kind, status) in
        [("p", "permission", "permission.resolved", "denied"), ("q", "question", "question.resolved", "rejected")]
    {
        server.create(id).await;
        server.send(id, message).await;
        let events = server.follow(id, 0).await.until("turn.ended").await;
        let events: Vec<serde_json::Value> = events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        let resolved: Vec<&serde_json::Value> = events.iter().filter(|event| event["type"] == kind).collect();
        assert!(!resolved.is_empty(), "{events:?}");
        for event in resolved {
            assert_eq!(
                (&event["data"]["status"], event["source"].as_str()),
                (&serde_json::json!(status), Some("daemon"))
            );
            assert_eq!(event["data"]["metadata"]["expired"], true, "{event}");
        }
    }
}

#[tokio::test]
async fn a_server_can_answer_as_sandbox_agent() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(folder.path(), &["--compat", "sandbox-agent"]);
    let response = server.client.request(reqwest::Method::GET, "/v1/sessions/none/events").send().await.unwrap();
    let text = response.text().await.unwrap();
    assert!(text.contains(r#""type":"urn:sandbox-agent:error:session_not_found""#), "{text}");
}

/// Whether a server shows this certificate.
async fn shows_certificate(address: &str, certificate: CertificateDer<'static>) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.is_ok()
}

#[tokio::test]
async fn sighup_replaces_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let replace = || {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        write_private(&key, &made.signing_key.serialize_pem());
        write_private(&certificate, &made.cert.pem());
        made.cert.der().clone()
    };
    let first = replace();
    let files = [certificate.to_str().unwrap(), key.to_str().unwrap()];
    let data = folder.path().join("data");
    let server = ServerProcess::start(&data, &["--tls-cert", files[0], "--tls-key", files[1]]);
    let address = server.client.base_url().as_str().strip_prefix("https://").unwrap().trim_end_matches('/').to_owned();
    assert!(shows_certificate(&address, first.clone()).await);
    let second = replace();
    server.signal("HUP");
    wait_until(async || shows_certificate(&address, second.clone()).await).await;
    assert!(!shows_certificate(&address, first).await);
}
