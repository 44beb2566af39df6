//! What the envelope promises, through its public face.

mod capabilities;
mod events;
mod musts;
mod projection;
mod schema_json;
mod secrets;
mod tools;
mod unicode;
