//! Everything that a host can send fits the schema of the agent's vendor.

mod amp;
mod claude;
mod codex;
mod opencode;
mod schema;
