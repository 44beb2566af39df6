//! ACP agents of the user: those of the command line, and those in the configuration file of the data directory.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, bail};
use interlingua_agents::{AcpProfile, Agent};
use serde::Deserialize;

/// Name of the file in the data directory.
const FILE_NAME: &str = "acp-agents.toml";

/// The configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    #[serde(default)]
    agents: BTreeMap<String, ConfiguredAgent>,
}

/// An agent in the configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfiguredAgent {
    /// The command line that starts it.
    command: String,
    /// Variables of the environment that it inherits; a `*` at the end stands for any rest.
    #[serde(default)]
    inherit: Vec<String>,
}

/// The agents in the configuration file of a data directory; none if there is no file.
///
/// # Errors
/// If the file cannot be read, or is not a configuration.
pub(crate) fn configured(data_dir: &Path) -> anyhow::Result<Vec<&'static AcpProfile>> {
    let path = data_dir.join(FILE_NAME);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let configuration: Configuration =
        toml::from_str(&text).with_context(|| format!("{} is invalid", path.display()))?;
    let agents = configuration.agents.into_iter().map(|(name, agent)| profile(&name, &agent.command, agent.inherit));
    agents.collect::<anyhow::Result<_>>().with_context(|| format!("{} is invalid", path.display()))
}

/// An agent of the command line: `NAME=COMMAND`. Variables that it inherits can only be set in the configuration file.
///
/// # Errors
/// Says what is wrong with the argument.
pub(crate) fn parse(argument: &str) -> anyhow::Result<&'static AcpProfile> {
    let Some((name, command)) = argument.split_once('=') else {
        bail!("invalid --acp-agent {argument}; expected NAME=COMMAND, such as toy='toy-agent --acp'");
    };
    profile(name, command, Vec::new()).with_context(|| format!("invalid --acp-agent {argument}"))
}

fn profile(name: &str, command: &str, inherit: Vec<String>) -> anyhow::Result<&'static AcpProfile> {
    let is_name = !name.is_empty()
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-');
    if !is_name {
        bail!("expected a name of lower-case letters, digits and `-`, found `{name}`");
    }
    if Agent::from_id(name).is_some() || name == "mock" {
        bail!("`{name}` is the name of another agent; choose another one");
    }
    let words = shlex::split(command).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        bail!("expected the command that starts `{name}`, found `{command}`");
    };
    Ok(AcpProfile::custom(name.to_owned(), program.clone(), arguments.to_vec(), inherit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_a_name_and_a_command() {
        let agent = parse("toy=\"/opt/my toy\" --acp").unwrap();
        assert_eq!((agent.descriptor.id, agent.descriptor.program), ("toy", "/opt/my toy"));
        assert_eq!(agent.arguments, ["--acp"]);
        for wrong in ["toy", "=x", "toy=", "Toy=x", "claude=x", "mock=x", "a b=x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn agents_are_configured_in_the_data_directory() {
        let folder = tempfile::tempdir().unwrap();
        assert!(configured(folder.path()).unwrap().is_empty());
        let text = "[agents.toy]\ncommand = \"toy --acp\"\ninherit = [\"TOY_*\"]\n";
        std::fs::write(folder.path().join(FILE_NAME), text).unwrap();
        let agents = configured(folder.path()).unwrap();
        assert_eq!((agents[0].descriptor.id, agents[0].inherited_variables), ("toy", &["TOY_*"][..]));
        std::fs::write(folder.path().join(FILE_NAME), "[agents.toy]\nprogram = 1\n").unwrap();
        assert!(configured(folder.path()).is_err());
    }
}
