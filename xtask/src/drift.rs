//! `cargo xtask drift`: what changed between two states of an agent's schema, and what that means here.

mod arms;
mod compare;
mod model;
mod reader;
mod report;
mod scope;
mod tags;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;
use serde_json::Value;

use self::arms::Arms;
use self::compare::{Change, Class, compare};
use self::model::Model;
use self::report::Report;
use self::scope::Scope;
use crate::repository::Repository;
use crate::say;
use interlingua_agents::Agent;

/// Say what changed between two schemas: breaking, additive or cosmetic
///
/// OLD and NEW are schema files, folders of one agent (agent-schemas/codex), or folders of agents (agent-schemas).
/// Each change of a type, field, tag or enum value is classed by what it means for this repository and names the
/// converter arm it touches, and for what is sent the place in the agent's driver that sends it; at the end stand the
/// union members that no converter arm handles. Changes of types that the roots in agent-schemas/<agent>/source.toml do not reach are only counted.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Classes:
  breaking  something is gone or holds something else than before; for types that we write
            also: a field became required or may no longer be null
  additive  something is new; for types that we read also: a field became required, optional
            or nullable, which the generated types do not notice
  cosmetic  descriptions, limits, order

Example, against the last commit:
  git worktree add /tmp/before HEAD && cargo xtask drift /tmp/before/agent-schemas agent-schemas

The exit code is 0 whatever changed, unless --fail-on says otherwise (it looks
at what is listed); 1 when OLD or NEW cannot be read.")]
pub(crate) struct Args {
    /// The state before
    old: PathBuf,
    /// The state after
    new: PathBuf,
    /// Exit 1 when there is a change of this class or a worse one
    #[arg(long, value_enum, value_name = "CLASS")]
    fail_on: Option<Class>,
    /// List also the changes of types that are not generated here
    #[arg(long)]
    all: bool,
    /// Whose schema it is, when neither the folder nor the file's name says so
    #[arg(long, value_parser = crate::recipes::agent_parser())]
    agent: Option<Agent>,
}

/// All schemas of one agent.
pub(crate) struct Schemas {
    agent: String,
    model: Model,
}

impl Schemas {
    /// None yet.
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), model: Model::default() }
    }

    /// Adds a schema file. The types of `exec.schema.json` are called `exec::…`.
    pub(crate) fn add(&mut self, file: &str, document: &Value) {
        self.model.add(&scope::prefix(file), document);
    }

    fn read(path: &Path, agent: &str) -> Result<Self> {
        let mut schemas = Self::new(agent);
        for file in schema_files(path)? {
            let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let document = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // A single file is compared with a single file: there is nothing to tell apart.
            schemas.add(if path.is_file() { "" } else { &name }, &document);
        }
        if schemas.model.types.is_empty() {
            bail!("{} defines no types (looked for definitions, $defs, components.schemas)", path.display());
        }
        Ok(schemas)
    }
}

/// The schema files of one agent: `path` itself, or those in the folder `path`.
fn schema_files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|file| is_schema(file)).collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no schema.json", path.display());
    }
    Ok(files)
}

fn is_schema(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.is_file() && (name == "schema.json" || name.ends_with(".schema.json"))
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let repository = Repository::find().ok();
    let mut worst = None;
    for (old, new, agent) in pairs(args)? {
        let old = Schemas::read(&old, &agent)?;
        let new = Schemas::read(&new, &agent)?;
        let (text, found) = examine(&old, &new, repository.as_ref(), args.all);
        say::result(text);
        // The worst class is the first.
        worst = [worst, found].into_iter().flatten().min();
    }
    let fails = args.fail_on.is_some_and(|limit| worst.is_some_and(|worst| worst <= limit));
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What to compare with what, and whose it is.
fn pairs(args: &Args) -> Result<Vec<(PathBuf, PathBuf, String)>> {
    let holds_agents = |path: &Path| {
        Agent::ALL.into_iter().filter(|agent| path.join(agent.id()).join("schema.json").is_file()).collect::<Vec<_>>()
    };
    let (old_agents, new_agents) = (holds_agents(&args.old), holds_agents(&args.new));
    match (old_agents.is_empty(), new_agents.is_empty()) {
        (true, true) => {
            let named = args.agent.map(Agent::id).map(str::to_owned);
            let agent = named.or_else(|| agent_of(&args.new)).or_else(|| agent_of(&args.old));
            Ok(vec![(args.old.clone(), args.new.clone(), agent.unwrap_or_else(|| "the schema".to_owned()))])
        }
        (false, false) => {
            let asked = |agent: &Agent| args.agent.is_none_or(|only| only == *agent);
            let mut pairs = Vec::new();
            for agent in Agent::ALL.into_iter().filter(asked) {
                let name = agent.id();
                match (old_agents.contains(&agent), new_agents.contains(&agent)) {
                    (true, true) => {
                        pairs.push((args.old.join(name), args.new.join(name), name.to_owned()));
                    }
                    (true, false) => {
                        say::result(format_args!("{name} is only in {}\n", args.old.display()));
                    }
                    (false, true) => {
                        say::result(format_args!("{name} is only in {}\n", args.new.display()));
                    }
                    (false, false) => {}
                }
            }
            Ok(pairs)
        }
        _ => bail!("{} and {} are not the same kind of thing", args.old.display(), args.new.display()),
    }
}

/// The agent whose name is a part of the path, the last such part.
fn agent_of(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok()?;
    let part = |part: &std::ffi::OsStr| Agent::from_id(part.to_str()?.split('.').next()?);
    path.iter().rev().find_map(part).map(|agent| agent.id().to_owned())
}

/// The report on the way from `old` to `new`.
pub(crate) fn report(old: &Schemas, new: &Schemas, repository: &Repository) -> String {
    examine(old, new, Some(repository), false).0
}

/// The report, and the worst class in it. With `repository`, it knows what of the schema is used (unless `all` of
/// it is asked for) and where.
fn examine(old: &Schemas, new: &Schemas, repository: Option<&Repository>, all: bool) -> (String, Option<Class>) {
    let scope = repository.and_then(|repository| Scope::read(&repository.schemas_of(&new.agent).join("source.toml")));
    let reached = scope.as_ref().map(|scope| scope.reached([&old.model, &new.model]));
    let is_used = |of: &str, tag: Option<&str>| {
        let reached = reached.as_ref().is_none_or(|reached| reached.contains(of));
        let takes = |tag| scope.as_ref().is_none_or(|scope| scope.takes(of, tag));
        reached && tag.is_none_or(takes)
    };
    let sent = match &scope {
        Some(scope) => scope.sent([&old.model, &new.model]),
        None => new.model.requests(),
    };
    let (used, unused): (Vec<_>, Vec<_>) = compare(&old.model, &new.model, &sent)
        .into_iter()
        .partition(|change| all || is_used(&change.of, change.tag.as_deref()));
    let arms = repository.map(|repository| Arms::read(repository, &[repository.converters()], &new.agent));
    let senders = repository.map(|repository| Arms::read(repository, &repository.senders(), &new.agent));
    let worst = worst(&used);
    let report = Report {
        old,
        new,
        used,
        unused,
        sent: &sent,
        is_used: &is_used,
        scope: scope.as_ref(),
        arms: arms.as_ref(),
        senders: senders.as_ref(),
    };
    (report.to_string(), worst)
}

fn worst(changes: &[Change]) -> Option<Class> {
    changes.iter().map(|change| change.class).min()
}

#[cfg(test)]
mod tests;
