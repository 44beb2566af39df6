//! Tests of the `interlingua` binary.

mod acp;
mod agent_cleanup;
mod agents;
mod fleet;
mod history;
mod listening;
mod many_sessions;
mod offline;
mod rolling_restart;
mod run_interrupt;
mod server_access;
mod server_config;
mod server_disk;
mod server_kill;
mod server_process;
mod server_secrets;
mod server_stop;
mod sessions;
mod soak;
mod store;
mod terminal;
mod tokens;
