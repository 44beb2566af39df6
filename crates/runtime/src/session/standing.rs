//! Where a session stands between two stretches of work: what is kept of it in the store.

use interlingua_convert::ResumePoint;
use interlingua_schema::{EventData, ItemId, ItemKind, RawJson, Timestamp, UniversalEvent};
use interlingua_store::{RawPayloads, ReadLimits, Session, Store, StoredState};
use serde::{Deserialize, Serialize};

/// So much is read at once when the events of a cut-off turn are looked through.
const AT_ONCE: ReadLimits = ReadLimits { max_events: 1024, max_bytes: 4 * 1024 * 1024 };

/// What is known of a session as of an event at which nothing was open. What came after it is read from the events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Standing {
    /// The sequence of that event.
    settled: u64,
    /// Its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled_at: Option<Timestamp>,
    /// The directory that the agent works in, as it was told last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest_message: Option<ItemId>,
    /// Every permission that was ever asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    permissions: Vec<String>,
    /// Every question that was ever asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    questions: Vec<String>,
}

impl Standing {
    /// Reads what is kept and the events that came later, of which there seldom are any.
    pub(super) async fn load(
        store: &Store,
        session: &Session,
        kept: &StoredState,
    ) -> Result<(Self, ResumePoint), interlingua_store::StoreError> {
        let mut standing: Self =
            kept.state.as_ref().and_then(|state| serde_json::from_str(state.as_str()).ok()).unwrap_or_default();
        let mut resume = ResumePoint::new(session.id.clone());
        resume.native_session_id.clone_from(&session.native_session_id);
        resume.cwd = standing.cwd.clone().or_else(|| session.directory.clone());
        resume.latest_message.clone_from(&standing.latest_message);
        resume.request_ids = standing.permissions.iter().chain(&standing.questions).cloned().collect();
        if let (Some(time), true) = (standing.settled_at, standing.settled == session.event_count) {
            resume.sequence = standing.settled;
            resume.time = time;
            return Ok((standing, resume));
        }
        // The last event is read in any case: its time is where the next one's begins.
        let mut after = standing.settled.min(session.event_count.saturating_sub(1));
        loop {
            let batch = store.read(session.key, after, AT_ONCE, RawPayloads::Omit).await?;
            let Some(last) = batch.last_sequence() else { break };
            for (sequence, json) in batch.iter() {
                let event: UniversalEvent = serde_json::from_str(json).map_err(|error| {
                    interlingua_store::StoreError::Database(format!("event {sequence} cannot be read: {error}"))
                })?;
                if sequence > standing.settled {
                    standing.watch(&event);
                    resume.observe(&event);
                } else {
                    resume.sequence = event.sequence;
                    resume.time = event.time;
                }
            }
            after = last;
        }
        if standing.cwd.is_some() {
            resume.cwd.clone_from(&standing.cwd);
        }
        Ok((standing, resume))
    }

    /// Takes note of an event.
    pub(super) fn watch(&mut self, event: &UniversalEvent) {
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

    /// As of this event nothing is open: what is to be kept.
    pub(super) fn settle(&mut self, event: &UniversalEvent) -> Option<RawJson> {
        self.settled = event.sequence;
        self.settled_at = Some(event.time);
        serde_json::to_string(self).ok().map(|state| RawJson::from_payload(&state))
    }

    pub(super) fn has_permission(&self, id: &str) -> bool {
        self.permissions.iter().any(|asked| asked == id)
    }

    pub(super) fn has_question(&self, id: &str) -> bool {
        self.questions.iter().any(|asked| asked == id)
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
    fn the_directory_is_the_one_told_last_and_is_kept() {
        let mut standing = Standing::default();
        standing.watch(&event("session.started", &json!({ "metadata": { "cwd": "/a" } })));
        standing.watch(&event("turn.started", &json!({ "turn_id": "t1" })));
        assert_eq!(standing.cwd.as_deref(), Some("/a"));
        let told = event("turn.started", &json!({ "turn_id": "t2", "metadata": { "cwd": "/b" } }));
        standing.watch(&told);
        let kept = standing.settle(&told).unwrap();
        let read: Standing = serde_json::from_str(kept.as_str()).unwrap();
        assert_eq!(read.cwd.as_deref(), Some("/b"));
    }
}
