//! Tests of the store: order, durability, and readers that get every event.

mod chunks;
mod crash;
mod damage;
mod files;
mod fixtures;
mod full_disk;
mod global_readers;
mod log;
mod messages;
mod model;
mod open;
mod readers;
mod search;
mod session_list;
