//! A database that crashes or disappears, and signals that are lost.

use std::sync::Arc;
use std::time::Duration;

use interlingua_runtime::mock::MockDriver;
use interlingua_store::PostgresOptions;
use interlingua_test_postgres::{Cluster, Proxy};
use serde_json::{Value, json};

use super::faults::Following;
use super::two_servers::{start_one, start_two_with, wait_until};
use crate::test_server::{TestServer, check_rules, read_problem};

/// A mock agent that takes some seconds for the message `markdown`.
fn slow_agent() -> Arc<MockDriver> {
    Arc::new(MockDriver::new().pace(Duration::from_millis(200)))
}

/// Whether an event is text that the agent streams.
fn is_agents_delta(event: &Value) -> bool {
    event["type"] == "item.delta" && event["source"] == "agent"
}

async fn expect_unavailable(server: &TestServer, path: &str) {
    let response = server.get(path).await;
    assert!(response.headers().contains_key("retry-after"), "{response:?}");
    let (status, kind, document) = read_problem(response).await;
    assert_eq!((status, kind.as_str()), (503, "unavailable"), "{document}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_the_database_in_a_turn_loses_nothing() {
    let Some(mut cluster) = Cluster::start(&[]) else { return };
    let url = cluster.schema_url("crash");
    let server = start_one(&url, "a", &|options| options, slow_agent()).await;
    server.create("s").await;
    server.post_ok("/v1/sessions/s/messages", json!({ "message": "markdown" })).await;
    let mut reader = Following::start(&server.client, "s").await;
    reader.until(is_agents_delta).await;
    server.post_ok("/v1/sessions/s/messages", json!({ "message": "echo acknowledged", "id": "m" })).await;
    cluster.kill();
    expect_unavailable(&server, "/v1/sessions/s").await;
    let health = server.get_json("/v1/health").await;
    assert_eq!(health["status"], "ok");
    let ready = server.get("/v1/ready").await;
    assert_eq!(ready.status(), 503);
    cluster.restart();
    // The reader was never disconnected.
    let ended = reader.until_type("turn.ended").await;
    assert_eq!(ended["data"]["status"], "completed");
    reader.until_text("echo acknowledged").await;
    reader.until_type("turn.ended").await;
    let all = server.events("s").await;
    check_rules(&all);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_changes_hands_when_the_database_was_away_for_all() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let proxy = Proxy::start(cluster.port());
    let url = proxy.url("outage");
    let short = |options: PostgresOptions| options.lease(Duration::from_secs(2));
    let (a, b) = (start_one(&url, "a", &short, slow_agent()).await, start_one(&url, "b", &short, slow_agent()).await);
    a.create("s").await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "markdown" })).await;
    let mut reader = Following::start(&b.client, "s").await;
    reader.until(is_agents_delta).await;
    // Longer than the leases last, and than a client's request waits.
    proxy.cut();
    tokio::time::sleep(Duration::from_secs(5)).await;
    expect_unavailable(&b, "/v1/sessions").await;
    let refused = a.post("/v1/sessions/s/messages", json!({ "message": "echo refused", "id": "r" })).await;
    assert_eq!(refused.status(), 503);
    proxy.restore();
    let ended = reader.until_type("turn.ended").await;
    assert_eq!(ended["data"]["status"], "completed");
    // What was refused can be repeated, and what was acknowledged is there.
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "echo repeated", "id": "r2" })).await;
    reader.until_text("echo repeated").await;
    reader.until_type("turn.ended").await;
    assert_eq!(a.events("s").await, b.events("s").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_signals_cost_time_and_no_event() {
    let deaf = |options: PostgresOptions| options.without_signals();
    let Some((a, b)) = start_two_with(&deaf, &|| Arc::new(MockDriver::new())).await else { return };
    a.create("s").await;
    let mut reader = Following::start(&b.client, "s").await;
    let stream = b.request(reqwest::Method::GET, "/v1/events/sse");
    let mut all = b.stream(stream).await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    let requested = reader.until_type("permission.requested").await;
    // The command of the other server is found by looking for it.
    let id = requested["data"]["permission_id"].as_str().unwrap();
    b.post_ok(&format!("/v1/sessions/s/permissions/{id}/reply"), json!({ "reply": "reject" })).await;
    reader.until_type("permission.resolved").await;
    b.post_ok("/v1/sessions/s/messages", json!({ "message": "echo queued" })).await;
    b.post_ok("/v1/sessions/s/interrupt", json!({})).await;
    reader.until_text("echo queued").await;
    reader.until_type("turn.ended").await;
    let count = a.events("s").await.len();
    let mut seen = 0;
    while seen < count {
        seen += usize::from(matches!(all.next().await, Some(interlingua_client::Frame::Event(_))));
    }
    wait_until("the other server has the log", async || b.events("s").await.len() == count).await;
}
