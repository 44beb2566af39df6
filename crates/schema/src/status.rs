//! Status items: their labels, and the data of each label.
//!
//! The data is the `json` part of the item. Which keys it has depends on the label alone.

use serde_json::Value;

use crate::{ContentPart, ErrorCode, Timestamp, wire_enum, wire_struct, wire_untagged_union};

wire_enum! {
    /// What a status item is about. Most labels have data (`StatusData`), in a `json` part of the same item.
    pub enum StatusLabel {
        /// The agent retries a request.
        Retry = "retry",
        /// The conversation was compacted.
        Compaction = "compaction",
        /// The agent's plan changed.
        Plan = "plan",
        /// The usage of a rate limit changed.
        RateLimit = "rate_limit",
        /// Another model is in use.
        ModelChanged = "model_changed",
        /// Another mode is in use: permission mode, plan mode, review mode.
        ModeChanged = "mode_changed",
        /// A hook ran.
        Hook = "hook",
        /// The state of background work changed.
        Task = "task",
        /// A remark of the agent for the user, such as a warning.
        Notice = "notice",
        /// A tool result that arrived after its item was closed. The output is in a `text` part.
        LateResult = "late_result",
    } else Unknown
}

wire_untagged_union! {
    /// The data of a status item, in its `json` part. The item's label decides the variant. `hook`, `notice` and
    /// `late_result` have no data.
    pub enum StatusData by StatusLabel {
        /// Data of the label `retry`.
        Retry(Retry),
        /// Data of the label `compaction`.
        Compaction(Compaction),
        /// Data of the label `model_changed`.
        ModelChanged(Change),
        /// Data of the label `mode_changed`.
        ModeChanged(Change),
        /// Data of the label `rate_limit`.
        RateLimit(RateLimit),
        /// Data of the label `task`.
        Task(Task),
        /// Data of the label `plan`.
        Plan(Plan),
    }
}

impl StatusData {
    /// The label of a status item with this data.
    #[must_use]
    pub const fn label(&self) -> StatusLabel {
        self.tag()
    }

    /// Decodes the `json` part of a status item with this label; `None` if the label has no data.
    ///
    /// # Errors
    ///
    /// If the value lacks a required key of the label, or a key has the wrong type.
    #[must_use]
    pub fn decode(label: &StatusLabel, json: &Value) -> Option<Result<Self, serde_json::Error>> {
        Self::decode_as(label, json)
    }

    /// The `json` part with this data.
    #[must_use]
    pub fn to_part(&self) -> ContentPart {
        // Serialising structs of strings and numbers cannot fail.
        ContentPart::Json { json: serde_json::to_value(self).unwrap_or_default() }
    }
}

wire_struct! {
    /// A retry of a request by the agent.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Retry {
        /// Number of the retry; the first is 1.
        pub attempt: u64,
        /// Maximum number of retries. Omitted if the agent does not report it.
        pub max_attempts?: Option<u64>,
        /// Delay before the retry. Omitted if the agent does not report it.
        pub delay_ms?: Option<u64>,
        /// Reason of the retry, as the agent reports it.
        pub reason: String,
        /// Code of the failure. Omitted if it is not known.
        pub code?: Option<ErrorCode>,
    }
    /// A retry with this number and reason.
    new(attempt: u64, reason: impl Into<String>)
}

wire_struct! {
    /// A compaction of the conversation.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Compaction {
        /// Who requested it. Omitted if the agent does not report it.
        pub trigger?: Option<CompactionTrigger>,
        /// Tokens of the conversation before the compaction. Omitted if the agent does not report it.
        pub tokens_before?: Option<u64>,
        /// Tokens of the conversation after the compaction. Omitted if the agent does not report it.
        pub tokens_after?: Option<u64>,
        /// Summary that replaces the compacted messages. Omitted if the agent does not report it.
        pub summary?: Option<String>,
    }
    /// A compaction without details.
    new()
}

wire_enum! {
    /// Who requested a compaction.
    pub enum CompactionTrigger {
        /// The user.
        Manual = "manual",
        /// The agent itself.
        Auto = "auto",
    } else Unknown
}

wire_struct! {
    /// A change of the model or the mode.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Change {
        /// The previous model or mode. Omitted if the agent does not report it.
        pub from?: Option<String>,
        /// The new model or mode.
        pub to: String,
    }
    /// A change to this model or mode.
    new(to: impl Into<String>)
}

wire_struct! {
    /// The state of a rate limit.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct RateLimit {
        /// `allowed`, `warning` or `rejected`, or the agent's own status if none of these fits.
        pub status: String,
        /// Time at which the limit resets. Omitted if the agent does not report it.
        pub resets_at?: Option<Timestamp>,
        /// Period of the limit, such as `5h` or `7d`. Omitted if the agent does not report it.
        pub window?: Option<String>,
    }
    /// A rate limit with this status.
    new(status: impl Into<String>)
}

wire_struct! {
    /// The state of background work or of a sub-agent.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Task {
        /// The agent's id of the task.
        pub task_id: String,
        /// Id of the tool call that the task belongs to. Omitted if the agent does not report it.
        pub call_id?: Option<String>,
        /// State of the task.
        pub state: TaskState,
    }
    /// A task in this state.
    new(task_id: impl Into<String>, state: TaskState)
}

wire_enum! {
    /// The state of a task.
    #[derive(PartialOrd, Ord)]
    pub enum TaskState {
        /// The task started.
        Started = "started",
        /// The task is running.
        Running = "running",
        /// The task completed.
        Completed = "completed",
        /// The task failed.
        Failed = "failed",
        /// The task was stopped.
        Stopped = "stopped",
    } else Unknown
}

wire_struct! {
    /// The agent's plan.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Plan {
        /// All steps, in order.
        pub steps: Vec<PlanStep>,
    }
    /// A plan of these steps.
    new(steps: Vec<PlanStep>)
}

wire_struct! {
    /// A step of a plan.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct PlanStep {
        /// Description of the step.
        pub content: String,
        /// State of the step.
        pub status: StepStatus,
    }
    /// A step in this state.
    new(content: impl Into<String>, status: StepStatus)
}

wire_enum! {
    /// The state of a plan step.
    #[derive(Default)]
    pub enum StepStatus {
        /// Not started.
        #[default]
        Pending = "pending",
        /// In progress.
        InProgress = "in_progress",
        /// Completed.
        Completed = "completed",
        /// Cancelled.
        Cancelled = "cancelled",
    } else Unknown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_label_decides_how_data_is_decoded() {
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
                json!({ "trigger": 7 }),
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
            ("task", json!({ "task_id": "t", "state": "running" }), json!({ "task_id": "t", "state": 7 })),
            ("plan", json!({ "steps": [step] }), json!([step])),
        ] {
            let label: StatusLabel = serde_json::from_value(json!(label)).unwrap();
            let read = StatusData::decode(&label, &data).unwrap().unwrap();
            assert_eq!(read.label(), label);
            assert_eq!(read.to_part(), ContentPart::Json { json: data });
            assert!(StatusData::decode(&label, &broken).unwrap().is_err(), "{label:?} accepts {broken}");
            assert!(StatusData::decode(&label, &Value::Null).unwrap().is_err(), "{label:?} accepts null");
        }
    }

    #[test]
    fn some_labels_have_no_data() {
        for label in ["hook", "notice", "late_result", "weather"] {
            let label: StatusLabel = serde_json::from_value(json!(label)).unwrap();
            assert!(StatusData::decode(&label, &json!({})).is_none(), "{label:?}");
        }
    }
}
