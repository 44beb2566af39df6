//! The condition of a filter in SQL.

use std::collections::BTreeSet;

use tokio_postgres::types::ToSql;

use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::text;
use crate::{SessionFilter, SessionKey, SessionState};

/// Whether a server that runs has all secrets of the session `s` in memory.
pub(crate) const HAS_SECRET_HOLDER: &str = "EXISTS (SELECT 1 FROM secret_holders AS h \
     JOIN servers AS v ON v.id = h.server AND v.expires_at > clock_timestamp() WHERE h.session = s.key)";

/// The state of the session `s`, as [`SessionState::from_session`]. `complete` is the parameter with the sessions of which all
/// values that may be secret are known.
fn state_expression(complete: &str) -> String {
    format!(
        "CASE WHEN s.ended THEN 'ended' \
         WHEN s.has_secrets AND s.key <> ALL({complete}) AND NOT {HAS_SECRET_HOLDER} THEN 'needs_secrets' \
         WHEN EXISTS (SELECT 1 FROM pending_requests AS r WHERE r.session = s.key) THEN 'waiting' \
         WHEN s.busy OR EXISTS (SELECT 1 FROM messages AS m WHERE m.session = s.key AND m.state = 0) \
         THEN 'running' ELSE 'idle' END"
    )
}

/// Counts the sessions by agent and state. `complete` are the sessions of which all values that may be secret are known.
pub(crate) async fn count_by_state(
    client: &DbClient,
    complete: &BTreeSet<SessionKey>,
) -> Result<Vec<(String, SessionState, u64)>, DbError> {
    let query = format!("SELECT s.agent, {}, count(*) FROM sessions AS s GROUP BY 1, 2", state_expression("$1"));
    let complete: Vec<i64> = complete.iter().map(|key| key.0).collect();
    let rows = client.query(&query, &[&complete]).await?;
    Ok(rows
        .iter()
        .map(|row| {
            let name: &str = row.get(1);
            let state = SessionState::ALL.into_iter().find(|state| state.name() == name);
            let count = row.get::<_, i64>(2).cast_unsigned();
            (text::decode(row.get(0)), state.unwrap_or(SessionState::Idle), count)
        })
        .collect())
}

/// A regular expression for a text in upper or lower case. What Postgres takes for letters of another case depends on the
/// locale of the database, so each letter has both.
fn case_insensitive_pattern(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        let lower = letter.to_lowercase().collect::<String>();
        let upper = letter.to_uppercase().collect::<String>();
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() {
            pattern.extend(['\\', letter]);
        } else if lower == upper {
            pattern.push(letter);
        } else {
            for part in ["(", &lower, "|", &upper, ")"] {
                pattern.push_str(part);
            }
        }
    }
    pattern
}

/// A condition on the table `sessions`, with the name `s`, and its parameters.
pub(crate) struct Condition {
    pub(crate) sql: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Condition {
    /// The condition of a filter. Its parameters are `$1` and so on.
    pub(crate) fn new(filter: &SessionFilter) -> Self {
        let mut condition = Self { sql: "true".to_owned(), values: Vec::new() };
        condition.add_filter(filter);
        condition
    }

    fn add_filter(&mut self, filter: &SessionFilter) {
        let encode = |text: &str| text::encode(text).into_owned();
        if !filter.ids.is_empty() {
            let ids = self.add(filter.ids.clone());
            self.require(&format!("s.id = ANY({ids})"));
        }
        if let Some(agent) = &filter.agent {
            let agent = self.add(encode(agent));
            self.require(&format!("s.agent = {agent}"));
        }
        if let Some(directory) = &filter.directory {
            let directory = self.add(encode(directory));
            self.require(&format!("s.directory = {directory}"));
        }
        if let Some(since) = filter.since {
            let since = self.add(since.as_millis());
            self.require(&format!("s.updated_at >= {since}"));
        }
        if let Some(text) = &filter.text {
            let text = self.add(case_insensitive_pattern(&encode(text)));
            self.require(&format!("(s.id ~ {text} OR s.title ~ {text} OR s.directory ~ {text})"));
        }
        for (name, value) in &filter.labels {
            let name = self.add(encode(name));
            match value {
                Some(value) => {
                    let value = self.add(encode(value));
                    self.require(&format!("s.labels ->> {name} = {value}"));
                }
                None => self.require(&format!("s.labels ->> {name} IS NOT NULL")),
            }
        }
        if let Some(state) = &filter.state {
            let complete: Vec<i64> = state.complete.iter().map(|key| key.0).collect();
            let (complete, name) = (self.add(complete), self.add(state.state.name()));
            self.require(&format!("{} = {name}", state_expression(&complete)));
        }
    }

    /// Adds a parameter, and returns its name.
    pub(crate) fn add(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// Adds a condition that must be true too.
    pub(crate) fn require(&mut self, condition: &str) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
    }

    /// The parameters.
    pub(crate) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}
