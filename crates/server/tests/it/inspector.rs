//! The page at `/ui/`.

use reqwest::StatusCode;
use reqwest::redirect::Policy;

use crate::test_server::{expect_problem, start_server};

#[tokio::test]
async fn the_page_needs_no_token_and_may_not_be_framed() {
    let server = start_server().await;
    for path in ["/ui/", "/ui/new", "/ui/sessions/a.b%2Fc", "/ui/assets/none.js"] {
        let response = server.http.get(format!("{}{path}", server.base)).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'self'; img-src 'self' data:;"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("x-frame-options"), "DENY");
        assert_eq!(header("x-content-type-options"), "nosniff");
        let is_built = interlingua_inspector::is_built();
        let expected = if is_built && !path.contains("none") { StatusCode::OK } else { StatusCode::NOT_FOUND };
        assert_eq!(response.status(), expected, "{path}");
        let text = response.text().await.unwrap();
        if !is_built {
            assert!(text.contains("`cargo xtask inspector`"), "{text}");
        }
    }
    expect_problem(server.http.get(format!("{}/v1/sessions", server.base)).send().await.unwrap(), 401, "token_invalid")
        .await;
}

#[tokio::test]
async fn the_folder_is_redirected_to() {
    let server = start_server().await;
    let http = reqwest::Client::builder().redirect(Policy::none()).build().unwrap();
    let response = http.get(format!("{}/ui", server.base)).send().await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["location"]),
        (StatusCode::PERMANENT_REDIRECT, &"/ui/".parse().unwrap())
    );
}

#[tokio::test]
async fn files_are_compressed_and_cached() {
    let server = start_server().await;
    for file in interlingua_inspector::FILES {
        let url = format!("{}/ui/{}", server.base, file.path);
        for (accepted, expected) in [("br, gzip", file.brotli), ("gzip", file.gzip), ("identity", file.bytes)] {
            let response = server.http.get(&url).header("accept-encoding", accepted).send().await.unwrap();
            assert_eq!(response.headers()["etag"], file.entity_tag);
            assert_eq!(response.headers()["vary"], "Accept-Encoding");
            let caching = response.headers()["cache-control"].to_str().unwrap();
            assert_eq!(caching.contains("immutable"), file.is_immutable, "{}: {caching}", file.path);
            assert_eq!(response.bytes().await.unwrap(), expected, "{} {accepted}", file.path);
        }
        let again = server.http.get(&url).header("if-none-match", file.entity_tag).send().await.unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(again.bytes().await.unwrap().is_empty());
    }
}
