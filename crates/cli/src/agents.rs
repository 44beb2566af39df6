//! `interlingua agents`: list and install agents, and sign in with them.

mod login;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use interlingua_agents::{AcpProfile, Agent, Descriptor};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{AgentStatus, InstallOptions, LaunchConfig, VersionFit, drivers, install};
use serde_json::{Value, json};

use crate::Outcome;
use crate::data_dir::{launch_config, resolve_data_dir};
use crate::progress::Progress;
use crate::show::sanitize;

/// List and install agents, and sign in with them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua agents list
  interlingua agents install claude
  interlingua agents login claude
  interlingua agents install codex@0.166.0")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(ListArgs),
    Install(InstallArgs),
    Login(login::LoginArgs),
}

/// List all agents: version, program, names of the credentials found, and whether the version is supported.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent is taken from the data directory if it is installed there, then from the default data directory, then from the \
PATH. SUPPORT compares the \
installed version with the one that Interlingua is built for. A newer version may send events that become \
agent.unparsed.

Examples:
  interlingua agents list
  interlingua agents list --json | jq -r '.agents[] | select(.installed) | .id'")]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Directory where agents are installed [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Install an agent into the data directory with npm.
///
/// The default version is the one that Interlingua is built for. New processes of the agent use the version that was
/// installed last. Other versions stay installed for sessions that request them with --agent-version.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
npm must be on the PATH. It uses its own configuration for registry and proxy.

Examples:
  interlingua agents install claude
  interlingua agents install claude@latest
  interlingua agents install opencode --reinstall
  interlingua agents install amp --data-dir /var/lib/interlingua")]
struct InstallArgs {
    /// The agent, with an optional version; `agents list` has the names
    #[arg(value_name = "AGENT[@VERSION]")]
    agent: String,
    /// Install it again if it is installed already
    #[arg(long)]
    reinstall: bool,
    /// Directory to install it in [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// If the agent is unknown or cannot be installed.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let tokio =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    tokio.block_on(async {
        match args.command {
            Command::List(args) => list(args).await,
            Command::Install(args) => install_agent(args).await,
            Command::Login(args) => login::login(args).await,
        }
    })
}

async fn list(args: ListArgs) -> anyhow::Result<Outcome> {
    let launch = launch_config(&resolve_data_dir(args.data_dir)?)?;
    let agents = load_statuses(&launch).await;
    let mut output = io::stdout().lock();
    if args.json {
        let agents: Vec<Value> = agents.iter().map(to_json).collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&json!({ "agents": agents }))?)?;
    } else {
        write_table(&agents, &mut output)?;
    }
    Ok(Outcome::Success)
}

pub(crate) async fn load_statuses(launch: &LaunchConfig) -> Vec<AgentStatus> {
    let mut statuses = Vec::new();
    for driver in drivers(launch, MockDriver::new()) {
        Arc::clone(&driver).refresh_status().await;
        statuses.push(driver.status());
    }
    statuses
}

fn to_json(agent: &AgentStatus) -> Value {
    json!({
        "id": agent.id, "installed": agent.installed, "version": agent.version, "path": agent.path,
        "supportedVersion": agent.pinned_version, "fit": agent.version_fit, "credentials": agent.credentials,
        "credentialsAvailable": agent.credentials_available(),
    })
}

/// Writes a table with one agent per line.
fn write_table(agents: &[AgentStatus], output: &mut impl Write) -> io::Result<()> {
    let header = ["AGENT", "VERSION", "SUPPORT", "CREDENTIALS", "PROGRAM"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(agents.iter().map(table_row)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn table_row(agent: &AgentStatus) -> [String; 5] {
    let version = match (&agent.version, agent.installed) {
        (Some(version), _) => sanitize(version).replace('\n', " "),
        (None, true) => "unknown".to_owned(),
        (None, false) => "-".to_owned(),
    };
    let pinned = agent.pinned_version.as_deref().unwrap_or_default();
    let is_built_in = agent.installed && agent.path.is_none();
    let support = match (agent.version_fit, agent.installed) {
        (Some(VersionFit::Same), _) => "supported".to_owned(),
        (Some(VersionFit::Older), _) => format!("older (supported: {pinned})"),
        (Some(VersionFit::Newer), _) => format!("newer (supported: {pinned})"),
        (None, _) if pinned.is_empty() && is_built_in => "supported".to_owned(),
        (None, _) if pinned.is_empty() => "not tested".to_owned(),
        (None, _) => format!("supports {pinned}"),
    };
    let credentials = match (agent.needs_no_credentials, agent.credentials.as_slice()) {
        (true, _) => "none needed".to_owned(),
        (false, []) => "none found".to_owned(),
        (false, names) => names.join(", "),
    };
    let program = match (&agent.path, agent.installed) {
        (Some(path), _) => sanitize(&path.to_string_lossy()).replace('\n', " "),
        (None, true) => "built in".to_owned(),
        (None, false) => format!("not installed; {}", agent.install_remedy(None)),
    };
    [agent.id.to_owned(), version, support, credentials, program]
}

/// The facts about the agent with this name in the API.
pub(crate) fn find_descriptor(id: &str) -> Option<&'static Descriptor> {
    let native = Agent::from_id(id).map(Agent::descriptor);
    native.or_else(|| AcpProfile::from_id(id).map(|profile| &profile.descriptor))
}

async fn install_agent(args: InstallArgs) -> anyhow::Result<Outcome> {
    let (agent, version) = match args.agent.split_once('@') {
        Some((_, "")) => bail!("`{}` has an empty version; expected AGENT or AGENT@VERSION", args.agent),
        Some((agent, version)) => (agent, Some(version.to_owned())),
        None => (args.agent.as_str(), None),
    };
    let launch = launch_config(&resolve_data_dir(args.data_dir)?)?;
    let options = InstallOptions::new(version, args.reinstall);
    let mut progress = Progress::start();
    let show = |bytes: u64| {
        progress.update(|elapsed| format!("installing {}: {} MB, {} s", args.agent, bytes >> 20, elapsed.as_secs()));
    };
    let installed = install(&launch, agent, options, show).await;
    progress.finish();
    let installed = installed?;
    let version = installed.version.unwrap_or_default();
    let path = installed.path.map(|path| path.display().to_string()).unwrap_or_default();
    println!("installed {agent} {version}: {path}");
    if let (Some(VersionFit::Newer | VersionFit::Older), Some(pinned)) =
        (installed.version_fit, installed.pinned_version)
    {
        eprintln!("note: Interlingua supports {agent} {pinned}; unknown events are reported as agent.unparsed");
    }
    Ok(Outcome::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_support_and_how_to_install_a_missing_agent() {
        let mut installed = AgentStatus::new("claude", true);
        installed.version = Some("9.0.0".to_owned());
        installed.pinned_version = Some("2.0.0".to_owned());
        installed.version_fit = Some(VersionFit::Newer);
        installed.path = Some("/bin/claude".into());
        installed.credentials = vec!["ANTHROPIC_API_KEY".to_owned()];
        let mut missing = AgentStatus::new("amp", false);
        missing.pinned_version = Some("0.0.1".to_owned());
        let mut by_hand = AgentStatus::new("kimi", false);
        by_hand.install_instructions = Some("install the Python package `kimi-cli`".to_owned());
        let mut out = Vec::new();
        write_table(&[installed, missing, by_hand, AgentStatus::new("mock", true)], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "AGENT   VERSION  SUPPORT                   CREDENTIALS        PROGRAM\n\
             claude  9.0.0    newer (supported: 2.0.0)  ANTHROPIC_API_KEY  /bin/claude\n\
             amp     -        supports 0.0.1            none found         not installed; run `interlingua agents install amp`\n\
             kimi    -        not tested                none found         not installed; install the Python package `kimi-cli`\n\
             mock    unknown  supported                 none found         built in\n"
        );
    }
}
