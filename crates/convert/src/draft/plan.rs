//! Plans: the steps of every agent as `PlanStep`.

use interlingua_schema::{PlanStep, StepStatus};
use serde_json::Value;

/// Reason for dropping a plan that has not changed.
pub(crate) const UNCHANGED_PLAN: &str = "unchanged plan";

/// A step with the agent's word for its status. An unknown word means `pending`.
#[must_use]
pub fn plan_step(content: impl Into<String>, status: Option<&str>) -> PlanStep {
    let status = match status.unwrap_or_default() {
        "in_progress" | "inProgress" | "in-progress" => StepStatus::InProgress,
        "completed" | "done" => StepStatus::Completed,
        "cancelled" | "canceled" => StepStatus::Cancelled,
        _ => StepStatus::Pending,
    };
    PlanStep::new(content, status)
}

/// A step of a list in JSON that the model writes. Only the keys `content` and `status` are read.
#[must_use]
pub fn plan_step_from_json(step: Value) -> PlanStep {
    let text = |value: Option<Value>| match value? {
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    match step {
        Value::Object(mut fields) => {
            let status = text(fields.remove("status"));
            plan_step(text(fields.remove("content")).unwrap_or_default(), status.as_deref())
        }
        Value::String(content) => plan_step(content, None),
        other => plan_step(other.to_string(), None),
    }
}

/// The plan that was reported last.
#[derive(Debug, Default)]
pub(crate) struct LastPlan(Option<Vec<PlanStep>>);

impl LastPlan {
    /// Replaces the plan. Returns whether it differs from the last one.
    pub(crate) fn update(&mut self, steps: &[PlanStep]) -> bool {
        let is_changed = self.0.as_deref() != Some(steps);
        if is_changed {
            self.0 = Some(steps.to_vec());
        }
        is_changed
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::ContentPart;
    use serde_json::json;

    use super::*;
    use crate::Note;

    #[test]
    fn status_words_of_all_agents_are_understood() {
        for (step, expected) in [
            (plan_step("Look", None), ("Look", StepStatus::Pending)),
            (plan_step("Look", Some("inProgress")), ("Look", StepStatus::InProgress)),
            (plan_step("Look", Some("done")), ("Look", StepStatus::Completed)),
            (plan_step("Look", Some("canceled")), ("Look", StepStatus::Cancelled)),
            (plan_step("Look", Some("perhaps")), ("Look", StepStatus::Pending)),
            (
                plan_step_from_json(json!({ "activeForm": "Looking", "content": "Look", "status": "in_progress" })),
                ("Look", StepStatus::InProgress),
            ),
            (plan_step_from_json(json!("Look")), ("Look", StepStatus::Pending)),
            (plan_step_from_json(json!({ "id": 7 })), ("", StepStatus::Pending)),
        ] {
            assert_eq!((step.content.as_str(), step.status), expected);
        }
    }

    #[test]
    fn a_plan_counts_completed_steps_and_is_reported_once() {
        let steps = vec![plan_step("Look", Some("completed")), plan_step("Leap", None)];
        let ContentPart::Status { detail, .. } = &Note::plan(steps.clone()).content[0] else { panic!() };
        assert_eq!(detail.as_deref(), Some("1 of 2 done"));
        let mut last = LastPlan::default();
        assert!(last.update(&steps));
        assert!(!last.update(&steps));
        assert!(last.update(&steps[..1]));
    }
}
