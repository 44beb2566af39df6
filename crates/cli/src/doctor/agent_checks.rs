//! Checks of the agents: versions, programs and credentials.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use interlingua_agents::Agent;
use interlingua_runtime::{AgentStatus, VersionFit};
use tokio::process::Command;
use tokio::time::timeout;

use super::Check;
use crate::run::login::describe_login;

/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(15);

/// Checks the agents that are installed, and lists the others.
pub(super) async fn check(agents: &[AgentStatus]) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut missing = Vec::new();
    for agent in agents {
        match &agent.path {
            Some(path) => {
                let starts = print_version(path).await.is_some();
                checks.push(check_program(agent, path, starts));
                checks.extend(check_credentials(agent));
            }
            // The mock agent is built in.
            None if agent.installed => {}
            None => missing.push(agent.id),
        }
    }
    if checks.is_empty() {
        let detail = "none is installed; only the mock agent can run";
        checks.push(Check::note(
            "agents",
            detail,
            AgentStatus::new(Agent::Codex.id(), false).install_remedy(None).to_string(),
        ));
    } else if !missing.is_empty() {
        let detail =
            format!("not installed: {}; `interlingua agents list` says how to install them", missing.join(", "));
        checks.push(Check::ok("other agents", detail));
    }
    checks
}

fn check_program(agent: &AgentStatus, path: &Path, starts: bool) -> Check {
    let AgentStatus { id, version, pinned_version, version_fit, .. } = agent;
    let reinstall = format!("install it again with `interlingua agents install {id} --reinstall`");
    if !starts {
        let detail = format!("{} does not start: `--version` failed", path.display());
        return Check::problem(id, detail, reinstall);
    }
    let version = version.as_deref().unwrap_or("of an unknown version");
    let pinned = pinned_version.as_deref().unwrap_or_default();
    let path = path.display();
    match version_fit {
        Some(VersionFit::Newer) => Check::note(
            id,
            format!("{version} is newer than the supported version {pinned} ({path})"),
            format!(
                "events that are new are reported as agent.unparsed; `interlingua agents install {id}` installs {pinned}"
            ),
        ),
        Some(VersionFit::Older) => {
            Check::ok(id, format!("{version}, which is older than the supported version {pinned} ({path})"))
        }
        Some(VersionFit::Same) => Check::ok(id, format!("{version}, the supported version ({path})")),
        None => Check::ok(id, format!("{version} ({path})")),
    }
}

fn check_credentials(agent: &AgentStatus) -> Option<Check> {
    if agent.needs_no_credentials {
        return None;
    }
    let subject = format!("{} credentials", agent.id);
    Some(match agent.credentials.as_slice() {
        [] => {
            let remedy =
                describe_login(agent.id).unwrap_or_else(|| "sign in as its documentation describes".to_owned());
            Check::note(&subject, "none found", remedy)
        }
        names => Check::ok(&subject, names.join(", ")),
    })
}

/// What a program prints as its version. `None` if it fails, or does not end in time.
pub(super) async fn print_version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = timeout(VERSION_TIMEOUT, command.output()).await.ok()?.ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    fn installed(id: &'static str) -> AgentStatus {
        let mut status = AgentStatus::new(id, true);
        status.path = Some("/bin/agent".into());
        status.version = Some("2.0.0".to_owned());
        status
    }

    #[test]
    fn a_program_that_does_not_start_is_a_problem() {
        let check = check_program(&installed("codex"), Path::new("/bin/agent"), false);
        assert_eq!(check.state, State::Problem);
        assert!(check.remedy.unwrap().contains("interlingua agents install codex --reinstall"));
    }

    #[test]
    fn a_newer_version_is_a_note() {
        let mut codex = installed("codex");
        codex.pinned_version = Some("1.0.0".to_owned());
        codex.version_fit = Some(VersionFit::Newer);
        let check = check_program(&codex, Path::new("/bin/agent"), true);
        assert_eq!(check.state, State::Note);
        assert!(check.detail.contains("2.0.0 is newer than the supported version 1.0.0"), "{check:?}");
    }

    #[test]
    fn missing_credentials_name_the_login_and_the_variable() {
        let check = check_credentials(&installed("codex")).unwrap();
        assert_eq!(check.remedy.as_deref(), Some("run `interlingua agents login codex` or set OPENAI_API_KEY"));
        let mut codex = installed("codex");
        codex.credentials = vec!["OPENAI_API_KEY".to_owned()];
        assert_eq!(check_credentials(&codex).unwrap(), Check::ok("codex credentials", "OPENAI_API_KEY"));
    }

    #[tokio::test]
    async fn without_an_agent_the_first_step_is_named() {
        let checks = check(&[AgentStatus::new("codex", false), AgentStatus::new("mock", true)]).await;
        assert_eq!(checks.len(), 1);
        assert_eq!(checks[0].remedy.as_deref(), Some("run `interlingua agents install codex`"));
    }
}
