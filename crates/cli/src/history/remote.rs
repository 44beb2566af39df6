//! `interlingua history import --endpoint`: a server imports the sessions on its machine.

use std::time::Duration;

use anyhow::{Context as _, bail};
use interlingua_client::{Client, ImportRequest, ImportState, ImportStatus};
use interlingua_schema::Timestamp;

use super::PROGRESS_DELAY;
use super::select::SelectArgs;
use crate::Outcome;
use crate::output::Output;
use crate::progress::Progress;
use crate::sessions::ServerArgs;
use crate::sessions::server_args::client_error;

/// Time between two looks at the import.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Imports through a server, and prints what it has done.
pub(super) fn import(endpoint: &str, select: &SelectArgs, is_json: bool) -> anyhow::Result<Outcome> {
    if !select.paths.is_empty() {
        bail!("a server reads the agents' own folders on its machine; leave out the paths, or --endpoint");
    }
    let mut request = ImportRequest::default();
    request.agent = select.agent.map(|agent| agent.id().to_owned());
    request.directory.clone_from(&select.directory);
    request.since = select.since.map(Timestamp::as_millis);
    request.all = select.is_empty().then_some(true);
    let client = ServerArgs::for_endpoint(endpoint.to_owned()).client()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start the async runtime")?;
    let status = runtime.block_on(run(&client, &request))?;
    let Some(result) = status.result else {
        bail!("the import failed: {}", status.message.unwrap_or_default());
    };
    let mut output = Output::new();
    write_result(&result, is_json, &mut output)?;
    for problem in &result.problems {
        eprintln!("{problem}");
    }
    Ok(Outcome::issues_if(result.failed > 0 || result.damaged > 0))
}

async fn run(client: &Client, request: &ImportRequest) -> anyhow::Result<ImportStatus> {
    let mut progress = Progress::start_after(PROGRESS_DELAY);
    let mut status = client.start_import(request).await.map_err(client_error)?;
    while status.state == ImportState::Running {
        tokio::time::sleep(POLL_INTERVAL).await;
        status = client.import_status(Some(status.id)).await.map_err(client_error)?;
        if let Some(now) = &status.progress {
            progress.update(|elapsed| {
                let megabytes = now.bytes / 1_000_000;
                format!("imported {} of {} sessions, {megabytes} MB, {} s", now.done, now.sessions, elapsed.as_secs())
            });
        }
    }
    progress.finish();
    Ok(status)
}

fn write_result(
    result: &interlingua_client::ImportResult,
    is_json: bool,
    output: &mut impl std::io::Write,
) -> std::io::Result<()> {
    if is_json {
        writeln!(output, "{}", serde_json::to_string(result)?)?;
        return output.flush();
    }
    writeln!(
        output,
        "{} sessions: {} imported, {} extended, {} stored anew, {} unchanged, {} continued in the store, {} failed",
        result.sessions,
        result.imported,
        result.extended,
        result.replaced,
        result.unchanged,
        result.continued,
        result.failed
    )?;
    writeln!(
        output,
        "{} records, {} new events, {} unparsed, {} problems",
        result.records, result.new_events, result.unparsed, result.damaged
    )?;
    output.flush()
}
