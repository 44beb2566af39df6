//! One HTTP and SSE API over every coding agent.
//!
//! The server is a thin skin: the [runtime](interlingua_runtime) does what is asked, the [store](interlingua_store)
//! has what is read, and this crate turns both into HTTP. Requests are read into types that say what is wrong with
//! them, every error is a problem document (RFC 9457), and a stream of events is a cursor into the store: what a slow
//! client has not read yet is on the disk, not in memory.
//!
//! ```text
//! request ─▶ observe ─▶ Host, Origin ─▶ CORS ─▶ token ─▶ handler ─▶ runtime (writes), store (reads)
//! ```
//!
//! [`serve`] runs it on a listener until it is told to stop. It then takes no more connections, closes the streams,
//! lets the requests that are under way finish, and returns; ending the agents is for the caller to do, with
//! [`Runtime::shutdown`](interlingua_runtime::Runtime::shutdown).

mod access;
mod agents;
mod app;
mod body;
mod capabilities;
mod config;
mod documents;
mod events;
mod health;
mod messages;
mod metrics;
mod observe;
mod openapi;
mod origin;
mod path;
mod problem;
mod query;
mod requests;
mod router;
mod serve;

mod sessions;
mod sse;

pub use config::{Access, ServerConfig, Token, TokenError, WebOrigin, WebOriginError};
pub use serve::{ServerError, serve};
