//! Tests of the envelope streams of all recordings.

mod capabilities;
mod faithful;
mod projected;
mod safe;
mod snapshots;
