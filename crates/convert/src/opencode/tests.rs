//! Tests of the conversion, from native events and requests to universal events.

mod failures;
mod harness;
mod messages;
mod next;
mod prompts;
mod tools;
mod turns;
mod universal;
