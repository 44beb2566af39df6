//! Tasks: sub-agents and background commands. Each belongs to the call that started it.

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

/// Running tasks by their id.
#[derive(Debug, Default)]
pub(super) struct RunningTasks(HashMap<String, RunningTask>);

#[derive(Debug)]
struct RunningTask {
    /// The tool call that started it.
    call_id: Option<String>,
    description: Option<String>,
    /// A sub-agent started it. The lines of a nested sub-agent are not on the wire.
    is_nested: bool,
}

impl RunningTasks {
    /// The tool call that started the sub-agent of this task, if the sub-agent's lines are on the wire.
    pub(super) fn visible_sub_agent(&self, task_id: &str) -> Option<&str> {
        self.0.get(task_id).filter(|task| !task.is_nested)?.call_id.as_deref()
    }
}

impl ClaudeConverter {
    pub(super) fn task_started(&mut self, task: TaskStartedMessage, out: &mut Drafts) {
        let id = task.task_id.unwrap_or_default();
        let call_id = task.tool_use_id;
        let is_nested = call_id.as_ref().and_then(|id| self.calls.get(id)).is_some_and(|call| call.sub_agent.is_some());
        if self.tasks.0.len() < MAX_TASKS {
            let running = RunningTask { call_id: call_id.clone(), description: task.description, is_nested };
            self.tasks.0.insert(id.clone(), running);
        }
        self.task_note(task.session_id.as_deref(), id, call_id, &TaskState::Started, None, out);
    }

    pub(super) fn task_progress(&mut self, task: TaskProgressMessage, out: &mut Drafts) {
        let detail = task.summary.as_deref().or(task.description.as_deref());
        let id = task.task_id.unwrap_or_default();
        self.task_note(task.session_id.as_deref(), id, task.tool_use_id, &TaskState::Running, detail, out);
    }

    pub(super) fn task_updated(&mut self, task: TaskUpdatedMessage, out: &mut Drafts) {
        let patch = task.patch.unwrap_or_default();
        let state = match patch.status {
            Some(TaskUpdatedMessagePatchStatus::Completed) => TaskState::Completed,
            Some(TaskUpdatedMessagePatchStatus::Failed) => TaskState::Failed,
            Some(TaskUpdatedMessagePatchStatus::Killed) => TaskState::Stopped,
            // An unknown state is not an end: the task counts as running.
            Some(
                TaskUpdatedMessagePatchStatus::Pending
                | TaskUpdatedMessagePatchStatus::Running
                | TaskUpdatedMessagePatchStatus::Paused
                | TaskUpdatedMessagePatchStatus::Unknown(_),
            )
            | None => TaskState::Running,
        };
        let detail = patch.error.as_deref().or(patch.description.as_deref());
        self.task_note(task.session_id.as_deref(), task.task_id.unwrap_or_default(), None, &state, detail, out);
    }

    /// A task ended. An unknown state is a failure.
    pub(super) fn task_notification(&mut self, task: TaskNotificationMessage, out: &mut Drafts) {
        let state = match task.status {
            Some(TaskNotificationMessageStatus::Completed) => TaskState::Completed,
            Some(TaskNotificationMessageStatus::Stopped) => TaskState::Stopped,
            Some(TaskNotificationMessageStatus::Failed | TaskNotificationMessageStatus::Unknown(_)) | None => {
                TaskState::Failed
            }
        };
        let id = task.task_id.unwrap_or_default();
        let (session_id, detail) = (task.session_id.as_deref(), task.summary.as_deref());
        self.task_note(session_id, id.clone(), task.tool_use_id, &state, detail, out);
        self.tasks.0.remove(&id);
    }

    /// Status of a task, with `detail` or else the task's description. The sequencer drops a repeated state.
    fn task_note(
        &mut self,
        session_id: Option<&str>,
        task_id: String,
        call_id: Option<String>,
        state: &TaskState,
        detail: Option<&str>,
        out: &mut Drafts,
    ) {
        let known = self.tasks.0.get(&task_id);
        let call_id = call_id.or_else(|| known.and_then(|task| task.call_id.clone()));
        let detail = detail.or_else(|| known.and_then(|task| task.description.as_deref()));
        let detail = detail.filter(|detail| !detail.is_empty());
        let task = Task::new(task_id, state.clone()).call_id(call_id.clone());
        let note = Note::task(task, detail, call_id.as_deref().map(Key::from));
        // The prompt of a sub-agent comes before anything that the sub-agent does.
        if *state != TaskState::Started
            && let Some(call_id) = &call_id
        {
            let mut session = self.session_if_started(out, session_id).sub_agent(call_id.as_str());
            self.sub_agent_prompts.show(Some(call_id), &mut session);
        }
        self.session_if_started(out, session_id).note(note);
    }
}
