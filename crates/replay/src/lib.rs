//! A stand-in that plays a recorded transcript back as if it were the agent.
//!
//! A recording says what an agent printed and what its host said in between. Played back, the agent's lines come in
//! the same order, byte for byte, and where the recording shows the host speaking the stand-in waits for it. What the
//! host says is compared by what it means, so that ids, texts and the order of keys may differ; ids that the host
//! chose stand in the output where the recorded ones stood.
//!
//! ```text
//! recording ──▶ script (one process, step by step) ──▶ play (what is next?) ──▶ mouth ──▶ stage: stdio, or HTTP + SSE
//!                                                        ▲                       faults
//!                                                        └── what the host says, by its meaning
//! ```
//!
//! The binary `interlingua-replay` plays a file, or passes for an agent when it is called by the name of one
//! ([`make_stand_ins`], [`run_stand_in`]). In tests, [`stand_in_environment`] says how a stand-in is to play:
//!
//! ```no_run
//! use std::path::Path;
//! use interlingua_replay::{Fault, ReplayOptions, stand_in_environment, make_stand_ins};
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
//! The counterpart is a [`Host`], which says what the recorded host said, and takes down what comes back.

mod dialect;
mod fault;
mod host;
mod ids;
mod launch;
mod mouth;
mod options;
mod pace;
mod performer;
mod play;
mod recording;
mod said;
mod script;
mod source;
mod stage;
mod stand_in;

pub use fault::Fault;
pub use host::{Capture, Host, HostError};
pub use interlingua_agents::Agent;
pub use options::{ReplayOptions, Speed};
pub use recording::{Recording, RecordingError};
pub use stand_in::{make_stand_ins, replay, run_stand_in, stand_in_environment};
