//! Requests, each with the type of its response.

use serde::ser::Serialize;

use crate::decode::Native;

/// The parameters of a request, with the type of its response.
///
/// The sender decodes the response with this type, so that requests and responses cannot be mixed up. Requests of the
/// agent implement it as well; there it is the type of the host's response.
pub trait Request: Serialize + Sized {
    /// The method of the request on the wire.
    const METHOD: &'static str;
    /// The response.
    type Response: Native;
    /// The union of requests that it belongs to.
    type Union: From<Self>;
}

/// A request to an HTTP API: path parameters, query and body, with the type of the response.
pub trait HttpRequest {
    /// The HTTP method.
    const METHOD: &'static str;
    /// The path, with parameters in braces.
    const PATH: &'static str;
    /// The query parameters: a struct of simple values, or `()`.
    type Query: Serialize;
    /// The JSON body, or `()` if there is none.
    type Body: Serialize;
    /// The successful response; `()` if it has no content.
    type Response: Native;

    /// Names and values of the path parameters, in the order of the path.
    fn parameters(&self) -> Vec<(&'static str, &str)>;

    /// The query parameters.
    fn query(&self) -> &Self::Query;

    /// The body, if the request has one.
    fn body(&self) -> Option<&Self::Body>;
}

/// Implements `From` for the payload of a union's variant.
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
