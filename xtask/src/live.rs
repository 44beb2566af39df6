//! `cargo xtask live`: the real agents behind the server, on a scripted model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::playable;
use crate::start::{build, start};
use interlingua_agents::Agent;

/// Run the real agents behind the server and say what works
///
/// For each agent: installs it into a cache with npm (no package script is run), starts the server that was built from
/// here, and plays to it over HTTP and SSE: chat, command, permission allowed and denied, question, plan approval,
/// interrupt of an answer and of a command, two sessions at once, resume after a restart of the server, a tool of an MCP
/// server, and a server that is killed while a command runs. Each is checked for what must have happened: files, what the
/// model got to hear, the rules of the stream (as `interlingua check` has them), the trace of the recordings, and that no
/// process is left. Then it prints flow × agent. docs/live.md has more.
///
/// No key, no cost, no network: the agents run in a network namespace with nothing but loopback, in a home of their own.
/// It needs Linux, npm (and, unless the versions are in the cache, the network for it), and the tools of util-linux and
/// iproute2.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask live                             all agents at their pinned versions
  cargo xtask live codex opencode              these
  cargo xtask live claude --flow permission    only the flows with that in their names
  cargo xtask live codex --scenario all        every file in scenarios/ instead of the flows
  cargo xtask live codex --version 0.130.0     another version of one agent
  cargo xtask live --latest                    all agents at their newest versions

Versions are installed from npm into the cache, beside the pinned ones; the pins stay as they are.
What an older version cannot do is skipped, and the reason is printed. A flow that fails is told with
the step, the last events and the end of the server's log; the others are still played. Amp's model
runs on Amp's own server, so it goes as far as it goes without one.
Exit codes: 0 all passed, 1 one failed, 1 or 2 nothing could be done.")]
pub(crate) struct Args {
    /// The agents to run; all of them if none is named
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Only the flows with this in their names; may be given several times
    #[arg(long = "flow", value_name = "NAME")]
    flows: Vec<String>,
    /// This scenario instead of the flows, or `all` of them; may be given several times
    #[arg(long = "scenario", value_name = "S", conflicts_with = "flows")]
    scenarios: Vec<String>,
    #[command(flatten)]
    version: playable::VersionArgs,
    /// Where installed packages are kept
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let agents = playable::chosen(&args.agents);
    let wanted = args.version.wanted("live", &agents)?;
    let mut arguments = playable::arguments(&agents, wanted, args.cache_dir.as_deref())?;
    for flow in &args.flows {
        arguments.extend(["--flow".to_owned(), flow.clone()]);
    }
    for scenario in &args.scenarios {
        arguments.extend(["--scenario".to_owned(), scenario.clone()]);
    }
    if !build("dev", "interlingua")? {
        return Ok(ExitCode::FAILURE);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    start("interlingua-live", "interlingua-live", &arguments)
}
