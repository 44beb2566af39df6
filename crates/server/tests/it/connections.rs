//! The limit of open connections.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::test_server::{TestServer, start_server};

/// As the server has it.
const MAX_CONNECTIONS: usize = 4096;

async fn connect(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Sends one request on a new connection. Returns the status and the rest of the answer.
async fn get_health(server: &TestServer) -> String {
    let mut stream = connect(server).await;
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limit_are_503_until_others_are_closed() {
    if getrlimit(Resource::Nofile).maximum.is_some_and(|maximum| maximum < 2 * MAX_CONNECTIONS as u64 + 200) {
        eprintln!("skipped: this process may not open enough files");
        return;
    }
    // The server raises the limit of open files.
    let server = start_server().await;
    assert!(get_health(&server).await.starts_with("HTTP/1.1 200 "));
    let mut connections = Vec::new();
    while connections.len() < MAX_CONNECTIONS {
        connections.push(connect(&server).await);
        // An answer says that all before it are accepted. The kernel drops those beyond its queue.
        if connections.len() % 64 == 0 && connections.len() < MAX_CONNECTIONS {
            get_health(&server).await;
        }
    }
    let refused = async {
        loop {
            let answer = get_health(&server).await;
            if answer.starts_with("HTTP/1.1 503 ") {
                return answer;
            }
            // Not all connections are accepted yet.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(30), refused).await.expect("all connections are served");
    assert!(
        refused.contains("urn:interlingua:error:unavailable") && refused.contains("4096 open connections"),
        "{refused}"
    );
    connections.truncate(MAX_CONNECTIONS - 10);
    let answered = async {
        while !get_health(&server).await.starts_with("HTTP/1.1 200 ") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), answered).await.expect("no connection is served again");
}
