//! `interlingua scripted-model`: a model server that plays a scenario to a real agent, without an API key.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use interlingua_agents::Agent;
use interlingua_scripted_model::{
    Scenario, ScriptedModel, TurnEndSource, agent_environment, codex_config, supported_agents,
};

use crate::Outcome;

/// Serve a scripted model on loopback that plays a scenario to a real agent.
///
/// Supports Anthropic Messages, `OpenAI` Responses and `OpenAI` Chat Completions. Prints the settings that make Claude
/// Code, Codex or `OpenCode` use it, and serves until it is interrupted. At the end it reports requests that the
/// scenario does not expect.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
A scenario is a TOML file with the messages of the user and the answers of the model (text, reasoning, tool calls, \
failures). Send the agent exactly the messages of the scenario. See docs/recording.md, and scenarios/ for examples.

Examples:
  interlingua scripted-model scenarios/greeting.toml
  interlingua scripted-model scenarios/command-succeeds.toml --port 8787 --workspace ~/project

Exit codes: 0 interrupted without problems, 1 the agent sent a request that the scenario does not expect, 2 error.")]
pub struct Args {
    /// Scenario file (TOML)
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Working directory of the agent; paths of the scenario are relative to it
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If the scenario cannot be read or the port is taken.
pub fn run(args: &Args) -> Result<Outcome> {
    let scenario = Scenario::read(&args.scenario)?;
    let workspace = std::path::absolute(&args.workspace).context("cannot resolve the path of --workspace")?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the async runtime")?;
    runtime.block_on(async {
        let model = ScriptedModel::start(scenario.clone(), workspace, args.port, TurnEndSource::Model)
            .await
            .with_context(|| format!("cannot listen on loopback port {}; choose another with --port", args.port))?;
        anstream::print!("{}", instructions(&scenario, &model.url()));
        tokio::signal::ctrl_c().await.context("cannot handle Ctrl-C")?;
        let report = model.report();
        for problem in &report.problems {
            anstream::eprintln!("{problem}");
        }
        for reply in &report.unplayed_replies {
            anstream::eprintln!("not requested: {reply}");
        }
        Ok(Outcome::issues_if(!report.problems.is_empty()))
    })
}

/// Instructions for the user: the messages to send, and the settings of each agent.
fn instructions(scenario: &Scenario, url: &str) -> String {
    let mut text = format!("{}\n\nListening on {url}. Send these messages to the agent:\n", scenario.about);
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
    text + "\nPress Ctrl-C to stop.\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_have_messages_and_settings_of_each_agent() {
        let text = "about = \"A greeting.\"\n[[turn]]\nuser = \"Hello there\"\nmodel = [[{ say = \"Hi\" }]]\n";
        let scenario = Scenario::parse("greeting", text).unwrap();
        let text = instructions(&scenario, "http://127.0.0.1:4711");
        for expected in [
            "A greeting.",
            "  Hello there\n",
            "export ANTHROPIC_BASE_URL='http://127.0.0.1:4711'",
            "base_url = \"http://127.0.0.1:4711/v1\"",
            "\"baseURL\":\"http://127.0.0.1:4711/v1\"",
        ] {
            assert!(text.contains(expected), "{text}");
        }
    }
}
