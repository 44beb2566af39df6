//! The commands of the `interlingua` binary, one module each.

pub mod audit;
