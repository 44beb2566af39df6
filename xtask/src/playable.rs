//! The real agents, installed so that they can be played with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;

use crate::cache::{Cache, Installed, PackageSet};
use crate::extract;
use crate::npm::Npm;
use crate::pins::{self, Wanted};
use crate::recipes::recipe;
use crate::repository::Repository;
use crate::source_toml::Source;
use interlingua_agents::Agent;

/// OpenCode searches with this program, and would download it.
const RIPGREP: (&str, &str) = ("@vscode/ripgrep", "1.18.0");

/// Which version of an agent is played with.
#[derive(ClapArgs)]
pub(crate) struct VersionArgs {
    /// This version of the one named agent instead of the pinned one
    #[arg(long, value_name = "V", conflicts_with = "latest")]
    version: Option<String>,
    /// The newest versions in the registry instead of the pinned ones
    #[arg(long)]
    latest: bool,
}

impl VersionArgs {
    /// What was asked for. `task` is the task's name, `agents` are those that it works with.
    pub(crate) fn wanted(&self, task: &str, agents: &[Agent]) -> Result<Wanted<'_>> {
        match &self.version {
            Some(version) if agents.len() == 1 => Ok(Wanted::Version(version)),
            Some(version) => {
                bail!("--version is of one agent: name it, for example `cargo xtask {task} codex --version {version}`")
            }
            None if self.latest => Ok(Wanted::Latest),
            None => Ok(Wanted::Pinned),
        }
    }
}

/// The agents that were named, each once; all of them if none is.
pub(crate) fn chosen(named: &[Agent]) -> Vec<Agent> {
    let mut agents = if named.is_empty() { Agent::ALL.to_vec() } else { named.to_vec() };
    agents.sort();
    agents.dedup();
    agents
}

/// Installs agents, and returns what tells a program of this workspace where they are: `--agent NAME@VERSION=PROGRAM`
/// for each, and `--tools DIR` where one wants more programs.
pub(crate) fn arguments(agents: &[Agent], wanted: Wanted<'_>, cache_dir: Option<&Path>) -> Result<Vec<String>> {
    let repository = Repository::find()?;
    let cache = Cache::locate(cache_dir)?;
    let npm = Npm::default();
    let mut arguments = Vec::new();
    for &agent in agents {
        let (package, version) = package(&repository, &npm, agent, wanted)?;
        let installed = install(&cache, &npm, (package.as_str(), version.as_str()))?;
        let program = extract::program(agent, &installed)?;
        arguments.push("--agent".to_owned());
        arguments.push(format!("{}@{version}={}", agent.id(), program.display()));
        if agent == Agent::OpenCode {
            let folder = ripgrep(&install(&cache, &npm, RIPGREP)?)?;
            arguments.push("--tools".to_owned());
            arguments.push(folder.display().to_string());
        }
    }
    Ok(arguments)
}

/// The package of the agent itself, and the version that is pinned or wanted.
fn package(repository: &Repository, npm: &Npm, agent: Agent, wanted: Wanted<'_>) -> Result<(String, String)> {
    let source = Source::read(&repository.schemas_of(agent.id()).join("source.toml"))?;
    let main = recipe(agent).main().name;
    // The package that declares an agent's wire may be another than the agent.
    let (package, pinned) = match source.describes {
        Some((package, version)) => (package, Some(version)),
        None => (main.to_owned(), source.pins.get(main).cloned()),
    };
    let version = match wanted {
        Wanted::Version(version) => pins::exact(version)?,
        Wanted::Latest => pins::newest(npm, &package, None)?,
        Wanted::Pinned => {
            pinned.with_context(|| format!("source.toml of {} pins no version of {package}", agent.id()))?
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_of_one_agent_and_the_newest_is_of_any() {
        let version = VersionArgs { version: Some("0.130.0".to_owned()), latest: false };
        assert!(matches!(version.wanted("live", &[Agent::Codex]), Ok(Wanted::Version("0.130.0"))));
        let refused = version.wanted("live", &Agent::ALL).unwrap_err().to_string();
        assert!(refused.ends_with("name it, for example `cargo xtask live codex --version 0.130.0`"), "{refused}");
        let latest = VersionArgs { version: None, latest: true };
        assert!(matches!(latest.wanted("live", &Agent::ALL), Ok(Wanted::Latest)));
    }
}
