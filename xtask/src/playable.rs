//! The real agents, installed so that they can be played with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cache::{Cache, Installed, PackageSet};
use crate::extract;
use crate::npm::Npm;
use crate::recipes::recipe;
use crate::repository::Repository;
use crate::source_toml::Source;
use interlingua_agents::Agent;

/// OpenCode searches with this program, and would download it.
const RIPGREP: (&str, &str) = ("@vscode/ripgrep", "1.18.0");

/// The agents that were named, each once; all of them if none is.
pub(crate) fn chosen(named: &[Agent]) -> Vec<Agent> {
    let mut agents = if named.is_empty() { Agent::ALL.to_vec() } else { named.to_vec() };
    agents.sort();
    agents.dedup();
    agents
}

/// Installs agents, and returns what tells a program of this workspace where they are: `--agent NAME@VERSION=PROGRAM`
/// for each, and `--tools DIR` where one wants more programs. `version` is used instead of the pinned ones.
pub(crate) fn arguments(agents: &[Agent], version: Option<&str>, cache_dir: Option<&Path>) -> Result<Vec<String>> {
    let repository = Repository::find()?;
    let cache = Cache::locate(cache_dir)?;
    let npm = Npm::default();
    let mut arguments = Vec::new();
    for &agent in agents {
        let (package, version) = package(&repository, agent, version)?;
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
fn package(repository: &Repository, agent: Agent, wanted: Option<&str>) -> Result<(String, String)> {
    let source = Source::read(&repository.schemas_of(agent.id()).join("source.toml"))?;
    let main = recipe(agent).main().name;
    // The package that declares an agent's wire may be another than the agent.
    let (package, pinned) = match source.describes {
        Some((package, version)) => (package, Some(version)),
        None => (main.to_owned(), source.pins.get(main).cloned()),
    };
    let version = match wanted {
        Some(version) => version.to_owned(),
        None => pinned.with_context(|| format!("source.toml of {} pins no version of {package}", agent.id()))?,
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
