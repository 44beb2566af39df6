//! `interlingua agents`: which agents are here, and how to get them.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{AgentStatus, InstallOptions, LaunchConfig, VersionFit, drivers, install};
use serde_json::{Value, json};

use crate::Outcome;
use crate::data_folder::{data_folder, machine};
use crate::show::tame;

/// Which agents are installed here, and how to install them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua agents list
  interlingua agents install claude
  interlingua agents install codex@0.166.0")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(ListArgs),
    Install(InstallArgs),
}

/// Show every agent: version, program, credentials (their names only), and whether our types fit.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent is taken from our data folder if it was installed there, and else from the PATH. TYPES says how its version
stands to the one that our types were made for: events of a newer one may be told as agent.unparsed.

Examples:
  interlingua agents list
  interlingua agents list --json | jq -r '.agents[] | select(.installed) | .id'")]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Where agents are installed [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

/// Install an agent into our data folder, through npm.
///
/// Without a version it is the one that our types were made for. A version that is installed is whole, stays as it is,
/// and is what new processes of the agent get; others stay beside it for sessions that ask for them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
npm must be on the PATH; which registry and which proxy it uses is its own configuration.

Examples:
  interlingua agents install claude
  interlingua agents install claude@latest
  interlingua agents install opencode --reinstall
  interlingua agents install amp --data-dir /var/lib/interlingua")]
struct InstallArgs {
    /// The agent (claude, codex, opencode or amp), and the version if it is to be another
    #[arg(value_name = "AGENT[@VERSION]")]
    agent: String,
    /// Install it even if it is there
    #[arg(long)]
    reinstall: bool,
    /// Where to install it [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such agent, or it cannot be installed.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start threads")?;
    tokio.block_on(async {
        match args.command {
            Command::List(args) => list(args).await,
            Command::Install(args) => get(args).await,
        }
    })
}

async fn list(args: ListArgs) -> anyhow::Result<Outcome> {
    let machine = machine(&data_folder(args.data_dir)?)?;
    let agents = statuses(&machine).await;
    let mut output = io::stdout().lock();
    if args.json {
        let agents: Vec<Value> = agents.iter().map(as_json).collect();
        writeln!(output, "{}", serde_json::to_string_pretty(&json!({ "agents": agents }))?)?;
    } else {
        write_table(&agents, &mut output)?;
    }
    Ok(Outcome::Success)
}

async fn statuses(machine: &LaunchConfig) -> Vec<AgentStatus> {
    let mut statuses = Vec::new();
    for driver in drivers(machine, MockDriver::new()) {
        Arc::clone(&driver).refresh_status().await;
        statuses.push(driver.status());
    }
    statuses
}

fn as_json(agent: &AgentStatus) -> Value {
    json!({
        "id": agent.id, "installed": agent.installed, "version": agent.version, "path": agent.path,
        "madeFor": agent.pinned_version, "fit": agent.version_fit, "credentials": agent.credentials,
        "credentialsAvailable": agent.credentials_available(),
    })
}

/// One agent a line.
fn write_table(agents: &[AgentStatus], output: &mut impl Write) -> io::Result<()> {
    let head = ["AGENT", "VERSION", "TYPES", "CREDENTIALS", "PROGRAM"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(agents.iter().map(row)).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(output, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn row(agent: &AgentStatus) -> [String; 5] {
    let version = match (&agent.version, agent.installed) {
        (Some(version), _) => tame(version).replace('\n', " "),
        (None, true) => "unknown".to_owned(),
        (None, false) => "-".to_owned(),
    };
    let made_for = agent.pinned_version.as_deref().unwrap_or_default();
    let types = match (agent.version_fit, agent.installed) {
        (Some(VersionFit::Same), _) => "fit".to_owned(),
        (Some(VersionFit::Older), _) => format!("for {made_for}, which is newer"),
        (Some(VersionFit::Newer), _) => format!("for {made_for}, which is older"),
        (None, _) if made_for.is_empty() => "fit".to_owned(),
        (None, _) => format!("for {made_for}"),
    };
    let credentials = match (agent.needs_no_credentials, agent.credentials.as_slice()) {
        (true, _) => "none needed".to_owned(),
        (false, []) => "none found".to_owned(),
        (false, names) => names.join(", "),
    };
    let program = match (&agent.path, agent.installed) {
        (Some(path), _) => tame(&path.to_string_lossy()).replace('\n', " "),
        (None, true) => "built in".to_owned(),
        (None, false) => format!("not installed: interlingua agents install {}", agent.id),
    };
    [agent.id.to_owned(), version, types, credentials, program]
}

async fn get(args: InstallArgs) -> anyhow::Result<Outcome> {
    let (agent, version) = match args.agent.split_once('@') {
        Some((_, "")) => bail!("`{}` names no version: expected AGENT or AGENT@VERSION", args.agent),
        Some((agent, version)) => (agent, Some(version.to_owned())),
        None => (args.agent.as_str(), None),
    };
    let machine = machine(&data_folder(args.data_dir)?)?;
    let wanted = InstallOptions::new(version, args.reinstall);
    let mut progress = Progress::start(args.agent.clone());
    let installed = install(&machine, agent, wanted, |bytes| progress.tell(bytes)).await;
    progress.finish();
    let installed = installed?;
    let version = installed.version.unwrap_or_default();
    let path = installed.path.map(|path| path.display().to_string()).unwrap_or_default();
    println!("{agent} {version} is installed: {path}");
    if let (Some(VersionFit::Newer | VersionFit::Older), Some(made_for)) =
        (installed.version_fit, installed.pinned_version)
    {
        eprintln!("note: our types were made for {made_for}; what they do not know is told as agent.unparsed");
    }
    Ok(Outcome::Success)
}

/// How far an installation is, on standard error: one line that changes on a terminal, and now and then a new one
/// where there is none.
struct Progress {
    what: String,
    began: Instant,
    on_terminal: bool,
    told: Option<Instant>,
}

/// How often a line is written where there is no terminal.
const SELDOM: Duration = Duration::from_secs(10);

impl Progress {
    fn start(what: String) -> Self {
        Self { what, began: Instant::now(), on_terminal: io::stderr().is_terminal(), told: None }
    }

    fn tell(&mut self, bytes: u64) {
        let is_due = self.on_terminal || self.told.is_none_or(|told| told.elapsed() >= SELDOM);
        if !is_due {
            return;
        }
        self.told = Some(Instant::now());
        let line = format!("installing {}: {} MB, {} s", self.what, bytes >> 20, self.began.elapsed().as_secs());
        if self.on_terminal {
            eprint!("\r{line}\u{1b}[K");
        } else {
            eprintln!("{line}");
        }
    }

    fn finish(&self) {
        if self.on_terminal && self.told.is_some() {
            eprint!("\r\u{1b}[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_what_is_missing_and_how_to_get_it() {
        let mut there = AgentStatus::new("claude", true);
        there.version = Some("9.0.0".to_owned());
        there.pinned_version = Some("2.0.0".to_owned());
        there.version_fit = Some(VersionFit::Newer);
        there.path = Some("/bin/claude".into());
        there.credentials = vec!["ANTHROPIC_API_KEY".to_owned()];
        let mut missing = AgentStatus::new("amp", false);
        missing.pinned_version = Some("0.0.1".to_owned());
        let mut out = Vec::new();
        write_table(&[there, missing], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "AGENT   VERSION  TYPES                      CREDENTIALS        PROGRAM\n\
             claude  9.0.0    for 2.0.0, which is older  ANTHROPIC_API_KEY  /bin/claude\n\
             amp     -        for 0.0.1                  none found         not installed: interlingua agents install amp\n"
        );
    }
}
