//! The agent's plan, which it changes with `TodoWrite` or with the task tools.

use interlingua_native::Json;
use interlingua_schema::{PlanStep, ToolKind};
use serde::Deserialize;
use serde_json::Value;

use super::calls::OpenCall;
use crate::draft::LastPlan;
use crate::{Note, plan_step, plan_step_from_json};

/// Maximum number of steps that are tracked.
const MAX_STEPS: usize = 1024;

/// The steps that the task tools have reported, and the plan that was shown last.
#[derive(Debug, Default)]
pub(super) struct Plan {
    steps: Vec<PlanTask>,
    last: LastPlan,
}

/// A task of the task tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PlanTask {
    id: String,
    subject: String,
    status: Option<String>,
}

/// Arguments of all plan tools in one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    todos: Option<Value>,
    #[serde(rename = "taskId")]
    task_id: String,
    subject: Option<String>,
    status: Option<String>,
}

/// Fields of `tool_use_result` of all plan tools in one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanRecord {
    #[serde(rename = "newTodos")]
    new_todos: Option<Value>,
    task: Option<PlanTask>,
    tasks: Option<Vec<PlanTask>>,
}

impl Plan {
    /// Updates the plan with the result of a tool that succeeded. Returns the plan if it changed.
    pub(super) fn update(&mut self, call: &OpenCall, record: Option<&Json>) -> Option<Note> {
        let steps = self.apply(call, record)?;
        self.last.update(&steps).then(|| Note::plan(steps))
    }

    /// Applies the result of a plan tool and returns all steps; `None` if the tool says nothing about the plan.
    fn apply(&mut self, call: &OpenCall, record: Option<&Json>) -> Option<Vec<PlanStep>> {
        if call.kind != ToolKind::Plan {
            return None;
        }
        let arguments: Arguments = call.arguments();
        let record: PlanRecord = record.and_then(|record| record.decode().ok()).unwrap_or_default();
        match call.name.as_str() {
            "TodoWrite" => {
                let Value::Array(todos) = record.new_todos.or(arguments.todos)? else { return None };
                return Some(todos.into_iter().map(plan_step_from_json).collect());
            }
            "TaskCreate" => {
                let task = record.task?;
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
            "TaskList" => self.steps = record.tasks?,
            _ => return None,
        }
        Some(self.steps.iter().map(PlanTask::to_step).collect())
    }
}

impl PlanTask {
    fn to_step(&self) -> PlanStep {
        plan_step(self.subject.as_str(), self.status.as_deref())
    }
}
