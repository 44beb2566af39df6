//! `interlingua sessions list`.

use std::io::Write as _;

use anyhow::Context as _;
use interlingua_client::{Client, SessionQuery};

use super::server_args::client_error;
use super::{print, table};
use crate::Outcome;
use crate::output::Output;

/// Which sessions to list.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Only sessions with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only sessions in this state
    #[arg(long, value_name = "STATE", value_parser = ["idle", "running", "waiting", "needs_secrets", "ended"])]
    state: Option<String>,
    /// Only sessions with this label, of any value if none is given; can be repeated, all must match
    #[arg(long, value_name = "NAME[=VALUE]")]
    label: Vec<String>,
    /// Only sessions whose agent works in this directory
    #[arg(long, value_name = "DIR")]
    directory: Option<std::path::PathBuf>,
    /// Only sessions that have changed since: a time such as 2026-01-31T08:00:00Z, or milliseconds since 1970
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only sessions whose id, title or directory contains this text
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Maximum number of sessions
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    /// Cursor of the next page, as printed at the end of the previous page (`nextCursor`)
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(super) async fn list(client: &Client, args: ListArgs, json: bool) -> anyhow::Result<Outcome> {
    let mut query = SessionQuery::default();
    (query.agent, query.state, query.labels) = (args.agent, args.state, args.label);
    (query.since, query.text) = (args.since, args.text);
    (query.limit, query.cursor) = (args.limit, args.cursor);
    if let Some(directory) = args.directory {
        let directory = std::path::absolute(&directory)
            .with_context(|| format!("cannot make the path of {} absolute", directory.display()))?;
        query.directory = Some(directory.to_string_lossy().into_owned());
    }
    let page = client.sessions(&query).await.map_err(client_error)?;
    if json {
        return print(&serde_json::to_value(&page)?.to_string());
    }
    let mut output = Output::new();
    table::write(&page.sessions, &mut output)?;
    if let Some(cursor) = page.next_cursor {
        writeln!(output, "({} of {} sessions; more: --cursor {cursor})", page.sessions.len(), page.total)?;
    }
    output.flush()?;
    Ok(Outcome::Success)
}
