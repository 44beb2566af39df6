//! What the converter promises, line by line.

#![expect(clippy::needless_pass_by_value, reason = "lines are written where they are used")]

mod items;
mod one_shot;
mod requests;
mod sub_agents;
mod talk;
mod turns;
mod usage;
mod variants;
