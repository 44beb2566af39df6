//! Several listeners, and Unix sockets.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest, SessionQuery};
use interlingua_server::{Access, Listener, ListenerError, ServerConfig, ServerError, SharedConfig, Token, serve};
use tokio::net::TcpListener;

use crate::test_server::{TOKEN, start_on};

#[tokio::test]
async fn every_listener_serves_the_same_api() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let second = format!("http://{}", tcp.local_addr().unwrap());
    let listeners = vec![Listener::unix(&socket).unwrap(), Listener::tcp(tcp)];
    let config = ServerConfig::new(Access::Token(Token::new(TOKEN).unwrap()));
    let server = start_on(config, listeners).await;
    server.create("s").await;
    for address in [format!("unix:{}", socket.display()), second] {
        let client = Client::builder(&address).token(TOKEN).build().unwrap();
        assert_eq!(client.sessions(&SessionQuery::default()).await.unwrap().total, 1, "{address}");
        client.send_message("s", &MessageRequest::new("echo hi")).await.unwrap();
        let mut events = client.follow_events("s", EventQuery::default()).await.unwrap();
        assert_eq!(events.next().await.unwrap().unwrap().sequence, 1);
        let refused = Client::new(&address).unwrap().sessions(&SessionQuery::default()).await.unwrap_err();
        assert_eq!(refused.problem().unwrap().kind(), "token_invalid", "{address}");
    }
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(Listener::unix(&socket), Err(ListenerError::InUse { .. })));
    server.stop().await;
    assert!(!socket.exists(), "the socket is removed");
}

#[tokio::test]
async fn without_a_token_a_unix_socket_needs_a_loopback_host_too() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("api.sock");
    let server = start_on(ServerConfig::new(Access::Loopback), vec![Listener::unix(&socket).unwrap()]).await;
    let http = reqwest::Client::builder().unix_socket(socket.clone()).build().unwrap();
    assert_eq!(http.get("http://localhost/v1/agents").send().await.unwrap().status(), 200);
    assert_eq!(http.get("http://evil.example/v1/agents").send().await.unwrap().status(), 403);
    server.stop().await;
}

#[tokio::test]
async fn without_a_token_every_tcp_listener_has_to_be_loopback() {
    let folder = tempfile::tempdir().unwrap();
    let server = start_on(ServerConfig::new(Access::Loopback), Vec::new()).await;
    let listeners = [
        Listener::unix(&folder.path().join("api.sock")).unwrap(),
        TcpListener::bind("127.0.0.1:0").await.unwrap().into(),
        TcpListener::bind("0.0.0.0:0").await.unwrap().into(),
    ];
    let config = ServerConfig::new(Access::Loopback);
    let refused = serve(listeners, config, server.runtime.clone(), server.store.clone(), std::future::pending()).await;
    assert!(matches!(refused, Err(ServerError::NotLoopback(_))));
}

#[tokio::test]
async fn a_new_configuration_counts_for_the_next_request() {
    let config = SharedConfig::from(ServerConfig::new(Access::Token(Token::new(TOKEN).unwrap())));
    let server = start_on(config.clone(), Vec::new()).await;
    assert_eq!(server.get("/v1/agents").await.status(), 200);
    config.replace(ServerConfig::new(Access::Token(Token::new("another").unwrap())));
    assert_eq!(server.get("/v1/agents").await.status(), 401);
    let client = Client::builder(&server.base).token("another").build().unwrap();
    client.agents().await.unwrap();
}

/// Creates a session and returns when its events are there.
async fn create_session(client: &Client, id: &str, labels: &[(&str, &str)]) {
    let mut create = CreateSessionRequest::new("mock");
    create.labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    client.create_session(id, &create).await.unwrap();
}

#[tokio::test]
async fn sessions_that_do_not_change_are_deleted_unless_they_are_pinned_or_work() {
    let config = SharedConfig::from(ServerConfig::new(Access::Loopback));
    let server = start_on(config.clone(), Vec::new()).await;
    let client = &server.client;
    create_session(client, "old", &[]).await;
    create_session(client, "pinned", &[("pinned", "true")]).await;
    create_session(client, "unpinned", &[("pinned", "false")]).await;
    create_session(client, "waiting", &[]).await;
    create_session(client, "ended", &[]).await;
    client.terminate("ended").await.unwrap();
    client.send_message("waiting", &MessageRequest::new("permission")).await.unwrap();
    server.follow("waiting", EventQuery::default()).await.until("permission.requested").await;
    tokio::time::sleep(Duration::from_millis(2100)).await;
    create_session(client, "new", &[]).await;
    config.replace(ServerConfig::new(Access::Loopback).retain(Some(Duration::from_secs(2))));
    let ids = async || -> Vec<String> {
        let page = client.sessions(&SessionQuery::default()).await.unwrap();
        page.sessions.into_iter().map(|session| session.session_id).collect()
    };
    while ids().await.len() > 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ids().await, ["new", "waiting", "pinned"]);
    let metrics = client.metrics().await.unwrap();
    assert!(metrics.contains("\ninterlingua_expired_sessions_total 3\n"), "{metrics}");
    while ids().await.len() > 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ids().await, ["waiting", "pinned"], "a session is deleted when its time has come");
}
