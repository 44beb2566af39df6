//! Large and slow request bodies.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::test_server::{TOKEN, TestServer, expect_problem, start_server};

/// Sends a whole body before it reads the answer, as many clients do.
async fn send_before_reading(server: &TestServer, path: &str, token: &str, body_bytes: usize) -> String {
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {body_bytes}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = vec![b'x'; 1 << 20];
    let mut left = body_bytes;
    while left > 0 {
        let part = left.min(chunk.len());
        stream.write_all(&chunk[..part]).await.expect("the server closed the connection while the body was sent");
        left -= part;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_refused_request_with_a_large_body_gets_its_answer() {
    let server = start_server().await;
    server.create("s").await;
    for (path, token, status) in [
        ("/v1/sessions/s/messages", "wrong", "401"),
        ("/v1/nothing", TOKEN, "404"),
        ("/v1/health", TOKEN, "405"),
        ("/v1/sessions/s/messages", TOKEN, "413"),
    ] {
        let answer = send_before_reading(&server, path, token, 40 << 20).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {}", &answer[..answer.len().min(200)]);
        assert!(answer.contains("urn:interlingua:error:"), "{path}");
    }
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_is_refused_without_its_body() {
    let server = start_server().await;
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = "POST /v1/nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 401");
}

/// Starts to send a message, and keeps the connection.
async fn start_sending(server: &TestServer, head: &str, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /v1/sessions/s/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {TOKEN}\r\n{head}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; sent]).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_send_large_bodies_slowly_do_not_stop_others() {
    let server = start_server().await;
    server.create("s").await;
    let mut slow = Vec::new();
    for sent in [1, 20 << 20, 1] {
        slow.push(start_sending(&server, "Content-Length: 32505856", sent).await);
    }
    let others = async {
        let mut chunked = start_sending(&server, "Transfer-Encoding: chunked\r\nConnection: close", 0).await;
        chunked.write_all(b"14\r\n{\"message\":\"echo b\"}\r\n0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        chunked.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
        server.post_ok("/v1/sessions/s/messages", json!({ "message": "x".repeat(2_000_000) })).await;
    };
    // The slow clients have 30 seconds for the next byte.
    tokio::time::timeout(Duration::from_secs(20), others).await.expect("other clients had to wait");
}

#[tokio::test]
async fn a_body_without_progress_is_408() {
    let server = start_server().await;
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST /v1/sessions/s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {TOKEN}\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The head has to arrive before the clock is stopped. With a stopped clock, timeouts pass at once.
    server.get_json("/v1/health").await;
    tokio::time::pause();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("urn:interlingua:error:timeout"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_answered_while_large_messages_are_handled() {
    let server = start_server().await;
    let text = "x".repeat(8 << 20);
    let mut sending = Vec::new();
    for index in 0..8 {
        let id = format!("s{index}");
        server.create(&id).await;
        let request = server.request(reqwest::Method::POST, &format!("/v1/sessions/{id}/messages"));
        let request = request.json(&json!({ "message": format!("status {text}") }));
        sending.push(tokio::spawn(async move { request.send().await.unwrap().status() }));
    }
    let mut slowest = Duration::ZERO;
    while !sending.iter().all(tokio::task::JoinHandle::is_finished) {
        let started = Instant::now();
        server.get_json("/v1/health").await;
        slowest = slowest.max(started.elapsed());
    }
    for sent in sending {
        assert_eq!(sent.await.unwrap(), 204);
    }
    // Generous, because other tests run at the same time and this build is not optimised.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    expect_problem(server.get("/v1/sessions/none").await, 404, "session_not_found").await;
}
