//! Everything that a host sends is valid according to the vendor's schema.

mod acp;
mod amp;
mod claude;
mod codex;
mod opencode;
mod schema;
