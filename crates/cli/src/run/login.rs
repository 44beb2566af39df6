//! Checks before a turn whether the user is signed in with the agent.
//!
//! Without credentials, some agents retry for a minute before they fail, and Amp waits for a login whose prompt is not shown.

use std::ffi::OsString;

use anyhow::bail;
use interlingua_agents::{Agent, Descriptor, LoginFile};
use interlingua_runtime::AgentStatus;

use crate::agents::find_descriptor;
use crate::data_dir::is_replayed;

/// What is known about the user's login with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Login {
    /// There are credentials, or the agent needs none.
    Found,
    /// No credentials were found, but the agent may have others, because of its own settings or in the keychain of the
    /// system.
    Uncertain,
    /// No credentials were found.
    Missing,
}

/// Fails if the user cannot be signed in with an agent, and prints a note if it is uncertain. `session_variables` are
/// the names of the environment variables of the session.
pub(super) fn check_login(status: &AgentStatus, session_variables: &[&str]) -> anyhow::Result<()> {
    // The mock agent needs no login, nor does a stand-in. That an agent is not installed is reported when it starts.
    let Some(agent) = Agent::from_id(status.id).filter(|_| status.installed && !is_replayed()) else { return Ok(()) };
    let descriptor = agent.descriptor();
    let (name, remedy) = (descriptor.display_name, describe_login(agent.id()).unwrap_or_default());
    let login = if status.credentials_available() {
        Login::Found
    } else {
        find_login(descriptor, session_variables, |name| std::env::var_os(name))
    };
    match login {
        Login::Found => {}
        // OpenCode has models that need no account.
        Login::Missing if agent != Agent::OpenCode => bail!("not signed in with {name}: {remedy}"),
        Login::Uncertain | Login::Missing => {
            eprintln!("note: no credentials of {name} were found; if the turn fails, {remedy}");
        }
    }
    Ok(())
}

/// Whether there may be credentials that are neither in the environment nor in a login. `variable` finds a variable of the
/// environment.
fn find_login(agent: &Descriptor, session_variables: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Login {
    let in_session = |name: &str| session_variables.contains(&name);
    if agent.credential_variables.iter().any(|name| in_session(name)) {
        return Login::Found;
    }
    let uses_other_provider = |name: &&str| in_session(name) || variable(name).is_some_and(|value| !value.is_empty());
    let may_have_others = |login: &LoginFile| {
        if login.moved_by.is_some_and(|(name, _)| in_session(name)) {
            return true;
        }
        let Some(folder) = login.locate(&variable).and_then(|path| Some(path.parent()?.to_owned())) else {
            return false;
        };
        // On macOS, agents keep their login in the keychain.
        let uses_keychain = cfg!(target_os = "macos") && folder.is_dir();
        uses_keychain || login.settings.iter().any(|file| folder.join(file).is_file())
    };
    if agent.provider_variables.iter().any(uses_other_provider) || agent.login_files.iter().any(may_have_others) {
        Login::Uncertain
    } else {
        Login::Missing
    }
}

/// How to sign in with an agent. `None` if this program does not know.
pub(crate) fn describe_login(id: &str) -> Option<String> {
    let agent = find_descriptor(id)?;
    // The program of the agent may not be on the PATH.
    let command = (!agent.login_files.is_empty()).then(|| format!("run `interlingua agents login {id}`"));
    let variable = agent.credential_variables.first().map(|name| format!("set {name}"));
    let remedies: Vec<String> = command.into_iter().chain(variable).collect();
    (!remedies.is_empty()).then(|| remedies.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_without_credentials_and_settings_has_no_login() {
        let home = tempfile::tempdir().unwrap();
        let find = |session: &[&str]| {
            let variable = |name: &str| (name == "HOME").then(|| home.path().as_os_str().to_owned());
            find_login(Agent::Codex.descriptor(), session, variable)
        };
        assert_eq!(find(&[]), Login::Missing);
        assert_eq!(find(&["OPENAI_API_KEY"]), Login::Found);
        assert_eq!(find(&["CODEX_HOME"]), Login::Uncertain);
        assert_eq!(find(&["OPENAI_BASE_URL"]), Login::Uncertain);
        let folder = home.path().join(".codex");
        // Codex creates this folder when it is started, also without a login.
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(find(&[]), if cfg!(target_os = "macos") { Login::Uncertain } else { Login::Missing });
        std::fs::write(folder.join("config.toml"), "").unwrap();
        assert_eq!(find(&[]), Login::Uncertain);
    }

    #[test]
    fn the_remedy_names_the_login_command_and_the_variable() {
        let remedy = "run `interlingua agents login codex` or set OPENAI_API_KEY";
        assert_eq!(describe_login("codex").as_deref(), Some(remedy));
        assert_eq!(describe_login("mock"), None);
    }
}
