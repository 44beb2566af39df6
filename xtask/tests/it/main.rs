//! The commands as a maintainer runs them.

mod drift;
mod refresh_schemas;
