//! Tests of the envelope through its public API.

mod capabilities;
mod projection;
mod requirements;
mod secrets;
mod test_projector;
mod tools;
mod unicode;
