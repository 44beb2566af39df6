//! `cargo xtask record`: the real agents, played to by a scripted model, written down.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::start::start;
use crate::{playable, say};
use interlingua_agents::Agent;

/// Play the scenarios on the real agents and record what they say
///
/// For each agent: installs it into a cache with npm (no package script is run), plays every file in scenarios/ to it
/// with a scripted model, answers what it asks as the scenario says, and writes
/// snapshots/transcripts/recorded/<agent>/<version>/<scenario>.jsonl. A recording that differs from the last one only in ids,
/// times and the like is not touched, but must become the same universal stream. Then it prints scenario × agent, and
/// what differs from the last recordings.
///
/// No key, no cost, no network: the agents run in a network namespace with nothing but loopback, in a home of their own.
/// It needs Linux, npm (and, unless the versions are in the cache, the network for it), and the tools of util-linux and
/// iproute2.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask record                                     all agents at their pinned versions
  cargo xtask record codex                               one agent
  cargo xtask record codex --scenario greeting           one scenario
  cargo xtask record codex --version 0.130.0             another version, beside the pinned one
  cargo xtask record codex --latest                      the newest version, beside the pinned one
  cargo xtask record codex --against 0.130.0             what changed since that version?

Afterwards `cargo insta test --review -p interlingua-snapshots` shows what the recordings become.
The pins are in agent-schemas/<agent>/source.toml. Amp's model runs on Amp's own server, so it cannot
be recorded like this: its recordings in snapshots/transcripts/captured/amp stay as they are.
Exit codes: 0 all were played, 1 one could not be or was not the same for a client as its recording,
or nothing could be done.")]
pub(crate) struct Args {
    /// The agents to record; all of them if none is named
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "S")]
    scenarios: Vec<String>,
    #[command(flatten)]
    version: playable::VersionArgs,
    /// Say what differs from the recordings of this version instead of the last ones
    #[arg(long, value_name = "V")]
    against: Option<String>,
    /// Where installed packages are kept
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut agents = playable::chosen(&args.agents);
    let wanted = args.version.wanted("record", &agents)?;
    for agent in agents.extract_if(.., |agent| !agent.descriptor().has_custom_model) {
        say::note(format_args!(
            "{agent}: its model runs on its own server, so a scripted one cannot play to it; \
             snapshots/transcripts/captured/{agent} stays what it is"
        ));
    }
    if agents.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut arguments = playable::arguments(&agents, wanted, args.cache_dir.as_deref())?;
    for scenario in &args.scenarios {
        arguments.extend(["--scenario".to_owned(), scenario.clone()]);
    }
    if let Some(version) = &args.against {
        arguments.extend(["--against".to_owned(), version.clone()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    start("interlingua-record", "interlingua-record", &arguments)
}
