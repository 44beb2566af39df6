//! Tool items about sub-agents.

use interlingua_native::codex::{
    CollabAgentStatus, CollabAgentTool, CollabAgentToolCallStatus, CollabAgentToolCallThreadItem, SubAgentActivityKind,
    SubAgentActivityThreadItem,
};
use interlingua_schema::{SubAgentInput, ToolInput, ToolKind};
use serde_json::{Map, Value};

use super::Tool;
use crate::ToolResult;
use crate::codex::content::{Output, insert_text};

impl Tool for CollabAgentToolCallThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        let tool = self.tool.as_ref().map_or("collabAgentToolCall", |tool| tool.as_str());
        (tool.to_owned(), ToolKind::SubAgent)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        insert_text(&mut arguments, "prompt", self.prompt.as_deref());
        insert_text(&mut arguments, "model", self.model.as_deref().filter(|model| !model.is_empty()));
        insert_text(&mut arguments, "reasoning_effort", self.reasoning_effort.as_deref());
        if let Some(agents) = self.receiver_thread_ids.as_ref().filter(|agents| !agents.is_empty()) {
            arguments.insert("agents".to_owned(), agents.as_slice().into());
        }
        Value::Object(arguments).to_string()
    }

    fn input(&self) -> Option<ToolInput> {
        let mut input = SubAgentInput::new(self.prompt.as_deref().filter(|prompt| !prompt.is_empty())?);
        // A new agent has no thread id before it is spawned.
        if !matches!(self.tool, Some(CollabAgentTool::SpawnAgent)) {
            input.agent = self.receiver_thread_ids.iter().flatten().next().cloned();
        }
        Some(ToolInput::SubAgent(input))
    }

    fn title(&self) -> Option<String> {
        let has_prompt = self.prompt.as_ref().is_some_and(|prompt| !prompt.is_empty());
        let tool = self.tool.as_ref().filter(|_| !has_prompt)?;
        sub_agent_tool_title(tool.as_str())
    }

    /// Last message or status of each agent that the call is about. An agent that has not started has no output.
    fn result(&self) -> ToolResult {
        let failed = self.status != Some(CollabAgentToolCallStatus::Completed);
        let mut output = Output::default();
        let is_only = self.agents_states.as_ref().is_some_and(|states| states.len() == 1);
        for (agent, state) in self.agents_states.iter().flatten() {
            let status = state.status.as_ref().map_or("unknown", |status| status.as_str());
            match state.message.as_deref() {
                Some(message) if is_only => output.push_text(message),
                Some(message) => output.push_text(&format!("{agent}: {message}")),
                None if state.status == Some(CollabAgentStatus::PendingInit) => {}
                None => output.push_text(&format!("{agent}: {status}")),
            }
        }
        output.into_result().failed_if(failed)
    }
}

/// Activity of a sub-agent, for the kinds that correspond to a call. `completed` is not a call.
impl Tool for SubAgentActivityThreadItem {
    fn id(&self) -> &str {
        &self.id
    }

    fn name_and_kind(&self) -> (String, ToolKind) {
        let name = match &self.kind {
            Some(SubAgentActivityKind::Started) => "spawnAgent",
            Some(SubAgentActivityKind::Interrupted) => "interruptAgent",
            Some(SubAgentActivityKind::Interacted) => "sendMessage",
            Some(kind) => kind.as_str(),
            None => "subAgentActivity",
        };
        (name.to_owned(), ToolKind::SubAgent)
    }

    fn arguments(&self) -> String {
        let mut arguments = Map::new();
        insert_text(&mut arguments, "agent", sub_agent_name(self));
        insert_text(&mut arguments, "model", self.model.as_deref());
        insert_text(&mut arguments, "reasoning_effort", self.reasoning_effort.as_deref());
        Value::Object(arguments).to_string()
    }

    /// The item does not contain the prompt.
    fn title(&self) -> Option<String> {
        let title = sub_agent_tool_title(&self.name_and_kind().0)?;
        Some(sub_agent_name(self).map_or_else(|| title.clone(), |agent| format!("{title} {agent}")))
    }

    /// The item appears only after the activity has succeeded. An unknown activity counts as failed.
    fn result(&self) -> ToolResult {
        let is_known = matches!(
            self.kind,
            Some(
                SubAgentActivityKind::Started
                    | SubAgentActivityKind::Interacted
                    | SubAgentActivityKind::Interrupted
                    | SubAgentActivityKind::Completed
            )
        );
        ToolResult::ok("").failed_if(!is_known)
    }
}

/// Name of the sub-agent that an activity is about.
pub(in crate::codex) fn sub_agent_name(item: &SubAgentActivityThreadItem) -> Option<&str> {
    item.agent_path.as_deref().or(item.agent_thread_id.as_deref())
}

/// Title of a call about sub-agents without a prompt.
pub(in crate::codex) fn sub_agent_tool_title(tool: &str) -> Option<String> {
    let title = match tool {
        "spawnAgent" | "spawn_agent" => "Start sub-agent",
        "sendInput" | "send_input" | "sendMessage" | "send_message" | "followupTask" | "followup_task" => {
            "Message sub-agent"
        }
        "resumeAgent" | "resume_agent" => "Resume sub-agent",
        "wait" | "wait_agent" => "Wait for sub-agent",
        "closeAgent" | "close_agent" => "Close sub-agent",
        "interruptAgent" | "interrupt_agent" => "Interrupt sub-agent",
        "listAgents" | "list_agents" => "List sub-agents",
        _ => return None,
    };
    Some(title.to_owned())
}
