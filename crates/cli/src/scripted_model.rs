//! `interlingua scripted-model`: a model for a real agent, without a key.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use interlingua_agents::Agent;
use interlingua_scripted_model::{
    Scenario, ScriptedModel, TurnEndSource, agent_environment, codex_config, supported_agents,
};

use crate::Outcome;

/// Serve a model that plays a scenario to a real agent, on loopback.
///
/// It speaks Anthropic Messages, `OpenAI` Responses and `OpenAI` Chat Completions, prints what to set so that Claude Code,
/// Codex or `OpenCode` talk to it, and serves until it is interrupted. What an agent asks that the scenario does not
/// foresee is told at the end.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
A scenario is a TOML file: what the user says, what the model answers (words, thoughts, tool calls, failures). The \
agent must be told the user's messages as they stand there. See docs/recording.md, and scenarios/ for examples.

Examples:
  interlingua scripted-model scenarios/greeting.toml
  interlingua scripted-model scenarios/command-succeeds.toml --port 8787 --workspace ~/project

Exit codes: 0 it was interrupted and all went as written, 1 something was asked that the scenario does not have.")]
pub struct Args {
    /// The scenario, a TOML file
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// The port; any free one if it is 0
    #[arg(long, value_name = "P", default_value_t = 0)]
    port: u16,
    /// The folder in which the agent runs; files that the model speaks of are below it
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// When the scenario cannot be read or the port cannot be had.
pub fn run(args: &Args) -> Result<Outcome> {
    let scenario = Scenario::read(&args.scenario)?;
    let workspace = std::path::absolute(&args.workspace).context("cannot tell where the workspace is")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot serve anything")?;
    runtime.block_on(async {
        let model = ScriptedModel::start(scenario.clone(), workspace, args.port, TurnEndSource::Model)
            .await
            .with_context(|| format!("cannot serve on port {} of loopback: choose another with --port", args.port))?;
        anstream::print!("{}", introduction(&scenario, &model.url()));
        tokio::signal::ctrl_c().await.context("cannot wait for an interrupt")?;
        let report = model.report();
        for problem in &report.problems {
            anstream::eprintln!("{problem}");
        }
        for reply in &report.unplayed_replies {
            anstream::eprintln!("nobody asked for {reply}");
        }
        Ok(Outcome::found_if(!report.problems.is_empty()))
    })
}

/// What to say to which agent, and how to point it here.
fn introduction(scenario: &Scenario, url: &str) -> String {
    let mut text = format!("{}\n\nServing at {url}. Say to the agent:\n", scenario.about);
    for turn in &scenario.turns {
        let _ = writeln!(text, "  {}", turn.prompt);
    }
    for agent in supported_agents() {
        let _ = writeln!(text, "\n{}", agent.id());
        for (name, value) in agent_environment(agent, url) {
            let _ = writeln!(text, "  export {name}='{value}'");
        }
        if agent == Agent::Codex {
            let _ = writeln!(text, "  and in $CODEX_HOME/config.toml:");
            for line in codex_config(url).lines() {
                let _ = writeln!(text, "    {line}");
            }
        }
    }
    text + "\nInterrupt (Ctrl-C) to end.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_introduction_says_what_to_say_and_where_each_agent_finds_the_model() {
        let text = "about = \"A greeting.\"\n[[turn]]\nuser = \"Hello there\"\nmodel = [[{ say = \"Hi\" }]]\n";
        let scenario = Scenario::parse("greeting", text).unwrap();
        let told = introduction(&scenario, "http://127.0.0.1:4711");
        for wanted in [
            "A greeting.",
            "  Hello there\n",
            "export ANTHROPIC_BASE_URL='http://127.0.0.1:4711'",
            "base_url = \"http://127.0.0.1:4711/v1\"",
            "\"baseURL\":\"http://127.0.0.1:4711/v1\"",
        ] {
            assert!(told.contains(wanted), "{told}");
        }
    }
}
