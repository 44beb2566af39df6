//! `cargo xtask record`: the real agents, played to by a scripted model, written down.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;

use crate::agents::Agent;
use crate::cache::{Cache, Installed, PackageSet};
use crate::npm::Npm;
use crate::repository::Repository;
use crate::source_toml::Source;
use crate::start::start;
use crate::{extract, say};

/// OpenCode searches with this program, and would download it.
const RIPGREP: (&str, &str) = ("@vscode/ripgrep", "1.18.0");

/// Play the scenarios on the real agents and record what they say
///
/// For each agent: installs it into a cache with npm (no package script is run), plays every file in scenarios/ to it
/// with a scripted model, answers what it asks as the scenario says, and writes
/// snapshots/transcripts/<agent>/<version>/<scenario>.jsonl. A recording that differs from the last one only in ids,
/// times and the like is not touched. Then it prints scenario × agent, and what differs from the last recordings.
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
  cargo xtask record codex --against 0.130.0             what changed since that version?

Afterwards `cargo insta test --review -p interlingua-snapshots` shows what the recordings become.
The pins are in agent-schemas/<agent>/source.toml. Amp's model runs on Amp's own server, so it cannot
be recorded like this: its recordings in snapshots/transcripts/amp stay as they are.
Exit codes: 0 all were played, 1 one could not be, or nothing could be done.")]
pub(crate) struct Args {
    /// The agents to record; all of them if none is named
    #[arg(value_enum, value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "S")]
    scenarios: Vec<String>,
    /// This version of the one named agent instead of the pinned one
    #[arg(long, value_name = "V")]
    version: Option<String>,
    /// Say what differs from the recordings of this version instead of the last ones
    #[arg(long, value_name = "V")]
    against: Option<String>,
    /// Where installed packages are kept
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut agents = if args.agents.is_empty() { Agent::ALL.to_vec() } else { args.agents.clone() };
    agents.sort();
    agents.dedup();
    if let (Some(version), true) = (&args.version, agents.len() != 1) {
        bail!("--version is of one agent: name it, for example `cargo xtask record codex --version {version}`");
    }
    if agents.contains(&Agent::Amp) {
        say::note(format_args!(
            "amp: its model runs on its own server, so a scripted one cannot play to it; \
             snapshots/transcripts/amp stays what it is"
        ));
        agents.retain(|agent| *agent != Agent::Amp);
    }
    if agents.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let repository = Repository::find()?;
    let cache = Cache::locate(args.cache_dir.as_deref())?;
    let npm = Npm::default();
    let mut arguments = Vec::new();
    for agent in agents {
        let (package, version) = package(&repository, agent, args.version.as_deref())?;
        let installed = install(&cache, &npm, (package.as_str(), version.as_str()))?;
        let program = extract::program(agent, &installed)?;
        arguments.push("--agent".to_owned());
        arguments.push(format!("{}@{version}={}", agent.name(), program.display()));
        if agent == Agent::Opencode {
            let folder = ripgrep(&install(&cache, &npm, RIPGREP)?)?;
            arguments.push("--tools".to_owned());
            arguments.push(folder.display().to_string());
        }
    }
    for scenario in &args.scenarios {
        arguments.extend(["--scenario".to_owned(), scenario.clone()]);
    }
    if let Some(version) = &args.against {
        arguments.extend(["--against".to_owned(), version.clone()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    start("interlingua-record", "interlingua-record", &arguments)
}

/// The package of the agent itself, and the version that is pinned or wanted.
fn package(repository: &Repository, agent: Agent, wanted: Option<&str>) -> Result<(String, String)> {
    let source = Source::read(&repository.schemas_of(agent.name()).join("source.toml"))?;
    let main = agent.recipe().main().name;
    // The package that declares an agent's wire may be another than the agent.
    let (package, pinned) = match source.describes {
        Some((package, version)) => (package, Some(version)),
        None => (main.to_owned(), source.pins.get(main).cloned()),
    };
    let version = match wanted {
        Some(version) => version.to_owned(),
        None => pinned.with_context(|| format!("source.toml of {} pins no version of {package}", agent.name()))?,
    };
    Ok((package, version))
}

fn install(cache: &Cache, npm: &Npm, (name, version): (&str, &str)) -> Result<Installed> {
    cache.install(npm, &PackageSet { packages: vec![(name.to_owned(), version.to_owned())], optional: true })
}

/// The folder with the search program for this platform.
fn ripgrep(installed: &Installed) -> Result<PathBuf> {
    let scope = installed.package("@vscode");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let folders = entries.flatten().map(|entry| entry.path().join("bin"));
    let has_it = |folder: &PathBuf| has(folder, "rg") || has(folder, "rg.exe");
    folders.into_iter().find(has_it).with_context(|| format!("{} brought no program for this platform", RIPGREP.0))
}

fn has(folder: &Path, program: &str) -> bool {
    folder.join(program).is_file()
}
