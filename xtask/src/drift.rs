//! `cargo xtask drift`: reports the changes between two states of an agent's schema, classified by their effect here.

mod compare;
mod model;
mod places;
mod reader;
mod report;
mod rust_types;
mod scope;
mod source_index;
mod tags;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;
use serde::de::IgnoredAny;
use serde_json::Value;

use self::compare::{Change, ChangeClass, compare};
use self::model::Model;
use self::places::Places;
use self::report::Report;
use self::scope::Scope;
use crate::console;
use crate::repository::Repository;
use interlingua_agents::Agent;

/// Name of an agent's main schema.
const MAIN_SCHEMA: &str = "schema.json";

/// Report the changes between two schemas: breaking, additive or cosmetic
///
/// OLD and NEW are schema files, folders of one agent (agent-schemas/codex), or folders of all agents (agent-schemas).
/// Each change of a type, field, tag or enum value is classified by its effect on this repository. The report names the
/// affected converter arms and, for types that are sent, the affected lines of the agent's protocol and driver. At the
/// end it lists the matches of the converter that have no arm for some tags. Changes of types that are not reachable from the roots in
/// `agent-schemas/<agent>/source.toml` are only counted.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Classes:
  breaking  something was removed, or has another type than before; for types that are sent
            also: a field became required or may no longer be null
  additive  something was added; for types that are received also: a field became required,
            optional or nullable, which does not affect the generated types
  cosmetic  only descriptions, limits or order

Example, compare with the last commit:
  git worktree add /tmp/before HEAD && cargo xtask drift /tmp/before/agent-schemas agent-schemas

The exit code is 0, even if there are changes; 1 if OLD or NEW cannot be read, or if --fail-on
is given and a listed change is of that class or worse.")]
pub(crate) struct Args {
    /// The old state
    old: PathBuf,
    /// The new state
    new: PathBuf,
    /// Exit 1 if there is a change of this class or a worse one
    #[arg(long, value_enum, value_name = "CLASS")]
    fail_on: Option<ChangeClass>,
    /// Also list the changes of types that are not generated here
    #[arg(long)]
    all: bool,
    /// The agent of the schema, if neither the folder nor the file name contains it
    #[arg(long, value_parser = crate::recipes::agent_parser())]
    agent: Option<Agent>,
}

/// The schemas of one agent.
pub(crate) struct Schemas {
    agent: String,
    model: Model,
    /// The texts of the files, by name.
    texts: Vec<(String, String)>,
}

impl Schemas {
    /// Creates an empty set of schemas.
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), model: Model::default(), texts: Vec::new() }
    }

    /// Adds a schema file. The names of the types in `exec.schema.json` start with `exec::`. A text that is not JSON, because
    /// it was edited by hand, is a schema without types.
    pub(crate) fn add(&mut self, file: &str, text: &str) {
        let document = serde_json::from_str(text).unwrap_or(Value::Null);
        self.model.add(&scope::type_prefix(file), &document);
        self.texts.push((file.to_owned(), text.to_owned()));
    }

    fn read(path: &Path, agent: &str) -> Result<Self> {
        let mut schemas = Self::new(agent);
        for file in schema_files(path)? {
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_str::<IgnoredAny>(&text).with_context(|| format!("{} is not JSON", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // A single file is compared with a single file, so its types need no prefix.
            schemas.add(if path.is_file() { MAIN_SCHEMA } else { &name }, &text);
        }
        if schemas.model.types.is_empty() {
            bail!("{} defines no types (searched in definitions, $defs and components.schemas)", path.display());
        }
        Ok(schemas)
    }
}

/// The schema files of one agent: `path` itself, or the schema files in the folder `path`.
fn schema_files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|file| is_schema_file(file)).collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no schema.json", path.display());
    }
    Ok(files)
}

fn is_schema_file(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.is_file() && (name == MAIN_SCHEMA || name.ends_with(".schema.json"))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let repository = Repository::find().ok();
    let mut worst = None;
    for (old, new, agent) in schema_pairs(args)? {
        let old = Schemas::read(&old, &agent)?;
        let new = Schemas::read(&new, &agent)?;
        let (text, worst_here) = compare_schemas(&old, &new, repository.as_ref(), args.all);
        console::print(text);
        // The smallest class is the worst.
        worst = [worst, worst_here].into_iter().flatten().min();
    }
    let fails = args.fail_on.is_some_and(|limit| worst.is_some_and(|worst| worst <= limit));
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The pairs of paths to compare, each with the name of the agent.
fn schema_pairs(args: &Args) -> Result<Vec<(PathBuf, PathBuf, String)>> {
    let agents_in = |path: &Path| {
        Agent::ALL.into_iter().filter(|agent| path.join(agent.id()).join("schema.json").is_file()).collect::<Vec<_>>()
    };
    let (old_agents, new_agents) = (agents_in(&args.old), agents_in(&args.new));
    match (old_agents.is_empty(), new_agents.is_empty()) {
        (true, true) => {
            let named = args.agent.map(Agent::id).map(str::to_owned);
            let agent = named.or_else(|| agent_in_path(&args.new)).or_else(|| agent_in_path(&args.old));
            Ok(vec![(args.old.clone(), args.new.clone(), agent.unwrap_or_else(|| "the schema".to_owned()))])
        }
        (false, false) => {
            let is_selected = |agent: &Agent| args.agent.is_none_or(|only| only == *agent);
            let mut pairs = Vec::new();
            for agent in Agent::ALL.into_iter().filter(is_selected) {
                let name = agent.id();
                match (old_agents.contains(&agent), new_agents.contains(&agent)) {
                    (true, true) => {
                        pairs.push((args.old.join(name), args.new.join(name), name.to_owned()));
                    }
                    (true, false) => {
                        console::print(format_args!("{name} is only in {}\n", args.old.display()));
                    }
                    (false, true) => {
                        console::print(format_args!("{name} is only in {}\n", args.new.display()));
                    }
                    (false, false) => {}
                }
            }
            Ok(pairs)
        }
        _ => bail!(
            "cannot compare {} with {}: one is a folder of all agents, the other is not",
            args.old.display(),
            args.new.display()
        ),
    }
}

/// The agent whose name is a component of the path. The last such component counts.
fn agent_in_path(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let part = |part: &std::ffi::OsStr| Agent::from_id(part.to_str()?.split('.').next()?);
    path.iter().rev().find_map(part).map(|agent| agent.id().to_owned())
}

/// The report of the changes from `old` to `new`.
pub(crate) fn report(old: &Schemas, new: &Schemas, repository: &Repository) -> String {
    compare_schemas(old, new, Some(repository), false).0
}

/// The report, and the worst class in it. With `repository`, the report names the places that use a changed type, and
/// lists only the changes of types that are generated here, unless `all` is set.
fn compare_schemas(
    old: &Schemas,
    new: &Schemas,
    repository: Option<&Repository>,
    all: bool,
) -> (String, Option<ChangeClass>) {
    let scope =
        repository.and_then(|repository| Scope::read(&repository.agent_schemas(&new.agent).join("source.toml")));
    let reachable = scope.as_ref().map(|scope| scope.reachable_types([&old.model, &new.model]));
    let is_used = |type_name: &str, tag: Option<&str>| {
        let is_reachable = reachable.as_ref().is_none_or(|reachable| reachable.contains(type_name));
        let includes = |tag| scope.as_ref().is_none_or(|scope| scope.includes_member(type_name, tag));
        is_reachable && tag.is_none_or(includes)
    };
    let sent = match &scope {
        Some(scope) => scope.sent_types([&old.model, &new.model]),
        None => new.model.request_types(),
    };
    let (used, unused): (Vec<_>, Vec<_>) = compare(&old.model, &new.model, &sent)
        .into_iter()
        .partition(|change| all || is_used(&change.type_name, change.tag.as_deref()));
    let places = repository.map(|repository| Places::read(repository, old, new));
    let worst = worst(&used);
    let report = Report { old, new, used, unused, sent: &sent, places: places.as_ref() };
    (report.to_string(), worst)
}

fn worst(changes: &[Change]) -> Option<ChangeClass> {
    changes.iter().map(|change| change.class).min()
}

#[cfg(test)]
mod tests;
