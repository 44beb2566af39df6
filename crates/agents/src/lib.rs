//! The registry of coding agents: one [`Agent`] enum and one [`Descriptor`] for each.
//!
//! A descriptor holds the facts about an agent: its id and other names, its npm package and program, where its
//! credentials are, how its processes relate to sessions. Crates with behaviour per agent (a converter, a driver, a
//! schema extractor) match on [`Agent`], so that the compiler reports each of them when an agent is added.
//!
//! [`Agent::Acp`] is a protocol that many agents speak. An [`AcpProfile`] says how one of them is installed and started.
//!
//! ```
//! use interlingua_agents::{Agent, ProcessModel};
//!
//! let agent: Agent = "codex".parse()?;
//! assert_eq!(agent.descriptor().npm_package, Some("@openai/codex"));
//! assert_eq!(agent.descriptor().process_model, ProcessModel::SharedServer);
//! # Ok::<(), interlingua_agents::UnknownAgent>(())
//! ```

mod acp_profile;
mod agent;
mod descriptor;
mod npm;

pub use acp_profile::{AcpDialect, AcpProfile, PermissionModes, login_remedy};
pub use agent::{Agent, UnknownAgent};
pub use descriptor::{Descriptor, LoginFile, ProcessModel, Stability};
pub use npm::{NPM_MISSING, NpmFailure};
