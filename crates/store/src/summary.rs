//! What a session's events say about its present: pending requests, the last turn, the usage, the model in use.
//!
//! The store derives it from the events of every append and writes it in the same transaction, so that it always agrees
//! with the log and a list of sessions need not read any events.

use interlingua_schema::{EventData, Usage};

/// Changes that follow from the events of one append.
#[derive(Debug, Default)]
pub(crate) struct SummaryChanges {
    /// Requests that were opened or resolved, in order.
    pub(crate) requests: Vec<RequestChange>,
    /// Status of the last turn that ended.
    pub(crate) last_turn_status: Option<String>,
    /// Usage of the turns that ended.
    pub(crate) usage: Option<Usage>,
    /// The model and the mode that the agent reported last.
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<String>,
}

/// A request that was opened or resolved.
#[derive(Debug)]
pub(crate) enum RequestChange {
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
}
