//! Records the selected scenarios on the selected agents.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use interlingua_record::InstalledAgent;
use interlingua_recordings::Transcripts;
use interlingua_scripted_model::Scenario;

use crate::changes::Changes;
use crate::normal_stream::NormalStream;
use crate::outcome::RecordingOutcome;
use crate::recorded_versions::RecordedVersions;
use crate::scenario_runner::{Failure, record_scenario};
use crate::shape::Shape;
use crate::table::{self, Cell};

/// Play scenarios on real agents and record what crosses the wire
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// An agent as NAME@VERSION=PROGRAM; may be given several times
    #[arg(long = "agent", value_name = "AGENT", value_parser = parse_agent, required = true)]
    agents: Vec<InstalledAgent>,
    /// Only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "NAME")]
    only: Vec<String>,
    /// Compare with the recordings of this version instead of the last ones
    #[arg(long, value_name = "V")]
    against: Option<String>,
    /// Folder with the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// Folder with the recordings
    #[arg(long, value_name = "DIR", default_value = "snapshots/transcripts")]
    transcripts: PathBuf,
    /// Folder with additional programs for the agents' PATH
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
}

fn parse_agent(text: &str) -> Result<InstalledAgent, String> {
    let agent: InstalledAgent = text.parse()?;
    let descriptor = agent.agent.descriptor();
    if !descriptor.has_custom_model {
        let name = descriptor.display_name;
        return Err(format!(
            "{name} cannot be recorded with a scripted model, because its model runs on its own server"
        ));
    }
    Ok(agent)
}

/// Records the scenarios, and prints the table, the reports and the failures.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let scenarios = read_scenarios(&args.scenarios, &args.only)?;
    let versions = RecordedVersions(Transcripts::new(&args.transcripts));
    let mut rows: Vec<(String, Vec<Cell>)> =
        scenarios.iter().map(|scenario| (scenario.name.clone(), Vec::new())).collect();
    let mut failures = Vec::new();
    let mut reports = Vec::new();
    for agent in &args.agents {
        let mut recorder =
            Recorder { args, agent, versions: &versions, comparisons: BTreeMap::new(), unstable: Vec::new() };
        for (number, (scenario, row)) in scenarios.iter().zip(&mut rows).enumerate() {
            if let Some(reason) = scenario.unsupported_reason(agent.agent.id(), &agent.version) {
                row.1.push(RecordingOutcome::Unsupported(reason.to_owned()).cell());
                continue;
            }
            let start = Instant::now();
            let name = format!("[{}/{}] {} {}", number + 1, scenarios.len(), agent.agent, scenario.name);
            let outcome = match recorder.record(scenario).await {
                Ok(outcome) => outcome,
                Err(failure) => {
                    failures.push(format!("{} {} {failure}", agent.agent, scenario.name));
                    RecordingOutcome::Failed
                }
            };
            let cell = outcome.cell();
            eprintln!("{name}: {} ({:.1} s)", cell.text, start.elapsed().as_secs_f32());
            row.1.push(cell);
        }
        reports.extend(recorder.reports()?);
        failures.extend(recorder.unstable);
    }
    let agents: Vec<String> = args.agents.iter().map(|agent| format!("{}@{}", agent.agent, agent.version)).collect();
    let output =
        std::iter::once(table::render("scenario", &agents, &rows)).chain(reports).chain(failures.iter().cloned());
    // Fails if the reader has closed the pipe, as in `… | head`. The recordings are written anyway.
    let _ = std::io::stdout().write_all(output.collect::<Vec<_>>().join("\n").as_bytes());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads the scenarios in a folder, sorted by name. If `only` is not empty, reads only those.
fn read_scenarios(folder: &Path, only: &[String]) -> Result<Vec<Scenario>> {
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
            bail!("{} has no scenario {name:?}; its scenarios are {}", folder.display(), known.join(", "));
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
    agent: &'a InstalledAgent,
    versions: &'a RecordedVersions,
    /// Versions that the recordings are compared with, and the differences.
    comparisons: BTreeMap<String, Changes>,
    /// Descriptions of unstable scenarios: their new stream differs from that of the recording that is kept.
    unstable: Vec<String>,
}

impl Recorder<'_> {
    async fn record(&mut self, scenario: &Scenario) -> Result<RecordingOutcome, Failure> {
        let InstalledAgent { agent, version, .. } = self.agent;
        let recording = record_scenario(self.agent, scenario, self.args.tools.as_deref()).await?;
        let before = self.find_baseline(scenario);
        let failed = |error: anyhow::Error| Failure::after_play(&error);
        if let Some((base, _)) = &before {
            // Must come before a recording of that version is replaced.
            self.start_comparison(base).map_err(failed)?;
        }
        let mut outcome = self.versions.save(*agent, version, &scenario.name, &recording).map_err(failed)?;
        if outcome == RecordingOutcome::Same {
            outcome = self.check_stream(scenario, &recording).map_err(failed)?;
        }
        if let Some((base, before)) = before {
            // Recordings with the same normal form are equal, even if some messages came a little earlier or later. All
            // reports are about the recording that is kept.
            let kept = if outcome.is_kept() { self.versions.read(*agent, version, &scenario.name) } else { None };
            let now = kept.as_ref().unwrap_or(&recording);
            self.compare(&base, scenario, &before, now).map_err(failed)?;
        }
        Ok(outcome)
    }

    /// Checks that a recording with the normal form of the existing one also converts to the same universal stream.
    fn check_stream(&mut self, scenario: &Scenario, recording: &[u8]) -> Result<RecordingOutcome> {
        let InstalledAgent { agent, version, .. } = self.agent;
        let kept = self.versions.read(*agent, version, &scenario.name).context("the recording no longer exists")?;
        match NormalStream::new(*agent, &kept)?.difference(&NormalStream::new(*agent, recording)?) {
            None => Ok(RecordingOutcome::Same),
            Some(difference) => {
                let name = &scenario.name;
                self.unstable
                    .push(format!("{agent} {name} has the same normal form, but a different stream: {difference}\n"));
                Ok(RecordingOutcome::Unstable)
            }
        }
    }

    /// The recording to compare with, and its version: of the same version, else of the newest other.
    fn find_baseline(&self, scenario: &Scenario) -> Option<(String, Vec<u8>)> {
        let InstalledAgent { agent, version, .. } = self.agent;
        let read = |version: &str| Some((version.to_owned(), self.versions.read(*agent, version, &scenario.name)?));
        match &self.args.against {
            Some(other) => read(other),
            None => read(version).or_else(|| read(&self.versions.newest_other(*agent, version, &scenario.name)?)),
        }
    }

    /// Starts the comparison with a version, unless it has been started.
    fn start_comparison(&mut self, base: &str) -> Result<()> {
        if !self.comparisons.contains_key(base) {
            let kinds = self.versions.message_kinds(self.agent.agent, base)?;
            self.comparisons.insert(base.to_owned(), Changes::new(kinds));
        }
        Ok(())
    }

    fn compare(&mut self, base: &str, scenario: &Scenario, before: &[u8], now: &[u8]) -> Result<()> {
        let agent = self.agent.agent;
        let (before, now) = (Shape::new(agent, before)?, Shape::new(agent, now)?);
        if let Some(changes) = self.comparisons.get_mut(base) {
            changes.compare(&scenario.name, &before, &now);
        }
        Ok(())
    }

    fn reports(&self) -> Result<Vec<String>> {
        let InstalledAgent { agent, version, .. } = self.agent;
        let kinds = self.versions.message_kinds(*agent, version)?;
        let reports = self.comparisons.iter().map(|(base, changes)| {
            let report = changes.report(&kinds);
            match (base == version, report.is_empty()) {
                (true, true) => format!("{agent} {version}: no differences to the last recordings\n"),
                (true, false) => format!("{agent} {version}, last recordings → now:\n{report}"),
                (false, true) => format!("{agent} {base} → {version}: no differences\n"),
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

    /// Newer than every version.
    const NEWEST: &str = "999.0.0";

    #[test]
    fn every_agent_has_enough_scenarios_and_a_reason_for_each_unsupported_one() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let scenarios = read_scenarios(&folder, &[]).unwrap();
        assert!(scenarios.len() >= 30, "{}", scenarios.len());
        for agent in supported_agents() {
            let is_supported = |scenario: &&Scenario| scenario.unsupported_reason(agent.id(), NEWEST).is_none();
            let supported = scenarios.iter().filter(is_supported).count();
            assert!(supported >= 24, "{agent}: {supported}");
        }
        for scenario in &scenarios {
            for entry in &scenario.unsupported {
                assert!(entry.agent.parse::<Agent>().is_ok(), "{}: {}", scenario.name, entry.agent);
                assert!(entry.reason.len() > 10, "{}: {}", scenario.name, entry.reason);
            }
        }
    }

    /// A recording of an older version shows how the agent has changed only if its absence has a reason.
    #[test]
    fn every_version_has_a_recording_of_every_scenario_or_a_reason_for_its_absence() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scenarios = read_scenarios(&root.join("scenarios"), &[]).unwrap();
        let mut versions = 0;
        for agent in supported_agents() {
            let folder = root.join("snapshots/transcripts/recorded").join(agent.id());
            for version in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                versions += 1;
                let name = version.file_name().unwrap().to_string_lossy().into_owned();
                for scenario in &scenarios {
                    let is_recorded = version.join(format!("{}.jsonl", scenario.name)).is_file();
                    let reason = scenario.unsupported_reason(agent.id(), &name);
                    let place = format!("{agent} {name} {}", scenario.name);
                    assert!(is_recorded || reason.is_some(), "{place}: record it, or say why not in [absent]");
                    assert!(!is_recorded || reason.is_none(), "{place} is recorded, but [absent] says: {reason:?}");
                }
            }
        }
        assert!(versions >= 5, "{versions}");
    }

    #[test]
    fn the_error_for_an_unknown_scenario_lists_the_known_ones() {
        let folder = tempfile::tempdir().unwrap();
        let text = "about = \"x\"\n[[turn]]\nuser = \"Hello\"\nmodel = []\n";
        std::fs::write(folder.path().join("greeting.toml"), text).unwrap();
        let error = read_scenarios(folder.path(), &["farewell".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("has no scenario \"farewell\"; its scenarios are greeting"), "{error}");
    }

    #[test]
    fn an_agent_is_given_with_its_version_and_its_program() {
        let codex = parse_agent("codex@0.166.0=/opt/codex").unwrap();
        assert_eq!((codex.agent, codex.version.as_str()), (Agent::Codex, "0.166.0"));
        assert!(parse_agent("codex=/opt/codex").unwrap_err().contains("NAME@VERSION=PROGRAM"));
        assert!(parse_agent("amp@1=/opt/amp").unwrap_err().contains("its own server"));
    }
}
