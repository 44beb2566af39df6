//! Protection of a server without a token against foreign web pages.
//!
//! A browser lets any page send requests to `127.0.0.1`. A page whose host name resolves to that address (DNS
//! rebinding) may even read the answers. The first kind of request is recognised by its `Origin`, the second by its
//! `Host`. The `GET` requests of images and links have no `Origin`; browsers mark them with `Sec-Fetch-Site`.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::config::{Access, ServerConfig};
use crate::problem::{Problem, ProblemKind};

/// Extension of requests that came over TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverTls;

/// Middleware: rejects requests that a foreign web page may have sent, if the server has no token.
pub(crate) async fn reject_foreign_pages(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let config = app.config();
    if matches!(config.access, Access::Loopback) {
        let scheme = if request.extensions().get::<OverTls>().is_some() { "https://" } else { "http://" };
        check_origin(&config, request.uri(), request.headers(), scheme)?;
    }
    Ok(next.run(request).await)
}

fn check_origin(config: &ServerConfig, uri: &Uri, headers: &HeaderMap, scheme: &str) -> Result<(), Problem> {
    let forbidden = |detail: String| Problem::new(ProblemKind::ForbiddenOrigin, detail);
    // A host in the request target takes precedence over the Host header.
    let host_header = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let host = uri.authority().cloned().or(host_header);
    let host = host.filter(is_loopback).ok_or_else(|| {
        forbidden("without a token the server accepts only localhost, 127.0.0.1 and [::1] as Host".to_owned())
    })?;
    let Some(origin) = headers.get(ORIGIN) else {
        return check_fetch_site(config, headers);
    };
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let is_own = origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host.as_str()));
    if is_own || config.allowed_origins.iter().any(|allowed| allowed.as_str() == origin) {
        return Ok(());
    }
    Err(forbidden(format!(
        "web pages of {origin} may not use this server; start it with --cors-allow-origin {origin} to allow them"
    )))
}

/// Checks a request without `Origin`. Browsers send none with the GET requests of images, scripts and navigation, but
/// say that they come from another site.
fn check_fetch_site(config: &ServerConfig, headers: &HeaderMap) -> Result<(), Problem> {
    let is_cross_site = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    // Without an `Origin`, an allowed page cannot be told from another one. It sends one with `fetch` and `EventSource`.
    if !is_cross_site {
        return Ok(());
    }
    let allowed = if config.allowed_origins.is_empty() {
        "start it with --cors-allow-origin to allow one"
    } else {
        "an allowed page has to use fetch or EventSource, so that the request has an Origin"
    };
    let detail = format!("web pages of other sites may not use this server; {allowed}");
    Err(Problem::new(ProblemKind::ForbiddenOrigin, detail))
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let has_user = authority.as_str().contains('@');
    !has_user && (host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn is_allowed(host: Option<&str>, origin: Option<&str>) -> bool {
        let config = ServerConfig::new(Access::Loopback).allowed_origins(vec!["https://app.example".parse().unwrap()]);
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        check_origin(&config, &Uri::from_static("/v1/agents"), &headers, "http://").is_ok()
    }

    #[test]
    fn only_loopback_hosts_are_allowed() {
        for host in ["localhost", "LOCALHOST:2468", "127.0.0.1:2468", "127.9.9.9", "[::1]:2468", "[::1]"] {
            assert!(is_allowed(Some(host), None), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0", "x@localhost", "", "[::2]"] {
            assert!(!is_allowed(Some(host), None), "{host}");
        }
        assert!(!is_allowed(None, None));
    }

    #[test]
    fn only_own_and_allowed_origins_are_allowed() {
        let host = Some("localhost:2468");
        for origin in ["http://localhost:2468", "https://app.example"] {
            assert!(is_allowed(host, Some(origin)), "{origin}");
        }
        for origin in
            ["null", "http://localhost", "http://localhost:9", "https://localhost:2468", "https://evil.example"]
        {
            assert!(!is_allowed(host, Some(origin)), "{origin}");
        }
    }

    #[test]
    fn requests_of_other_sites_without_an_origin_are_refused() {
        let config = ServerConfig::new(Access::Loopback);
        let check = |site: &'static str| {
            let headers = [(HOST, "localhost"), (HeaderName::from_static("sec-fetch-site"), site)];
            let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect();
            check_origin(&config, &Uri::from_static("/v1/agents"), &headers, "http://")
        };
        assert!(check("cross-site").is_err());
        for site in ["same-origin", "same-site", "none"] {
            assert!(check(site).is_ok(), "{site}");
        }
    }

    #[test]
    fn the_host_in_the_request_target_takes_precedence() {
        let config = ServerConfig::new(Access::Loopback);
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        let target = Uri::from_static("http://evil.example/v1/agents");
        assert!(check_origin(&config, &target, &headers, "http://").is_err());
    }
}
