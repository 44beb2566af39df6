//! Searching over HTTP.

use interlingua_client::{CreateSessionRequest, SearchRequest, SearchResults};
use serde_json::{Value, json};

use crate::test_server::{TestServer, expect_problem, start_server};

/// Searches until everything was searched.
async fn search(server: &TestServer, request: SearchRequest) -> SearchResults {
    loop {
        let results = server.client.search(&request).await.unwrap();
        if results.complete {
            return results;
        }
    }
}

#[tokio::test]
async fn messages_tool_calls_and_requests_are_found_at_their_sequence() {
    let server = start_server().await;
    let mut titled = CreateSessionRequest::new("mock");
    titled.title = Some("A title".to_owned());
    server.client.create_session("titled", &titled).await.unwrap();
    server.create("plain").await;
    server.run_turn("titled", "echo the zebra crosses").await;
    server.run_turn("plain", "echo another zebra").await;
    server.run_turn("plain", "permission").await;
    let found = search(&server, SearchRequest::new("ZEBRA")).await;
    // The user's message and the answer of each session, newest first.
    let sessions: Vec<&str> = found.results.iter().map(|hit| hit.session_id.as_str()).collect();
    assert_eq!(sessions, ["plain", "plain", "titled", "titled"]);
    for hit in &found.results {
        let events = server.events(&hit.session_id).await;
        let event = &events[usize::try_from(hit.sequence).unwrap() - 1];
        assert_eq!(event["type"], "item.completed");
        assert!(event.to_string().contains("zebra") && hit.snippet.contains("zebra"), "{hit:?}");
        assert_eq!(hit.agent, "mock");
    }
    assert_eq!((found.results[3].title.as_deref(), found.results[0].title.as_deref()), (Some("A title"), None));
    assert!(!search(&server, SearchRequest::new("\"make test\"")).await.results.is_empty());
    let limited = search(&server, SearchRequest::new("zebra").limit(Some(3))).await;
    assert_eq!((limited.results.as_slice(), limited.has_more), (&found.results[..3], true));
    let other_agent = SearchRequest::new("zebra").agent("codex".to_owned());
    assert_eq!(search(&server, other_agent).await.results, []);
    let future = SearchRequest::new("zebra").since("2999-01-01T00:00:00Z".to_owned());
    assert_eq!(search(&server, future).await.results, []);
    server.delete("/v1/sessions/titled").await;
    assert_eq!(search(&server, SearchRequest::new("zebra")).await.results.len(), 2);
}

#[tokio::test]
async fn no_query_is_an_internal_error() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "echo 東京タワー").await;
    let status = async |query: &[(&str, &str)]| {
        let url = reqwest::Url::parse_with_params("http://server/v1/search", query).unwrap();
        let response = server.get(&format!("{}?{}", url.path(), url.query().unwrap())).await;
        let status = response.status().as_u16();
        if status == 200 {
            response.json::<Value>().await.unwrap();
        } else {
            expect_problem(response, status, "invalid_request").await;
        }
        status
    };
    let words = "word ".repeat(64);
    for query in
        ["\"", "*", "a AND", "NEAR(", "x OR NOT", "{a}:b", "東京", "%00", "\0", "🎉", "a\"b\"c*", words.as_str()]
    {
        assert_eq!(status(&[("q", query)]).await, 200, "{query}");
    }
    let (long, too_many) = ("x".repeat(1025), "word ".repeat(65));
    for query in ["", " \t", long.as_str(), too_many.as_str()] {
        assert_eq!(status(&[("q", query)]).await, 400, "{query}");
    }
    for query in [&[("limit", "5")][..], &[("q", "a"), ("limit", "-1")], &[("q", "a"), ("since", "yesterday")]] {
        assert_eq!(status(query).await, 400, "{query:?}");
    }
    assert_eq!(status(&[("q", "a"), ("agnet", "mock")]).await, 422);
    let found = search(&server, SearchRequest::new("東京")).await;
    assert_eq!(found.results.len(), 2);
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
}
