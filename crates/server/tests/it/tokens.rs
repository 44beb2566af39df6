//! Named tokens: scopes, revocation, and what logs and events say about them.

use interlingua_client::{Client, MessageRequest, PermissionAnswer};
use interlingua_server::{Access, NamedTokens, Scope, ServerConfig, TokenFile};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::test_server::{TOKEN, TestServer, expect_problem, start_server_with};

struct TokenServer {
    server: TestServer,
    file: TokenFile,
    _folder: tempfile::TempDir,
}

/// A server with its own token and named ones.
async fn start_token_server() -> TokenServer {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(folder.path());
    let access = Access::Token(interlingua_server::Token::new(TOKEN).unwrap());
    let config = ServerConfig::new(access).named_tokens(NamedTokens::load(file.clone()).unwrap());
    let server = start_server_with(config, interlingua_store::StoreOptions::default()).await;
    TokenServer { server, file, _folder: folder }
}

impl TokenServer {
    fn add(&self, name: &str, scopes: &[Scope]) -> Client {
        let token = self.file.add(name, scopes.iter().copied().collect()).unwrap();
        Client::builder(&self.server.base).token(token).build().unwrap()
    }
}

#[tokio::test]
async fn each_endpoint_needs_its_scope() {
    let tokens = start_token_server().await;
    let clients: Vec<(Scope, Client)> =
        Scope::ALL.into_iter().map(|scope| (scope, tokens.add(scope.name(), &[scope]))).collect();
    let openapi = tokens.server.get_json("/v1/openapi.json").await;
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let needed = match (path.as_str(), &method) {
                ("/v1/health" | "/v1/ready", _) => continue,
                ("/metrics" | "/v1/history" | "/v1/history/import", _)
                | ("/v1/agents/{agent}/install", &Method::POST)
                | ("/v1/sessions/{id}", &Method::DELETE) => Scope::Admin,
                (_, &Method::GET) => Scope::Read,
                _ => Scope::Drive,
            };
            for (scope, client) in &clients {
                let path = path.replace("{agent}", "mock").replace("{id}", "none").replace(['{', '}'], "");
                let response = client.request(method.clone(), &path).send().await.unwrap();
                if *scope == needed || *scope == Scope::Admin {
                    assert_ne!(response.status(), StatusCode::FORBIDDEN, "{scope}: {method} {path}");
                } else {
                    let problem = expect_problem(response, 403, "insufficient_scope").await;
                    assert!(problem["detail"].as_str().unwrap().contains(needed.name()), "{problem}");
                }
            }
        }
    }
    let metrics = tokens.server.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains(r#"interlingua_auth_failures_total{reason="insufficient_scope"} "#), "{metrics}");
}

#[tokio::test]
async fn a_revoked_token_is_refused_at_once() {
    let tokens = start_token_server().await;
    let client = tokens.add("ci", &[Scope::Read]);
    client.sessions(&interlingua_client::SessionQuery::default()).await.unwrap();
    tokens.file.revoke("ci").unwrap();
    let refused = client.request(Method::GET, "/v1/sessions").send().await.unwrap();
    expect_problem(refused, 401, "token_invalid").await;
    let metrics = tokens.server.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains(r#"interlingua_auth_failures_total{reason="token_invalid"} 1"#), "{metrics}");
    // The server's own token is not affected.
    tokens.server.get_json("/v1/sessions").await;
}

#[tokio::test]
async fn a_server_can_have_named_tokens_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(folder.path());
    let text = file.add("admin", [Scope::Admin].into()).unwrap();
    let config = ServerConfig::new(Access::NamedTokens).named_tokens(NamedTokens::load(file).unwrap());
    let server = start_server_with(config, interlingua_store::StoreOptions::default()).await;
    expect_problem(server.get("/v1/sessions").await, 401, "token_invalid").await;
    let client = Client::builder(&server.base).token(text).build().unwrap();
    client.agents().await.unwrap();
}

#[tokio::test]
async fn a_resolved_permission_names_the_token_that_answered() {
    let tokens = start_token_server().await;
    let reviewer = tokens.add("reviewer", &[Scope::Drive]);
    let server = &tokens.server;
    server.create("s").await;
    server.client.send_message("s", &MessageRequest::new("permission")).await.unwrap();
    let mut stream = server.follow("s", interlingua_client::EventQuery::default()).await;
    let requested = stream.until("permission.requested").await;
    let id = requested.last().unwrap()["data"]["permission_id"].as_str().unwrap().to_owned();
    reviewer.reply_permission("s", &id, PermissionAnswer::Once).await.unwrap();
    let second = stream.until("permission.requested").await;
    let second_id = second.last().unwrap()["data"]["permission_id"].as_str().unwrap().to_owned();
    server.client.reply_permission("s", &second_id, PermissionAnswer::Reject).await.unwrap();
    stream.until("turn.ended").await;
    let events = server.events("s").await;
    let by = |id: &str| {
        let resolved = |event: &&serde_json::Value| {
            event["type"] == "permission.resolved" && event["data"]["permission_id"] == *id
        };
        events.iter().find(resolved).unwrap()["data"]["metadata"]["by"].clone()
    };
    assert_eq!(by(&id), "reviewer");
    assert_eq!(by(&second_id), json!(null));
}

#[tokio::test]
async fn a_request_has_the_id_that_the_client_chose_or_a_new_one() {
    let tokens = start_token_server().await;
    let get = async |id: Option<&str>| {
        let mut request = tokens.server.request(Method::GET, "/v1/agents");
        if let Some(id) = id {
            request = request.header("x-request-id", id);
        }
        request.send().await.unwrap().headers()["x-request-id"].to_str().unwrap().to_owned()
    };
    assert_eq!(get(Some("build-7:2")).await, "build-7:2");
    let (first, second) = (get(None).await, get(Some("not a valid id")).await);
    assert_ne!(first, second);
    assert_ne!(second, "not a valid id");
}

#[tokio::test]
async fn a_server_is_ready_until_it_drains() {
    let tokens = start_token_server().await;
    // No token is needed.
    let ready = tokens.server.http.get(format!("{}/v1/ready", tokens.server.base)).send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::OK);
    let ready: serde_json::Value = ready.json().await.unwrap();
    assert_eq!(ready["status"], "ready");
    assert!(ready["freeBytes"].as_u64().unwrap() > 0 && ready["storeLagMs"].is_u64(), "{ready}");
    assert_eq!(tokens.server.runtime.drain(std::time::Duration::from_secs(1)).await, 0);
    let response = tokens.server.get("/v1/ready").await;
    assert!(response.headers().contains_key("retry-after"));
    let problem = expect_problem(response, 503, "unavailable").await;
    assert_eq!(problem["details"]["causes"][0]["cause"], "draining", "{problem}");
    // The process is healthy all the same.
    tokens.server.get_json("/v1/health").await;
}
