//! What a session's events say about its present: pending requests, the last turn, the usage, the model in use.
//!
//! The store derives it from the events of every append and writes it in the same transaction, so that it always agrees
//! with the log and a list of sessions need not read any events.

use interlingua_schema::{EventData, Usage};
use rusqlite::{Connection, OptionalExtension};

use crate::{SessionKey, StoreError};

/// Changes that follow from the events of one append.
#[derive(Debug, Default)]
pub(crate) struct SummaryChanges {
    /// Requests that were opened or resolved, in order.
    requests: Vec<RequestChange>,
    /// Status of the last turn that ended.
    last_turn_status: Option<String>,
    /// Usage of the turns that ended.
    usage: Option<Usage>,
    /// The model and the mode that the agent reported last.
    model: Option<String>,
    mode: Option<String>,
}

#[derive(Debug)]
enum RequestChange {
    /// `data` is the event's data with its kind.
    Opened {
        kind: &'static str,
        id: String,
        data: String,
    },
    Resolved {
        kind: &'static str,
        id: String,
    },
}

const PERMISSION: &str = "permission";
const QUESTION: &str = "question";

impl SummaryChanges {
    pub(crate) fn observe(&mut self, data: &EventData) {
        match data {
            EventData::SessionStarted(started) => {
                if let Some(metadata) = &started.metadata {
                    self.observe_options(metadata.model.as_ref(), metadata.agent_mode.as_ref());
                }
            }
            EventData::TurnStarted(started) => {
                if let Some(metadata) = &started.metadata {
                    self.observe_options(metadata.model.as_ref(), metadata.agent_mode.as_ref());
                }
            }
            EventData::TurnEnded(ended) => {
                self.last_turn_status = Some(ended.status.as_str().to_owned());
                if let Some(usage) = &ended.usage {
                    match &mut self.usage {
                        Some(total) => *total += usage.clone(),
                        None => self.usage = Some(usage.clone()),
                    }
                }
            }
            EventData::PermissionRequested(permission) => {
                self.open(PERMISSION, &permission.permission_id, permission);
            }
            EventData::PermissionResolved(permission) => self.resolve(PERMISSION, &permission.permission_id),
            EventData::QuestionRequested(question) => self.open(QUESTION, &question.question_id, question),
            EventData::QuestionResolved(question) => self.resolve(QUESTION, &question.question_id),
            _ => {}
        }
    }

    fn observe_options(&mut self, model: Option<&String>, mode: Option<&String>) {
        self.model = model.cloned().or(self.model.take());
        self.mode = mode.cloned().or(self.mode.take());
    }

    fn open(&mut self, kind: &'static str, id: &str, data: &impl serde::Serialize) {
        // The data is an object with string keys, which can always be encoded.
        let Ok(serde_json::Value::Object(mut data)) = serde_json::to_value(data) else { return };
        data.insert("kind".to_owned(), kind.into());
        let data = serde_json::Value::Object(data).to_string();
        self.requests.push(RequestChange::Opened { kind, id: id.to_owned(), data });
    }

    fn resolve(&mut self, kind: &'static str, id: &str) {
        self.requests.push(RequestChange::Resolved { kind, id: id.to_owned() });
    }

    /// Writes the changes. Most appends have none.
    pub(crate) fn write(&self, connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
        for change in &self.requests {
            match change {
                RequestChange::Opened { kind, id, data } => connection
                    .prepare_cached(
                        "INSERT INTO pending_requests (session, kind, id, data) VALUES (?1, ?2, ?3, ?4) \
                         ON CONFLICT DO UPDATE SET data = excluded.data",
                    )?
                    .execute((session.0, kind, id, data))?,
                RequestChange::Resolved { kind, id } => connection
                    .prepare_cached("DELETE FROM pending_requests WHERE session = ?1 AND kind = ?2 AND id = ?3")?
                    .execute((session.0, kind, id))?,
            };
        }
        if self.last_turn_status.is_none() && self.model.is_none() && self.mode.is_none() {
            return Ok(());
        }
        let usage = match &self.usage {
            Some(usage) => Some(add_usage(connection, session, usage)?),
            None => None,
        };
        connection
            .prepare_cached(
                "UPDATE sessions SET last_turn_status = coalesce(?2, last_turn_status), usage = coalesce(?3, usage), \
                 reported_model = coalesce(?4, reported_model), reported_mode = coalesce(?5, reported_mode) \
                 WHERE key = ?1",
            )?
            .execute((session.0, &self.last_turn_status, usage, &self.model, &self.mode))?;
        Ok(())
    }
}

/// The stored usage of a session plus `usage`, as JSON.
fn add_usage(connection: &Connection, session: SessionKey, usage: &Usage) -> Result<String, StoreError> {
    let stored: Option<String> = connection
        .prepare_cached("SELECT usage FROM sessions WHERE key = ?1")?
        .query_row([session.0], |row| row.get(0))
        .optional()?
        .flatten();
    let mut total: Usage = stored.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    total += usage.clone();
    serde_json::to_string(&total).map_err(|error| StoreError::Database(error.to_string()))
}

/// Forgets the pending requests of a session that has ended or is deleted.
pub(crate) fn delete_requests(connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM pending_requests WHERE session = ?1")?.execute([session.0])?;
    Ok(())
}
