//! The data of status items: one shape per label, in the item's `json` part.

use serde_json::Value;

use crate::{ContentPart, ErrorCode, Timestamp, wire_enum, wire_struct, wire_untagged_union};

wire_enum! {
    /// What a status item is about, so that a client can tell them apart. Most labels have data, which follows as a `json`
    /// part (`StatusData`).
    pub enum StatusLabel {
        /// The agent tries a request again.
        Retry = "retry",
        /// The conversation was shortened.
        Compaction = "compaction",
        /// The steps the agent means to take.
        Plan = "plan",
        /// How much of a limit is used.
        RateLimit = "rate_limit",
        /// Another model goes on.
        ModelChanged = "model_changed",
        /// Another mode: permission, plan, review.
        ModeChanged = "mode_changed",
        /// A hook ran.
        Hook = "hook",
        /// Background work moved on.
        Task = "task",
        /// A warning or a remark.
        Notice = "notice",
        /// A tool's result that came after its turn; the output follows as a `text` part.
        LateResult = "late_result",
    } else Unknown
}

wire_untagged_union! {
    /// The data of a status item, which is its `json` part. Which variant it is follows from the item's label; `hook`,
    /// `notice` and `late_result` have no data.
    pub enum StatusData by StatusLabel {
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
}

impl StatusData {
    /// The label of a status item with this data.
    #[must_use]
    pub const fn label(&self) -> StatusLabel {
        self.word()
    }

    /// Reads the `json` part of a status item with this label; `None` for a label without data.
    ///
    /// # Errors
    ///
    /// When the value does not have the keys of the label.
    #[must_use]
    pub fn decode(label: &StatusLabel, json: &Value) -> Option<Result<Self, serde_json::Error>> {
        Self::read_as(label, json)
    }

    /// The `json` part with this data.
    #[must_use]
    pub fn to_part(&self) -> ContentPart {
        // Structs of texts and numbers always become a tree.
        ContentPart::Json { json: serde_json::to_value(self).unwrap_or_default() }
    }
}

wire_struct! {
    /// A request that the agent makes again by itself.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Retry {
        /// Which attempt comes next; the first retry is 1.
        pub attempt: u64,
        /// How many attempts there will be at most. Left out when the agent does not say.
        pub max_attempts?: Option<u64>,
        /// How long the agent waits before it. Left out when the agent does not say.
        pub delay_ms?: Option<u64>,
        /// Why, in the agent's words.
        pub reason: String,
        /// What kind of failure it was. Left out when nothing tells.
        pub code?: Option<ErrorCode>,
    }
    /// The attempt with this number, and why it is made.
    new(attempt: u64, reason: impl Into<String>)
}

wire_struct! {
    /// The conversation is shortened.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Compaction {
        /// Who asked for it. Left out when the agent does not say.
        pub trigger?: Option<CompactionTrigger>,
        /// How long the conversation was. Left out when the agent does not say.
        pub tokens_before?: Option<u64>,
        /// How long it is now. Left out when the agent does not say.
        pub tokens_after?: Option<u64>,
        /// What stands in place of what was said. Left out when the agent does not show it.
        pub summary?: Option<String>,
    }
    /// A compaction of which nothing else is known.
    new()
}

wire_enum! {
    /// Who asked for a compaction.
    pub enum CompactionTrigger {
        /// The user.
        Manual = "manual",
        /// The agent itself.
        Auto = "auto",
    } else Unknown
}

wire_struct! {
    /// A model or a mode that gives way to another.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Change {
        /// What was in use before. Left out when the agent does not say.
        pub from?: Option<String>,
        /// What is in use now.
        pub to: String,
    }
    /// A change to this.
    new(to: impl Into<String>)
}

wire_struct! {
    /// How much of a limit is used.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct RateLimit {
        /// `allowed`, `warning` or `rejected`, or the agent's own word where none of these fits.
        pub status: String,
        /// When the limit is lifted. Left out when the agent does not say.
        pub resets_at?: Option<Timestamp>,
        /// The period that the limit is for, such as `5h` or `7d`. Left out when the agent does not say.
        pub window?: Option<String>,
    }
    /// A limit with this status.
    new(status: impl Into<String>)
}

wire_struct! {
    /// Background work, or a sub-agent's, that moved on.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Task {
        /// The agent's own id of the task.
        pub task_id: String,
        /// The tool call that the task belongs to. Left out when the agent does not say.
        pub call_id?: Option<String>,
        /// How far it is.
        pub state: TaskState,
    }
    /// A task that is this far.
    new(task_id: impl Into<String>, state: TaskState)
}

wire_enum! {
    /// How far a task is.
    #[derive(PartialOrd, Ord)]
    pub enum TaskState {
        /// It began.
        Started = "started",
        /// It goes on.
        Running = "running",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Stopped = "stopped",
    } else Unknown
}

wire_struct! {
    /// What the agent means to do.
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
        /// What is to be done.
        pub content: String,
        /// How far it is.
        pub status: StepStatus,
    }
    /// A step that is this far.
    new(content: impl Into<String>, status: StepStatus)
}

wire_enum! {
    /// How far a step of a plan is.
    #[derive(Default)]
    pub enum StepStatus {
        /// Still to be done.
        #[default]
        Pending = "pending",
        /// Being done.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Given up.
        Cancelled = "cancelled",
    } else Unknown
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
            assert!(StatusData::decode(&label, &broken).unwrap().is_err(), "{label:?} takes {broken}");
            assert!(StatusData::decode(&label, &Value::Null).unwrap().is_err(), "{label:?} takes null");
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
