//! Tests of the conversion, from native lines to universal events.

#![expect(clippy::needless_pass_by_value, reason = "tests write `json!` in place")]

mod exec;
mod harness;
mod items;
mod requests;
mod sub_agents;
mod turns;
mod usage;
mod variants;
