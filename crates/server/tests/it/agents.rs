//! Agents that fail, do not answer or cannot be installed, and a request body that is cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlingua_convert::Converter;
use interlingua_runtime::driver::{
    BoxFuture, CommandReceiver, Driver, InstallProgress, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{AgentStatus, InstallOptions, Mode, Models, Refusal, RuntimeOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::test_server::{TestServer, expect_problem, start_server, start_server_for_agent};

/// An agent that is installed but fails: listing its modes fails, and listing its models never finishes.
struct FailingAgent;

impl Driver for FailingAgent {
    fn id(&self) -> &'static str {
        "failing"
    }

    fn converter(&self) -> Box<dyn Converter> {
        MockDriver::new().converter()
    }

    fn status(&self) -> AgentStatus {
        AgentStatus::new("failing", true)
    }

    fn check(&self, _: &SessionSpec) -> Result<(), Refusal> {
        Ok(())
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(async { Err(ServeError::Unavailable("it exited with code 3".to_owned())) })
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Box::pin(std::future::pending())
    }

    fn install(self: Arc<Self>, _: InstallOptions, _: InstallProgress) -> BoxFuture<Result<(), String>> {
        Box::pin(async { Err("the version does not exist".to_owned()) })
    }

    fn serve(
        self: Arc<Self>,
        _: SessionSpec,
        _: CommandReceiver,
        _: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        Box::pin(async { Err(ServeError::Unavailable("it exited with code 3".to_owned())) })
    }
}

async fn start_failing_agent() -> TestServer {
    start_server_for_agent(Arc::new(FailingAgent), RuntimeOptions::default().query_timeout(Duration::from_millis(50)))
        .await
}

#[tokio::test]
async fn a_failure_of_the_agent_is_502_with_the_reason() {
    let server = start_failing_agent().await;
    let document = expect_problem(server.get("/v1/agents/failing/modes").await, 502, "agent_process_exited").await;
    assert_eq!(document["agent"], "failing");
    assert!(document["detail"].as_str().unwrap().contains("exited with code 3"), "{document}");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_504() {
    let server = start_failing_agent().await;
    let document = expect_problem(server.get("/v1/agents/failing/models").await, 504, "timeout").await;
    assert!(document["detail"].as_str().unwrap().contains("its models"), "{document}");
}

#[tokio::test]
async fn a_failed_install_is_502_with_the_reason() {
    let server = start_failing_agent().await;
    let document =
        expect_problem(server.post("/v1/agents/failing/install", json!({})).await, 502, "install_failed").await;
    assert!(document["detail"].as_str().unwrap().contains("version does not exist"), "{document}");
}

#[tokio::test]
async fn restarts_of_an_agent_and_its_failed_turns_are_counted() {
    let server = start_failing_agent().await;
    server.post("/v1/sessions/s", json!({ "agent": "failing" })).await;
    for _ in 0..3 {
        let turn = server.run_turn("s", "hi").await;
        assert_eq!(turn.last().unwrap()["data"]["status"], "failed");
    }
    let metrics = server.client.metrics().await.unwrap();
    for line in [
        r#"interlingua_agent_restarts_total{agent="failing"} 2"#,
        r#"interlingua_turns_total{agent="failing",status="failed"} 3"#,
    ] {
        assert!(metrics.lines().any(|found| found == line), "expected {line} in:\n{metrics}");
    }
}

/// An agent whose installation lasts until the test releases it.
struct SlowInstall {
    started: AtomicUsize,
    finish: tokio::sync::Semaphore,
}

#[derive(Clone)]
struct SlowAgent(Arc<SlowInstall>);

impl Driver for SlowAgent {
    fn id(&self) -> &'static str {
        "slow"
    }

    fn converter(&self) -> Box<dyn Converter> {
        MockDriver::new().converter()
    }

    fn status(&self) -> AgentStatus {
        AgentStatus::new("slow", false)
    }

    fn check(&self, _: &SessionSpec) -> Result<(), Refusal> {
        Ok(())
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(std::future::pending())
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        let missing = ServeError::NotInstalled { agent: "slow", remedy: self.status().install_remedy(None) };
        Box::pin(std::future::ready(Err(missing)))
    }

    fn install(
        self: Arc<Self>,
        options: InstallOptions,
        mut progress: InstallProgress,
    ) -> BoxFuture<Result<(), String>> {
        let install = Arc::clone(&self.0);
        Box::pin(async move {
            install.started.fetch_add(1, Ordering::SeqCst);
            progress(4096);
            install.finish.acquire().await.unwrap().forget();
            if options.version.as_deref() == Some("0.0.0") {
                Err("there is no version 0.0.0".to_owned())
            } else {
                Ok(())
            }
        })
    }

    fn serve(
        self: Arc<Self>,
        _: SessionSpec,
        _: CommandReceiver,
        _: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn an_installation_goes_on_without_its_client_and_can_be_joined() {
    let finish = tokio::sync::Semaphore::new(0);
    let agent = SlowAgent(Arc::new(SlowInstall { started: AtomicUsize::new(0), finish }));
    let server = start_server_for_agent(Arc::new(agent.clone()), RuntimeOptions::default()).await;
    let path = "/v1/agents/slow/install";
    assert_eq!(server.get_json(path).await, json!({ "state": "none" }));
    let request = server.request(reqwest::Method::POST, path).header("Prefer", "wait=5, Respond-Async");
    let response = request.send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["preference-applied"]),
        (202, &"respond-async".parse().unwrap())
    );
    assert_eq!(response.json::<serde_json::Value>().await.unwrap()["state"], "running");
    // A client that waits, and leaves.
    let left = server.request(reqwest::Method::POST, path).timeout(Duration::from_millis(200)).send().await;
    assert!(left.unwrap_err().is_timeout());
    assert_eq!(server.get_json(path).await, json!({ "state": "running", "progress": { "bytes": 4096 } }));
    // The other requests joined the first one.
    assert_eq!(agent.0.started.load(Ordering::SeqCst), 1);
    agent.0.finish.add_permits(1);
    while server.get_json(path).await["state"] == "running" {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.get_json(path).await, json!({ "state": "done" }));
    agent.0.finish.add_permits(1);
    let failed = server.post(path, json!({ "version": "0.0.0" })).await;
    expect_problem(failed, 502, "install_failed").await;
    assert_eq!(server.get_json(path).await, json!({ "state": "failed", "message": "there is no version 0.0.0" }));
}

#[tokio::test]
async fn a_second_installation_joins_the_first_unless_it_names_another_version() {
    let finish = tokio::sync::Semaphore::new(0);
    let agent = SlowAgent(Arc::new(SlowInstall { started: AtomicUsize::new(0), finish }));
    let server = start_server_for_agent(Arc::new(agent.clone()), RuntimeOptions::default()).await;
    let start = async |body: serde_json::Value| {
        let request = server.request(reqwest::Method::POST, "/v1/agents/slow/install").json(&body);
        assert_eq!(request.header("Prefer", "respond-async").send().await.unwrap().status(), 202);
        agent.0.started.load(Ordering::SeqCst)
    };
    start(json!({ "version": "1.2.3" })).await;
    while agent.0.started.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    for joined in [json!({}), json!({ "reinstall": true }), json!({ "version": "1.2.3" })] {
        assert_eq!(start(joined.clone()).await, 1, "{joined}");
    }
    start(json!({ "version": "2.0.0" })).await;
    while agent.0.started.load(Ordering::SeqCst) == 1 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_version_that_cannot_be_one_is_400() {
    let server = start_server().await;
    let long = "a".repeat(300);
    for version in ["../../etc", "", "1.0.0 --global", "-g", "https://x/y.tgz", "a/b", "1.0.0\n", "1.x", &long] {
        let response = server.post("/v1/agents/codex/install", json!({ "version": version })).await;
        let document = expect_problem(response, 400, "invalid_request").await;
        assert_eq!(document["details"]["field"], "version", "{version:?}");
    }
    assert_eq!(server.get_json("/v1/agents/codex/install").await, json!({ "state": "none" }));
    expect_problem(server.get("/v1/agents/hal/install").await, 400, "unsupported_agent").await;
}

#[tokio::test]
async fn the_models_of_an_agent_that_is_not_installed_are_a_fallback_list() {
    let server = start_server().await;
    let claude = server.get_json("/v1/agents/claude/models").await;
    assert_eq!((&claude["fallback"], &claude["defaultModel"]), (&json!(true), &json!("default")));
    assert!(claude["models"].as_array().unwrap().contains(&json!({ "id": "sonnet" })), "{claude}");
    let opencode = server.get_json("/v1/agents/opencode/models").await;
    assert_eq!(opencode, json!({ "models": [], "fallback": true }));
    assert_eq!(server.get_json("/v1/agents/mock/models").await.get("fallback"), None);
}

#[tokio::test]
async fn an_install_without_npm_names_npm() {
    let server = start_server().await;
    let document =
        expect_problem(server.post("/v1/agents/codex/install", json!({})).await, 502, "install_failed").await;
    assert_eq!(document["agent"], "codex");
    assert!(document["detail"].as_str().unwrap().contains("npm"), "{document}");
}

#[tokio::test]
async fn a_message_to_an_agent_that_does_not_start_fails_its_turn() {
    let server = start_failing_agent().await;
    let response = server.post("/v1/sessions/s", json!({ "agent": "failing" })).await;
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    let turn = server.run_turn("s", "hello").await;
    assert_eq!(turn.last().unwrap()["data"]["status"], "failed");
    server.events("s").await;
}

#[tokio::test]
async fn a_body_that_is_cut_off_is_502() {
    let server = start_failing_agent().await;
    let mut stream = TcpStream::connect(server.base.strip_prefix("http://").unwrap()).await.unwrap();
    let head_and_half_a_body = "POST /v1/sessions/s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{\"agent\":";
    stream.write_all(head_and_half_a_body.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("urn:interlingua:error:stream_error"), "{answer}");
    assert!(server.get_json("/v1/sessions").await["sessions"].as_array().unwrap().is_empty());
}
