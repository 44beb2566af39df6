//! `cargo xtask record`: records the real agents with a scripted model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::{agent_install, cargo, console};
use interlingua_agents::Agent;

/// Play the scenarios on the real agents and record them
///
/// For each agent: installs it into a cache with npm (without running package scripts), plays every file in scenarios/
/// to it with a scripted model, answers its requests as the scenario says, and writes
/// `snapshots/transcripts/recorded/<agent>/<version>/<scenario>.jsonl`. If a recording differs from the existing one
/// only in ids, times and similar values, the existing file is kept; both must convert to the same universal stream.
/// Then it prints a table of scenarios and agents, and the differences from the previous recordings.
///
/// It needs no API key, costs nothing and uses no network: the agents run in a network namespace with only the loopback
/// interface, and in an empty home folder. It needs Linux, npm (with network access, unless the versions are in the
/// cache), and the tools of util-linux and iproute2.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask record                                     all agents at their pinned versions
  cargo xtask record codex                               one agent
  cargo xtask record codex --scenario greeting           one scenario
  cargo xtask record codex --version 0.130.0             another version, in addition to the pinned one
  cargo xtask record codex --latest                      the newest version, in addition to the pinned one
  cargo xtask record codex --against 0.130.0             compare with the recordings of that version

Then review the universal streams with `cargo insta test --review -p interlingua-snapshots`.
The pins are in agent-schemas/<agent>/source.toml. The model of Amp runs on Amp's server, so Amp
cannot be recorded; its recordings in snapshots/transcripts/captured/amp stay as they are.
Exit codes: 0 if all scenarios were played; 1 if one could not be played or converts to another
universal stream than its existing recording; 2 if npm is missing or cannot reach its registry.")]
pub(crate) struct Args {
    /// The agents to record; default: all
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Play only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "S")]
    scenarios: Vec<String>,
    #[command(flatten)]
    version: agent_install::VersionArgs,
    /// Compare with the recordings of this version instead of the previous ones
    #[arg(long, value_name = "V")]
    against: Option<String>,
    /// Folder of the cache of installed packages
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut agents = agent_install::selected_agents(&args.agents);
    let request = args.version.request("record", &agents)?;
    for agent in agents.extract_if(.., |agent| !agent.descriptor().has_custom_model) {
        let reason = match agent {
            Agent::Acp => "it is a protocol of several agents, which are recorded by hand",
            _ => "its model runs on its own server and cannot be scripted",
        };
        console::log(format_args!(
            "{agent}: skipped, because {reason}; snapshots/transcripts/captured/{agent} is unchanged"
        ));
    }
    if agents.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut arguments = agent_install::install_agents(&agents, request, args.cache_dir.as_deref())?;
    for scenario in &args.scenarios {
        arguments.extend(["--scenario".to_owned(), scenario.clone()]);
    }
    if let Some(version) = &args.against {
        arguments.extend(["--against".to_owned(), version.clone()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo::run("interlingua-record", "interlingua-record", &arguments)
}
