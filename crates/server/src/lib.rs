//! One HTTP and SSE API over every coding agent.
//!
//! The server is a thin layer: the [runtime](interlingua_runtime) executes requests, the [store](interlingua_store)
//! holds the data, and this crate maps both to HTTP. Typed extractors validate requests, every error is a problem
//! document (RFC 9457), and an event stream is a cursor into the store: events that a slow client has not read yet are
//! on the disk, not in memory.
//!
//! ```text
//! connection ─▶ not from an agent ─▶ request ─▶ request log ─▶ Host, Origin ─▶ CORS ─▶ token ─▶ handler
//!                                                                  handler ─▶ runtime (writes), store (reads)
//! ```
//!
//! [`serve`] runs the server on a listener until its shutdown future completes. It then accepts no more connections,
//! closes event streams, lets running requests finish, and returns. The caller stops the agents with
//! [`Runtime::shutdown`](interlingua_runtime::Runtime::shutdown).

mod access;
mod agents;
mod all_events;
mod app;
mod attachments;
mod body;
mod body_room;
mod capabilities;
mod check;
mod compat;
mod config;
mod documents;
mod events;
mod export;
mod file_version;
mod files;
mod fleet_metrics;
#[cfg(fuzzing)]
pub mod fuzzing;
mod health;
mod history;
mod history_jobs;
mod identity;
mod inspector;
mod json_answer;
mod known_names;
mod listener;
mod messages;
mod metrics;
mod object;
mod openapi;
mod origin;
mod path;
mod peer;
mod problem;
mod query;
mod ready;
mod request_body;
mod request_log;
mod requests;
mod retention;
mod router;
mod search;
mod secrets;
mod serve;
mod session_info;
mod session_list;
mod sessions;
#[cfg(target_os = "linux")]
mod socket_lookup;
mod sse;
mod tls;
mod tokens;
mod trace_context;

pub use compat::Compat;
pub use config::{
    Access, FileRoots, FileRootsError, ServerConfig, SharedConfig, Token, TokenError, WebOrigin, WebOriginError,
};
pub use known_names::nearest_name;
pub use listener::{Listener, ListenerError};
pub use openapi::document as openapi_document;
pub use serve::{ServerError, serve};
pub use tls::{TlsError, TlsIdentity};
pub use tokens::{NamedToken, NamedTokens, Scope, TokenFile, TokenFileError, generate_token};
