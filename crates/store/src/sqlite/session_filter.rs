//! The condition of a filter in SQL.

use std::collections::BTreeSet;

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::Value;

use crate::{SessionFilter, SessionKey, SessionState, StoreError};

/// The state of a session in SQL, as [`SessionState::from_session`]. Its parameter is a JSON array of the sessions of which all
/// values that may be secret are known.
const STATE: &str = "CASE \
    WHEN ended THEN 'ended' \
    WHEN has_secrets AND sessions.key NOT IN (SELECT value FROM json_each(?)) THEN 'needs_secrets' \
    WHEN EXISTS (SELECT 1 FROM pending_requests WHERE session = sessions.key) THEN 'waiting' \
    WHEN busy OR EXISTS (SELECT 1 FROM messages WHERE session = sessions.key AND state = 0) THEN 'running' \
    ELSE 'idle' END";

/// Counts the sessions by agent and state. `complete` are the sessions of which all values that may be secret are known.
pub(crate) fn count_by_state(
    connection: &Connection,
    complete: &BTreeSet<SessionKey>,
) -> Result<Vec<(String, SessionState, u64)>, StoreError> {
    let query = format!("SELECT agent, {STATE}, count(*) FROM sessions GROUP BY 1, 2");
    let mut statement = connection.prepare_cached(&query)?;
    let rows = statement.query_map([encode_keys(complete)], |row| {
        let name: String = row.get(1)?;
        let state = SessionState::ALL.into_iter().find(|state| state.name() == name);
        Ok((row.get::<_, String>(0)?, state.unwrap_or(SessionState::Idle), row.get::<_, i64>(2)?.cast_unsigned()))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Keys as the parameter of `STATE`.
fn encode_keys(keys: &BTreeSet<SessionKey>) -> String {
    let keys: Vec<String> = keys.iter().map(|key| key.0.to_string()).collect();
    format!("[{}]", keys.join(","))
}

/// The condition and its parameters.
pub(crate) fn to_sql(filter: &SessionFilter) -> (String, Vec<Value>) {
    let mut conditions = vec!["true".to_owned()];
    let mut values = Vec::new();
    let mut require = |condition: &str, more: Vec<Value>| {
        conditions.push(condition.to_owned());
        values.extend(more);
    };
    if !filter.ids.is_empty() {
        // A list of strings can always be encoded.
        let ids = serde_json::to_string(&filter.ids).unwrap_or_default();
        require("id IN (SELECT value FROM json_each(?))", vec![ids.into()]);
    }
    if let Some(agent) = &filter.agent {
        require("agent = ?", vec![agent.clone().into()]);
    }
    if let Some(directory) = &filter.directory {
        require("directory = ?", vec![directory.clone().into()]);
    }
    if let Some(since) = filter.since {
        require("updated_at >= ?", vec![since.as_millis().into()]);
    }
    if let Some(text) = &filter.text {
        let text = text.to_lowercase();
        let columns = ["id", "title", "directory"].map(|column| format!("contains_lowercase({column}, ?)"));
        require(&format!("({})", columns.join(" OR ")), vec![text.clone().into(), text.clone().into(), text.into()]);
    }
    for (name, value) in &filter.labels {
        match value {
            Some(value) => require(
                "EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key = ? AND label.value = ?)",
                vec![name.clone().into(), value.clone().into()],
            ),
            None => require(
                "EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key = ?)",
                vec![name.clone().into()],
            ),
        }
    }
    if let Some(state) = &filter.state {
        let keys = encode_keys(&state.complete);
        require(&format!("{STATE} = ?"), vec![keys.into(), state.state.name().to_owned().into()]);
    }
    (conditions.join(" AND "), values)
}

/// Adds the function of filters: whether a text contains another one, which is in lower case. `LIKE` knows only the case
/// of ASCII letters.
pub(crate) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("contains_lowercase", 2, flags, |context| {
        let (text, wanted) = (context.get_raw(0).as_str_or_null()?, context.get_raw(1).as_str()?);
        Ok(text.is_some_and(|text| text.to_lowercase().contains(wanted)))
    })
}
