//! What the envelope promises, through its public face.

mod capabilities;
mod events;
mod musts;
mod projection;
mod secrets;
mod tools;
mod unicode;
