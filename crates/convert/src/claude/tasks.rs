//! Tasks: sub-agents and commands that the agent follows, each a child of the call that started it.

use foldhash::HashMap;
use interlingua_native::claude::{
    TaskNotificationMessage, TaskNotificationMessageStatus, TaskProgressMessage, TaskStartedMessage,
    TaskUpdatedMessage, TaskUpdatedMessagePatchStatus,
};
use interlingua_schema::{Task, TaskState};

use super::ClaudeConverter;
use crate::{Drafts, Key, Note};

/// Maximum number of running tasks that are tracked.
const MAX_TASKS: usize = 1024;

/// The tasks that run.
#[derive(Debug, Default)]
pub(super) struct Tasks(HashMap<String, Running>);

/// A task that runs.
#[derive(Debug)]
struct Running {
    /// The tool call that started it.
    call: Option<String>,
    description: Option<String>,
    /// A sub-agent started it. What such a sub-agent does is not on the wire.
    is_nested: bool,
}

impl Tasks {
    /// The tool call whose sub-agent this task is, if what the sub-agent does is on the wire.
    pub(super) fn visible_sub_agent(&self, task: &str) -> Option<&str> {
        self.0.get(task).filter(|task| !task.is_nested)?.call.as_deref()
    }
}

impl ClaudeConverter {
    pub(super) fn task_started(&mut self, task: TaskStartedMessage, out: &mut Drafts) {
        let id = task.task_id.unwrap_or_default();
        let call = task.tool_use_id;
        let is_nested =
            call.as_ref().and_then(|call| self.calls.get(call)).is_some_and(|call| call.sub_agent.is_some());
        if self.tasks.0.len() < MAX_TASKS {
            let running = Running { call: call.clone(), description: task.description, is_nested };
            self.tasks.0.insert(id.clone(), running);
        }
        self.task(task.session_id.as_deref(), id, call, &TaskState::Started, None, out);
    }

    pub(super) fn task_progress(&mut self, task: TaskProgressMessage, out: &mut Drafts) {
        let what = task.summary.as_deref().or(task.description.as_deref());
        let id = task.task_id.unwrap_or_default();
        self.task(task.session_id.as_deref(), id, task.tool_use_id, &TaskState::Running, what, out);
    }

    pub(super) fn task_updated(&mut self, task: TaskUpdatedMessage, out: &mut Drafts) {
        let patch = task.patch.unwrap_or_default();
        let state = match patch.status {
            Some(TaskUpdatedMessagePatchStatus::Completed) => TaskState::Completed,
            Some(TaskUpdatedMessagePatchStatus::Failed) => TaskState::Failed,
            Some(TaskUpdatedMessagePatchStatus::Killed) => TaskState::Stopped,
            // An unknown state is no end: the task counts as running.
            Some(
                TaskUpdatedMessagePatchStatus::Pending
                | TaskUpdatedMessagePatchStatus::Running
                | TaskUpdatedMessagePatchStatus::Paused
                | TaskUpdatedMessagePatchStatus::Unknown(_),
            )
            | None => TaskState::Running,
        };
        let what = patch.error.as_deref().or(patch.description.as_deref());
        self.task(task.session_id.as_deref(), task.task_id.unwrap_or_default(), None, &state, what, out);
    }

    /// A task is over. A state that is not understood is no success.
    pub(super) fn task_notification(&mut self, task: TaskNotificationMessage, out: &mut Drafts) {
        let state = match task.status {
            Some(TaskNotificationMessageStatus::Completed) => TaskState::Completed,
            Some(TaskNotificationMessageStatus::Stopped) => TaskState::Stopped,
            Some(TaskNotificationMessageStatus::Failed | TaskNotificationMessageStatus::Unknown(_)) | None => {
                TaskState::Failed
            }
        };
        let id = task.task_id.unwrap_or_default();
        let (native, what) = (task.session_id.as_deref(), task.summary.as_deref());
        self.task(native, id.clone(), task.tool_use_id, &state, what, out);
        self.tasks.0.remove(&id);
    }

    /// A task is in this state, as these words or else its description say. A repeated report of the same state is
    /// not shown.
    fn task(
        &mut self,
        native: Option<&str>,
        task_id: String,
        call: Option<String>,
        state: &TaskState,
        what: Option<&str>,
        out: &mut Drafts,
    ) {
        let known = self.tasks.0.get(&task_id);
        let call_id = call.or_else(|| known.and_then(|task| task.call.clone()));
        let what = what.or_else(|| known.and_then(|task| task.description.as_deref())).filter(|what| !what.is_empty());
        let task = Task::new(task_id, state.clone()).call_id(call_id.clone());
        let note = Note::task(task, what, call_id.as_deref().map(Key::from));
        // What a sub-agent was told comes before anything that it has done.
        if *state != TaskState::Started
            && let Some(call) = &call_id
        {
            let mut session = self.aside(out, native).sub_agent(call.as_str());
            self.briefs.show(Some(call), &mut session);
        }
        self.aside(out, native).note(note);
    }
}
