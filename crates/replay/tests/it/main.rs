//! Stand-ins as a host uses them: processes with the name of the agent, pipes and ports.

mod every_recording;
mod faults;
mod hosts;
mod opencode;
mod processes;
mod speeds;
mod stand_in;
