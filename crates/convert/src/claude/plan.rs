//! The list of things to do that the agent keeps, with `TodoWrite` or with the task tools.

use interlingua_native::Json;
use interlingua_schema::{PlanStep, ToolKind};
use serde::Deserialize;
use serde_json::Value;

use super::calls::Call;
use crate::draft::LastPlan;
use crate::{Note, plan_step, plan_step_from_json};

/// So many steps are kept.
const MAX_STEPS: usize = 1024;

/// The steps as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: Vec<Step>,
    last: LastPlan,
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
    /// The plan after a tool that worked, if it is another one than before.
    pub(super) fn after(&mut self, call: &Call, outcome: Option<&Json>) -> Option<Note> {
        let steps = self.now(call, outcome)?;
        self.last.update(&steps).then(|| Note::plan(steps))
    }

    fn now(&mut self, call: &Call, outcome: Option<&Json>) -> Option<Vec<PlanStep>> {
        if call.kind != ToolKind::Plan {
            return None;
        }
        let arguments: Arguments = call.arguments();
        let outcome: Outcome = outcome.and_then(|outcome| outcome.decode().ok()).unwrap_or_default();
        match call.name.as_str() {
            "TodoWrite" => {
                let Value::Array(todos) = outcome.new_todos.or(arguments.todos)? else { return None };
                return Some(todos.into_iter().map(plan_step_from_json).collect());
            }
            "TaskCreate" => {
                let task = outcome.task?;
                self.steps.retain(|step| step.id != task.id);
                if self.steps.len() < MAX_STEPS {
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
        Some(self.steps.iter().map(Step::to_plan).collect())
    }
}

impl Step {
    fn to_plan(&self) -> PlanStep {
        plan_step(self.subject.as_str(), self.status.as_deref())
    }
}
