//! `cargo xtask refresh-schemas`: pulls the agents' schemas from their packages into `agent-schemas/`.
//!
//! Each agent is pulled separately. Everything is fetched, extracted and rendered in memory before the first file is
//! written. So if an agent fails, its files are unchanged and the other agents are not affected.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;
use serde_json::Value;

use interlingua_agents::Agent;

use crate::cache::{Cache, PackageSet, ResolvedPackage};
use crate::drift::{self, Schemas};
use crate::extract::{self, ExtractedSchema, Installations};
use crate::npm::Npm;
use crate::pins::{self, VersionRequest, Versions};
use crate::recipes::{InstallGroup, Package, recipe};
use crate::repository::Repository;
use crate::source_toml::{Provenance, SourceFile};
use crate::{atomic_write, console, schema_json, text_diff};

/// What `--check` prints if an update would change something.
pub(crate) const STALE: &str = "agent-schemas/ differs from the pulled schemas";
/// What is printed before the path of a file that was written.
pub(crate) const WROTE: &str = "wrote agent-schemas/";
/// Number of diff lines that `--check` prints per file.
const MAX_DIFF_LINES: usize = 60;
/// Number of notes that are printed per extraction.
const MAX_NOTES: usize = 10;

/// Pull the agents' schemas from their own npm packages into agent-schemas/
///
/// For each agent: installs the pinned packages into a cache with npm (without running package scripts), extracts the
/// schema, rewrites `schema.json` and `source.toml` in `agent-schemas/<agent>/`, and reports the changes (see `cargo
/// xtask drift`). If nothing is new, no file changes. Needs npm, node and, unless the versions are in the cache, the
/// network. CI does not run it.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask refresh-schemas                          pull all agents at their pinned versions
  cargo xtask refresh-schemas --check                  write nothing; exit 1 if a file would change
  cargo xtask refresh-schemas --latest                 move every agent to its newest release
  cargo xtask refresh-schemas --latest --check         print what that would change
  cargo xtask refresh-schemas codex --version 0.145.0  move Codex to that release

The pins are in agent-schemas/<agent>/source.toml. The part below its marker line is written by hand
and never changed. The cache is --cache-dir, or $INTERLINGUA_CACHE_DIR, or
$XDG_CACHE_HOME/interlingua, or ~/.cache/interlingua; it may be deleted at any time.")]
pub(crate) struct Args {
    /// The agents to pull; default: all
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agents: Vec<Agent>,
    /// Move the named agent to this version; only with one agent
    #[arg(long, value_name = "V", conflicts_with = "latest")]
    version: Option<String>,
    /// Move to the newest versions in the registry
    #[arg(long)]
    latest: bool,
    /// Write nothing; print what would change, and exit 1 if anything would
    #[arg(long)]
    check: bool,
    /// Folder of the cache of installed packages
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// The result of pulling one agent.
enum Outcome {
    Unchanged,
    Written,
    WouldChange,
}

/// Pulls agents. Has everything that is the same for all of them.
struct Puller<'a> {
    repository: Repository,
    cache: Cache,
    npm: Npm,
    request: VersionRequest<'a>,
    check: bool,
}

/// A file with its current and its new content.
struct PlannedFile {
    path: PathBuf,
    old: Option<String>,
    new: String,
}

impl PlannedFile {
    fn is_changed(&self) -> bool {
        self.old.as_deref() != Some(self.new.as_str())
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let request = match &args.version {
        Some(version) if args.agents.len() == 1 => VersionRequest::Exact(version),
        Some(version) => bail!(
            "--version needs exactly one agent, for example `cargo xtask refresh-schemas codex --version {version}`"
        ),
        None if args.latest => VersionRequest::Latest,
        None => VersionRequest::Pinned,
    };
    let puller = Puller {
        repository: Repository::find()?,
        cache: Cache::locate(args.cache_dir.as_deref())?,
        npm: Npm::default(),
        request,
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
    // One line per reason: without a network there is one line for all agents.
    for (reason, agents) in &failures {
        console::log(format_args!("error: {reason} (unchanged: {})", agents.join(", ")));
    }
    if !stale.is_empty() {
        console::print(format_args!("{STALE}; to update it, run: {}\n", refresh_command(&stale, request)));
    }
    Ok(if stale.is_empty() && failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command that updates the files of the agents.
fn refresh_command(agents: &[&str], request: VersionRequest<'_>) -> String {
    let flags = match request {
        VersionRequest::Pinned => String::new(),
        VersionRequest::Exact(version) => format!(" --version {version}"),
        VersionRequest::Latest => " --latest".to_owned(),
    };
    format!("cargo xtask refresh-schemas {}{flags}", agents.join(" "))
}

impl Puller<'_> {
    fn pull(&self, agent: Agent) -> Result<Outcome> {
        let recipe = recipe(agent);
        let folder = self.repository.agent_schemas(agent.id());
        let before = SourceFile::read(&folder.join("source.toml"))?;
        let versions = pins::resolve_versions(&self.npm, recipe, &before.pins, self.request)?;
        let version = &versions[recipe.main_package().name];
        let installations = self.install(agent, &versions)?;
        let packages = resolve_packages(agent, &installations, &before)?;
        let extracted = extract::extract(agent, &installations)
            .with_context(|| format!("cannot extract the schema of {} {version}", agent.id()))?;
        print_notes(&extracted.notes);

        let mut files = Vec::new();
        for (name, document) in recipe.files.iter().zip(&extracted.documents) {
            let path = folder.join(name);
            let old = read_if_exists(&path)?;
            console::log(format_args!(
                "  extracted {name} of {} {version}: {} types",
                agent.id(),
                count_types(document)
            ));
            files.push(PlannedFile { path, old, new: schema_json::canonical_text(document) });
        }
        files.push(self.plan_source(agent, &extracted, packages, &files)?);

        if !files.iter().any(PlannedFile::is_changed) {
            console::print(format_args!("{} {version}: unchanged\n", agent.id()));
            return Ok(Outcome::Unchanged);
        }
        self.print_changes(agent, &before, version, &files);
        if self.check {
            return Ok(Outcome::WouldChange);
        }
        files.retain(PlannedFile::is_changed);
        atomic_write::write_files(files.iter().map(|file| (file.path.as_path(), file.new.as_str())))?;
        for file in &files {
            let name = self.repository.relative(&file.path);
            console::print(format_args!("wrote {name}\n"));
        }
        Ok(Outcome::Written)
    }

    /// Installs the packages of each group into one folder.
    fn install(&self, agent: Agent, versions: &Versions) -> Result<Installations> {
        let mut installations = Vec::new();
        for group in [InstallGroup::Native, InstallGroup::Types, InstallGroup::Tool] {
            let packages: Vec<_> = recipe(agent).packages.iter().filter(|package| package.group == group).collect();
            if packages.is_empty() {
                continue;
            }
            let packages = packages.iter().map(|p| (p.name.to_owned(), versions[p.name].clone())).collect();
            let set = PackageSet { packages, with_optional: group == InstallGroup::Native };
            installations.push((group, self.cache.install(&self.npm, &set)?));
        }
        Ok(Installations(installations))
    }

    /// Plans the `source.toml` that belongs to the other `files`.
    ///
    /// Its date and native program are kept if no version and no schema has changed. So a pull without news, on another
    /// day or on another platform, changes nothing. The file is read again, because pulling takes minutes, in which the
    /// user may have edited the manual part.
    fn plan_source(
        &self,
        agent: Agent,
        extracted: &ExtractedSchema,
        packages: Vec<(&'static Package, ResolvedPackage)>,
        files: &[PlannedFile],
    ) -> Result<PlannedFile> {
        let path = self.repository.agent_schemas(agent.id()).join("source.toml");
        let source = SourceFile::read(&path)?;
        let has_new_version =
            packages.iter().any(|(package, resolved)| source.pins.get(package.name) != Some(&resolved.version));
        let is_changed = has_new_version || files.iter().any(PlannedFile::is_changed);
        let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let date = source.date.clone().filter(|_| !is_changed).unwrap_or(today);
        // Without other changes, a pull on another platform keeps the recorded program.
        let recorded_program = source.binary.clone().filter(|recorded| {
            let current = extracted.binary.as_ref();
            !is_changed && current.is_none_or(|current| current.package != recorded.package)
        });
        let provenance = Provenance {
            agent,
            date: &date,
            packages,
            described_agent: extracted.described_agent.clone(),
            binary: recorded_program.or_else(|| extracted.binary.clone()),
        };
        let new = source.render_with(&provenance);
        Ok(PlannedFile { path, old: source.text, new })
    }

    /// Prints the drift report, and with `--check` also the diff of each file.
    fn print_changes(&self, agent: Agent, before: &SourceFile, version: &str, files: &[PlannedFile]) {
        let old_version = before.version.as_deref().unwrap_or("(none)");
        console::print(format_args!("{} {old_version} → {version}\n", agent.id()));
        if self.check {
            for file in files {
                let old = file.old.as_deref().unwrap_or_default();
                let name = self.repository.relative(&file.path);
                console::print(text_diff::unified_diff(&name, old, &file.new, MAX_DIFF_LINES));
            }
        }
        let mut old = Schemas::new(agent.id());
        let mut new = Schemas::new(agent.id());
        for (name, file) in recipe(agent).files.iter().zip(files) {
            if let Some(text) = &file.old {
                old.add(name, text);
            }
            new.add(name, &file.new);
        }
        console::print(drift::report(&old, &new, &self.repository));
    }
}

/// The packages as npm resolved them. Fails if one has another hash than the recorded one.
fn resolve_packages(
    agent: Agent,
    installations: &Installations,
    before: &SourceFile,
) -> Result<Vec<(&'static Package, ResolvedPackage)>> {
    let mut packages = Vec::new();
    for package in recipe(agent).packages {
        let resolved = installations.get(package.group)?.resolved(package.name)?;
        before.check_integrity(package.name, &resolved)?;
        packages.push((package, resolved));
    }
    Ok(packages)
}

fn print_notes(notes: &[String]) {
    for note in notes.iter().take(MAX_NOTES) {
        console::log(format_args!("  note: {note}"));
    }
    if notes.len() > MAX_NOTES {
        console::log(format_args!("  note: … {} more notes", notes.len() - MAX_NOTES));
    }
}

fn read_if_exists(path: &std::path::Path) -> Result<Option<String>> {
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
