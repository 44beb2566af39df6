//! Token authentication.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::config::{Access, Token};
use crate::problem::{Problem, ProblemKind};

/// Middleware: rejects requests without the token, unless they need none.
pub(crate) async fn require_token(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    if let Access::Token(token) = &app.config().access
        && needs_token(request.uri().path())
    {
        check_token(token, request.headers())?;
    }
    Ok(next.run(request).await)
}

/// Whether a path needs the token. `/v1/health` does not, and neither do paths that do not exist.
fn needs_token(path: &str) -> bool {
    let is_api = path == "/v1" || path.starts_with("/v1/");
    (is_api && path != "/v1/health") || path == "/metrics"
}

fn check_token(token: &Token, headers: &HeaderMap) -> Result<(), Problem> {
    let invalid = |detail: &str| Problem::new(ProblemKind::TokenInvalid, detail);
    let header = headers
        .get(AUTHORIZATION)
        .ok_or_else(|| invalid("expected the header `Authorization: Bearer <token>`, but there is none"))?;
    let given = header.to_str().ok().and_then(parse_authorization).ok_or_else(|| {
        invalid("expected the header `Authorization: Bearer <token>` or `Authorization: Token <token>`")
    })?;
    if token.matches(given) {
        Ok(())
    } else {
        Err(invalid("wrong token; use the one that the server was started with"))
    }
}

/// The token of an `Authorization` header.
fn parse_authorization(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let is_known = ["bearer", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_known.then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_schemes_are_accepted_in_any_case() {
        for header in ["Bearer s", "bearer s", "TOKEN s", "Token  s "] {
            assert_eq!(parse_authorization(header), Some("s"), "{header}");
        }
        for header in ["s", "Basic s", "Bearer", ""] {
            assert_eq!(parse_authorization(header), None, "{header}");
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
