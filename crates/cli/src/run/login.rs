//! Checks before a turn whether the user is signed in with the agent.
//!
//! Without credentials, some agents retry for a minute before they fail, and Amp waits for a login whose prompt is not shown.

use std::path::{Path, PathBuf};

use anyhow::bail;
use interlingua_agents::{Agent, Descriptor};
use interlingua_runtime::AgentStatus;

/// What is known about the user's login with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Login {
    /// There are credentials, or the agent needs none.
    Found,
    /// No credentials were found, but the agent was used before. It may have others, for example in its own
    /// configuration or in the keychain of the system.
    Uncertain,
    /// No credentials were found, and the agent was never used.
    Missing,
}

/// Fails if the user cannot be signed in with an agent, and prints a note if it is uncertain. `session_variables` are
/// the names of the environment variables of the session.
pub(super) fn check_login<'a>(
    status: &AgentStatus,
    mut session_variables: impl Iterator<Item = &'a str>,
) -> anyhow::Result<()> {
    // The mock agent needs no login, nor does a stand-in. That an agent is not installed is reported when it starts.
    let Some(agent) = Agent::from_id(status.id).filter(|_| status.installed) else { return Ok(()) };
    if std::env::var_os("INTERLINGUA_REPLAY").is_some() {
        return Ok(());
    }
    let descriptor = agent.descriptor();
    let has_credentials =
        status.credentials_available() || session_variables.any(|name| descriptor.credential_variables.contains(&name));
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let (name, remedy) = (descriptor.display_name, describe_login(descriptor));
    match find_login(descriptor, has_credentials, &home) {
        Login::Found => {}
        // OpenCode has models that need no account.
        Login::Missing if agent != Agent::OpenCode => bail!("not signed in with {name}: {remedy}"),
        Login::Uncertain | Login::Missing => {
            eprintln!("note: no credentials of {name} were found; if the turn fails, {remedy}");
        }
    }
    Ok(())
}

fn find_login(agent: &Descriptor, has_credentials: bool, home: &Path) -> Login {
    let was_used = || agent.login_files.iter().any(|login| home.join(login.path).parent().is_some_and(Path::is_dir));
    if has_credentials {
        Login::Found
    } else if was_used() {
        Login::Uncertain
    } else {
        Login::Missing
    }
}

/// How to sign in.
fn describe_login(agent: &Descriptor) -> String {
    let commands = agent.login_files.iter().map(|login| format!("run `{}`", login.command));
    let variable = agent.credential_variables.first().map(|name| format!("set {name}"));
    commands.chain(variable).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_was_never_used_has_no_login() {
        let home = tempfile::tempdir().unwrap();
        let codex = Agent::Codex.descriptor();
        assert_eq!(find_login(codex, false, home.path()), Login::Missing);
        assert_eq!(find_login(codex, true, home.path()), Login::Found);
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        assert_eq!(find_login(codex, false, home.path()), Login::Uncertain);
    }

    #[test]
    fn the_remedy_names_the_login_command_and_the_variable() {
        assert_eq!(describe_login(Agent::Codex.descriptor()), "run `codex login` or set OPENAI_API_KEY");
    }
}
