//! Which agent is played with.

use std::path::PathBuf;
use std::str::FromStr;

use interlingua_agents::{Agent, UnknownAgent};

/// An agent of some version, installed.
#[derive(Clone, Debug)]
pub struct Target {
    /// Which agent.
    pub agent: Agent,
    /// Its version.
    pub version: String,
    /// Its program.
    pub program: PathBuf,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected NAME@VERSION=PROGRAM, found {text:?}");
        let (name, program) = text.split_once('=').ok_or_else(wrong)?;
        let (agent, version) = name.split_once('@').ok_or_else(wrong)?;
        let agent = agent.parse().map_err(|error: UnknownAgent| error.to_string())?;
        Ok(Self { agent, version: version.to_owned(), program: program.into() })
    }
}
