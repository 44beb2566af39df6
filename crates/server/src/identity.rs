//! Who sends a request, and what they may do.

use std::collections::BTreeSet;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;

use crate::tokens::{NamedToken, Scope};

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Name of the token; `None` for the server's own token, and for a server without tokens.
    pub(crate) token: Option<String>,
    scopes: BTreeSet<Scope>,
}

impl Identity {
    /// A client that may do everything.
    pub(crate) fn admin() -> Self {
        Self { token: None, scopes: BTreeSet::from([Scope::Admin]) }
    }

    /// Whether the client may do what needs this scope.
    pub(crate) fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&Scope::Admin) || self.scopes.contains(&scope)
    }
}

impl From<NamedToken> for Identity {
    fn from(token: NamedToken) -> Self {
        Self { token: Some(token.name), scopes: token.scopes }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Identity {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // Without tokens, everyone who reaches the server may do everything.
        Ok(parts.extensions.get().cloned().unwrap_or_else(Self::admin))
    }
}

/// The scope that a request needs. `route` is the path as in the router.
pub(crate) fn required_scope(method: &Method, route: &str) -> Scope {
    let reads = method == Method::GET || method == Method::HEAD;
    match (route, reads) {
        // What is on the disk of the server's user is more than what the server has.
        ("/metrics" | "/v1/history" | "/v1/history/import", _) | ("/v1/agents/{agent}/install", false) => Scope::Admin,
        ("/v1/sessions/{id}", false) if method == Method::DELETE => Scope::Admin,
        (_, true) => Scope::Read,
        (_, false) => Scope::Drive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_depends_on_method_and_route() {
        for (method, route, scope) in [
            (Method::GET, "/v1/sessions", Scope::Read),
            (Method::GET, "/v1/agents/{agent}/install", Scope::Read),
            (Method::POST, "/v1/sessions/{id}", Scope::Drive),
            (Method::PATCH, "/v1/sessions/{id}", Scope::Drive),
            (Method::DELETE, "/v1/sessions/{id}/messages/{message}", Scope::Drive),
            (Method::POST, "/v1/sessions/{id}/permissions/{request}/reply", Scope::Drive),
            (Method::DELETE, "/v1/sessions/{id}", Scope::Admin),
            (Method::POST, "/v1/agents/{agent}/install", Scope::Admin),
            (Method::GET, "/metrics", Scope::Admin),
            (Method::GET, "/v1/history", Scope::Admin),
            (Method::POST, "/v1/history/import", Scope::Admin),
        ] {
            assert_eq!(required_scope(&method, route), scope, "{method} {route}");
        }
    }

    #[test]
    fn only_admin_implies_other_scopes() {
        let with = |scopes: &[Scope]| Identity { token: None, scopes: scopes.iter().copied().collect() };
        assert!(Scope::ALL.into_iter().all(|scope| Identity::admin().has(scope)));
        let drive = with(&[Scope::Drive]);
        assert_eq!(Scope::ALL.map(|scope| drive.has(scope)), [false, true, false]);
    }
}
