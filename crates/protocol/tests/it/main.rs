//! Everything that a host can send fits the schema of the agent's vendor.

mod amp;
mod claude;
mod schema;
