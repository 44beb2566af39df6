//! Tests of the server on a real socket, with `interlingua-client` as client.

mod access;
#[cfg(target_os = "linux")]
mod agent_peers;
mod agents;
mod all_events;
mod bodies;
mod client;
mod cut_connections;
mod docs;
mod endpoints;
mod errors;
mod export;
mod inspector;
mod load;
mod messages;
mod search;
mod secrets;
mod session_info;
mod shutdown;
mod streams;
mod strictness;
mod test_server;
mod tokens;
