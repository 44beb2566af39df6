//! Agents may not use the API of the server that runs them.
//!
//! The agent is this test program in place of Claude Code.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use interlingua_client::{Client, SessionQuery};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{LaunchConfig, RuntimeOptions, Supervisor, drivers, supervise};
use interlingua_server::{Access, Listener, ServerConfig};
use interlingua_store::StoreOptions;
use serde_json::json;
use tokio::time::sleep;

use crate::test_server::{TestServer, start_listening};

const ADDRESS_VARIABLE: &str = "TEST_SERVER_ADDRESS";
const RESULT_VARIABLE: &str = "TEST_RESULT_FILE";
const SOCKET_VARIABLE: &str = "TEST_SERVER_SOCKET";
/// Between the answers over TCP and over the Unix socket.
const SEPARATOR: &str = "\n=====\n";
/// Number of connections that the agent opens first, and keeps.
const FLOOD_VARIABLE: &str = "TEST_FLOOD";

#[test]
#[ignore = "the other tests start this as their supervisor"]
fn run_as_supervisor() {
    supervise().unwrap();
}

/// Uses the API of the server that runs this program, and writes the status of the answer to a file.
#[test]
#[ignore = "the other tests start this as their agent"]
fn run_as_agent() {
    let (Ok(address), Ok(result)) = (std::env::var(ADDRESS_VARIABLE), std::env::var(RESULT_VARIABLE)) else { return };
    let flood = std::env::var(FLOOD_VARIABLE).map_or(0, |count| count.parse().unwrap());
    let flood: Vec<_> = (0..flood).filter_map(|_| TcpStream::connect(&address).ok()).collect();
    if !flood.is_empty() {
        std::fs::write(result, flood.len().to_string()).unwrap();
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        return;
    }
    // A request whose connection is closed at once, so that its process cannot be found any more.
    let body = "{}";
    let request = format!(
        "POST /v1/sessions/victim/terminate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut closed_at_once = TcpStream::connect(&address).unwrap();
    closed_at_once.write_all(request.as_bytes()).unwrap();
    drop(closed_at_once);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let mut socket = UnixStream::connect(std::env::var(SOCKET_VARIABLE).unwrap()).unwrap();
    socket.write_all(b"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    answer.push_str(SEPARATOR);
    socket.read_to_string(&mut answer).unwrap();
    std::fs::write(format!("{result}.new"), answer).unwrap();
    std::fs::rename(format!("{result}.new"), result).unwrap();
    // The agent runs until its standard input is closed.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

/// Starts a server with the mock, and this program as Claude Code.
async fn start_server(folder: &Path, script: &str) -> TestServer {
    let program = std::env::current_exe().unwrap();
    let agent = format!("'{}' agent_peers::run_as_agent --exact --ignored --nocapture", program.display());
    let claude = folder.join("claude");
    std::fs::write(&claude, format!("#!/bin/sh\n{}\n", script.replace("AGENT", &agent))).unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let supervisor = Supervisor::current_exe(["agent_peers::run_as_supervisor", "--exact", "--ignored"]).unwrap();
    let launch = LaunchConfig::new(supervisor, folder).path(folder);
    let data_dir = tempfile::tempdir().unwrap();
    let config = ServerConfig::new(Access::Loopback);
    let drivers = drivers(&launch, MockDriver::new());
    let socket = Listener::unix(&folder.join("socket")).unwrap();
    let (store, options) = (StoreOptions::default(), RuntimeOptions::default());
    start_listening(data_dir, config.into(), store, drivers, options, vec![socket]).await
}

/// Lets the agent of a session use the API. Returns the answer that it got.
async fn agent_answer(server: &TestServer, folder: &Path, flood: usize) -> String {
    let result = folder.join("answer");
    let env = json!({
        ADDRESS_VARIABLE: server.base.strip_prefix("http://").unwrap(),
        RESULT_VARIABLE: result.to_str().unwrap(),
        SOCKET_VARIABLE: folder.join("socket").to_str().unwrap(),
        FLOOD_VARIABLE: flood.to_string(),
    });
    let created = server.post("/v1/sessions/agent", json!({ "agent": "claude", "env": env })).await;
    assert_eq!(created.status(), 200, "{}", created.text().await.unwrap());
    server.post_ok("/v1/sessions/agent/messages", json!({ "message": "hi" })).await;
    for _ in 0..600 {
        if let Ok(answer) = std::fs::read_to_string(&result) {
            return answer;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the agent got no answer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_use_the_api_of_its_server_and_other_clients_can() {
    // The second one is a grandchild in a session of its own, whose parent exits.
    for script in ["exec AGENT", "(setsid AGENT <&0 &) ; sleep 60"] {
        let folder = tempfile::tempdir().unwrap();
        let server = start_server(folder.path(), script).await;
        server.create("victim").await;
        let answer = agent_answer(&server, folder.path(), 0).await;
        for answer in answer.split(SEPARATOR) {
            assert!(answer.starts_with("HTTP/1.1 403 "), "{script}: {answer}");
            assert!(answer.contains("urn:interlingua:error:forbidden_agent"), "{answer}");
        }
        // This process may use the same socket.
        let socket = Client::new(format!("unix:{}", folder.path().join("socket").display())).unwrap();
        assert_eq!(socket.sessions(&SessionQuery::default()).await.unwrap().total, 2);
        // The request on the connection that was closed at once was not carried out either.
        let fresh = reqwest::get(format!("{}/v1/sessions/victim", server.base)).await.unwrap();
        assert_eq!(fresh.status(), 200);
        let victim: serde_json::Value = serde_json::from_str(&fresh.text().await.unwrap()).unwrap();
        assert_eq!(victim["ended"], false, "{script}");
        server.runtime.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_opens_many_connections_does_not_keep_clients_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_server(folder.path(), "exec AGENT").await;
    server.create("victim").await;
    let opened: usize = agent_answer(&server, folder.path(), 5000).await.parse().unwrap();
    assert!(opened > 4500, "the agent could open {opened} connections only");
    let client = async {
        // On a new connection: those of the server's own test client were accepted before.
        let answer = reqwest::Client::new().get(format!("{}/v1/sessions/victim", server.base)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let terminated = reqwest::Client::new().post(format!("{}/v1/sessions/agent/terminate", server.base));
        assert_eq!(terminated.json(&json!({})).send().await.unwrap().status(), 204);
    };
    tokio::time::timeout(Duration::from_secs(20), client).await.expect("the client had to wait");
    server.runtime.shutdown().await;
}
