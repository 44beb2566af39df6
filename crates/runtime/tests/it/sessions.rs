//! Sessions from the outside: what is promised to whoever uses the runtime, shown with the mock agent.

mod agents;
mod any_order;
mod background;
mod commands;
mod create;
mod flood;
mod requests;
mod restart;
pub(crate) mod stage;
mod turns;
