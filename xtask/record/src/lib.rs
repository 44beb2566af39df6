//! The shared part of the programs that run real agents: isolation from the network, fresh directories for an agent,
//! and an MCP server for it to call.

pub mod agent_dirs;
mod installed_agent;
pub mod isolation;
pub mod mcp;
pub mod program;
pub mod table;

pub use installed_agent::InstalledAgent;
