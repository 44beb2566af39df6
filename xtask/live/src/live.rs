//! Runs the selected flows on the selected agents.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use interlingua_record::InstalledAgent;
use interlingua_record::table::{self, Cell};
use interlingua_scripted_model::Scenario;
use serde_json::Value;

use crate::checks;
use crate::flow::{FLOWS, Flow};
use crate::leftover_processes;
use crate::older_versions;
use crate::scenario_runner::ScenarioRunner;
use crate::server::ServerLog;
use crate::settings;
use crate::test_environment::TestEnvironment;

/// Name that selects every scenario.
const ALL: &str = "all";
/// Number of each session's last events in the report of a failure.
const MAX_SHOWN_EVENTS: usize = 6;
/// Maximum length of such an event in characters.
const MAX_SHOWN_CHARS: usize = 400;

/// Run the real agents behind the server, with a scripted model, and report what works
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// An agent as NAME@VERSION=PROGRAM; may be given several times
    #[arg(long = "agent", value_name = "AGENT", required = true)]
    agents: Vec<InstalledAgent>,
    /// Only the flows whose names contain this; may be given several times
    #[arg(long = "flow", value_name = "NAME")]
    only: Vec<String>,
    /// Play this scenario instead of the flows, or `all` scenarios; may be given several times
    #[arg(long = "scenario", value_name = "NAME", conflicts_with = "only")]
    names: Vec<String>,
    /// Program of the server; by default the `interlingua` beside this program
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Folder with the scenarios
    #[arg(long, value_name = "DIR", default_value = "scenarios")]
    scenarios: PathBuf,
    /// Folder with additional programs for the agents' PATH
    #[arg(long, value_name = "DIR")]
    tools: Option<PathBuf>,
}

/// The result of a flow.
enum Verdict {
    /// It passed, with an optional note.
    Passed(Option<String>),
    /// This version of the agent cannot play it, for this reason.
    Unsupported(String),
    Failed(Failure),
}

impl Verdict {
    /// The cell of the table.
    fn cell(&self) -> Cell {
        let (text, note) = match self {
            Self::Passed(note) => ("pass", note.clone()),
            Self::Unsupported(reason) => ("", Some(format!("not possible: {reason}"))),
            Self::Failed(_) => ("FAILED", None),
        };
        Cell { text: text.to_owned(), note }
    }

    /// The verdict in one line, with the reason if the flow was not played.
    fn summary(&self) -> String {
        match self {
            Self::Passed(_) => "pass".to_owned(),
            Self::Unsupported(reason) => format!("not possible: {reason}"),
            Self::Failed(_) => "FAILED".to_owned(),
        }
    }
}

/// Why a flow failed.
struct Failure {
    step: String,
    reason: String,
    /// Last events of its sessions.
    events: Vec<String>,
    /// Last lines of the server's standard error.
    server_log: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "failed {}: {}", self.step, self.reason)?;
        for (title, lines) in [("last events", &self.events), ("end of the server's standard error", &self.server_log)]
        {
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

/// Plays the flows, and prints the table and the failures.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let names = select_scenarios(&args.scenarios, &args.names)?;
    let flows = if names.is_empty() {
        select_flows(&args.only)?
    } else {
        names.iter().map(|name| Flow::from_scenario(name)).collect()
    };
    let server = find_server(args.server.as_deref())?;
    let read = |flow: &Flow<'_>| Scenario::read(&args.scenarios.join(format!("{}.toml", flow.scenario)));
    let scenarios = flows.iter().map(read).collect::<Result<Vec<Scenario>, _>>()?;
    let mut rows: Vec<(String, Vec<Cell>)> = flows.iter().map(|flow| (flow.name.to_owned(), Vec::new())).collect();
    let mut failures = Vec::new();
    for agent in &args.agents {
        for (number, ((flow, scenario), row)) in flows.iter().zip(&scenarios).zip(&mut rows).enumerate() {
            let start = Instant::now();
            let name = format!("[{}/{}] {} {}", number + 1, flows.len(), agent.agent, flow.name);
            let verdict = judge(args, &server, agent, flow, scenario).await;
            eprintln!("{name}: {} ({:.1} s)", verdict.summary(), start.elapsed().as_secs_f32());
            if let Verdict::Failed(failure) = &verdict {
                failures.push(format!("{} {} {failure}", agent.agent, flow.name));
            }
            row.1.push(verdict.cell());
        }
    }
    let agents: Vec<String> = args.agents.iter().map(|agent| format!("{}@{}", agent.agent, agent.version)).collect();
    let output = std::iter::once(table::render("flow", &agents, &rows)).chain(failures.iter().cloned());
    // Fails if the reader has closed the pipe, as in `… | head`.
    let _ = std::io::stdout().write_all(output.collect::<Vec<_>>().join("\n").as_bytes());
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The flows whose names contain one of these texts; all flows if there are none.
fn select_flows(only: &[String]) -> Result<Vec<Flow<'static>>> {
    let is_selected = |flow: &Flow<'_>| only.is_empty() || only.iter().any(|part| flow.name.contains(part.as_str()));
    let known = || FLOWS.iter().map(|flow| flow.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = only.iter().find(|part| !FLOWS.iter().any(|flow| flow.name.contains(part.as_str()))) {
        bail!("there is no flow {unknown:?}; the flows are {}", known());
    }
    Ok(FLOWS.into_iter().filter(is_selected).collect())
}

/// The named scenarios; [`ALL`] selects all files in the folder.
fn select_scenarios(folder: &Path, names: &[String]) -> Result<Vec<String>> {
    if !names.iter().any(|name| name == ALL) {
        return Ok(names.to_vec());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    let scenarios = files.filter(|file| file.extension().is_some_and(|kind| kind == "toml"));
    let mut names: Vec<String> =
        scenarios.filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

fn find_server(given: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot determine the path of this program")?;
    let program = given.map_or_else(|| own.with_file_name("interlingua"), Path::to_owned);
    if !program.is_file() {
        bail!("{} does not exist: build it with `cargo build`, or give another with --server", program.display());
    }
    Ok(program)
}

/// Plays a flow on an agent and checks it.
async fn judge(args: &Args, server: &Path, agent: &InstalledAgent, flow: &Flow<'_>, scenario: &Scenario) -> Verdict {
    if let Some(reason) = flow.unsupported_reason(agent.agent, &agent.version, scenario) {
        return Verdict::Unsupported(reason);
    }
    let older = older_versions::find_difference(agent.agent, &agent.version, flow.scenario);
    let scenario = settings::adapt_scenario(agent.agent, scenario.clone());
    let log = ServerLog::default();
    let mut step = "at the start of the server".to_owned();
    let mut environment = match TestEnvironment::start(agent, &scenario, server, args.tools.as_deref(), &log).await {
        Ok(environment) => environment,
        Err(error) => {
            let (reason, server_log) = (format!("{error:#}"), log.lines());
            return Verdict::Failed(Failure { step, reason, events: Vec::new(), server_log });
        }
    };
    let mut result = play_and_check(flow, &mut environment, &mut step, older.is_none()).await;
    // A problem of the model is the cause of other failures, so it is reported instead of them.
    let problems = environment.model.report().problems;
    if !problems.is_empty() {
        result = Err(anyhow::anyhow!("{}", problems.join("; ")));
    }
    let events = last_events(&environment);
    let shutdown = environment.shutdown().await;
    if result.is_ok() && shutdown.is_err() {
        "at the end of the server".clone_into(&mut step);
        result = shutdown;
    }
    match result {
        Ok(()) => {
            let notes = flow.note(agent.agent).into_iter().chain(older.map(|older| older.reason.to_owned()));
            let notes: Vec<String> = notes.collect();
            Verdict::Passed((!notes.is_empty()).then(|| notes.join("; ")))
        }
        Err(error) => Verdict::Failed(Failure { step, reason: format!("{error:#}"), events, server_log: log.lines() }),
    }
}

async fn play_and_check(
    flow: &Flow<'_>,
    environment: &mut TestEnvironment<'_>,
    step: &mut String,
    checks_traces: bool,
) -> Result<()> {
    ScenarioRunner::new(environment, step).run().await?;
    "after the last turn".clone_into(step);
    leftover_processes::wait_for_commands().await?;
    "at the end of the sessions".clone_into(step);
    environment.end_sessions().await?;
    "in the checks".clone_into(step);
    checks::check_always(flow, environment)?;
    if checks_traces {
        checks::check_traces(flow, environment)?;
    }
    flow.check(environment)
}

fn last_events(environment: &TestEnvironment<'_>) -> Vec<String> {
    let sessions = environment.sessions.values();
    let last = sessions.flat_map(|session| session.lines.iter().rev().take(MAX_SHOWN_EVENTS).rev());
    last.flat_map(|line| render_event(line)).collect()
}

/// Renders an event without its envelope, and below it the native payload.
fn render_event(event: &str) -> Vec<String> {
    let Ok(event) = serde_json::from_str::<Value>(event) else { return vec![shorten(event)] };
    let kind = event["type"].as_str().unwrap_or_default();
    let line = shorten(&format!("{} {kind} {}", event["sequence"], event["data"]));
    let raw = Some(&event["raw"]).filter(|raw| !raw.is_null()).map(|raw| shorten(&format!("  raw {raw}")));
    std::iter::once(line).chain(raw).collect()
}

fn shorten(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_found_by_a_part_of_its_name() {
        let names =
            |only: &str| select_flows(&[only.to_owned()]).unwrap().iter().map(|flow| flow.name).collect::<Vec<_>>();
        assert_eq!(names("permission"), ["permission allowed", "permission denied"]);
        assert_eq!(select_flows(&[]).unwrap().len(), FLOWS.len());
        let error = select_flows(&["dance".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("the flows are chat, command"), "{error}");
    }

    #[test]
    fn an_event_is_rendered_without_its_envelope() {
        let line = r#"{"event_id":"e","sequence":7,"type":"error","data":{"message":"no"},"raw":{"a":1}}"#;
        assert_eq!(render_event(line), [r#"7 error {"message":"no"}"#, r#"  raw {"a":1}"#]);
        assert_eq!(render_event(r#"{"sequence":8,"type":"error","data":{},"raw":null}"#), ["8 error {}"]);
    }

    #[test]
    fn a_failure_has_the_step_the_reason_and_the_last_events() {
        let failure = Failure {
            step: "in turn 1".to_owned(),
            reason: "nothing happened".to_owned(),
            events: vec!["{}".to_owned()],
            server_log: Vec::new(),
        };
        assert_eq!(failure.to_string(), "failed in turn 1: nothing happened\n  last events:\n    {}\n");
    }
}
