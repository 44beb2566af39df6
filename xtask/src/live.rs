//! `cargo xtask live`: tests the real agents behind the server, with a scripted model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::{agent_install, cargo};
use interlingua_agents::Agent;

/// Test the real agents behind the server
///
/// For each agent: installs it into a cache with npm (without running package scripts), builds and starts the server,
/// and runs these flows over HTTP and SSE: chat, command, permission allowed and denied, question, plan approval,
/// interrupt of an answer and of a command, two sessions at once, resume after a restart of the server, a tool of an
/// MCP server, and a server that is killed while a command runs. Each flow checks the files, the requests to the model,
/// the rules of the stream (as `interlingua check` does), the canonical trace of the recordings, and that no process
/// remains. Then it prints a table of flows and agents. See docs/live.md.
///
/// It needs no API key, costs nothing and uses no network: the agents run in a network namespace with only the loopback
/// interface, and in an empty home folder. It needs Linux, npm (with network access, unless the versions are in the
/// cache), and the tools of util-linux and iproute2.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask live                             all agents at their pinned versions
  cargo xtask live codex opencode              only these agents
  cargo xtask live claude --flow permission    only flows whose names contain this
  cargo xtask live codex --scenario all        every file in scenarios/ instead of the flows
  cargo xtask live codex --version 0.130.0     another version of one agent
  cargo xtask live --latest                    all agents at their newest versions

Other versions are installed into the cache in addition to the pinned ones; the pins do not change.
A flow that an older version does not support is skipped, and the reason is printed. For a failed
flow, the step, the last events and the end of the server's log are printed, and the other flows
still run. The model of Amp runs on Amp's server, so its flows run only as far as they do not need
the model.
Exit codes: 0 if all flows passed; 1 if one failed; 1 or 2 if nothing could be tested.")]
pub(crate) struct Args {
    /// The agents to test; default: all
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Run only flows whose names contain this; may be given several times
    #[arg(long = "flow", value_name = "NAME")]
    flows: Vec<String>,
    /// Play this scenario instead of the flows, or `all` of them; may be given several times
    #[arg(long = "scenario", value_name = "S", conflicts_with = "flows")]
    scenarios: Vec<String>,
    #[command(flatten)]
    version: agent_install::VersionArgs,
    /// Folder of the cache of installed packages
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let agents = agent_install::selected_agents(&args.agents);
    let request = args.version.request("live", &agents)?;
    let mut arguments = agent_install::install_agents(&agents, request, args.cache_dir.as_deref())?;
    for flow in &args.flows {
        arguments.extend(["--flow".to_owned(), flow.clone()]);
    }
    for scenario in &args.scenarios {
        arguments.extend(["--scenario".to_owned(), scenario.clone()]);
    }
    if !cargo::build("dev", "interlingua")? {
        return Ok(ExitCode::FAILURE);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo::run("interlingua-live", "interlingua-live", &arguments)
}
