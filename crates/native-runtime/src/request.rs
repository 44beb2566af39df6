//! Requests that are sent, each with the type of its answer.

use serde::ser::Serialize;

use crate::decode::Native;

/// The parameters of a request, with the type of the answer to it.
///
/// Whoever sends the request decodes the answer by this type, so that the two cannot be mixed up. The agent's own
/// requests have it, too: there it is the type that the host answers with.
pub trait Request: Serialize + Sized {
    /// The request's name on the wire.
    const METHOD: &'static str;
    /// The answer.
    type Response: Native;
    /// The union of requests that it belongs to.
    type Union: From<Self>;
}

/// An operation of an HTTP API: path parameters, query and body, with the type of the answer.
pub trait HttpRequest {
    /// The HTTP method.
    const METHOD: &'static str;
    /// The path, its parameters in braces.
    const PATH: &'static str;
    /// The query: an object of simple values, or `()`.
    type Query: Serialize;
    /// The body: JSON, or `()` where there is none.
    type Body: Serialize;
    /// A successful answer; `()` where it has no content.
    type Response: Native;

    /// The values of the parameters in the path, by name and in their order.
    fn parameters(&self) -> Vec<(&'static str, &str)>;

    /// The query.
    fn query(&self) -> &Self::Query;

    /// The body, if the operation has one.
    fn body(&self) -> Option<&Self::Body>;
}

/// Implements `From` for a payload of a union.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_from {
    ($union:ident::$variant:ident($payload:ty)) => {
        impl From<$payload> for $union {
            fn from(payload: $payload) -> Self {
                Self::$variant(payload)
            }
        }
    };
    ($union:ident::$variant:ident($payload:ty) boxed) => {
        impl From<$payload> for $union {
            fn from(payload: $payload) -> Self {
                Self::$variant(Box::new(payload))
            }
        }
    };
}
