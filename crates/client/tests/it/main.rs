//! The client against a server that misbehaves as told. `interlingua-server` tests it against the real one.

mod resume;
mod scripted_server;
