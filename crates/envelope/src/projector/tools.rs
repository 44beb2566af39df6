//! Tool calls and their results: counted, never copied.

use interlingua_schema::{ContentPart, Item, ItemDelta, ItemStatus, NativeItemId, ToolKind};

use super::items::Open;
use super::projected::Projected;
use super::session::Session;
use crate::{AgentWrapperEvent, AgentWrapperKind, Name, Tool, ToolBytes, ToolPhase, ToolStatus};

/// A call that has no result yet.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: Option<Name>,
    kind: Option<ToolKind>,
}

/// A call or a result that began and is not over.
#[derive(Debug)]
pub(super) struct OpenTool {
    tool: Tool,
    streams: Streams,
}

/// What the deltas of a tool's item are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streams {
    Arguments,
    Output { of_command: bool },
}

impl Session {
    pub(super) fn call_started<'e>(&mut self, agent: AgentWrapperKind, item: &Item) -> Projected<'e> {
        let tool = Tool { status: ToolStatus::Pending, ..self.call(item, None) };
        let event = AgentWrapperEvent::tool_call(agent, &tool);
        self.items.insert(item.item_id.clone(), Open::Tool(OpenTool { tool, streams: Streams::Arguments }));
        Projected::one(event)
    }

    pub(super) fn call_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        item: &Item,
        open: Option<Open>,
    ) -> Projected<'e> {
        let mut tool = self.call(item, open);
        (tool.phase, tool.status) = match item.status {
            ItemStatus::Failed => (ToolPhase::Fail, ToolStatus::Failed),
            ItemStatus::Completed | ItemStatus::InProgress => (ToolPhase::Complete, ToolStatus::Running),
            ItemStatus::Unknown(_) => (ToolPhase::Fail, ToolStatus::Unknown),
        };
        Projected::one(AgentWrapperEvent::tool_call(agent, &tool))
    }

    pub(super) fn result_started<'e>(&mut self, agent: AgentWrapperKind, item: &Item) -> Projected<'e> {
        let (tool, of_command) = self.result(item, None);
        let event = AgentWrapperEvent::tool_result(agent, &tool);
        let open = OpenTool { tool, streams: Streams::Output { of_command } };
        self.items.insert(item.item_id.clone(), Open::Tool(open));
        Projected::one(event)
    }

    pub(super) fn result_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        item: &Item,
        open: Option<Open>,
    ) -> Projected<'e> {
        let (mut tool, _) = self.result(item, open);
        (tool.phase, tool.status) = match item.status {
            ItemStatus::Failed => (ToolPhase::Fail, ToolStatus::Failed),
            ItemStatus::Completed | ItemStatus::InProgress => (ToolPhase::Complete, ToolStatus::Completed),
            ItemStatus::Unknown(_) => (ToolPhase::Fail, ToolStatus::Unknown),
        };
        if let Some(call) = &tool.tool_use_id {
            self.calls.remove(call);
        }
        Projected::one(AgentWrapperEvent::tool_result(agent, &tool))
    }

    /// A call as it stands, which is remembered until it has its result.
    fn call(&mut self, item: &Item, open: Option<Open>) -> Tool {
        let said = item.content.iter().find_map(|part| match part {
            ContentPart::ToolCall { name, call_id, tool_kind, .. } => Some((name, call_id, tool_kind.as_ref())),
            _ => None,
        });
        let kind = said.and_then(|(_, _, kind)| kind);
        let mut tool = self.tool(item, open, kind, "tool_use");
        tool.tool_name = Name::refreshed(tool.tool_name, said.map(|(name, ..)| name.as_str()));
        tool.tool_use_id = Name::refreshed(tool.tool_use_id, said.map(|(_, call_id, _)| call_id.as_str()));
        if let Some(call_id) = &tool.tool_use_id {
            match self.calls.get_mut(call_id) {
                // What the call is called may be known only when it is complete.
                Some(call) if call.name == tool.tool_name && call.kind.as_ref() == kind => {}
                _ => self.calls.insert(call_id.clone(), Call { name: tool.tool_name.clone(), kind: kind.cloned() }),
            }
        }
        tool
    }

    /// A result as it stands, and whether it is that of a command.
    fn result(&self, item: &Item, open: Option<Open>) -> (Tool, bool) {
        let mut bytes = ToolBytes::default();
        let (mut call_id, mut exit_code) = (None, None);
        for part in &item.content {
            match part {
                ContentPart::ToolResult { call_id: of, output, exit_code: code, stderr_bytes, .. } => {
                    call_id = Some(of.as_str());
                    exit_code = *code;
                    bytes.result += output.len() as u64;
                    bytes.stderr = stderr_bytes.unwrap_or(0);
                }
                ContentPart::FileRef { diff: Some(diff), .. } => bytes.diff += diff.len() as u64,
                _ => {}
            }
        }
        let call = call_id.and_then(|call_id| self.calls.entry(call_id));
        let kind = call.and_then(|(_, call)| call.kind.as_ref());
        let of_command = kind == Some(&ToolKind::Command);
        if of_command {
            bytes.stdout = bytes.result.saturating_sub(bytes.stderr);
        }
        let mut tool = self.tool(item, open, kind, "tool_result");
        tool.tool_use_id = Name::refreshed(call.map(|(call_id, _)| call_id.clone()), call_id);
        tool.tool_name = call.and_then(|(_, call)| call.name.clone());
        (tool.exit_code, tool.bytes) = (exit_code, bytes);
        (tool, of_command)
    }

    /// What calls and results have in common.
    fn tool(&self, item: &Item, open: Option<Open>, kind: Option<&ToolKind>, otherwise: &'static str) -> Tool {
        let native = item.native_item_id.as_ref().map(NativeItemId::as_str);
        let known = match open {
            Some(Open::Tool(open)) => Some(open.tool),
            _ => None,
        };
        let (backend_item_id, tool_name, tool_use_id) = match known {
            Some(known) => (known.backend_item_id, known.tool_name, known.tool_use_id),
            None => (None, None, None),
        };
        Tool {
            backend_item_id: Name::refreshed(backend_item_id, native),
            thread_id: self.thread.clone(),
            turn_id: self.turn.clone(),
            kind: kind_name(kind, otherwise),
            phase: ToolPhase::Start,
            status: ToolStatus::Running,
            exit_code: None,
            bytes: ToolBytes::default(),
            tool_name,
            tool_use_id,
        }
    }
}

impl OpenTool {
    pub(super) fn delta<'e>(&mut self, agent: AgentWrapperKind, delta: &ItemDelta) -> Projected<'e> {
        self.tool.phase = ToolPhase::Delta;
        let event = match self.streams {
            Streams::Arguments => AgentWrapperEvent::tool_call(agent, &self.tool),
            Streams::Output { of_command } => {
                let more = delta.delta.len() as u64;
                self.tool.bytes.result += more;
                if of_command {
                    self.tool.bytes.stdout += more;
                }
                AgentWrapperEvent::tool_result(agent, &self.tool)
            }
        };
        Projected::one(event)
    }
}

/// The facet's word for a sort of tool; `otherwise` where there is none.
fn kind_name(kind: Option<&ToolKind>, otherwise: &'static str) -> Name {
    Name::fixed(match kind {
        Some(ToolKind::Command) => "command_execution",
        Some(ToolKind::FileChange) => "file_change",
        Some(ToolKind::Mcp) => "mcp_tool_call",
        Some(ToolKind::Web) => "web_search",
        Some(ToolKind::FileRead) => "file_read",
        Some(ToolKind::Search) => "search",
        Some(ToolKind::SubAgent) => "sub_agent",
        Some(ToolKind::Plan) => "plan",
        Some(ToolKind::Question) => "question",
        Some(ToolKind::Unknown(kind)) => return Name::new(kind).unwrap_or_else(|| Name::fixed(otherwise)),
        Some(ToolKind::Other) | None => otherwise,
    })
}
