//! `cargo xtask refresh-schemas`: from the agents' packages to `agent-schemas/`.
//!
//! Each agent is pulled on its own: everything is fetched, extracted and rendered in memory before the first file is
//! touched, so an agent that fails keeps its files and the others do not notice.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;
use serde_json::Value;

use interlingua_agents::Agent;

use crate::cache::{Cache, PackageSet, Resolved};
use crate::drift::{self, Schemas};
use crate::extract::{self, Extracted, Installations};
use crate::npm::Npm;
use crate::pins::{self, Versions, Wanted};
use crate::recipes::{Group, Package, recipe};
use crate::repository::Repository;
use crate::source_toml::{Provenance, Source};
use crate::{canonical, say, text_diff, whole_file};

/// How many lines of difference `--check` shows per file.
const SHOWN: usize = 60;
/// How many notes of an extraction are shown.
const NOTES: usize = 10;

/// Pull the agents' schemas from their own npm packages into agent-schemas/
///
/// For each agent: installs the pinned packages into a cache with npm (no package script is run), extracts the
/// schema, rewrites agent-schemas/<agent>/schema.json and source.toml, and prints what changed and what that means
/// (see `cargo xtask drift`). When nothing is new, no file changes. Needs npm, node and, unless the versions are in
/// the cache, the network; so it is no part of CI.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask refresh-schemas                          pull all agents at their pinned versions
  cargo xtask refresh-schemas --check                  would that change anything? (exit 1: yes)
  cargo xtask refresh-schemas --latest                 move every agent to its newest release
  cargo xtask refresh-schemas --latest --check         what would that bring?
  cargo xtask refresh-schemas codex --version 0.145.0  move Codex to that release

The pins are in agent-schemas/<agent>/source.toml. What stands below its marker line is written by
hand and never touched. The cache is --cache-dir, else $INTERLINGUA_CACHE_DIR, else
$XDG_CACHE_HOME/interlingua, else ~/.cache/interlingua; it may be deleted at any time.")]
pub(crate) struct Args {
    /// The agents to pull; all of them if none is named
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Move the one named agent to this version of its package
    #[arg(long, value_name = "V", conflicts_with = "latest")]
    version: Option<String>,
    /// Move to the newest versions in the registry
    #[arg(long)]
    latest: bool,
    /// Write nothing; show what would change, and exit 1 if anything would
    #[arg(long)]
    check: bool,
    /// Where installed packages are kept
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// How one agent's pull ended.
enum Outcome {
    Unchanged,
    Written,
    WouldChange,
}

/// Everything that a pull needs and that is the same for all agents.
struct Puller<'a> {
    repository: Repository,
    cache: Cache,
    npm: Npm,
    wanted: Wanted<'a>,
    check: bool,
}

/// One file as it is and as it should be.
struct Planned {
    path: PathBuf,
    old: Option<String>,
    new: String,
}

impl Planned {
    fn changes(&self) -> bool {
        self.old.as_deref() != Some(self.new.as_str())
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let wanted = match &args.version {
        Some(version) if args.agents.len() == 1 => Wanted::Version(version),
        Some(version) => bail!(
            "--version moves one agent: name it, for example `cargo xtask refresh-schemas codex --version {version}`"
        ),
        None if args.latest => Wanted::Latest,
        None => Wanted::Pinned,
    };
    let puller = Puller {
        repository: Repository::find()?,
        cache: Cache::locate(args.cache_dir.as_deref())?,
        npm: Npm::default(),
        wanted,
        check: args.check,
    };
    let mut agents = if args.agents.is_empty() { Agent::ALL.to_vec() } else { args.agents.clone() };
    agents.sort();
    agents.dedup();

    let mut stale = Vec::new();
    let mut failures: Vec<(String, Vec<&str>)> = Vec::new();
    for agent in agents {
        match puller.pull(agent) {
            Ok(Outcome::WouldChange) => stale.push(agent.id()),
            Ok(Outcome::Unchanged | Outcome::Written) => {}
            Err(error) => {
                let reason = format!("{error:#}");
                match failures.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, agents)) => agents.push(agent.id()),
                    None => failures.push((reason, vec![agent.id()])),
                }
            }
        }
    }
    // One line per reason: without a network there is one, however many agents were asked for.
    for (reason, agents) in &failures {
        say::note(format_args!("error: {reason} ({} left as before)", agents.join(", ")));
    }
    if !stale.is_empty() {
        say::result(format_args!("agent-schemas/ is not what was pulled; to make it so: {}\n", fix(&stale, wanted)));
    }
    Ok(if stale.is_empty() && failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command that brings the named agents' files up to date.
fn fix(agents: &[&str], wanted: Wanted<'_>) -> String {
    let flags = match wanted {
        Wanted::Pinned => String::new(),
        Wanted::Version(version) => format!(" --version {version}"),
        Wanted::Latest => " --latest".to_owned(),
    };
    format!("cargo xtask refresh-schemas {}{flags}", agents.join(" "))
}

impl Puller<'_> {
    fn pull(&self, agent: Agent) -> Result<Outcome> {
        let recipe = recipe(agent);
        let folder = self.repository.schemas_of(agent.id());
        let before = Source::read(&folder.join("source.toml"))?;
        let versions = pins::resolve(&self.npm, recipe, &before.pins, self.wanted)?;
        let version = &versions[recipe.main().name];
        let installations = self.install(agent, &versions)?;
        let packages = resolved(agent, &installations, &before)?;
        let extracted = extract::extract(agent, &installations)
            .with_context(|| format!("cannot extract the schema of {} {version}", agent.id()))?;
        report_notes(&extracted.notes);

        let mut files = Vec::new();
        for (name, document) in recipe.files.iter().zip(&extracted.documents) {
            let path = folder.join(name);
            let old = read_if_there(&path)?;
            say::note(format_args!("  extracted {name} of {} {version}: {} types", agent.id(), count_types(document)));
            files.push(Planned { path, old, new: canonical::text(document) });
        }
        files.push(self.plan_source(agent, &extracted, packages, &files)?);

        if !files.iter().any(Planned::changes) {
            say::result(format_args!("{} {version}: unchanged\n", agent.id()));
            return Ok(Outcome::Unchanged);
        }
        self.report(agent, &before, version, &files);
        if self.check {
            return Ok(Outcome::WouldChange);
        }
        files.retain(Planned::changes);
        whole_file::write(files.iter().map(|file| (file.path.as_path(), file.new.as_str())))?;
        for file in &files {
            let name = self.repository.relative(&file.path);
            say::result(format_args!("wrote {name}\n"));
        }
        Ok(Outcome::Written)
    }

    /// Installs the packages of each group side by side.
    fn install(&self, agent: Agent, versions: &Versions) -> Result<Installations> {
        let mut installations = Vec::new();
        for group in [Group::Native, Group::Types, Group::Tool] {
            let packages: Vec<_> = recipe(agent).packages.iter().filter(|package| package.group == group).collect();
            if packages.is_empty() {
                continue;
            }
            let packages = packages.iter().map(|p| (p.name.to_owned(), versions[p.name].clone())).collect();
            let set = PackageSet { packages, optional: group == Group::Native };
            installations.push((group, self.cache.install(&self.npm, &set)?));
        }
        Ok(Installations(installations))
    }

    /// The `source.toml` that goes with the other `files`.
    ///
    /// Its date and program stay as they were while versions and schemas do: a pull that brings nothing new, on
    /// another day or another platform, changes nothing. The file is read again because pulling takes minutes in
    /// which somebody may have edited the lower half.
    fn plan_source(
        &self,
        agent: Agent,
        extracted: &Extracted,
        packages: Vec<(&'static Package, Resolved)>,
        files: &[Planned],
    ) -> Result<Planned> {
        let path = self.repository.schemas_of(agent.id()).join("source.toml");
        let source = Source::read(&path)?;
        let moved = packages.iter().any(|(package, now)| source.pins.get(package.name) != Some(&now.version));
        let changed = moved || files.iter().any(Planned::changes);
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let date = source.date.clone().filter(|_| !changed).unwrap_or(today);
        let elsewhere = source.binary.clone().filter(|was| {
            let now = extracted.binary.as_ref();
            !changed && now.is_none_or(|now| now.package != was.package)
        });
        let provenance = Provenance {
            agent,
            date: &date,
            packages,
            describes: extracted.describes.clone(),
            binary: elsewhere.or_else(|| extracted.binary.clone()),
        };
        let new = source.rewritten(&provenance);
        Ok(Planned { path, old: source.text, new })
    }

    /// Prints what differs and what it means.
    fn report(&self, agent: Agent, before: &Source, version: &str, files: &[Planned]) {
        let old_version = before.version.as_deref().unwrap_or("nothing");
        say::result(format_args!("{} {old_version} → {version}\n", agent.id()));
        if self.check {
            for file in files {
                let old = file.old.as_deref().unwrap_or_default();
                let name = self.repository.relative(&file.path);
                say::result(text_diff::bounded(&name, old, &file.new, SHOWN));
            }
        }
        let mut old = Schemas::new(agent.id());
        let mut new = Schemas::new(agent.id());
        for (name, file) in recipe(agent).files.iter().zip(files) {
            if let Some(text) = &file.old {
                // A committed schema that is no JSON was broken by hand; to the comparison it has no types.
                old.add(name, &serde_json::from_str(text).unwrap_or(Value::Null));
            }
            new.add(name, &serde_json::from_str(&file.new).unwrap_or(Value::Null));
        }
        say::result(drift::report(&old, &new, &self.repository));
    }
}

/// What npm resolved each package to, checked against what is recorded for it.
fn resolved(agent: Agent, installations: &Installations, before: &Source) -> Result<Vec<(&'static Package, Resolved)>> {
    let mut packages = Vec::new();
    for package in recipe(agent).packages {
        let now = installations.get(package.group)?.resolved(package.name)?;
        before.check_integrity(package.name, &now)?;
        packages.push((package, now));
    }
    Ok(packages)
}

fn report_notes(notes: &[String]) {
    for note in notes.iter().take(NOTES) {
        say::note(format_args!("  note: {note}"));
    }
    if notes.len() > NOTES {
        say::note(format_args!("  note: … and {} more", notes.len() - NOTES));
    }
}

fn read_if_there(path: &std::path::Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn count_types(document: &Value) -> usize {
    ["/definitions", "/components/schemas"]
        .iter()
        .filter_map(|pointer| document.pointer(pointer)?.as_object())
        .map(serde_json::Map::len)
        .sum()
}
