//! The data of status items: one shape per label, in the item's `json` part.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Unexpected};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ContentPart, ErrorCode, StatusLabel, Timestamp};

/// The data of a status item, which is its `json` part. Which variant it is follows from the item's label; `hook`,
/// `notice` and `late_result` have no data.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[non_exhaustive]
pub enum StatusData {
    /// Of the label `retry`.
    Retry(Retry),
    /// Of the label `compaction`.
    Compaction(Compaction),
    /// Of the label `model_changed`.
    ModelChanged(Change),
    /// Of the label `mode_changed`.
    ModeChanged(Change),
    /// Of the label `rate_limit`.
    RateLimit(RateLimit),
    /// Of the label `task`.
    Task(Task),
    /// Of the label `plan`.
    Plan(Plan),
}

impl StatusData {
    /// The label of a status item with this data.
    #[must_use]
    pub const fn label(&self) -> StatusLabel {
        match self {
            Self::Retry(_) => StatusLabel::Retry,
            Self::Compaction(_) => StatusLabel::Compaction,
            Self::ModelChanged(_) => StatusLabel::ModelChanged,
            Self::ModeChanged(_) => StatusLabel::ModeChanged,
            Self::RateLimit(_) => StatusLabel::RateLimit,
            Self::Task(_) => StatusLabel::Task,
            Self::Plan(_) => StatusLabel::Plan,
        }
    }

    /// Reads the `json` part of a status item with this label; `None` for a label without data.
    ///
    /// # Errors
    ///
    /// When the value does not have the keys of the label.
    pub fn read(label: &StatusLabel, json: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn parse<T: DeserializeOwned>(
            json: &Value,
            wrap: fn(T) -> StatusData,
        ) -> Result<StatusData, serde_json::Error> {
            // An array would be read as the fields in order.
            if json.is_array() {
                return Err(serde::de::Error::invalid_type(Unexpected::Seq, &"an object"));
            }
            T::deserialize(json).map(wrap)
        }
        Some(match label {
            StatusLabel::Retry => parse(json, Self::Retry),
            StatusLabel::Compaction => parse(json, Self::Compaction),
            StatusLabel::ModelChanged => parse(json, Self::ModelChanged),
            StatusLabel::ModeChanged => parse(json, Self::ModeChanged),
            StatusLabel::RateLimit => parse(json, Self::RateLimit),
            StatusLabel::Task => parse(json, Self::Task),
            StatusLabel::Plan => parse(json, Self::Plan),
            StatusLabel::Hook | StatusLabel::Notice | StatusLabel::LateResult | StatusLabel::Other(_) => return None,
        })
    }

    /// The `json` part with this data.
    #[must_use]
    pub fn part(&self) -> ContentPart {
        // Structs of texts and numbers always become a tree.
        ContentPart::Json { json: serde_json::to_value(self).unwrap_or_default() }
    }
}

/// A request that the agent makes again by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retry {
    /// Which attempt comes next; the first retry is 1.
    pub attempt: u64,
    /// How many attempts there will be at most. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u64>,
    /// How long the agent waits before it. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Why, in the agent's words.
    pub reason: String,
    /// What kind of failure it was. Left out when nothing tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
}

/// The conversation is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Who asked for it. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<CompactionTrigger>,
    /// How long the conversation was. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// How long it is now. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// What stands in place of what was said. Left out when the agent does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Who asked for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CompactionTrigger {
    /// The user.
    Manual,
    /// The agent itself.
    Auto,
}

/// A model or a mode that gives way to another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// What was in use before. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What is in use now.
    pub to: String,
}

/// How much of a limit is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RateLimit {
    /// `allowed`, `warning` or `rejected`, or the agent's own word where none of these fits.
    pub status: String,
    /// When the limit is lifted. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// The period that the limit is for, such as `5h` or `7d`. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<String>,
}

/// Background work, or a sub-agent's, that moved on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// The agent's own id of the task.
    pub task_id: String,
    /// The tool call that the task belongs to. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// How far it is.
    pub state: TaskState,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It began.
    Started,
    /// It goes on.
    Running,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Stopped,
}

/// What the agent means to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// All steps, in order.
    pub steps: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// What is to be done.
    pub content: String,
    /// How far it is.
    pub status: StepStatus,
}

impl PlanStep {
    /// A step that is this far.
    #[must_use]
    pub fn new(content: impl Into<String>, status: StepStatus) -> Self {
        Self { content: content.into(), status }
    }
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Still to be done.
    #[default]
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_label_decides_how_data_is_read() {
        let step = json!({ "content": "c", "status": "cancelled" });
        for (label, data, broken) in [
            (
                "retry",
                json!({ "attempt": 1, "max_attempts": 3, "delay_ms": 500, "reason": "r", "code": "overloaded" }),
                json!({ "attempt": 1 }),
            ),
            ("retry", json!({ "attempt": 1, "reason": "r" }), json!({ "reason": "r" })),
            (
                "compaction",
                json!({ "trigger": "auto", "tokens_before": 9, "tokens_after": 1, "summary": "s" }),
                json!({ "trigger": "moon" }),
            ),
            ("compaction", json!({}), json!([])),
            ("model_changed", json!({ "from": "a", "to": "b" }), json!({ "from": "a" })),
            ("mode_changed", json!({ "to": "plan" }), json!({})),
            (
                "rate_limit",
                json!({ "status": "warning", "resets_at": "2026-01-27T19:10:11.000Z", "window": "5h" }),
                json!({ "status": "warning", "resets_at": "soon" }),
            ),
            ("rate_limit", json!({ "status": "allowed" }), json!({ "window": "5h" })),
            ("task", json!({ "task_id": "t", "call_id": "c", "state": "stopped" }), json!({ "task_id": "t" })),
            ("task", json!({ "task_id": "t", "state": "running" }), json!({ "task_id": "t", "state": "lost" })),
            ("plan", json!({ "steps": [step] }), json!([step])),
        ] {
            let label: StatusLabel = serde_json::from_value(json!(label)).unwrap();
            let read = StatusData::read(&label, &data).unwrap().unwrap();
            assert_eq!(read.label(), label);
            assert_eq!(read.part(), ContentPart::Json { json: data });
            assert!(StatusData::read(&label, &broken).unwrap().is_err(), "{label:?} takes {broken}");
            assert!(StatusData::read(&label, &Value::Null).unwrap().is_err(), "{label:?} takes null");
        }
    }

    #[test]
    fn some_labels_have_no_data() {
        for label in ["hook", "notice", "late_result", "weather"] {
            let label: StatusLabel = serde_json::from_value(json!(label)).unwrap();
            assert!(StatusData::read(&label, &json!({})).is_none(), "{label:?}");
        }
    }
}
