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
mod server;
mod session;
mod settings;
mod tool_calls;
mod updates;

use std::fmt;
use std::sync::Arc;

use interlingua_client::Client;
use tokio::io::{AsyncRead, AsyncWrite};

use server::{FindServer, Server};
pub use updates::Projector;

/// How sessions are created, and where their server is.
#[derive(Clone)]
#[non_exhaustive]
pub struct AcpOptions {
    /// The agent of new sessions.
    pub agent: String,
    find_server: Option<Arc<FindServer>>,
}

impl AcpOptions {
    /// New sessions run this agent.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), find_server: None }
    }

    /// Sets a function that finds the server that runs now. It is called when the server does not answer.
    #[must_use]
    pub fn find_server(mut self, find: impl Fn() -> Option<Client> + Send + Sync + 'static) -> Self {
        self.find_server = Some(Arc::new(find));
        self
    }
}

impl fmt::Debug for AcpOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AcpOptions").field("agent", &self.agent).finish_non_exhaustive()
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
    let server = Server::new(client, options.find_server);
    agent::Agent::new(server, options.agent, connection).run(input).await
}

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
