//! Exporting and checking sessions.

use interlingua_client::{CheckReport, ExportFormat};
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::test_server::{TestServer, expect_problem, start_server};

async fn export(server: &TestServer, query: &str) -> (String, String) {
    let response = server.get(&format!("/v1/sessions/s/export{query}")).await;
    assert_eq!(response.status(), 200);
    let header = |name| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header(CONTENT_SECURITY_POLICY), "sandbox");
    assert!(header(CONTENT_DISPOSITION).starts_with("attachment; filename=\"session-s."), "{response:?}");
    (header(CONTENT_TYPE), response.text().await.unwrap())
}

#[tokio::test]
async fn a_session_is_exported_in_every_format() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "tool").await;
    server.run_turn("s", "say <script>alert(1)</script>").await;
    let events = server.events("s").await;

    let (content_type, lines) = export(&server, "").await;
    assert_eq!(content_type, "application/x-ndjson");
    let exported: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported, events);
    let (_, with_raw) = export(&server, "?format=jsonl&include_raw=true").await;
    assert!(with_raw.lines().any(|line| !serde_json::from_str::<Value>(line).unwrap()["raw"].is_null()));

    let (content_type, html) = export(&server, "?format=html").await;
    assert_eq!(content_type, "text/html; charset=utf-8");
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;alert(1)") && html.contains("class=\"diff\""));

    let (content_type, markdown) = export(&server, "?format=markdown").await;
    assert_eq!(content_type, "text/markdown; charset=utf-8");
    assert!(markdown.contains("## You") && markdown.contains("```diff"), "{markdown}");
}

#[tokio::test]
async fn a_long_session_is_exported_completely() {
    let server = start_server().await;
    server.create("s").await;
    for _ in 0..40 {
        server.run_turn("s", "demo-less text that is echoed").await;
        server.run_turn("s", &format!("say {}", "long ".repeat(4000))).await;
    }
    let count = server.get_json("/v1/sessions/s").await["eventCount"].as_u64().unwrap();
    let response = server.client.export_session("s", ExportFormat::JsonLines).await.unwrap();
    let lines = response.text().await.unwrap();
    let sequences: Vec<u64> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=count).collect::<Vec<_>>());
    let html = server.client.export_session("s", ExportFormat::Html).await.unwrap().text().await.unwrap();
    assert_eq!(html.matches("<article class=\"message user\"").count(), 80);
}

#[tokio::test]
async fn a_session_that_waits_for_an_answer_is_exported_as_it_is() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "permission").await;
    let (_, html) = export(&server, "?format=html").await;
    assert!(html.contains("not answered") && html.ends_with("</html>\n"), "{html}");
}

#[tokio::test]
async fn an_unknown_format_and_an_unknown_session_are_refused() {
    let server = start_server().await;
    server.create("s").await;
    let problem = expect_problem(server.get("/v1/sessions/s/export?format=pdf").await, 400, "invalid_request").await;
    assert_eq!(problem["details"], json!({ "field": "format" }));
    let misspelt = server.get("/v1/sessions/s/export?fromat=html").await;
    expect_problem(misspelt, 422, "invalid_request").await;
    for path in ["/v1/sessions/none/export", "/v1/sessions/none/check"] {
        expect_problem(server.get(path).await, 404, "session_not_found").await;
    }
    let anonymous = server.http.get(format!("{}/v1/sessions/s/export", server.base)).send().await.unwrap();
    expect_problem(anonymous, 401, "token_invalid").await;
}

#[tokio::test]
async fn the_checker_judges_a_session() {
    let server = start_server().await;
    server.create("s").await;
    let events = server.run_turn("s", "demo").await;
    assert!(events.len() > 3);
    let report: CheckReport = server.client.check_session("s").await.unwrap();
    let count = server.get_json("/v1/sessions/s").await["eventCount"].as_u64().unwrap();
    assert_eq!((report.valid, report.events, report.violation_count), (true, count, 0));
    assert!(report.violations.is_empty());
    assert_eq!(report.types.values().sum::<u64>(), count);
}

#[tokio::test]
async fn the_checker_counts_the_events_of_each_type() {
    let server = start_server().await;
    server.create("s").await;
    for message in ["unparsed", "echo fine", "unparsed"] {
        server.run_turn("s", message).await;
    }
    let types = server.client.check_session("s").await.unwrap().types;
    assert_eq!((types["agent.unparsed"], types["turn.ended"], types["session.started"]), (2, 3, 1));
}
