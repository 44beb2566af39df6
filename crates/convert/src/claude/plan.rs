//! The list of things to do that the agent keeps, with `TodoWrite` or with the task tools.

use interlingua_native::Json;
use interlingua_schema::ToolKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::Call;

/// So many steps are kept.
const MOST_STEPS: usize = 1024;

/// The steps as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    /// As they were told last.
    told: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Step {
    id: String,
    subject: String,
    status: Option<String>,
}

/// The arguments of the tools, all in one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    todos: Option<Value>,
    #[serde(rename = "taskId")]
    task_id: String,
    subject: Option<String>,
    status: Option<String>,
}

/// What the tools give back, all in one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Outcome {
    #[serde(rename = "newTodos")]
    new_todos: Option<Value>,
    task: Option<Step>,
    tasks: Option<Vec<Step>>,
}

impl Plan {
    /// The steps after a tool that worked, if they are others than before.
    pub(super) fn after(&mut self, call: &Call, outcome: Option<&Json>) -> Option<Value> {
        let steps = self.now(call, outcome).filter(|steps| self.told.as_ref() != Some(steps))?;
        self.told = Some(steps.clone());
        Some(steps)
    }

    fn now(&mut self, call: &Call, outcome: Option<&Json>) -> Option<Value> {
        if call.kind != ToolKind::Plan {
            return None;
        }
        let arguments: Arguments = call.arguments();
        let outcome: Outcome = outcome.and_then(|outcome| outcome.decode().ok()).unwrap_or_default();
        match call.name.as_str() {
            "TodoWrite" => return outcome.new_todos.or(arguments.todos),
            "TaskCreate" => {
                let task = outcome.task?;
                self.steps.retain(|step| step.id != task.id);
                if self.steps.len() < MOST_STEPS {
                    self.steps.push(task);
                }
            }
            "TaskUpdate" => {
                if arguments.status.as_deref() == Some("deleted") {
                    self.steps.retain(|step| step.id != arguments.task_id);
                } else {
                    let step = self.steps.iter_mut().find(|step| step.id == arguments.task_id)?;
                    step.status = arguments.status.or(step.status.take());
                    step.subject = arguments.subject.unwrap_or_else(|| std::mem::take(&mut step.subject));
                }
            }
            "TaskList" => self.steps = outcome.tasks?,
            _ => return None,
        }
        Some(self.steps.iter().map(Step::to_json).collect())
    }
}

impl Step {
    fn to_json(&self) -> Value {
        json!({ "id": self.id, "content": self.subject, "status": self.status.as_deref().unwrap_or("pending") })
    }
}
