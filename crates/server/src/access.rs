//! Who may use the server.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::config::{Access, Token};
use crate::problem::{Kind, Problem};

/// Lets requests through that have the token, or need none.
pub(crate) async fn require_token(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    if let Access::Token(token) = &app.config().access
        && needs_token(request.uri().path())
    {
        check(token, request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Whether somebody is there may be asked by anybody; what is not there is nobody's secret.
fn needs_token(path: &str) -> bool {
    let is_api = path == "/v1" || path.starts_with("/v1/");
    (is_api && path != "/v1/health") || path == "/metrics"
}

fn check(token: &Token, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |detail: &str| Problem::new(Kind::TokenInvalid, detail);
    let header = headers
        .get(AUTHORIZATION)
        .ok_or_else(|| refused("expected the header `Authorization: Bearer <token>`, found none"))?;
    let given = header.to_str().ok().and_then(given_token).ok_or_else(|| {
        refused("expected the header `Authorization: Bearer <token>` or `Authorization: Token <token>`")
    })?;
    if token.is(given) { Ok(()) } else { Err(refused("the token is not this server's")) }
}

fn given_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let known = ["bearer", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known.then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_are_read_in_any_case() {
        for header in ["Bearer s", "bearer s", "TOKEN s", "Token  s "] {
            assert_eq!(given_token(header), Some("s"), "{header}");
        }
        for header in ["s", "Basic s", "Bearer", ""] {
            assert_eq!(given_token(header), None, "{header}");
        }
    }

    #[test]
    fn everything_but_health_needs_the_token() {
        for path in ["/v1", "/v1/", "/v1/agents", "/v1/health/", "/v1/nothing", "/metrics"] {
            assert!(needs_token(path), "{path}");
        }
        for path in ["/v1/health", "/", "/v11", "/favicon.ico"] {
            assert!(!needs_token(path), "{path}");
        }
    }
}
