//! Stand-ins as a host sees them: processes with the agent's name, pipes and ports.

mod every_recording;
mod faults;
mod hosts;
mod opencode;
mod processes;
mod speeds;
mod talk;
