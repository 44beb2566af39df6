//! Tests of the server on a real socket, with `interlingua-client` as client.

mod access;
#[cfg(target_os = "linux")]
mod agent_peers;
mod agents;
mod all_events;
mod bodies;
mod client;
mod compat;
mod connections;
mod cut_connections;
mod docs;
mod endpoints;
mod errors;
mod export;
#[cfg(target_os = "linux")]
mod file_escapes;
mod files;
mod fleet;
mod history;
mod inspector;
mod listeners;
mod load;
mod messages;
mod on_postgres;
mod search;
mod secrets;
mod session_info;
mod shutdown;
mod skills;
mod streams;
mod strictness;
mod test_server;
mod tls;
mod tokens;
