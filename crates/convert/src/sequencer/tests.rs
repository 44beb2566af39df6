//! Rules of the sequencer, one per test. Every stream made here also passes the checker.

mod harness;
mod messages;
mod processes;
mod requests;
mod sessions;
mod sub_agents;
mod tools;
mod turns;
