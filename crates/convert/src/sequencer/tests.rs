//! What the sequencer promises, one promise a test. Every stream made here also passes the checker.

mod messages;
mod play;
mod processes;
mod requests;
mod sessions;
mod sub_agents;
mod tools;
mod turns;
