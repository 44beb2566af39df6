//! `interlingua sessions search`.

use std::io::{self, Write};

use interlingua_client::{Client, SearchRequest, SearchResults};
use interlingua_schema::Timestamp;
use interlingua_transcript::sanitize_line;

use super::print;
use super::server_args::client_error;
use crate::Outcome;
use crate::output::Output;

/// What to search for.
#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// Words that must all occur in the text of an event
    #[arg(value_name = "WORD", required = true)]
    words: Vec<String>,
    /// Only sessions with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only events since: a time such as 2026-01-31T08:00:00Z, or milliseconds since 1970
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Maximum number of results, 200 at most
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: u64,
}

/// Prints what is found. Exit code 1 if nothing is.
pub(super) async fn search(client: &Client, args: SearchArgs, json: bool) -> anyhow::Result<Outcome> {
    let mut request = SearchRequest::new(args.words.join(" "));
    (request.agent, request.since, request.limit) = (args.agent, args.since, Some(args.limit));
    let found = client.search(&request).await.map_err(client_error)?;
    if json {
        print(&serde_json::to_value(&found)?.to_string())?;
    } else {
        let mut output = Output::new();
        write(&found, &mut output)?;
        output.flush()?;
    }
    Ok(Outcome::issues_if(found.results.is_empty()))
}

/// Writes two lines for each result: where it is, and its text.
fn write(found: &SearchResults, output: &mut impl Write) -> io::Result<()> {
    for hit in &found.results {
        let (session, agent) = (sanitize_line(&hit.session_id), sanitize_line(&hit.agent));
        let title = hit.title.as_deref().map(|title| format!("  {}", sanitize_line(title))).unwrap_or_default();
        writeln!(output, "{session}  event {}  {}  {agent}{title}", hit.sequence, Timestamp::from_millis(hit.time))?;
        writeln!(output, "    {}", sanitize_line(&hit.snippet))?;
    }
    if found.results.is_empty() {
        writeln!(output, "nothing found")?;
    }
    if found.has_more {
        writeln!(output, "(there are more: raise --limit, or add words)")?;
    }
    if !found.complete {
        writeln!(output, "(the server has not indexed all events yet: search again later)")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_have_their_place_and_no_escape_sequences() {
        let found: SearchResults = serde_json::from_value(json!({
            "results": [
                {"sessionId": "s1", "agent": "codex", "title": "Fix\u{1b}[2J", "sequence": 7, "time": 0, "snippet": "the \u{1b}[31mtext"},
                {"sessionId": "s2", "agent": "mock", "title": null, "sequence": 1, "time": 1, "snippet": "more"},
            ],
            "hasMore": true, "complete": false,
        }))
        .unwrap();
        let mut out = Vec::new();
        write(&found, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "s1  event 7  1970-01-01T00:00:00.000Z  codex  Fix\n    the text\n\
             s2  event 1  1970-01-01T00:00:00.001Z  mock\n    more\n\
             (there are more: raise --limit, or add words)\n\
             (the server has not indexed all events yet: search again later)\n"
        );
    }
}
