//! `interlingua store`: back up, check and repair the stored sessions.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use interlingua_store::CheckReport;
use serde_json::json;

use crate::Outcome;
use crate::data_dir::resolve_data_dir;
use crate::output::Output;
use crate::store_args::StoreArgs;

/// Back up, check and repair stored sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua store backup sessions-2026-01-31.db
  interlingua store check
  interlingua store check --repair --data-dir /var/lib/interlingua")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Backup(BackupArgs),
    Check(CheckArgs),
}

/// Copy all sessions to a file, while the server runs or not.
///
/// The copy is one `SQLite` database, complete in itself, with everything that was stored when it started. To restore it,
/// stop the server and put it into an empty data directory under the name interlingua.db. Do not copy interlingua.db
/// itself while the server runs: its latest events are in another file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua store backup sessions.db
  interlingua store backup --data-dir /var/lib/interlingua \"/backup/$(date +%F).db\"")]
struct BackupArgs {
    /// File to create; an existing file is not overwritten
    file: PathBuf,
    /// Directory of the sessions [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Check all stored events for damage. Exits with 1 if there is any.
///
/// Only the damaged event is lost: the server sends agent.unparsed in its place, and the rest of the session is intact.
/// A check also works while the server runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
--repair needs the server to be stopped. It writes agent.unparsed in the place of each event that cannot be read, and \
accepts that the latest events are lost if the write-ahead log is missing. If the database itself is damaged, it is \
rebuilt from what can be read, and the damaged file is kept beside it.

Examples:
  interlingua store check
  interlingua store check --repair")]
struct CheckArgs {
    /// Repair what is damaged
    #[arg(long)]
    repair: bool,
    /// Directory of the sessions [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// If there is no store in the data directory, or a file cannot be read or written.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    StoreArgs::refuse_shared("`interlingua store`", "use the tools of Postgres, such as pg_dump")?;
    match args.command {
        Command::Backup(args) => run_backup(args),
        Command::Check(args) => run_check(args),
    }
}

fn run_backup(args: BackupArgs) -> anyhow::Result<Outcome> {
    let data_dir = resolve_data_dir(args.data_dir)?;
    let bytes = interlingua_store::backup(&data_dir, &args.file)?;
    let file = args.file.display().to_string();
    let line = if args.json {
        json!({ "file": file, "bytes": bytes }).to_string()
    } else {
        format!("copied {} to {file} ({bytes} bytes)", data_dir.display())
    };
    print(&[line])?;
    Ok(Outcome::Success)
}

fn run_check(args: CheckArgs) -> anyhow::Result<Outcome> {
    let data_dir = resolve_data_dir(args.data_dir)?;
    let report = if args.repair { interlingua_store::repair(&data_dir)? } else { interlingua_store::check(&data_dir)? };
    let lines = if args.json { vec![to_json(&report, args.repair)] } else { to_text(&report, &data_dir, args.repair) };
    print(&lines)?;
    // What was repaired is no issue any more.
    Ok(Outcome::issues_if(!report.issues.is_empty() && !args.repair))
}

fn to_json(report: &CheckReport, repaired: bool) -> String {
    let moved_to = report.moved_to.as_ref().map(|file| file.display().to_string());
    json!({
        "sessions": report.sessions,
        "events": report.events,
        "issues": report.issues,
        "repaired": repaired,
        "damagedFile": moved_to,
    })
    .to_string()
}

fn to_text(report: &CheckReport, data_dir: &Path, repaired: bool) -> Vec<String> {
    let CheckReport { sessions, events, issues, moved_to, .. } = report;
    let mut lines = vec![format!("checked {events} events in {sessions} sessions")];
    lines.extend(issues.iter().cloned());
    if let Some(file) = moved_to {
        lines.push(format!("rebuilt the database; the damaged one is {}", file.display()));
    }
    lines.push(match (issues.len(), repaired) {
        (0, _) => "no damage found".to_owned(),
        (1, true) => "repaired; 1 issue was found".to_owned(),
        (count, true) => format!("repaired; {count} issues were found"),
        (count, false) => format!(
            "{} found; stop the server and repair with `interlingua store check --repair --data-dir {}`",
            if count == 1 { "1 issue".to_owned() } else { format!("{count} issues") },
            data_dir.display()
        ),
    });
    lines
}

fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut output = Output::new();
    for line in lines {
        writeln!(output, "{line}")?;
    }
    output.flush()?;
    Ok(())
}
