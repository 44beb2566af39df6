//! The steps that an agent means to take: each agent has its own words for them, and here they are the same.

use interlingua_schema::{ContentPart, StatusLabel};
use serde_json::{Map, Value};

use super::Note;

/// Why a plan that is told again is dropped.
pub(crate) const AS_BEFORE: &str = "a plan that is as before";

const PENDING: &str = "pending";
const IN_PROGRESS: &str = "in_progress";
const COMPLETED: &str = "completed";
const CANCELLED: &str = "cancelled";

/// A step of a plan: what is to be done, how far it is, and what else the agent says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    content: String,
    status: &'static str,
    more: Map<String, Value>,
}

impl PlanStep {
    /// A step, and the agent's word for how far it is; one that nobody knows means that it is still to be done.
    #[must_use]
    pub fn new(content: impl Into<String>, status: Option<&str>) -> Self {
        let status = match status.unwrap_or_default() {
            "in_progress" | "inProgress" | "in-progress" => IN_PROGRESS,
            "completed" | "done" => COMPLETED,
            "cancelled" | "canceled" => CANCELLED,
            _ => PENDING,
        };
        Self { content: content.into(), status, more: Map::new() }
    }

    /// A step of a list that the model writes, where only its `content` and `status` are known by name.
    #[must_use]
    pub fn of_json(step: Value) -> Self {
        let mut more = match step {
            Value::Object(fields) => fields,
            Value::String(content) => return Self::new(content, None),
            other => return Self::new(other.to_string(), None),
        };
        let content = text(more.remove("content"));
        let status = text(more.remove("status"));
        Self { more, ..Self::new(content.unwrap_or_default(), status.as_deref()) }
    }

    /// Adds what else the agent says of it, if it does.
    #[must_use]
    pub fn with(mut self, field: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.more.insert(field.to_owned(), value.into());
        }
        self
    }

    fn to_json(&self) -> Value {
        let mut fields = self.more.clone();
        fields.insert("content".to_owned(), self.content.as_str().into());
        fields.insert("status".to_owned(), self.status.into());
        Value::Object(fields)
    }
}

fn text(value: Option<Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

impl Note {
    /// The plan as it is now, whole.
    #[must_use]
    pub fn plan(steps: &[PlanStep]) -> Self {
        let done = steps.iter().filter(|step| step.status == COMPLETED).count();
        let json = steps.iter().map(PlanStep::to_json).collect();
        Self::status(StatusLabel::Plan, Some(format!("{done} of {} done", steps.len())))
            .with(ContentPart::Json { json })
    }
}

/// The plan that was told last.
#[derive(Debug, Default)]
pub(crate) struct LastPlan(Option<Vec<PlanStep>>);

impl LastPlan {
    /// Takes note of a plan. Whether it is another one than before.
    pub(crate) fn is_news(&mut self, steps: &[PlanStep]) -> bool {
        let is_news = self.0.as_deref() != Some(steps);
        if is_news {
            self.0 = Some(steps.to_vec());
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_has_the_same_words_whoever_wrote_it() {
        for (step, expected) in [
            (PlanStep::new("Look", None), json!({ "content": "Look", "status": "pending" })),
            (PlanStep::new("Look", Some("inProgress")), json!({ "content": "Look", "status": "in_progress" })),
            (PlanStep::new("Look", Some("done")), json!({ "content": "Look", "status": "completed" })),
            (PlanStep::new("Look", Some("canceled")), json!({ "content": "Look", "status": "cancelled" })),
            (PlanStep::new("Look", Some("perhaps")), json!({ "content": "Look", "status": "pending" })),
            (
                PlanStep::new("Look", None).with("priority", Some("high")).with("id", None::<String>),
                json!({ "content": "Look", "status": "pending", "priority": "high" }),
            ),
            (
                PlanStep::of_json(json!({ "activeForm": "Looking", "content": "Look", "status": "in_progress" })),
                json!({ "activeForm": "Looking", "content": "Look", "status": "in_progress" }),
            ),
            (PlanStep::of_json(json!("Look")), json!({ "content": "Look", "status": "pending" })),
            (PlanStep::of_json(json!({ "id": 7 })), json!({ "id": 7, "content": "", "status": "pending" })),
        ] {
            assert_eq!(step.to_json(), expected);
        }
    }

    #[test]
    fn a_plan_says_how_much_is_done_and_is_news_once() {
        let steps = [PlanStep::new("Look", Some("completed")), PlanStep::new("Leap", None)];
        let ContentPart::Status { detail, .. } = &Note::plan(&steps).content[0] else { panic!() };
        assert_eq!(detail.as_deref(), Some("1 of 2 done"));
        let mut last = LastPlan::default();
        assert!(last.is_news(&steps));
        assert!(!last.is_news(&steps));
        assert!(last.is_news(&steps[..1]));
    }
}
