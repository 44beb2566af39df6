//! Keeping web pages away from a server without a token.
//!
//! A browser lets any page send requests to `127.0.0.1`, and a page whose own name is made to point there (DNS
//! rebinding) may even read the answers. The first gives itself away by its `Origin`, the second by its `Host`.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::config::{Access, ServerConfig};
use crate::problem::{Kind, Problem};

/// Lets requests through that no foreign web page can have sent.
pub(crate) async fn refuse_pages(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    if matches!(app.config().access, Access::Loopback) {
        check(app.config(), request.uri(), request.headers())?;
    }
    Ok(next.run(request).await)
}

fn check(config: &ServerConfig, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |detail: String| Problem::new(Kind::ForbiddenOrigin, detail);
    // A request that names the server in its target must be judged by that name.
    let named = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let host = uri.authority().cloned().or(named);
    let host = host.filter(is_loopback).ok_or_else(|| {
        refused("without a token the server answers only to localhost, 127.0.0.1 and [::1] as its Host".to_owned())
    })?;
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let is_own = origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host.as_str()));
    if is_own || config.allowed_origins.iter().any(|allowed| allowed.as_str() == origin) {
        return Ok(());
    }
    Err(refused(format!("pages of {origin} may not use this server; --cors-allow-origin {origin} would allow it")))
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let plain = !authority.as_str().contains('@');
    plain && (host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(host: Option<&str>, origin: Option<&str>) -> bool {
        let config = ServerConfig::new(Access::Loopback).allowed_origins(vec!["https://app.example".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        check(&config, &Uri::from_static("/v1/agents"), &headers).is_ok()
    }

    #[test]
    fn only_loopback_names_are_answered() {
        for host in ["localhost", "LOCALHOST:2468", "127.0.0.1:2468", "127.9.9.9", "[::1]:2468", "[::1]"] {
            assert!(allowed(Some(host), None), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "x@localhost", "", "[::2]"] {
            assert!(!allowed(Some(host), None), "{host}");
        }
        assert!(!allowed(None, None));
    }

    #[test]
    fn only_pages_of_this_server_and_those_allowed_are_let_in() {
        let host = Some("localhost:2468");
        for origin in ["http://localhost:2468", "https://app.example"] {
            assert!(allowed(host, Some(origin)), "{origin}");
        }
        for origin in
            ["null", "http://localhost", "http://localhost:9", "https://localhost:2468", "https://evil.example"]
        {
            assert!(!allowed(host, Some(origin)), "{origin}");
        }
    }

    #[test]
    fn the_name_in_the_target_counts() {
        let config = ServerConfig::new(Access::Loopback);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        let target = Uri::from_static("http://evil.example/v1/agents");
        assert!(check(&config, &target, &headers).is_err());
    }
}
