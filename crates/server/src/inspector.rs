//! The inspector: the web UI at `/ui/`.
//!
//! The files are not secret and need no token. The page asks for the token, or gets it in the fragment of its address,
//! which browsers do not send.

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use interlingua_inspector::{File, INDEX};

/// What the page may do: load its own files, talk to its own server, and show images that are part of an event. Text of
/// an agent that got into the page as markup could still run nothing and send nothing.
const PAGE_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

const NOT_BUILT: &str = "This build does not include the inspector: run `cargo xtask inspector`, which needs Node 20.19 or newer, then rebuild `interlingua`.\n";

/// `/ui`: the page is a folder.
pub(crate) async fn redirect() -> Redirect {
    Redirect::permanent("/ui/")
}

/// `/ui/`: the page itself.
pub(crate) async fn index(headers: HeaderMap) -> Response {
    respond(INDEX, &headers)
}

/// `/ui/…`: a file, or the page for the paths that it handles itself.
pub(crate) async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let is_view = path == "new" || path.starts_with("sessions/");
    respond(if is_view { INDEX } else { &path }, &headers)
}

fn respond(path: &str, request: &HeaderMap) -> Response {
    let mut response = match interlingua_inspector::find(path) {
        Some(file) => send(file, request),
        None => text(StatusCode::NOT_FOUND, explain_missing_file(interlingua_inspector::is_built())),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

const fn explain_missing_file(is_page_built: bool) -> &'static str {
    if is_page_built { "The inspector has no such file.\n" } else { NOT_BUILT }
}

fn text(status: StatusCode, text: &'static str) -> Response {
    (status, [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")], text).into_response()
}

fn send(file: &'static File, request: &HeaderMap) -> Response {
    let caching = if file.is_immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    let common = [(ETAG, file.entity_tag), (CACHE_CONTROL, caching), (VARY, "Accept-Encoding")];
    if request.get(IF_NONE_MATCH).is_some_and(|tags| has_tag(tags, file.entity_tag)) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let (bytes, encoding) = if accepts(request, "br") {
        (file.brotli, Some("br"))
    } else if accepts(request, "gzip") {
        (file.gzip, Some("gzip"))
    } else {
        (file.bytes, None)
    };
    let mut response = (common, [(CONTENT_TYPE, file.content_type)], Body::from(bytes)).into_response();
    if let Some(encoding) = encoding {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Whether a list of entity tags has this one, or is `*`. Weak tags are compared as strong ones.
fn has_tag(tags: &HeaderValue, tag: &str) -> bool {
    let tags = tags.to_str().unwrap_or_default();
    tags.split(',').map(|given| given.trim().trim_start_matches("W/")).any(|given| given == tag || given == "*")
}

/// Whether the client accepts an encoding. An encoding with the weight 0 is refused.
fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    request
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|given| {
            let mut parts = given.split(';').map(str::trim);
            let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
            let is_refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .and_then(|weight| weight.parse::<f32>().ok())
                    .is_some_and(|weight| weight <= 0.0)
            });
            is_named && !is_refused
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_used_only_if_the_client_accepts_it() {
        for (header, brotli, gzip) in [
            ("gzip, deflate, br;q=0.9", true, true),
            ("gzip;q=0, BR", true, false),
            ("identity", false, false),
            ("brotli, gzipped", false, false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(header))]);
            assert_eq!((accepts(&headers, "br"), accepts(&headers, "gzip")), (brotli, gzip), "{header}");
        }
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }

    #[test]
    fn without_the_page_the_answer_names_the_command_that_builds_it() {
        assert!(explain_missing_file(false).contains("`cargo xtask inspector`"));
        assert!(!explain_missing_file(true).contains("xtask"));
    }

    #[test]
    fn an_entity_tag_is_found_in_a_list() {
        for (tags, expected) in [("\"a\", W/\"b\"", true), ("*", true), ("\"bb\"", false), ("b", false)] {
            assert_eq!(has_tag(&HeaderValue::from_static(tags), "\"b\""), expected, "{tags}");
        }
    }
}
