//! Tests of the universal streams of all recordings.

mod canonical;
mod chaos;
mod counts;
mod coverage;
mod cross_agent;
mod mutations;
mod snapshots;
mod streams;
mod uniformity;
