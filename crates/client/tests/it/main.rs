//! Tests of the client against a server that fails as scripted. `interlingua-server` tests it against the real server.

mod resume;
mod scripted_server;
