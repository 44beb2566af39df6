//! Where a session stands between two stretches of work: what is kept of it in the store.

use interlingua_convert::{LeftOpen, Resume};
use interlingua_schema::{EventData, ItemId, ItemKind, RawJson, Timestamp, UniversalEvent};
use interlingua_store::{Kept, Limits, Raw, Session, Store};
use serde::{Deserialize, Serialize};

/// So much is read at once when the events of a cut-off turn are looked through.
const AT_ONCE: Limits = Limits { events: 1024, bytes: 4 * 1024 * 1024 };

/// What is known of a session as of an event at which nothing was open. What came after it is read from the events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Standing {
    /// The sequence of that event.
    settled: u64,
    /// Its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled_at: Option<Timestamp>,
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
        kept: &Kept,
    ) -> Result<(Self, Resume), interlingua_store::Error> {
        let mut standing: Self =
            kept.state.as_ref().and_then(|state| serde_json::from_str(state.as_str()).ok()).unwrap_or_default();
        let mut resume = Resume {
            session_id: session.id.clone(),
            native: session.native_session_id.clone(),
            sequence: 0,
            time: Timestamp::EPOCH,
            latest_message: standing.latest_message.clone(),
            asked: standing.permissions.iter().chain(&standing.questions).cloned().collect(),
            left_open: LeftOpen::default(),
        };
        if let (Some(time), true) = (standing.settled_at, standing.settled == session.event_count) {
            resume.sequence = standing.settled;
            resume.time = time;
            return Ok((standing, resume));
        }
        // The last event is read in any case: its time is where the next one's begins.
        let mut after = standing.settled.min(session.event_count.saturating_sub(1));
        loop {
            let batch = store.read(session.key, after, AT_ONCE, Raw::Without).await?;
            let Some(last) = batch.last() else { break };
            for (sequence, json) in batch.iter() {
                let event: UniversalEvent = serde_json::from_str(json).map_err(|error| {
                    interlingua_store::Error::Database(format!("event {sequence} cannot be read: {error}"))
                })?;
                if sequence > standing.settled {
                    standing.watch(&event);
                    resume.learn(&event);
                } else {
                    resume.sequence = event.sequence;
                    resume.time = event.time;
                }
            }
            after = last;
        }
        Ok((standing, resume))
    }

    /// Takes note of an event.
    pub(super) fn watch(&mut self, event: &UniversalEvent) {
        match &event.data {
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
