//! All scenarios on all agents that were asked for.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use interlingua_record::Target;
use interlingua_recordings::Transcripts;
use interlingua_scripted_model::Scenario;

use crate::cell::Cell;
use crate::changes::Changes;
use crate::play;
use crate::shape::Shape;
use crate::shelf::Shelf;
use crate::stream::Stream;
use crate::table::{self, Entry};

/// Play scenarios on real agents and record what they say
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// An agent as NAME@VERSION=PROGRAM; may be given several times
    #[arg(long = "agent", value_name = "AGENT", value_parser = target, required = true)]
    agents: Vec<Target>,
    /// Only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "NAME")]
    only: Vec<String>,
    /// Say what differs from the recordings of this version instead of the last ones
    #[arg(long, value_name = "V")]
    against: Option<String>,
    /// The folder with the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// The folder with the recordings
    #[arg(long, value_name = "DIR", default_value = "snapshots/transcripts")]
    transcripts: PathBuf,
    /// A folder with programs that agents want to find
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
}

fn target(text: &str) -> Result<Target, String> {
    let target: Target = text.parse()?;
    let descriptor = target.agent.descriptor();
    if !descriptor.has_custom_model {
        let name = descriptor.display_name;
        return Err(format!("{name}'s model runs on its own server, so it cannot be recorded with a scripted one"));
    }
    Ok(target)
}

/// Records, and says what came of it.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let scenarios = scenarios(&args.scenarios, &args.only)?;
    let shelf = Shelf(Transcripts::new(&args.transcripts));
    let mut rows: Vec<(String, Vec<Entry>)> =
        scenarios.iter().map(|scenario| (scenario.name.clone(), Vec::new())).collect();
    let mut failures = Vec::new();
    let mut reports = Vec::new();
    for target in &args.agents {
        let mut recorder = Recorder { args, target, shelf: &shelf, compared: BTreeMap::new(), unsteady: Vec::new() };
        for (number, (scenario, row)) in scenarios.iter().zip(&mut rows).enumerate() {
            if let Some(reason) = scenario.unsupported.get(target.agent.id()) {
                row.1.push(Cell::Absent(reason.clone()).entry());
                continue;
            }
            let begin = Instant::now();
            let place = format!("[{}/{}] {} {}", number + 1, scenarios.len(), target.agent, scenario.name);
            let cell = match recorder.record(scenario).await {
                Ok(cell) => {
                    eprintln!("{place}: {} ({:.1} s)", cell.entry().word, begin.elapsed().as_secs_f32());
                    cell
                }
                Err(failure) => {
                    eprintln!("{place}: FAILED ({:.1} s)", begin.elapsed().as_secs_f32());
                    failures.push(format!("{} {} {failure}", target.agent, scenario.name));
                    Cell::Failed
                }
            };
            row.1.push(cell.entry());
        }
        reports.extend(recorder.reports()?);
        failures.extend(recorder.unsteady);
    }
    let agents: Vec<String> = args.agents.iter().map(|target| format!("{}@{}", target.agent, target.version)).collect();
    let told =
        std::iter::once(table::render("scenario", &agents, &rows)).chain(reports).chain(failures.iter().cloned());
    // Nobody may read it any more, as in `… | head`; the recordings are there all the same.
    let _ = std::io::stdout().write_all(told.collect::<Vec<_>>().join("\n").as_bytes());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The scenarios in the folder, by name, or those that were asked for.
fn scenarios(folder: &Path, only: &[String]) -> Result<Vec<Scenario>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|kind| kind == "toml"))
        .collect();
    files.sort();
    let mut scenarios = Vec::new();
    for file in files {
        scenarios.push(Scenario::read(&file)?);
    }
    for name in only {
        if !scenarios.iter().any(|scenario| scenario.name == *name) {
            let known: Vec<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
            bail!("{} has no scenario {name:?}; it has {}", folder.display(), known.join(", "));
        }
    }
    if !only.is_empty() {
        scenarios.retain(|scenario| only.contains(&scenario.name));
    }
    Ok(scenarios)
}

/// Records the scenarios of one agent.
struct Recorder<'a> {
    args: &'a Args,
    target: &'a Target,
    shelf: &'a Shelf,
    /// The versions that the recordings are compared with, and what is different.
    compared: BTreeMap<String, Changes>,
    /// The scenarios whose stream differs from that of the recording which is kept.
    unsteady: Vec<String>,
}

impl Recorder<'_> {
    async fn record(&mut self, scenario: &Scenario) -> Result<Cell, play::Failure> {
        let Target { agent, version, .. } = self.target;
        let recording = play::play(self.target, scenario, self.args.tools.as_deref()).await?;
        let before = self.baseline(scenario);
        let wrong = |error: anyhow::Error| play::Failure::of_keeping(&error);
        if let Some((base, _)) = &before {
            // Before anything is replaced.
            self.meet(base).map_err(wrong)?;
        }
        let cell = self.shelf.keep(*agent, version, &scenario.name, &recording).map_err(wrong)?;
        let cell = if cell == Cell::Same { self.steady(scenario, &recording).map_err(wrong)? } else { cell };
        if let Some((base, before)) = before {
            // What has the same form is the same, whatever came a little earlier or later this time: the recording that
            // is kept is what every report speaks of.
            let kept = if cell.is_kept() { self.shelf.get(*agent, version, &scenario.name) } else { None };
            let now = kept.as_ref().unwrap_or(&recording);
            self.compare(&base, scenario, &before, now).map_err(wrong)?;
        }
        Ok(cell)
    }

    /// Makes sure that a recording which is not kept, because it has the form of the one that is, also becomes the same
    /// universal stream.
    fn steady(&mut self, scenario: &Scenario, recording: &[u8]) -> Result<Cell> {
        let Target { agent, version, .. } = self.target;
        let kept = self.shelf.get(*agent, version, &scenario.name).context("the recording is gone")?;
        match Stream::of(*agent, &kept)?.difference(&Stream::of(*agent, recording)?) {
            None => Ok(Cell::Same),
            Some(difference) => {
                let name = &scenario.name;
                self.unsteady.push(format!("{agent} {name} has the same form, but another stream: {difference}\n"));
                Ok(Cell::Unsteady)
            }
        }
    }

    /// The last recording of a scenario and its version: of the same version, else of the newest other.
    fn baseline(&self, scenario: &Scenario) -> Option<(String, Vec<u8>)> {
        let Target { agent, version, .. } = self.target;
        let get = |version: &str| Some((version.to_owned(), self.shelf.get(*agent, version, &scenario.name)?));
        match &self.args.against {
            Some(other) => get(other),
            None => get(version).or_else(|| get(&self.shelf.newest_other(*agent, version, &scenario.name)?)),
        }
    }

    /// Gets ready to compare with the recordings of a version.
    fn meet(&mut self, base: &str) -> Result<()> {
        if !self.compared.contains_key(base) {
            let known = self.shelf.kinds(self.target.agent, base)?;
            self.compared.insert(base.to_owned(), Changes::to(known));
        }
        Ok(())
    }

    fn compare(&mut self, base: &str, scenario: &Scenario, before: &[u8], now: &[u8]) -> Result<()> {
        let agent = self.target.agent;
        let (before, now) = (Shape::of(agent, before)?, Shape::of(agent, now)?);
        if let Some(changes) = self.compared.get_mut(base) {
            changes.compare(&scenario.name, &before, &now);
        }
        Ok(())
    }

    fn reports(&self) -> Result<Vec<String>> {
        let Target { agent, version, .. } = self.target;
        let known = self.shelf.kinds(*agent, version)?;
        let reports = self.compared.iter().map(|(base, changes)| {
            let report = changes.report(&known);
            match (base == version, report.is_empty()) {
                (true, true) => format!("{agent} {version}: nothing differs from the last recordings\n"),
                (true, false) => format!("{agent} {version}, last recordings → now:\n{report}"),
                (false, true) => format!("{agent} {base} → {version}: nothing differs\n"),
                (false, false) => format!("{agent} {base} → {version}:\n{report}"),
            }
        });
        Ok(reports.collect())
    }
}

#[cfg(test)]
mod tests {
    use interlingua_agents::Agent;
    use interlingua_scripted_model::supported_agents;

    use super::*;

    #[test]
    fn there_are_enough_scenarios_for_every_agent_and_a_reason_where_one_is_missing() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let scenarios = scenarios(&folder, &[]).unwrap();
        assert!(scenarios.len() >= 30, "{}", scenarios.len());
        for agent in supported_agents() {
            let played = scenarios.iter().filter(|scenario| !scenario.unsupported.contains_key(agent.id())).count();
            assert!(played >= 24, "{agent}: {played}");
        }
        for scenario in &scenarios {
            for (agent, reason) in &scenario.unsupported {
                assert!(agent.parse::<Agent>().is_ok(), "{}: {agent}", scenario.name);
                assert!(reason.len() > 10, "{}: {reason}", scenario.name);
            }
        }
    }

    #[test]
    fn a_scenario_that_is_not_there_is_told_with_those_that_are() {
        let folder = tempfile::tempdir().unwrap();
        let text = "about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = []\n";
        std::fs::write(folder.path().join("greeting.toml"), text).unwrap();
        let error = scenarios(folder.path(), &["farewell".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("has no scenario \"farewell\"; it has greeting"), "{error}");
    }

    #[test]
    fn an_agent_is_named_with_its_version_and_its_program() {
        let codex = target("codex@0.166.0=/opt/codex").unwrap();
        assert_eq!((codex.agent, codex.version.as_str()), (Agent::Codex, "0.166.0"));
        assert!(target("codex=/opt/codex").unwrap_err().contains("NAME@VERSION=PROGRAM"));
        assert!(target("amp@1=/opt/amp").unwrap_err().contains("its own server"));
    }
}
