//! Full-text search over the events of all sessions.

use axum::Json;
use axum::extract::State;
use interlingua_store::{MAX_QUERY_BYTES, SearchQuery};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::Problem;
use crate::query::Query;
use crate::session_list::parse_time;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;

/// Events whose text has the words that were searched for, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchResults {
    results: Vec<SearchHit>,
    /// Whether there are more results than `limit`.
    has_more: bool,
    /// Whether everything that was stored before the request was searched. False while the server indexes a large store.
    complete: bool,
}

/// An event that was found.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchHit {
    /// Id of the session.
    session_id: String,
    /// Agent id of the session.
    agent: String,
    /// Title of the session.
    #[schema(required = true)]
    title: Option<String>,
    /// `sequence` of the event in its session.
    sequence: u64,
    /// Time of the event in milliseconds since 1970.
    time: i64,
    /// The place of the text with most of the words, on one line.
    snippet: String,
}

/// Searches the text of all sessions: messages, reasoning, tool calls and their results, diffs, requests and errors.
#[utoipa::path(
    get,
    path = "/v1/search",
    tag = "events",
    operation_id = "search",
    params(
        ("q" = String, Query, description = "Words that must all occur in the text of an event, in upper or lower case. Words in double quotes must follow each other; `word*` matches the beginnings of words. At most 64 words"),
        ("agent" = Option<String>, Query, description = "Only sessions with this agent"),
        ("since" = Option<String>, Query, description = "Only events since: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`"),
        ("limit" = Option<usize>, Query, description = "Maximum number of results, 200 at most; 20 if absent"),
    ),
    responses((status = 200, description = "Events, newest first", body = SearchResults))
)]
pub(crate) async fn search(State(app): State<App>, query: Query) -> Result<Json<SearchResults>, Problem> {
    query.expect_only(&["q", "agent", "since", "limit"])?;
    let text = query.text("q")?.unwrap_or_default();
    if text.trim().is_empty() {
        let detail = "expected the query parameter `q` with the words to search for";
        return Err(Problem::invalid(detail).field("q"));
    }
    if text.len() > MAX_QUERY_BYTES {
        let detail = format!(
            "expected at most {MAX_QUERY_BYTES} bytes in the query parameter `q`, found {}; search for fewer words",
            text.len()
        );
        return Err(Problem::invalid(detail).field("q"));
    }
    let limit = query.number("limit")?.map_or(DEFAULT_LIMIT, |limit: usize| limit.min(MAX_LIMIT));
    let search = SearchQuery::new(text, limit)
        .agent(query.text("agent")?.map(str::to_owned))
        .since(query.text("since")?.map(parse_time).transpose()?);
    let found = app.store().search(search).await?;
    let results = found.hits.into_iter().map(|hit| SearchHit {
        session_id: hit.session_id.as_str().to_owned(),
        agent: hit.agent,
        title: hit.title,
        sequence: hit.sequence,
        time: hit.time.as_millis(),
        snippet: hit.snippet,
    });
    Ok(Json(SearchResults { results: results.collect(), has_more: found.has_more, complete: found.is_complete }))
}
