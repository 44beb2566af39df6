//! Codex: the JSON-RPC requests of its app server.
