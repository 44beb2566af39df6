//! Agents as sessions: drivers, turns, permissions and questions.
//!
//! ```text
//!                      Command                   DriverCommand
//!  server, run ──▶ Runtime ──▶ session (a task) ──────▶ Driver ──▶ agent
//!                                 │   ▲                   │
//!                    events, state│   └──────── Input ─────┘
//!                                 ▼
//!                               Store ──▶ readers
//! ```
//!
//! A [`Runtime`] has every session of a store. A session with nothing to do is a row in the store and nothing else.
//! When it is asked something, a task takes it up: it reads where the session stands, closes what a dead server left
//! open, has a [`Driver`](driver::Driver) bring up the agent, and turns every line that crosses the wire into universal
//! events through [`interlingua_convert::Conversion`], the same path that `interlingua convert` takes. Events are durable
//! before anybody sees them, because everybody reads them from the store. When there is nothing left to do, the task
//! ends.
//!
//! # Rules
//!
//! * One turn at a time. Messages wait in the store, in order, and survive a restart; a message leaves the queue in
//!   the same transaction that shows it in the stream. A server that dies in between sends it again.
//! * An interrupt ends the running turn, not the queue. An agent that does not stop is ended.
//! * An agent that dies fails its turn; the next message starts it again, resumed by its native id.
//! * What a dead server left open is closed when its session is taken up: the turn fails, permissions are denied and
//!   questions rejected. The agent that asked is gone, and silence is never consent.
//! * Values that may be secret (`env`, the environment and headers of MCP servers) live in memory. After a restart they
//!   are looked for by name in the server's own environment; a session that misses any fails its turns and says which.
//!
//! # Agents
//!
//! [`driver`] says what an agent has to bring; [`drivers()`] has those that are there. The [`mock`] agent lives in this
//! process and needs nothing.

mod actors;
mod agents;
mod attached;
mod attachments;
mod batch_channel;
mod create;
pub mod driver;
mod driver_output;
mod drivers;
mod environment;
mod error;
mod ids;
mod install;
mod mcp;
pub mod mock;
mod modes;
mod process;
mod runtime;
mod session;
mod variables;

use std::sync::Arc;

use drivers::{InstalledDriver, amp, claude, codex, opencode};

pub use agents::{AgentStatus, InstallOptions, Mode, Model, Models, ServerState, ServerStatus, VersionFit};
pub use create::CreateSession;
pub use driver::PermissionReply;
pub use environment::Environment;
pub use error::{InvalidRequest, Refusal, RuntimeError};
pub use install::{LaunchConfig, install};
pub use mcp::{McpServer, McpServers};
pub use modes::PermissionMode;
pub use process::{Supervisor, supervise};
pub use runtime::{CreatedSession, Runtime, RuntimeOptions, SentMessage, check_session_id};

/// Every agent there is, in the order in which they are listed.
#[must_use]
pub fn drivers(machine: &LaunchConfig, mock: mock::MockDriver) -> Vec<Arc<dyn driver::Driver>> {
    vec![
        Arc::new(InstalledDriver(claude::ClaudeAgent::new(machine))),
        Arc::new(InstalledDriver(codex::CodexAgent::new(machine))),
        Arc::new(InstalledDriver(opencode::OpenCodeAgent::new(machine))),
        Arc::new(InstalledDriver(amp::AmpAgent::new(machine))),
        Arc::new(mock),
    ]
}

#[cfg(test)]
mod tests {
    use interlingua_agents::Agent;

    use super::*;

    #[test]
    fn every_agent_has_a_driver() {
        let machine = LaunchConfig::new(Supervisor::new("false", [""; 0]), "");
        let ids: Vec<&str> = drivers(&machine, mock::MockDriver::new()).iter().map(|driver| driver.id()).collect();
        assert_eq!(ids, [Agent::ALL.map(Agent::id).as_slice(), &["mock"]].concat());
    }
}
