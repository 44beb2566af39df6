//! The agents to run, as the command line names them.

use std::path::PathBuf;
use std::str::FromStr;

use interlingua_agents::{Agent, UnknownAgent};

/// An installed version of an agent.
#[derive(Clone, Debug)]
pub struct InstalledAgent {
    /// The agent.
    pub agent: Agent,
    /// Its version.
    pub version: String,
    /// Path of its program.
    pub program: PathBuf,
}

impl FromStr for InstalledAgent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("expected NAME@VERSION=PROGRAM, found {text:?}");
        let (name, program) = text.split_once('=').ok_or_else(invalid)?;
        let (agent, version) = name.split_once('@').ok_or_else(invalid)?;
        let agent = agent.parse().map_err(|error: UnknownAgent| error.to_string())?;
        Ok(Self { agent, version: version.to_owned(), program: program.into() })
    }
}
