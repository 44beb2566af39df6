//! Servers that share a store in Postgres: commands at any server, and what happens when one of them dies.

mod checker;
mod commands;
mod faults;
mod history;
mod node;
mod outages;
mod placement;
mod two_servers;
