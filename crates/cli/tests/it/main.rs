//! The binary as its users run it.

mod agents_end;
mod offline;
mod run_interrupt;
mod running;
mod server_disk;
mod server_kill;
mod server_stop;
mod sessions;
