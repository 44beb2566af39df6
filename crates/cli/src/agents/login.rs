//! `interlingua agents login`: signs in with an agent's own program.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};
use interlingua_runtime::AgentStatus;

use super::{find_descriptor, load_statuses};
use crate::Outcome;
use crate::data_dir::{launch_config, resolve_data_dir};

/// Sign in with an agent: start the login of the agent's own program in this terminal.
///
/// The program that sessions use need not be on the PATH. The agent stores the login where it always does, so that it
/// also holds when the agent is started in another way.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua agents login codex
  interlingua agents login codex -- --with-api-key < key.txt")]
pub(super) struct LoginArgs {
    /// The agent; `agents list` has the names
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Further arguments for the agent's login
    #[arg(value_name = "ARGUMENT", last = true)]
    arguments: Vec<String>,
    /// Directory where agents are installed [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Replaces this process by the agent's login.
pub(super) async fn login(args: LoginArgs) -> anyhow::Result<Outcome> {
    let launch = launch_config(&resolve_data_dir(args.data_dir)?)?;
    let statuses = load_statuses(&launch).await;
    let Some(status) = statuses.iter().find(|status| status.id == args.agent) else {
        let known: Vec<_> = statuses.iter().map(|status| status.id).collect();
        bail!("unknown agent `{}`: expected one of {}", args.agent, known.join(", "));
    };
    let command = login_command(status.id)?;
    let program = find_program(&command, status, &statuses)?;
    let error = Command::new(&program).args(&command[1..]).args(&args.arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// The program and arguments of an agent's login.
fn login_command(id: &str) -> anyhow::Result<Vec<&'static str>> {
    let login = find_descriptor(id).and_then(|agent| agent.login_files.first());
    match login {
        Some(login) => Ok(login.command.split(' ').collect()),
        None => bail!("`{id}` has no login that this program knows; see the documentation of the agent"),
    }
}

/// The path of the program of a login. An adapter has the login of the agent that it adapts.
fn find_program(command: &[&str], status: &AgentStatus, statuses: &[AgentStatus]) -> anyhow::Result<PathBuf> {
    let has_program =
        |status: &&AgentStatus| find_descriptor(status.id).is_some_and(|agent| Some(&agent.program) == command.first());
    let status = std::iter::once(status).chain(statuses).find(has_program).unwrap_or(status);
    match &status.path {
        Some(path) => Ok(path.clone()),
        None => bail!("{} is not installed; {}", status.id, status.install_remedy(None)),
    }
}

#[cfg(test)]
mod tests {
    use interlingua_agents::{AcpProfile, Agent, Descriptor};

    use super::*;

    #[test]
    fn every_login_is_a_command_of_a_known_program() {
        let ids = Agent::ALL.map(Agent::id).into_iter().filter(|id| *id != "acp");
        for id in ids.chain(AcpProfile::ALL.iter().map(|profile| profile.descriptor.id)) {
            let command = login_command(id).unwrap();
            let has_program = |agent: &Descriptor| agent.program == command[0];
            let known = Agent::ALL.iter().map(|agent| agent.descriptor());
            assert!(known.chain(find_descriptor(id)).any(has_program), "{id}: {command:?}");
        }
        assert!(login_command("mock").is_err());
    }

    #[test]
    fn an_adapter_has_the_login_of_its_agent() {
        let mut claude = AgentStatus::new("claude", true);
        claude.path = Some("/bin/claude".into());
        let mut adapter = AgentStatus::new("claude-acp", true);
        adapter.path = Some("/bin/claude-agent-acp".into());
        let command = login_command("claude-acp").unwrap();
        let program = find_program(&command, &adapter, &[claude, adapter.clone()]).unwrap();
        assert_eq!((program, &command[1..]), ("/bin/claude".into(), &["auth", "login"][..]));
        let missing = AgentStatus::new("claude", false);
        let error = find_program(&command, &adapter, &[missing]).unwrap_err().to_string();
        assert_eq!(error, "claude is not installed; run `interlingua agents install claude`");
    }
}
