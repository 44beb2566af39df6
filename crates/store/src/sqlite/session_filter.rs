//! The condition of a filter in SQL.

use rusqlite::types::Value;

use crate::SessionFilter;
use crate::session_filter::escape_pattern;

/// The state of a session in SQL, as [`SessionState::from_session`]. Its parameter is a JSON array of the sessions of which all
/// values that may be secret are known.
const STATE: &str = "CASE \
    WHEN ended THEN 'ended' \
    WHEN has_secrets AND sessions.key NOT IN (SELECT value FROM json_each(?)) THEN 'needs_secrets' \
    WHEN EXISTS (SELECT 1 FROM pending_requests WHERE session = sessions.key) THEN 'waiting' \
    WHEN busy OR EXISTS (SELECT 1 FROM messages WHERE session = sessions.key AND state = 0) THEN 'running' \
    ELSE 'idle' END";

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
        let text = format!("%{}%", escape_pattern(text));
        require(
            r"(id LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\' OR directory LIKE ? ESCAPE '\')",
            vec![text.clone().into(), text.clone().into(), text.into()],
        );
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
        let keys: Vec<String> = state.complete.iter().map(|key| key.0.to_string()).collect();
        let keys = format!("[{}]", keys.join(","));
        require(&format!("{STATE} = ?"), vec![keys.into(), state.state.name().to_owned().into()]);
    }
    (conditions.join(" AND "), values)
}
