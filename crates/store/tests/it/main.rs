//! What the store promises: order, durability, and readers that miss nothing.

mod chunks;
mod crash;
mod full_disk;
mod log;
mod made;
mod model;
mod opening;
mod readers;
