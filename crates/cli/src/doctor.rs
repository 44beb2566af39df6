//! `interlingua doctor`: checks what a turn, a server or an installation needs on this machine.

mod agent_checks;
mod machine_checks;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Serialize;

use crate::data_dir::{launch_config, resolve_data_dir};
use crate::server::DEFAULT_PORT;
use crate::show::sanitize;
use crate::{Outcome, agents, version};

/// Check this machine: agents and their versions, credentials, npm, namespaces, the data directory and the port.
///
/// Each line that is not `ok` says what to do. Values of credentials are never shown, only their names.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A `note` limits what you can do, a `problem` stops a command from working at all.
Exit codes: 0 there is no problem, 1 there is one, 2 error.

Examples:
  interlingua doctor
  interlingua doctor --data-dir /var/lib/interlingua --port 8080
  interlingua doctor --json | jq '.checks[] | select(.state != \"ok\")'")]
pub struct Args {
    /// Directory for sessions and agents [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Port on which a server will listen
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Result of a check.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// What was checked.
    subject: String,
    state: State,
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Something is limited.
    Note,
    /// A command will not work.
    Problem,
}

impl Check {
    fn ok(subject: &str, detail: impl Into<String>) -> Self {
        Self { subject: subject.to_owned(), state: State::Ok, detail: detail.into(), remedy: None }
    }

    fn note(subject: &str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Note, remedy: Some(remedy.into()), ..Self::ok(subject, detail) }
    }

    fn problem(subject: &str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Problem, remedy: Some(remedy.into()), ..Self::ok(subject, detail) }
    }
}

/// Runs the command.
///
/// # Errors
/// If the data directory cannot be found, or the file with ACP agents is invalid.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let data_dir = resolve_data_dir(args.data_dir)?;
    let launch = launch_config(&data_dir)?;
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    let checks = tokio.block_on(async {
        let mut checks = vec![Check::ok("interlingua", format!("{}, {}", version::with_commit(), version::TARGET))];
        checks.extend(agent_checks::check(&agents::load_statuses(&launch).await).await);
        checks.extend(machine_checks::check_npm().await);
        checks.extend(machine_checks::check_namespaces().await);
        checks.extend(machine_checks::check_data_dir(&data_dir));
        checks.push(machine_checks::check_server(&data_dir, args.port).await);
        checks
    });
    let mut output = io::stdout().lock();
    if args.json {
        writeln!(output, "{}", serde_json::to_string_pretty(&serde_json::json!({ "checks": checks }))?)?;
    } else {
        write_text(&checks, &mut output)?;
    }
    Ok(Outcome::issues_if(checks.iter().any(|check| check.state == State::Problem)))
}

fn write_text(checks: &[Check], output: &mut impl Write) -> io::Result<()> {
    for Check { subject, state, detail, remedy } in checks {
        let state = match state {
            State::Ok => "ok",
            State::Note => "note",
            State::Problem => "problem",
        };
        let line = |text: &str| sanitize(text).replace('\n', " ");
        writeln!(output, "{state:<8} {}: {}", line(subject), line(detail))?;
        if let Some(remedy) = remedy {
            writeln!(output, "         {}", line(remedy))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_one_line_and_its_remedy_another() {
        let checks = [Check::ok("npm", "11.0.0"), Check::problem("port", "2468 is in use", "choose another")];
        let mut text = Vec::new();
        write_text(&checks, &mut text).unwrap();
        let expected = "ok       npm: 11.0.0\nproblem  port: 2468 is in use\n         choose another\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
