//! Sessions of the mock agent: what the runtime promises to its callers.

mod any_order;
mod background;
mod commands;
mod create;
mod fast_agent;
mod misbehaving_agents;
mod requests;
mod restart;
mod secrets;
pub(crate) mod test_runtime;
mod turns;
