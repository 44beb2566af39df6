//! Tests of conversions: of live streams and of logs.

mod live;
mod log;
