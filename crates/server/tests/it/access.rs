//! Authentication, allowed hosts and origins.

use interlingua_server::{Access, ServerConfig, ServerError, Token, serve};
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;

use crate::test_server::{TOKEN, TestServer, expect_problem, start_server, start_server_with};

async fn start_with_access(access: Access, origins: &[&str]) -> TestServer {
    let allowed_origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
    start_server_with(
        ServerConfig::new(access).allowed_origins(allowed_origins),
        interlingua_store::StoreOptions::default(),
    )
    .await
}

fn token_access() -> Access {
    Access::Token(Token::new(TOKEN).unwrap())
}

#[tokio::test]
async fn everything_but_health_needs_the_token() {
    let server = start_server().await;
    let openapi = server.get_json("/v1/openapi.json").await;
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let response = server.http.request(method, format!("{}{path}", server.base)).send().await.unwrap();
            if path == "/v1/health" || path == "/v1/ready" {
                assert_eq!(response.status(), StatusCode::OK);
            } else {
                assert_eq!(response.headers()["www-authenticate"], "Bearer");
                expect_problem(response, 401, "token_invalid").await;
            }
        }
    }
    let unknown = server.http.get(format!("{}/v1/nothing", server.base)).send().await.unwrap();
    expect_problem(unknown, 401, "token_invalid").await;
}

#[tokio::test]
async fn only_the_bearer_and_token_schemes_are_accepted() {
    let server = start_server().await;
    let get = async |authorization: &str| {
        let request = server.http.get(format!("{}/v1/agents", server.base)).header("authorization", authorization);
        request.send().await.unwrap()
    };
    for scheme in ["Bearer", "bearer", "Token", "TOKEN"] {
        assert_eq!(get(&format!("{scheme} {TOKEN}")).await.status(), StatusCode::OK, "{scheme}");
    }
    let longer = format!("Bearer {TOKEN}x");
    let basic = format!("Basic {TOKEN}");
    for authorization in ["Bearer wrong", "Bearer", "Bearer ", &longer, &basic, TOKEN, "Token \u{fc}"] {
        let document = expect_problem(get(authorization).await, 401, "token_invalid").await;
        assert!(!document.to_string().contains(TOKEN));
    }
}

#[tokio::test]
async fn without_a_token_foreign_web_pages_are_rejected() {
    let server = start_with_access(Access::Loopback, &["https://app.example"]).await;
    let own = server.base.clone();
    let port = own.rsplit(':').next().unwrap();
    let get = async |host: Option<&str>, origin: Option<&str>| {
        let mut request = server.http.get(format!("{}/v1/agents", server.base));
        if let Some(host) = host {
            request = request.header("host", host);
        }
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        request.send().await.unwrap()
    };
    let localhost = format!("localhost:{port}");
    for (host, origin) in [
        (None, None),
        (None, Some(own.as_str())),
        (None, Some("https://app.example")),
        (Some(localhost.as_str()), None),
        (Some("[::1]:1"), None),
    ] {
        assert_eq!(get(host, origin).await.status(), StatusCode::OK, "{host:?} {origin:?}");
    }
    for (host, origin) in [
        (Some("evil.example"), None),
        (Some("localhost.evil.example"), None),
        (None, Some("https://evil.example")),
        (None, Some("null")),
        (Some("evil.example"), Some("http://evil.example")),
    ] {
        expect_problem(get(host, origin).await, 403, "forbidden_origin").await;
    }
    // A foreign page gets neither the health check nor a CORS preflight.
    let health = server.http.get(format!("{own}/v1/health")).header("origin", "https://evil.example");
    expect_problem(health.send().await.unwrap(), 403, "forbidden_origin").await;
    let preflight = server
        .http
        .request(Method::OPTIONS, format!("{own}/v1/sessions/s"))
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST");
    expect_problem(preflight.send().await.unwrap(), 403, "forbidden_origin").await;
    assert_eq!(server.get_json("/v1/sessions").await["sessions"], serde_json::json!([]));
}

#[tokio::test]
async fn with_a_token_host_and_origin_do_not_matter() {
    let server = start_server().await;
    let request = server.request(Method::GET, "/v1/agents").header("host", "agents.example");
    let response = request.header("origin", "https://somewhere.example").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers().get("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn allowed_origins_get_cors_with_their_token() {
    let server = start_with_access(token_access(), &["https://app.example", "http://localhost:5173"]).await;
    for origin in ["https://app.example", "http://localhost:5173"] {
        let preflight = server
            .http
            .request(Method::OPTIONS, format!("{}/v1/sessions/s", server.base))
            .header("origin", origin)
            .header("access-control-request-method", "DELETE")
            .header("access-control-request-headers", "authorization,content-type,last-event-id,prefer")
            .send()
            .await
            .unwrap();
        assert_eq!(preflight.status(), StatusCode::OK);
        let headers = preflight.headers();
        assert_eq!(headers["access-control-allow-origin"], origin);
        assert!(headers["access-control-allow-methods"].to_str().unwrap().contains("DELETE"));
        let allowed = headers["access-control-allow-headers"].to_str().unwrap().to_lowercase();
        for header in ["authorization", "content-type", "last-event-id", "prefer", "traceparent", "x-request-id"] {
            assert!(allowed.contains(header), "{allowed}");
        }
        let response = server.request(Method::GET, "/v1/agents").header("origin", origin).send().await.unwrap();
        assert_eq!(response.headers()["access-control-allow-origin"], origin);
        let exposed = response.headers()["access-control-expose-headers"].to_str().unwrap();
        for header in ["content-disposition", "preference-applied", "retry-after", "x-request-id"] {
            assert!(exposed.contains(header), "{exposed}");
        }
        // The page can read errors too.
        let unauthorized = server.http.get(format!("{}/v1/agents", server.base)).header("origin", origin);
        let unauthorized = unauthorized.send().await.unwrap();
        assert_eq!(unauthorized.headers()["access-control-allow-origin"], origin);
        expect_problem(unauthorized, 401, "token_invalid").await;
    }
    let response =
        server.request(Method::GET, "/v1/agents").header("origin", "https://evil.example").send().await.unwrap();
    assert!(response.headers().get("access-control-allow-origin").is_none());
}

#[tokio::test]
async fn a_server_without_a_token_refuses_other_than_loopback_addresses() {
    let server = start_server().await;
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let config = ServerConfig::new(Access::Loopback);
    let refused = serve([listener], config, server.runtime.clone(), server.store.clone(), std::future::pending()).await;
    assert!(matches!(refused, Err(ServerError::NotLoopback(_))));
}
