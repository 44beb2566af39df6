//! Tests of the store: order, durability, and readers that get every event.

mod chunks;
mod crash;
mod fixtures;
mod full_disk;
mod log;
mod model;
mod open;
mod readers;
