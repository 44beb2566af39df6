//! The checkpoint of a session: what the store keeps so that the log need not be read again.

use interlingua_convert::ResumePoint;
use interlingua_schema::{EventData, ItemId, ItemKind, RawJson, Timestamp, UniversalEvent};
use interlingua_store::{RawPayloads, ReadLimits, Session, Store, StoreError, StoredState};
use serde::{Deserialize, Serialize};

/// How much is read at once of the events after the checkpoint.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 1024, max_bytes: 4 * 1024 * 1024 };

/// What is known about a session as of an event at which nothing was open. Later facts are read from the later events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// Sequence number of that event.
    #[serde(rename = "settled")]
    sequence: u64,
    /// Time of that event.
    #[serde(default, rename = "settled_at", skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    /// The agent's working directory, as it was last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest_message: Option<ItemId>,
    /// Ids of all permission requests of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<String>,
    /// Ids of all questions of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<String>,
}

impl Checkpoint {
    /// Loads the stored checkpoint and the events after it, of which there rarely are any.
    pub(super) async fn load(
        store: &Store,
        session: &Session,
        stored: &StoredState,
    ) -> Result<(Self, ResumePoint), StoreError> {
        let mut checkpoint: Self =
            stored.state.as_ref().and_then(|state| serde_json::from_str(state.as_str()).ok()).unwrap_or_default();
        let mut resume = ResumePoint::new(session.id.clone());
        resume.native_session_id.clone_from(&session.native_session_id);
        resume.cwd = checkpoint.cwd.clone().or_else(|| session.directory.clone());
        resume.latest_message.clone_from(&checkpoint.latest_message);
        resume.request_ids = checkpoint.permissions.iter().chain(&checkpoint.questions).cloned().collect();
        if let (Some(time), true) = (checkpoint.time, checkpoint.sequence == session.event_count) {
            resume.sequence = checkpoint.sequence;
            resume.time = time;
            return Ok((checkpoint, resume));
        }
        // The last event is always read: the next event must not be earlier.
        let mut after = checkpoint.sequence.min(session.event_count.saturating_sub(1));
        loop {
            let batch = store.read(session.key, after, READ_LIMITS, RawPayloads::Omit).await?;
            let Some(last) = batch.last_sequence() else { break };
            for (sequence, json) in batch.iter() {
                let event: UniversalEvent = serde_json::from_str(json).map_err(|error| {
                    StoreError::Database(format!("cannot decode event {sequence} of session {}: {error}", session.id))
                })?;
                if sequence > checkpoint.sequence {
                    checkpoint.observe(&event);
                    resume.observe(&event);
                } else {
                    resume.sequence = event.sequence;
                    resume.time = event.time;
                }
            }
            after = last;
        }
        if checkpoint.cwd.is_some() {
            resume.cwd.clone_from(&checkpoint.cwd);
        }
        Ok((checkpoint, resume))
    }

    pub(super) fn observe(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::SessionStarted(started) => {
                self.cwd = started.metadata.as_ref().and_then(|metadata| metadata.cwd.clone());
            }
            EventData::TurnStarted(started) => {
                let cwd = started.metadata.as_ref().and_then(|metadata| metadata.cwd.clone());
                self.cwd = cwd.or(self.cwd.take());
            }
            EventData::ItemStarted(started) if started.item.kind == ItemKind::Message => {
                self.latest_message = Some(started.item.item_id.clone());
            }
            EventData::PermissionRequested(permission) => self.permissions.push(permission.permission_id.clone()),
            EventData::QuestionRequested(question) => self.questions.push(question.question_id.clone()),
            _ => {}
        }
    }

    /// Moves the checkpoint to this event, at which nothing is open, and encodes it.
    pub(super) fn advance(&mut self, event: &UniversalEvent) -> Option<RawJson> {
        self.sequence = event.sequence;
        self.time = Some(event.time);
        serde_json::to_string(self).ok().map(|state| RawJson::from_payload(&state))
    }

    pub(super) fn has_permission(&self, id: &str) -> bool {
        self.permissions.iter().any(|known| known == id)
    }

    pub(super) fn has_question(&self, id: &str) -> bool {
        self.questions.iter().any(|known| known == id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, data: &serde_json::Value) -> UniversalEvent {
        let event = json!({
            "event_id": "evt_1", "sequence": 1, "time": "2026-01-01T00:00:00.000Z", "session_id": "s",
            "native_session_id": null, "source": "daemon", "synthetic": true, "type": kind, "data": data, "raw": null,
        });
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn the_last_reported_directory_is_stored() {
        let mut checkpoint = Checkpoint::default();
        checkpoint.observe(&event("session.started", &json!({ "metadata": { "cwd": "/a" } })));
        checkpoint.observe(&event("turn.started", &json!({ "turn_id": "t1" })));
        assert_eq!(checkpoint.cwd.as_deref(), Some("/a"));
        let turn = event("turn.started", &json!({ "turn_id": "t2", "metadata": { "cwd": "/b" } }));
        checkpoint.observe(&turn);
        let stored = checkpoint.advance(&turn).unwrap();
        let loaded: Checkpoint = serde_json::from_str(stored.as_str()).unwrap();
        assert_eq!(loaded.cwd.as_deref(), Some("/b"));
    }

    #[test]
    fn the_stored_keys_do_not_change() {
        let stored = r#"{"settled":7,"settled_at":"2026-01-01T00:00:00.000Z","cwd":"/a","latest_message":"itm_1","permissions":["p"],"questions":["q"]}"#;
        let loaded: Checkpoint = serde_json::from_str(stored).unwrap();
        assert_eq!(loaded.sequence, 7);
        assert_eq!(serde_json::to_string(&loaded).unwrap(), stored);
    }
}
