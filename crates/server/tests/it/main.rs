//! The real server on a real socket, and `interlingua-client` as its client.

mod access;
mod agents;
mod client;
mod endpoints;
mod errors;
mod many;
mod served;
mod stopping;
mod streams;
