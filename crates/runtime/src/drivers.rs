//! The drivers of the installed agents, one module each, and what they share.

pub(crate) mod acp;
pub(crate) mod amp;
pub(crate) mod claude;
pub(crate) mod codex;
mod installed;
pub(crate) mod opencode;
mod scanner;
mod shared_servers;

pub(crate) use installed::InstalledDriver;
use interlingua_convert::Agent;
use interlingua_protocol::{REFUSAL_MESSAGE, Support};
use semver::Version;

use crate::error::Refusal;

/// Message of the failure of a message that was interrupted before its turn started.
const INTERRUPTED_BEFORE_START: &str = "interrupted before the turn started";

/// Refuses a value that the agent's version does not support.
fn refuse_unsupported(
    agent: Agent,
    field: &'static str,
    value: &str,
    support: &Support,
    version: Option<&Version>,
) -> Result<(), Refusal> {
    let Some(version) = version.filter(|version| !support.includes(Some(version))) else { return Ok(()) };
    let name = agent.descriptor().display_name;
    let remedy = match (&support.since, &support.until) {
        (Some(since), _) if version < since => format!("{since} and later do"),
        (_, Some(until)) => format!("versions before {until} do"),
        (_, None) => "no version does".to_owned(),
    };
    Err(Refusal::field(field, format!("{name} {version} does not support `{value}`: {remedy}")))
}
