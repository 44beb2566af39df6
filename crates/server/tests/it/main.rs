//! Tests of the server on a real socket, with `interlingua-client` as client.

mod access;
mod agents;
mod client;
mod docs;
mod endpoints;
mod errors;
mod load;
mod secrets;
mod shutdown;
mod streams;
mod strictness;
mod test_server;
