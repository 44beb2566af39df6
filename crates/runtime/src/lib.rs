//! Runs agents as sessions: drivers, turns, permissions and questions.
//!
//! ```text
//!               SessionCommand                    DriverCommand
//!  server, run ──▶ Runtime ──▶ session actor (a task) ──────▶ Driver ──▶ agent
//!                                 │   ▲                         │
//!                    events, state│   └──────────── Input ──────┘
//!                                 ▼
//!                               Store ──▶ readers
//! ```
//!
//! A [`Runtime`] has all sessions of a store. A session with nothing to do is only a row in the store. Its first
//! command starts a task, the session actor. The actor loads the session's stored state, closes what a dead server left
//! open, starts the agent through its [`Driver`](driver::Driver), and converts every line that crosses the wire to
//! universal events with [`interlingua_convert::Conversion`], as `interlingua convert` does. Events are durable before
//! any client sees them, because all clients read them from the store. When there is nothing left to do, the actor
//! ends.
//!
//! # Rules
//!
//! * One turn runs at a time. Messages are queued in the store, in order, and survive a restart. A message leaves the
//!   queue in the transaction that adds it to the stream. If the server dies before that, the next one sends the
//!   message again.
//! * A message with the id of an earlier one is not queued again, whatever has become of that one, also after a restart.
//! * An interrupt ends the running turn and leaves the queue alone. An agent that does not stop is killed.
//! * If an agent dies, its turn fails. The next message starts it again and resumes the native session.
//! * What a dead server left open is closed when its session is loaded: the turn fails, permissions are denied and
//!   questions are rejected. The agent that asked is gone, and a missing answer is never consent.
//! * Values that may be secret (`env`, the environment and headers of MCP servers) are kept in memory only. After a
//!   restart, the session and its queue wait until a client has supplied them again ([`Runtime::set_secrets`]).
//!
//! # Agents
//!
//! [`driver`] explains how to write a driver; [`drivers()`] returns all of them. The [`mock`] agent runs inside this
//! process and needs no installation.

mod actors;
mod agents;
mod attachments;
mod batch_channel;
mod cpu_bound;
mod create;
pub mod driver;
mod driver_output;
mod drivers;
mod environment;
mod error;
mod fleet;
mod histogram;
mod ids;
mod install;
mod install_jobs;
mod mcp;
mod message;
pub mod mock;
mod options;
mod permission_mode;
mod process;
mod process_environment;
mod retention;
mod running_turns;
mod runtime;
mod runtime_metrics;
mod secrets;
mod sent_message;
mod session;
mod session_id;
mod session_status;
mod skills;
mod update;

use std::sync::Arc;

use drivers::{InstalledDriver, acp, amp, claude, codex, opencode};

pub use agents::{
    AgentStatus, InstallOptions, InstallRemedy, Mode, Model, Models, ServerState, ServerStatus, VersionFit,
};
pub use cpu_bound::{LARGE_TEXT_BYTES, run_cpu_bound};
pub use create::CreateSession;
pub use driver::PermissionReply;
pub use environment::Environment;
pub use error::{InvalidRequest, Refusal, RuntimeError};
pub use histogram::Histogram;
pub use install::{LaunchConfig, install};
pub use install_jobs::{InstallState, InstallStatus};
pub use interlingua_store::SessionState;
pub use mcp::{McpOauth, McpOptions, McpServer, McpServers};
pub use message::IncomingMessage;
pub use options::RuntimeOptions;
pub use permission_mode::PermissionMode;
#[cfg(target_os = "linux")]
pub use process::{SocketOwner, SocketOwners, agents_run_as, find_process_owner};
pub use process::{Supervisor, has_running_agents, supervise};
pub use runtime::{CreatedSession, Runtime};
pub use runtime_metrics::MetricsSnapshot;
pub use secrets::{McpSecrets, SessionSecrets};
pub use sent_message::SentMessage;
pub use session_id::check_session_id;
pub use session_status::SessionStatus;
pub use skills::{SkillSource, SkillSourceKind, Skills};
pub use update::UpdateSession;

/// The drivers of all agents, in the order in which agents are listed.
#[must_use]
pub fn drivers(config: &LaunchConfig, mock: mock::MockDriver) -> Vec<Arc<dyn driver::Driver>> {
    let mut drivers: Vec<Arc<dyn driver::Driver>> = vec![
        Arc::new(InstalledDriver(claude::ClaudeAgent::new(config))),
        Arc::new(InstalledDriver(codex::CodexAgent::new(config))),
        Arc::new(InstalledDriver(opencode::OpenCodeAgent::new(config))),
        Arc::new(InstalledDriver(amp::AmpAgent::new(config))),
    ];
    for profile in config.acp_profiles() {
        drivers.push(Arc::new(acp::AcpDriver::new(profile, config)));
    }
    drivers.push(Arc::new(mock));
    drivers
}

#[cfg(test)]
mod tests {
    use interlingua_agents::{AcpProfile, Agent};

    use super::*;

    #[test]
    fn every_agent_has_a_driver() {
        let config = LaunchConfig::new(Supervisor::new("false", [""; 0]), "");
        let ids: Vec<&str> = drivers(&config, mock::MockDriver::new()).iter().map(|driver| driver.id()).collect();
        let native = Agent::ALL.into_iter().filter(|agent| *agent != Agent::Acp).map(Agent::id);
        let acp = AcpProfile::ALL.iter().map(|profile| profile.descriptor.id);
        assert_eq!(ids, native.chain(acp).chain(["mock"]).collect::<Vec<_>>());
    }
}
