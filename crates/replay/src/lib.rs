//! A stand-in that replays a recorded transcript as if it were the agent.
//!
//! A recording contains what an agent printed and what its host sent in between. The stand-in writes the agent's lines
//! in the same order, byte for byte. Where the recording shows a message of the host, it waits for that message.
//! Messages of the host are compared by their meaning: ids, texts and the order of keys may differ. Ids that the host
//! chose replace the recorded ones in the output.
//!
//! ```text
//! recording ──▶ script (steps of one process) ──▶ state (what is next?) ──▶ faulty output ──▶ transport
//!                                                   ▲                                         (stdio, or HTTP and SSE)
//!                                                   └── messages of the host, by their meaning
//! ```
//!
//! The binary `interlingua-replay` plays a file. Called by the name of an agent, it takes the agent's place
//! ([`make_stand_ins`], [`run_stand_in`]). In tests, [`stand_in_environment`] configures a stand-in:
//!
//! ```no_run
//! use std::path::Path;
//! use interlingua_replay::{Fault, ReplayOptions, make_stand_ins, stand_in_environment};
//!
//! make_stand_ins(Path::new("target/debug/interlingua-replay"), Path::new("/tmp/agents"))?;
//! let mut options = ReplayOptions::default();
//! options.faults.push(Fault::DieAfter { lines: 3, code: 1 });
//! std::process::Command::new("/tmp/agents/claude")
//!     .args(["--print", "--output-format", "stream-json", "hello"])
//!     .envs(stand_in_environment(Path::new("recordings/hello.jsonl"), &options))
//!     .spawn()?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The counterpart is a [`Host`], which sends what the recorded host sent and captures what comes back.

mod agent_protocol;
mod command_line;
mod fault;
mod faulty_output;
mod host;
mod id_map;
mod message;
mod options;
mod pacing;
mod player;
mod recording;
mod script;
mod source;
mod stand_in;
mod state;
mod transport;

pub use fault::Fault;
pub use host::{Capture, Host, HostError};
pub use interlingua_agents::Agent;
pub use options::{ReplayOptions, Speed};
pub use recording::{Recording, RecordingError};
pub use stand_in::{make_stand_ins, replay, run_stand_in, stand_in_environment};
