//! The commands of the `interlingua` binary, one module each.

pub mod agent;
pub mod audit;
