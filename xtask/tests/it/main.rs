//! Runs the commands as a maintainer does.

mod drift;
mod refresh_schemas;
