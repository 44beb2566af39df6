//! Interlingua as an agent of the Agent Client Protocol.
//!
//! ```text
//! editor ──JSON-RPC lines──▶ Connection ──▶ Agent (one method per request) ──HTTP──▶ server
//!        ◀──────────────────              ◀── AttachedSession (follows the events) ◀──SSE──
//! ```
//!
//! A session of the editor is a session of the server. Everything that the editor sees is made of the events of its log by
//! a [`Projector`], live and when a session is loaded, so both show the same. Prompts, cancellations and answers become
//! requests to the server.
//!
//! Only protocol version 1 is spoken. Version 2 is a draft that changes with every release of its schema.

mod agent;
mod api_types;
mod connection;
mod options;
mod prompt;
mod requests;
mod session;
mod tool_calls;
mod updates;

use interlingua_client::Client;
use tokio::io::{AsyncRead, AsyncWrite};

pub use updates::Projector;

/// How sessions are created.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcpOptions {
    /// The agent of new sessions.
    pub agent: String,
}

impl AcpOptions {
    /// New sessions run this agent.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into() }
    }
}

/// Serves a client of the protocol until it closes `input`. Sessions go on without the client.
///
/// # Errors
/// If `input` cannot be read. A client that reads no more ends the connection without an error.
pub async fn serve(
    client: Client,
    options: AcpOptions,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let connection = connection::Connection::open(output);
    agent::Agent::new(client, options, connection).run(input).await
}

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
