//! Tests of the store: order, durability, and readers that get every event.

mod backend;
mod chunks;
mod crash;
mod damage;
mod deleted_data;
mod files;
mod fixtures;
mod full_disk;
mod global_readers;
mod limits;
mod log;
mod messages;
mod model;
mod open;
mod postgres;
mod readers;
mod search;
mod session_list;
mod uploads;
