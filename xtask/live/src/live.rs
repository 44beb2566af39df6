//! All flows on all agents that were asked for.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use interlingua_record::Target;
use interlingua_record::table::{self, Entry};
use interlingua_scripted_model::Scenario;
use serde_json::Value;

use crate::checks;
use crate::flow::{FLOWS, Flow};
use crate::leftovers;
use crate::older::{self, Difference};
use crate::player::Player;
use crate::server::Said;
use crate::settings;
use crate::stage::Stage;

/// The word for every scenario.
const ALL: &str = "all";
/// So many of a session's last events are shown when a flow fails.
const LAST: usize = 6;
/// So much of each.
const WIDTH: usize = 400;

/// Run the real agents behind the server, on a scripted model, and say what works
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// An agent as NAME@VERSION=PROGRAM; may be given several times
    #[arg(long = "agent", value_name = "AGENT", required = true)]
    agents: Vec<Target>,
    /// Only this flow, by its name or a part of it; may be given several times
    #[arg(long = "flow", value_name = "NAME")]
    only: Vec<String>,
    /// This scenario instead of the flows, or `all` of them; may be given several times
    #[arg(long = "scenario", value_name = "NAME", conflicts_with = "only")]
    names: Vec<String>,
    /// The server; the `interlingua` beside this program when not given
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// The folder with the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// A folder with programs that agents want to find
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
}

/// What became of a flow.
enum Verdict {
    Pass(Option<String>),
    NotPossible(String),
    /// This version cannot do it.
    Skipped(String),
    Failed(Failure),
}

impl Verdict {
    fn entry(&self) -> Entry {
        let (word, remark) = match self {
            Self::Pass(remark) => ("pass", remark.clone()),
            Self::NotPossible(reason) => ("", Some(format!("not possible: {reason}"))),
            Self::Skipped(reason) => ("skipped", Some(reason.clone())),
            Self::Failed(_) => ("FAILED", None),
        };
        Entry { word: word.to_owned(), remark }
    }

    /// The verdict in one line: what was not played says why.
    fn in_words(&self) -> String {
        match self {
            Self::Pass(_) => "pass".to_owned(),
            Self::NotPossible(reason) => format!("not possible: {reason}"),
            Self::Skipped(reason) => format!("skipped: {reason}"),
            Self::Failed(_) => "FAILED".to_owned(),
        }
    }
}

/// Why a flow failed.
struct Failure {
    step: String,
    reason: String,
    /// The last events of its sessions.
    events: Vec<String>,
    /// The last that the server said.
    said: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "failed {}: {}", self.step, self.reason)?;
        for (title, lines) in [("the last events", &self.events), ("the server's standard error ends", &self.said)] {
            if !lines.is_empty() {
                writeln!(f, "  {title}:")?;
            }
            for line in lines {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

/// Plays, and says what came of it.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let names = scenarios(&args.scenarios, &args.names)?;
    let flows =
        if names.is_empty() { flows(&args.only)? } else { names.iter().map(|name| Flow::of_scenario(name)).collect() };
    let server = server(args.server.as_deref())?;
    let read = |flow: &Flow<'_>| Scenario::read(&args.scenarios.join(format!("{}.toml", flow.scenario)));
    let played = flows.iter().map(read).collect::<Result<Vec<Scenario>, _>>()?;
    let mut rows: Vec<(String, Vec<Entry>)> = flows.iter().map(|flow| (flow.name.to_owned(), Vec::new())).collect();
    let mut failures = Vec::new();
    for target in &args.agents {
        for (number, ((flow, scenario), row)) in flows.iter().zip(&played).zip(&mut rows).enumerate() {
            let begin = Instant::now();
            let place = format!("[{}/{}] {} {}", number + 1, flows.len(), target.agent, flow.name);
            let verdict = verdict(args, &server, target, flow, scenario).await;
            let entry = verdict.entry();
            eprintln!("{place}: {} ({:.1} s)", verdict.in_words(), begin.elapsed().as_secs_f32());
            if let Verdict::Failed(failure) = &verdict {
                failures.push(format!("{} {} {failure}", target.agent, flow.name));
            }
            row.1.push(entry);
        }
    }
    let agents: Vec<String> = args.agents.iter().map(|target| format!("{}@{}", target.agent, target.version)).collect();
    let told = std::iter::once(table::render("flow", &agents, &rows)).chain(failures.iter().cloned());
    // Nobody may read it any more, as in `… | head`.
    let _ = std::io::stdout().write_all(told.collect::<Vec<_>>().join("\n").as_bytes());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The flows that were asked for.
fn flows(only: &[String]) -> Result<Vec<Flow<'static>>> {
    let is_meant = |flow: &Flow<'_>| only.is_empty() || only.iter().any(|part| flow.name.contains(part.as_str()));
    let known = || FLOWS.iter().map(|flow| flow.name).collect::<Vec<_>>().join(", ");
    if let Some(strange) = only.iter().find(|part| !FLOWS.iter().any(|flow| flow.name.contains(part.as_str()))) {
        bail!("there is no flow {strange:?}; there are {}", known());
    }
    Ok(FLOWS.into_iter().filter(is_meant).collect())
}

/// The scenarios that were asked for.
fn scenarios(folder: &Path, wanted: &[String]) -> Result<Vec<String>> {
    if !wanted.iter().any(|name| name == ALL) {
        return Ok(wanted.to_vec());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let scenarios = files.filter(|file| file.extension().is_some_and(|kind| kind == "toml"));
    let mut names: Vec<String> =
        scenarios.filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

fn server(given: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell which program this is")?;
    let program = given.map_or_else(|| own.with_file_name("interlingua"), Path::to_owned);
    if !program.is_file() {
        bail!("there is no server {}: build it with `cargo build`, or name it with --server", program.display());
    }
    Ok(program)
}

async fn verdict(args: &Args, server: &Path, target: &Target, flow: &Flow<'_>, scenario: &Scenario) -> Verdict {
    if let Some(reason) = flow.impossible(target.agent, scenario) {
        return Verdict::NotPossible(reason);
    }
    let older = older::difference(target.agent, &target.version, flow.scenario);
    if let Some(older) = older.filter(|older| older.difference == Difference::Skipped) {
        return Verdict::Skipped(older.reason.to_owned());
    }
    let scenario = settings::scenario(target.agent, scenario.clone());
    let said = Said::default();
    let mut step = "at the start of the server".to_owned();
    let mut stage = match Stage::set(target, &scenario, server, args.tools.as_deref(), &said).await {
        Ok(stage) => stage,
        Err(error) => {
            let failure = Failure { step, reason: format!("{error:#}"), events: Vec::new(), said: said.lines() };
            return Verdict::Failed(failure);
        }
    };
    let mut outcome = played(flow, &mut stage, &mut step, older.is_none()).await;
    // What the model could not do is why the rest went wrong.
    let problems = stage.model.report().problems;
    if !problems.is_empty() {
        outcome = Err(anyhow::anyhow!("{}", problems.join("; ")));
    }
    let events = last_events(&stage);
    let struck = stage.strike().await;
    if outcome.is_ok() && struck.is_err() {
        "at the end of the server".clone_into(&mut step);
        outcome = struck;
    }
    match outcome {
        Ok(()) => {
            let remarks = flow.remark(target.agent).into_iter().chain(older.map(|older| older.reason.to_owned()));
            let remarks: Vec<String> = remarks.collect();
            Verdict::Pass((!remarks.is_empty()).then(|| remarks.join("; ")))
        }
        Err(error) => Verdict::Failed(Failure { step, reason: format!("{error:#}"), events, said: said.lines() }),
    }
}

async fn played(flow: &Flow<'_>, stage: &mut Stage<'_>, step: &mut String, has_trace: bool) -> Result<()> {
    Player::new(stage, step).play().await?;
    "after the last turn".clone_into(step);
    leftovers::no_command().await?;
    "at the end of the sessions".clone_into(step);
    stage.end_sessions().await?;
    "in what came of it".clone_into(step);
    checks::always(flow, stage)?;
    if has_trace {
        checks::traces(flow, stage)?;
    }
    flow.check(stage)
}

fn last_events(stage: &Stage<'_>) -> Vec<String> {
    let last = stage.sessions.values().flat_map(|session| session.lines.iter().rev().take(LAST).rev());
    last.flat_map(|line| shown(line)).collect()
}

/// An event without its envelope, and below it what the agent said.
fn shown(event: &str) -> Vec<String> {
    let Ok(event) = serde_json::from_str::<Value>(event) else { return vec![shortened(event)] };
    let kind = event["type"].as_str().unwrap_or_default();
    let own = shortened(&format!("{} {kind} {}", event["sequence"], event["data"]));
    let raw = Some(&event["raw"]).filter(|raw| !raw.is_null()).map(|raw| shortened(&format!("  raw {raw}")));
    std::iter::once(own).chain(raw).collect()
}

fn shortened(text: &str) -> String {
    text.chars().take(WIDTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_found_by_a_part_of_its_name() {
        let names = |only: &str| flows(&[only.to_owned()]).unwrap().iter().map(|flow| flow.name).collect::<Vec<_>>();
        assert_eq!(names("permission"), ["permission allowed", "permission denied"]);
        assert_eq!(flows(&[]).unwrap().len(), FLOWS.len());
        let error = flows(&["dance".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("there are chat, command"), "{error}");
    }

    #[test]
    fn an_event_is_shown_without_its_envelope() {
        let line = r#"{"event_id":"e","sequence":7,"type":"error","data":{"message":"no"},"raw":{"a":1}}"#;
        assert_eq!(shown(line), [r#"7 error {"message":"no"}"#, r#"  raw {"a":1}"#]);
        assert_eq!(shown(r#"{"sequence":8,"type":"error","data":{},"raw":null}"#), ["8 error {}"]);
    }

    #[test]
    fn a_failure_says_where_why_and_what_was_last_said() {
        let failure = Failure {
            step: "in turn 1".to_owned(),
            reason: "nothing happened".to_owned(),
            events: vec!["{}".to_owned()],
            said: Vec::new(),
        };
        assert_eq!(failure.to_string(), "failed in turn 1: nothing happened\n  the last events:\n    {}\n");
    }
}
