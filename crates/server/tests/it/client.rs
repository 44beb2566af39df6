//! `interlingua-client` against the real server: every endpoint, and the same fields as the server.

use std::collections::BTreeSet;

use interlingua_client::{
    AllEventsQuery, AttachedFile, Client, ClientError, CreateSessionRequest, EventQuery, ExportFormat, FilePath,
    HistoryQuery, ImportRequest, InstallRequest, MessageRequest, MoveRequest, PermissionAnswer, SearchRequest,
    SecretsRequest, SessionQuery, TurnQuery, UpdateSessionRequest,
};
use interlingua_server::{Access, FileRoots, ServerConfig};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::test_server::{TestServer, check_rules, event_types, start_server, start_server_with, stores};

/// Calls every method of the client.
async fn call_every_method(client: &Client, directory: &str) -> Result<(), ClientError> {
    client.health().await?;
    client.ready().await?;
    client.openapi().await?;
    client.event_schema().await?;
    client.agents().await?;
    client.install_agent("mock", &InstallRequest::default()).await?;
    client.start_install("mock", &InstallRequest::default()).await?;
    client.install_status("mock").await?;
    client.history(&HistoryQuery::default()).await?;
    let mut import = ImportRequest::default();
    import.all = Some(true);
    client.import_history(&import).await?;
    client.start_import(&import).await?;
    client.import_status(None).await?;
    client.modes("mock").await?;
    client.models("mock").await?;
    let mut create = CreateSessionRequest::new("mock");
    create.directory = Some(directory.to_owned());
    client.create_session("s", &create).await?;
    client.sessions(&SessionQuery::default()).await?;
    client.session("s").await?;
    client.update_session("s", &UpdateSessionRequest::default()).await?;
    client.queued_messages("s").await?;
    let unknown = client.cancel_message("s", "m").await.unwrap_err();
    assert_eq!(unknown.problem().unwrap().details, Some(json!({ "messageId": "m" })));
    client.send_message("s", &MessageRequest::new("echo hi")).await?;
    client.upload_attachment("s", "a.txt", None, "content").await?;
    let mut turn = client.stream_turn("s", &MessageRequest::new("echo hi"), TurnQuery::default()).await?;
    while turn.next().await?.is_some() {}
    client.events("s", EventQuery::default()).await?;
    client.check_session("s").await?;
    client.export_session("s", ExportFormat::JsonLines).await?;
    client.set_secrets("s", &SecretsRequest::default()).await?;
    let uploaded = client.upload_attachment("s", "note.txt", Some("text/plain"), "a note").await?;
    assert_eq!(uploaded.filename.as_deref(), Some("note.txt"));
    client.interrupt("s").await?;
    let unknown = client.reply_permission("s", "p", PermissionAnswer::Once).await.unwrap_err();
    assert_eq!(unknown.problem().unwrap().kind(), "permission_not_found");
    let unknown = client.reply_question("s", "q", &["a".to_owned()]).await.unwrap_err();
    assert_eq!(unknown.problem().unwrap().kind(), "question_not_found");
    let unknown = client.reject_question("s", "q").await.unwrap_err();
    assert_eq!(unknown.problem().unwrap().details, Some(json!({ "questionId": "q" })));
    let file = FilePath::in_session("s", "a/b.txt");
    client.write_file(&file, "content").await?;
    assert_eq!(client.read_file(&file).await?.text().await.unwrap(), "content");
    assert_eq!(client.file_info(&file).await?.size, 7);
    client.move_file(Some("s"), &MoveRequest::new("a/b.txt", "c.txt")).await?;
    client.create_directory(&FilePath::in_session("s", "d")).await?;
    let archive = client.upload_archive(&FilePath::in_session("s", "d"), crate::files::tar(&[("e", "e")])).await?;
    assert!(archive.paths[0].ends_with("/d/e") && !archive.truncated, "{archive:?}");
    let names =
        |files: Vec<interlingua_client::FileInfo>| -> Vec<_> { files.into_iter().map(|file| file.name).collect() };
    let root = FilePath::in_session("s", ".");
    assert_eq!(names(client.list_files(&root).await?), ["a", "c.txt", "d"].map(|name| Some(name.to_owned())));
    client.delete_file(&FilePath::in_session("s", "d"), true).await?;
    client.search(&SearchRequest::new("hi")).await?;
    let mut events = client.follow_all_events(AllEventsQuery::default()).await?;
    events.next().await?;
    client.terminate("s").await?;
    let mut events = client.follow_events("s", EventQuery::default()).await?;
    while events.next().await?.is_some() {}
    client.delete_session("s").await
}

#[tokio::test]
async fn every_endpoint_has_a_method() {
    let config = ServerConfig::new(Access::Loopback).files(Some(FileRoots::default()));
    let server = start_server_with(config, interlingua_store::StoreOptions::default()).await;
    let directory = tempfile::tempdir().unwrap();
    call_every_method(&server.client, directory.path().to_str().unwrap()).await.unwrap();
    // The server's metrics show which routes were used.
    let metrics = server.client.metrics().await.unwrap();
    let openapi = server.client.openapi().await.unwrap();
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let counted = format!("method=\"{}\",route=\"{path}\"", method.to_uppercase());
            assert!(path == "/metrics" || metrics.contains(&counted), "the client has no method for {method} {path}");
        }
    }
}

#[tokio::test]
async fn answers_have_exactly_the_fields_of_the_client_types() {
    let server = start_server().await;
    let client = &server.client;
    let expect_answer = async |path: &str, expected: Value| assert_eq!(server.get_json(path).await, expected, "{path}");
    if !stores::is_postgres() {
        // With Postgres, it has the age of the heartbeat, which rises.
        expect_answer("/v1/health", value(client.health().await.unwrap())).await;
    }
    expect_answer("/v1/agents", json!({ "agents": client.agents().await.unwrap() })).await;
    expect_answer("/v1/agents/mock/modes", json!({ "modes": client.modes("mock").await.unwrap() })).await;
    expect_answer("/v1/agents/mock/models", value(client.models("mock").await.unwrap())).await;
    let created = client.create_session("s", &CreateSessionRequest::new("mock")).await.unwrap();
    assert!(created.other.is_empty(), "{created:?}");
    server.create("t").await;
    let mut query = SessionQuery::default();
    query.limit = Some(1);
    let page = client.sessions(&query).await.unwrap();
    assert!(page.next_cursor.is_some() && page.other.is_empty(), "{page:?}");
    expect_answer("/v1/sessions?limit=1", value(&page)).await;
    let session = client.session("s").await.unwrap();
    assert!(session.other.is_empty(), "{session:?}");
    expect_answer("/v1/sessions/s", value(session)).await;
    let _ = server.run_turn("s", "demo").await;
    let events = client.events("s", EventQuery::default().include_raw(true).limit(3)).await.unwrap();
    expect_answer("/v1/sessions/s/events?include_raw=true&limit=3", value(events)).await;

    let refused = client.create_session("s", &CreateSessionRequest::new("mock")).await.unwrap_err();
    let document = server.post("/v1/sessions/s", json!({ "agent": "mock" })).await.json::<Value>().await.unwrap();
    assert_eq!(value(refused.problem().unwrap()), document);
}

#[tokio::test]
async fn requests_have_exactly_the_fields_of_the_openapi_document() {
    let mut create = CreateSessionRequest::new("mock");
    for field in [
        &mut create.agent_mode,
        &mut create.permission_mode,
        &mut create.model,
        &mut create.variant,
        &mut create.agent_version,
        &mut create.directory,
        &mut create.title,
        &mut create.placement,
    ] {
        *field = Some("x".to_owned());
    }
    create.env.insert("A".to_owned(), "b".to_owned());
    create.labels.insert("A".to_owned(), "b".to_owned());
    let mut update = UpdateSessionRequest::default();
    update.labels.insert("A".to_owned(), None);
    for field in [&mut update.title, &mut update.model, &mut update.permission_mode] {
        *field = Some(None);
    }
    create.mcp = Some(json!({}));
    create.request_timeout_ms = Some(1000);
    create.skills = Some(json!({}));
    let mut file = AttachedFile::new("a.txt");
    (file.mime, file.filename) = (Some("text/plain".to_owned()), Some("a".to_owned()));
    let mut message = MessageRequest::new("hi").id("m1");
    message.attachments.push(file.clone());
    let mut secrets = SecretsRequest::default();
    (secrets.env, secrets.mcp) = (create.env.clone(), create.mcp.clone());
    let mut install = InstallRequest::default();
    (install.reinstall, install.version) = (true, Some("1".to_owned()));

    let mut import = ImportRequest::default();
    (import.all, import.agent, import.directory) = (Some(true), Some("codex".to_owned()), Some("/d".to_owned()));
    (import.since, import.native_session_ids) = (Some(1), Some(vec!["n".to_owned()]));

    let openapi = start_server().await.client.openapi().await.unwrap();
    let schema_fields = |schema: &str| -> BTreeSet<String> {
        let schema = &openapi["components"]["schemas"][schema];
        schema["properties"].as_object().unwrap_or_else(|| panic!("{schema}")).keys().cloned().collect()
    };
    for (schema, request) in [
        ("CreateSession", value(create)),
        ("UpdateSession", value(update)),
        ("SessionSecrets", value(secrets)),
        ("SendMessage", value(message)),
        ("FileToSend", value(file)),
        ("InstallRequest", value(install)),
        ("FsMoveRequest", value(MoveRequest::new("a", "b"))),
        ("ImportRequest", value(import)),
    ] {
        let sent: BTreeSet<String> = request.as_object().unwrap().keys().cloned().collect();
        assert_eq!(sent, schema_fields(schema), "{schema}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_a_problem() {
    let server = start_server().await;
    let client = Client::builder(&server.base).token("wrong").build().unwrap();
    let problem = client.agents().await.unwrap_err();
    assert_eq!(problem.problem().map(|problem| (problem.status, problem.kind())), Some((401, "token_invalid")));
    client.health().await.unwrap();
}

/// Forwards connections to the server until they are cut.
pub(crate) struct Proxy {
    pub(crate) address: String,
    connections: tokio::sync::mpsc::UnboundedReceiver<AbortHandle>,
}

impl Proxy {
    pub(crate) async fn start(server: &TestServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let target = server.base.strip_prefix("http://").unwrap().to_owned();
        let (sender, connections) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut upstream = TcpStream::connect(&target).await.unwrap();
                let forwarding = tokio::spawn(async move { copy_bidirectional(&mut client, &mut upstream).await });
                if sender.send(forwarding.abort_handle()).is_err() {
                    break;
                }
            }
        });
        Self { address, connections }
    }

    /// Cuts every open connection.
    pub(crate) fn cut_connections(&mut self) {
        while let Ok(connection) = self.connections.try_recv() {
            connection.abort();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_over_broken_connections_has_every_event_once() {
    let server = start_server().await;
    server.create("s").await;
    let mut proxy = Proxy::start(&server).await;
    let client = Client::builder(&proxy.address).token(crate::test_server::TOKEN).build().unwrap();
    let mut events = client.follow_events("s", EventQuery::default()).await.unwrap();
    let mut received = Vec::new();
    for round in 0..5 {
        server.client.send_message("s", &MessageRequest::new("markdown")).await.unwrap();
        // One event later than in the previous round, so that the connection breaks elsewhere in the turn.
        for _ in 0..3 + round {
            received.push(value(events.next().await.unwrap().unwrap()));
        }
        proxy.cut_connections();
    }
    server.client.send_message("s", &MessageRequest::new("echo last")).await.unwrap();
    while event_types(&received).iter().filter(|kind| **kind == "turn.ended").count() < 6 {
        received.push(value(events.next().await.unwrap().unwrap()));
    }
    server.client.terminate("s").await.unwrap();
    received.push(value(events.next().await.unwrap().unwrap()));
    assert!(events.next().await.unwrap().is_none());
    check_rules(&received);
    assert_eq!(received, server.events("s").await);
}

fn value(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
