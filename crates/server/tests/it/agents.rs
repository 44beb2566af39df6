//! Agents that cannot be reached, do not answer or cannot be installed, and a client that breaks off.

use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::Converter;
use interlingua_runtime::driver::{
    BoxFuture, CommandReceiver, Driver, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{AgentStatus, InstallOptions, Mode, Models, Refusal, RuntimeOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::served::{refused, served, served_agent};

/// An agent that is installed, and dead: it has no modes to tell, and never gets round to its models.
struct Dead;

impl Driver for Dead {
    fn id(&self) -> &'static str {
        "dead"
    }

    fn converter(&self) -> Box<dyn Converter> {
        MockDriver::new().converter()
    }

    fn status(&self) -> AgentStatus {
        AgentStatus::new("dead", true)
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

    fn install(self: Arc<Self>, _: InstallOptions) -> BoxFuture<Result<(), String>> {
        Box::pin(async { Err("there is no such version".to_owned()) })
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

async fn dead() -> crate::served::Served {
    served_agent(Arc::new(Dead), RuntimeOptions::default().query_timeout(Duration::from_millis(50))).await
}

#[tokio::test]
async fn an_agent_that_cannot_be_asked() {
    let served = dead().await;
    let document = refused(served.get("/v1/agents/dead/modes").await, 502, "agent_process_exited").await;
    assert_eq!(document["agent"], "dead");
    assert!(document["detail"].as_str().unwrap().contains("exited with code 3"), "{document}");
}

#[tokio::test]
async fn an_agent_that_does_not_answer() {
    let served = dead().await;
    let document = refused(served.get("/v1/agents/dead/models").await, 504, "timeout").await;
    assert!(document["detail"].as_str().unwrap().contains("which models"), "{document}");
}

#[tokio::test]
async fn an_agent_that_cannot_be_installed() {
    let served = dead().await;
    let document = refused(served.post("/v1/agents/dead/install", json!({})).await, 502, "install_failed").await;
    assert!(document["detail"].as_str().unwrap().contains("no such version"), "{document}");
}

#[tokio::test]
async fn without_npm_nothing_is_installed_and_that_is_said() {
    let served = served().await;
    let document = refused(served.post("/v1/agents/codex/install", json!({})).await, 502, "install_failed").await;
    assert_eq!(document["agent"], "codex");
    assert!(document["detail"].as_str().unwrap().contains("npm"), "{document}");
}

#[tokio::test]
async fn a_message_to_an_agent_that_does_not_start_fails_its_turn() {
    let served = dead().await;
    let response = served.post("/v1/sessions/s", json!({ "agent": "dead" })).await;
    assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
    let turn = served.turn("s", "hello").await;
    assert_eq!(turn.last().unwrap()["data"]["status"], "failed");
    served.events("s").await;
}

#[tokio::test]
async fn a_body_that_breaks_off() {
    let served = dead().await;
    let mut stream = TcpStream::connect(served.base.strip_prefix("http://").unwrap()).await.unwrap();
    let half = "POST /v1/sessions/s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{\"agent\":";
    stream.write_all(half.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("urn:interlingua:error:stream_error"), "{answer}");
    assert!(served.json("/v1/sessions").await["sessions"].as_array().unwrap().is_empty());
}
