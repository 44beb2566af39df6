//! Authentication by tokens, and what a token may be used for.

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::app::App;
use crate::config::{Access, ServerConfig};
use crate::identity::{Identity, required_scope};
use crate::problem::{Problem, ProblemKind};

/// Middleware: rejects requests without a token that allows them, unless they need none. The handler and the request
/// log learn who sent the request.
pub(crate) async fn require_token(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let config = app.config();
    if matches!(config.access, Access::Loopback) || !needs_token(request.uri().path()) {
        return Ok(next.run(request).await);
    }
    let identity = authenticate(&config, request.headers()).inspect_err(|_| {
        app.metrics().count_auth_failure("token_invalid");
    })?;
    if let Some(route) = request.extensions().get::<MatchedPath>() {
        let scope = required_scope(request.method(), route.as_str());
        if !identity.has(scope) {
            app.metrics().count_auth_failure("insufficient_scope");
            let name = identity.token.as_deref().unwrap_or_default();
            let detail = format!(
                "the token `{name}` does not have the scope `{scope}`, which {} {} needs; use another token, or replace it \
                 with `interlingua tokens add`",
                request.method(),
                route.as_str()
            );
            let mut response =
                axum::response::IntoResponse::into_response(Problem::new(ProblemKind::InsufficientScope, detail));
            response.extensions_mut().insert(identity);
            return Ok(response);
        }
    }
    request.extensions_mut().insert(identity.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(identity);
    Ok(response)
}

/// Whether a path needs a token. `/v1/health` and `/v1/ready` do not, and neither do paths that do not exist.
fn needs_token(path: &str) -> bool {
    let is_api = path == "/v1" || path.starts_with("/v1/");
    (is_api && path != "/v1/health" && path != "/v1/ready") || path == "/metrics"
}

fn authenticate(config: &ServerConfig, headers: &HeaderMap) -> Result<Identity, Problem> {
    let invalid = |detail: &str| Problem::new(ProblemKind::TokenInvalid, detail);
    let header = headers
        .get(AUTHORIZATION)
        .ok_or_else(|| invalid("expected the header `Authorization: Bearer <token>`, but there is none"))?;
    let header = header.to_str().ok();
    let bearer = header.and_then(parse_authorization).map(str::to_owned);
    let basic = || header.filter(|_| config.compat.is_some()).and_then(parse_basic);
    let given = bearer.or_else(basic).ok_or_else(|| {
        invalid("expected the header `Authorization: Bearer <token>` or `Authorization: Token <token>`")
    })?;
    if let Access::Token(token) = &config.access
        && token.matches(&given)
    {
        return Ok(Identity::admin());
    }
    let named = config.named_tokens.as_ref().and_then(|tokens| tokens.find(&given));
    named.map(Identity::from).ok_or_else(|| {
        invalid("wrong token; use the one that the server was started with, or one that `interlingua tokens add` made")
    })
}

/// The token of an `Authorization` header.
fn parse_authorization(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let is_known = ["bearer", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    is_known.then(|| token.trim())
}

/// The password of a basic `Authorization` header, or all of it if it has no name. Clients of sandbox-agent may send it.
fn parse_basic(header: &str) -> Option<String> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    Some(decoded.split_once(':').map_or(decoded.clone(), |(_, password)| password.to_owned()))
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
    fn a_basic_header_has_the_token_as_its_password() {
        for (text, expected) in [("user:s3cret", "s3cret"), (":a:b", "a:b"), ("s3cret", "s3cret")] {
            assert_eq!(parse_basic(&format!("basic {}", STANDARD.encode(text))).as_deref(), Some(expected), "{text}");
        }
        for header in ["Basic", "Basic ***", "Bearer czNjcmV0"] {
            assert_eq!(parse_basic(header), None, "{header}");
        }
    }

    #[test]
    fn everything_but_health_needs_the_token() {
        for path in ["/v1", "/v1/", "/v1/agents", "/v1/health/", "/v1/nothing", "/metrics"] {
            assert!(needs_token(path), "{path}");
        }
        for path in ["/v1/health", "/v1/ready", "/", "/v11", "/favicon.ico"] {
            assert!(!needs_token(path), "{path}");
        }
    }
}
