//! `cargo xtask update`: moves an agent to another version, as far as that needs no judgement.
//!
//! The steps are the commands of docs/agent-updated.md. Each runs even if an earlier one has found something for a
//! person, unless it cannot: without a build there is nothing to record or test. The report lists everything that needs
//! a person, with file and line, and contains the drift report. It is the text of the pull request that
//! `.github/workflows/drift.yml` opens.

mod build;
mod notice;
mod snapshots;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Args as ClapArgs;
use interlingua_agents::Agent;

use crate::agent_install::VersionArgs;
use crate::pins::{self, VersionRequest};
use crate::recipes::recipe;
use crate::repository::Repository;
use crate::source_toml::SourceFile;
use crate::{EXIT_NOT_DONE, atomic_write, console, refresh};

/// Move an agent to another version, as far as that needs no judgement
///
/// Pulls the schema, updates the versions in NOTICE, checks that the workspace compiles, records all scenarios with the
/// real agent, writes the generated files, runs the tests, and accepts snapshots of new recordings and additions to the
/// generated API. Then it lists what needs a person, with file and line: a new variant without a converter arm, a test
/// that fails, a snapshot that differs. Run it again after that; finished steps change nothing.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask update codex --latest            the newest version
  cargo xtask update codex --version 0.169.0   this version
  cargo xtask update codex                     the pinned version again, after something was fixed by hand
  cargo xtask update codex --latest --check    only report what the newest version would change

The version of Claude Code and Amp is that of the package with their declarations, such as
@anthropic-ai/claude-agent-sdk 0.3.326 for Claude Code 2.1.326. --latest also moves the other packages
that the schema needs.
Exit codes: 0 nothing is left to do; 1 something needs a person, or with --check, something would
change; 2 the update could not be carried out, for example because the registry cannot be reached.")]
pub(crate) struct Args {
    /// The agent
    #[arg(value_parser = crate::recipes::agent_parser(), value_name = "AGENT")]
    agent: Agent,
    #[command(flatten)]
    version: VersionArgs,
    /// Write nothing; report what would change
    #[arg(long)]
    check: bool,
    /// Also write the report to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Folder of the cache of installed packages
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

/// Something that needs a person.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// `file:line`, or only the file or the name of a test.
    place: String,
    what: String,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let update = match Update::prepare(args) {
        Ok(update) => update,
        Err(error) => {
            console::log(format_args!("error: {error:#}"));
            return Ok(ExitCode::from(EXIT_NOT_DONE));
        }
    };
    if args.check {
        return update.check();
    }
    update.run()
}

/// An update of one agent.
struct Update<'a> {
    args: &'a Args,
    repository: Repository,
    /// Arguments of `refresh-schemas` that select the version.
    version_arguments: Vec<String>,
    /// Version of the agent before the update.
    before: String,
}

/// Output of a step.
struct StepOutput {
    code: Option<i32>,
    text: String,
}

impl StepOutput {
    fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// Whether the step could not be carried out, for example without a network.
    fn is_not_done(&self) -> bool {
        self.code == Some(i32::from(EXIT_NOT_DONE))
    }
}

impl<'a> Update<'a> {
    /// Finds the version to move to.
    fn prepare(args: &'a Args) -> Result<Self> {
        let repository = Repository::find()?;
        let request = args.version.request("update", &[args.agent])?;
        let version_arguments = match request {
            VersionRequest::Exact(version) => vec!["--version".to_owned(), pins::exact_version(version)?],
            VersionRequest::Latest => vec!["--latest".to_owned()],
            VersionRequest::Pinned => Vec::new(),
        };
        let before = described_version(&repository, args.agent)?;
        Ok(Self { args, repository, version_arguments, before })
    }

    fn refresh(&self, flags: &[&str]) -> Result<StepOutput> {
        let agent = self.args.agent.id();
        let version = self.version_arguments.iter().map(String::as_str);
        self.run_task(
            &["refresh-schemas", agent].into_iter().chain(version).chain(flags.iter().copied()).collect::<Vec<_>>(),
        )
    }

    /// Reports what the version would change. Writes only the report.
    fn check(&self) -> Result<ExitCode> {
        let drift = self.refresh(&["--check"])?;
        if !drift.succeeded() && !drift.text.contains(refresh::STALE) {
            return Ok(ExitCode::from(EXIT_NOT_DONE));
        }
        self.write_report(&self.before, &drift.text, None)?;
        Ok(if drift.succeeded() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn run(&self) -> Result<ExitCode> {
        let agent = self.args.agent;
        let drift = self.refresh(&[])?;
        if !drift.succeeded() {
            console::log(format_args!("error: the schema of {agent} was not pulled; nothing has changed"));
            return Ok(ExitCode::from(EXIT_NOT_DONE));
        }
        if self.args.version.is_latest() && !drift.text.contains(refresh::WROTE) {
            console::print(format_args!(
                "{agent} {} is the newest version; `cargo xtask update {agent}` goes on with an update that needed a person\n",
                self.before
            ));
            return Ok(ExitCode::SUCCESS);
        }
        self.update_notice()?;
        let mut findings = build::check(&self.repository)?;
        // Without a build, nothing can be recorded, generated or tested.
        if findings.is_empty() {
            let recorded = self.run_task(&["record", agent.id()])?;
            if recorded.is_not_done() {
                let command = format!("cargo xtask update {agent}");
                console::log(format_args!("error: {agent} was not recorded; run `{command}` when the network is back"));
                return Ok(ExitCode::from(EXIT_NOT_DONE));
            }
            findings.extend(recording_finding(&recorded));
            findings.extend(self.generate()?);
            findings.extend(snapshots::test_and_accept(&self.repository, agent)?);
        }
        findings.sort();
        findings.dedup();
        let after = described_version(&self.repository, agent)?;
        self.write_report(&after, &drift.text, Some(&findings))?;
        Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn update_notice(&self) -> Result<()> {
        let path = self.repository.root().join("NOTICE");
        let text = std::fs::read_to_string(&path).context("cannot read NOTICE")?;
        let source = SourceFile::read(&self.repository.agent_schemas(self.args.agent.id()).join("source.toml"))?;
        let described = source.described_agent.clone();
        let packages: Vec<_> = source.pins.into_iter().chain(described).collect();
        let new = notice::with_versions(&text, recipe(self.args.agent).main_package().name, &packages);
        if new != text {
            atomic_write::write_files([(path.as_path(), new.as_str())])?;
            console::log(format_args!("wrote NOTICE"));
        }
        Ok(())
    }

    fn generate(&self) -> Result<Option<Finding>> {
        let generated = self.run_task(&["generate"])?;
        let what = last_error(&generated.text);
        Ok((!generated.succeeded()).then_some(Finding { place: "cargo xtask generate".to_owned(), what }))
    }

    /// Runs another task of this program. Its output is shown and returned.
    fn run_task(&self, arguments: &[&str]) -> Result<StepOutput> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.repository.root());
        if let (Some(folder), Some("refresh-schemas" | "record")) = (&self.args.cache_dir, arguments.first().copied()) {
            command.arg("--cache-dir").arg(folder);
        }
        run_step(&format!("cargo xtask {}", arguments.join(" ")), command)
    }

    /// Prints the report, and writes it to the file of `--report`. `after` is the version of the agent now.
    fn write_report(&self, after: &str, drift: &str, findings: Option<&[Finding]>) -> Result<()> {
        let report = render_report(self.args.agent, &self.before, after, drift, findings);
        console::print(&report);
        if let Some(path) = &self.args.report {
            std::fs::write(path, &report).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// The version of an agent whose wire the schema describes.
fn described_version(repository: &Repository, agent: Agent) -> Result<String> {
    let source = SourceFile::read(&repository.agent_schemas(agent.id()).join("source.toml"))?;
    let described = source.described_agent.map(|(_, version)| version).or(source.version);
    described.with_context(|| format!("agent-schemas/{}/source.toml has no version", agent.id()))
}

fn recording_finding(recorded: &StepOutput) -> Option<Finding> {
    let what = "a scenario could not be recorded, or its stream differs; see the output above".to_owned();
    (!recorded.succeeded()).then(|| Finding { place: "cargo xtask record".to_owned(), what })
}

/// Runs the command of a step. Prints its name, its time and its standard output, which is also returned.
fn run_step(name: &str, mut command: Command) -> Result<StepOutput> {
    console::log(format_args!("==> {name}"));
    let started = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    console::log(format_args!("    {} s", started.elapsed().as_secs()));
    Ok(StepOutput { code: output.status.code(), text })
}

/// The last line of an output, which says why a step failed.
fn last_error(text: &str) -> String {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed; see the output above").to_owned()
}

/// Renders the report. Without `findings`, only the drift is known.
fn render_report(agent: Agent, pinned: &str, version: &str, drift: &str, findings: Option<&[Finding]>) -> String {
    let mut report = String::new();
    let from = if pinned == version { version.to_owned() } else { format!("{pinned} → {version}") };
    let _ = writeln!(report, "# {} {from}\n", agent.descriptor().display_name);
    match findings {
        None => {}
        Some([]) => report.push_str("Nothing needs a person.\n\n"),
        Some(findings) => {
            report.push_str("## Needs a person\n\n");
            for Finding { place, what } in findings {
                let _ = writeln!(report, "- [ ] `{place}`: {what}");
            }
            report.push('\n');
        }
    }
    let _ = writeln!(report, "## Schema\n\n```text\n{}\n```", drift.trim_end());
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_lists_what_needs_a_person_before_the_drift() {
        let finding = Finding { place: "a.rs:3".to_owned(), what: "non-exhaustive patterns".to_owned() };
        let report = render_report(Agent::Codex, "1.0.0", "1.1.0", "additive: x\n", Some(&[finding]));
        let expected = "# Codex 1.0.0 → 1.1.0\n\n## Needs a person\n\n- [ ] `a.rs:3`: non-exhaustive patterns\n\n\
                        ## Schema\n\n```text\nadditive: x\n```\n";
        assert_eq!(report, expected);
        assert!(render_report(Agent::Codex, "1.0.0", "1.0.0", "", Some(&[])).contains("Nothing needs a person."));
        assert!(!render_report(Agent::Codex, "1.0.0", "1.0.0", "", None).contains("person"));
    }
}
