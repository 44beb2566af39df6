//! What every recording becomes: its universal stream, and what that must always be.

mod canonical;
mod chaos;
mod counts;
mod coverage;
mod cross_agent;
mod mutations;
mod snapshots;
mod streams;
mod uniformity;
