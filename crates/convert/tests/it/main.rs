//! What a conversion promises, live and from a log.

mod live;
mod log;
