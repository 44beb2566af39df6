//! Installs real agents for `cargo xtask record` and `cargo xtask live`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;

use crate::cache::{Cache, Installation, PackageSet};
use crate::extract;
use crate::npm::Npm;
use crate::pins::{self, VersionRequest};
use crate::recipes::recipe;
use crate::repository::Repository;
use crate::source_toml::SourceFile;
use interlingua_agents::Agent;

/// The search program of OpenCode, which OpenCode would otherwise download.
const RIPGREP: (&str, &str) = ("@vscode/ripgrep", "1.18.0");

/// The version of the agents.
#[derive(ClapArgs)]
pub(crate) struct VersionArgs {
    /// Use this version of the named agent instead of the pinned one; only with one agent
    #[arg(long, value_name = "V", conflicts_with = "latest")]
    version: Option<String>,
    /// Use the newest versions in the registry instead of the pinned ones
    #[arg(long)]
    latest: bool,
}

impl VersionArgs {
    /// Whether the newest version was asked for.
    pub(crate) fn is_latest(&self) -> bool {
        self.latest
    }

    /// The requested version. `task` is the name of the task, for the error message.
    pub(crate) fn request(&self, task: &str, agents: &[Agent]) -> Result<VersionRequest<'_>> {
        match &self.version {
            Some(version) if agents.len() == 1 => Ok(VersionRequest::Exact(version)),
            Some(version) => {
                bail!("--version needs exactly one agent, for example `cargo xtask {task} codex --version {version}`")
            }
            None if self.latest => Ok(VersionRequest::Latest),
            None => Ok(VersionRequest::Pinned),
        }
    }
}

/// The named agents without duplicates; all agents if none is named.
pub(crate) fn selected_agents(named: &[Agent]) -> Vec<Agent> {
    let mut agents = if named.is_empty() { Agent::ALL.to_vec() } else { named.to_vec() };
    agents.sort();
    agents.dedup();
    agents
}

/// Installs agents, and returns the arguments that name their programs: `--agent NAME@VERSION=PROGRAM` for each, and
/// `--tools DIR` for an agent that needs more programs.
pub(crate) fn install_agents(
    agents: &[Agent],
    request: VersionRequest<'_>,
    cache_dir: Option<&Path>,
) -> Result<Vec<String>> {
    let repository = Repository::find()?;
    let cache = Cache::locate(cache_dir)?;
    let npm = Npm::default();
    let mut arguments = Vec::new();
    for &agent in agents {
        let (package, version) = agent_package(&repository, &npm, agent, request)?;
        let installed = install(&cache, &npm, (package.as_str(), version.as_str()))?;
        let program = extract::find_program(agent, &installed)?;
        arguments.push("--agent".to_owned());
        arguments.push(format!("{}@{version}={}", agent.id(), program.display()));
        if agent == Agent::OpenCode {
            let folder = ripgrep_folder(&install(&cache, &npm, RIPGREP)?)?;
            arguments.push("--tools".to_owned());
            arguments.push(folder.display().to_string());
        }
    }
    Ok(arguments)
}

/// The package of the agent itself, and its pinned or requested version.
fn agent_package(
    repository: &Repository,
    npm: &Npm,
    agent: Agent,
    request: VersionRequest<'_>,
) -> Result<(String, String)> {
    let source = SourceFile::read(&repository.agent_schemas(agent.id()).join("source.toml"))?;
    let main = recipe(agent).main_package().name;
    // The package that declares the agent's wire may be another than the package of the agent.
    let (package, pinned) = match source.described_agent {
        Some((package, version)) => (package, Some(version)),
        None => (main.to_owned(), source.pins.get(main).cloned()),
    };
    let version = match request {
        VersionRequest::Exact(version) => pins::exact_version(version)?,
        VersionRequest::Latest => pins::find_newest(npm, &package, None)?,
        VersionRequest::Pinned => pinned
            .with_context(|| format!("agent-schemas/{}/source.toml does not pin a version of {package}", agent.id()))?,
    };
    Ok((package, version))
}

fn install(cache: &Cache, npm: &Npm, (name, version): (&str, &str)) -> Result<Installation> {
    cache.install(npm, &PackageSet { packages: vec![(name.to_owned(), version.to_owned())], with_optional: true })
}

/// The folder with the search program for this platform.
fn ripgrep_folder(installed: &Installation) -> Result<PathBuf> {
    let scope = installed.package_folder("@vscode");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let folders = entries.flatten().map(|entry| entry.path().join("bin"));
    let has_ripgrep = |folder: &PathBuf| ["rg", "rg.exe"].iter().any(|program| folder.join(program).is_file());
    folders
        .into_iter()
        .find(has_ripgrep)
        .with_context(|| format!("npm installed no program of {} for this platform", RIPGREP.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_needs_one_agent_and_latest_allows_several() {
        let version = VersionArgs { version: Some("0.130.0".to_owned()), latest: false };
        assert!(matches!(version.request("live", &[Agent::Codex]), Ok(VersionRequest::Exact("0.130.0"))));
        let error = version.request("live", &Agent::ALL).unwrap_err().to_string();
        assert!(
            error.ends_with("needs exactly one agent, for example `cargo xtask live codex --version 0.130.0`"),
            "{error}"
        );
        let latest = VersionArgs { version: None, latest: true };
        assert!(matches!(latest.request("live", &Agent::ALL), Ok(VersionRequest::Latest)));
    }
}
