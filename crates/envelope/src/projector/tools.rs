//! Tool calls and results: their sizes are counted, their content is dropped.

use interlingua_schema::{ContentPart, Item, ItemDelta, ItemStatus, NativeItemId, ToolKind};

use super::items::OpenItem;
use super::projected_events::ProjectedEvents;
use super::session::Session;
use crate::{AgentWrapperEvent, AgentWrapperKind, Name, Tool, ToolBytes, ToolPhase, ToolStatus};

/// A call without a result.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) name: Option<Name>,
    kind: Option<ToolKind>,
}

/// A call or result that has started and not completed.
#[derive(Debug)]
pub(super) struct OpenTool {
    tool: Tool,
    content: DeltaContent,
}

/// The content of the deltas of a tool item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeltaContent {
    Arguments,
    Output { is_command: bool },
}

impl Session {
    pub(super) fn call_started<'e>(&mut self, agent: AgentWrapperKind, item: &Item) -> ProjectedEvents<'e> {
        let tool = Tool { status: ToolStatus::Pending, ..self.call_state(item, None) };
        let event = AgentWrapperEvent::tool_call(agent, &tool);
        self.open_items
            .insert(item.item_id.clone(), OpenItem::Tool(OpenTool { tool, content: DeltaContent::Arguments }));
        ProjectedEvents::one(event)
    }

    pub(super) fn call_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        item: &Item,
        open: Option<OpenItem>,
    ) -> ProjectedEvents<'e> {
        let mut tool = self.call_state(item, open);
        (tool.phase, tool.status) = match item.status {
            ItemStatus::Failed => (ToolPhase::Fail, ToolStatus::Failed),
            ItemStatus::Completed | ItemStatus::InProgress => (ToolPhase::Complete, ToolStatus::Running),
            ItemStatus::Unknown(_) => (ToolPhase::Fail, ToolStatus::Unknown),
        };
        ProjectedEvents::one(AgentWrapperEvent::tool_call(agent, &tool))
    }

    pub(super) fn result_started<'e>(&mut self, agent: AgentWrapperKind, item: &Item) -> ProjectedEvents<'e> {
        let (tool, is_command) = self.result_state(item, None);
        let event = AgentWrapperEvent::tool_result(agent, &tool);
        let open = OpenTool { tool, content: DeltaContent::Output { is_command } };
        self.open_items.insert(item.item_id.clone(), OpenItem::Tool(open));
        ProjectedEvents::one(event)
    }

    pub(super) fn result_completed<'e>(
        &mut self,
        agent: AgentWrapperKind,
        item: &Item,
        open: Option<OpenItem>,
    ) -> ProjectedEvents<'e> {
        let (mut tool, _) = self.result_state(item, open);
        (tool.phase, tool.status) = match item.status {
            ItemStatus::Failed => (ToolPhase::Fail, ToolStatus::Failed),
            ItemStatus::Completed | ItemStatus::InProgress => (ToolPhase::Complete, ToolStatus::Completed),
            ItemStatus::Unknown(_) => (ToolPhase::Fail, ToolStatus::Unknown),
        };
        if let Some(call) = &tool.tool_use_id {
            self.pending_calls.remove(call);
        }
        ProjectedEvents::one(AgentWrapperEvent::tool_result(agent, &tool))
    }

    /// The state of a call. Keeps the call in `pending_calls` until it has its result.
    fn call_state(&mut self, item: &Item, open: Option<OpenItem>) -> Tool {
        let part = item.content.iter().find_map(|part| match part {
            ContentPart::ToolCall { name, call_id, tool_kind, .. } => Some((name, call_id, tool_kind.as_ref())),
            _ => None,
        });
        let kind = part.and_then(|(_, _, kind)| kind);
        let mut tool = self.tool_state(item, open, kind, "tool_use");
        tool.tool_name = Name::new_or_reuse(tool.tool_name, part.map(|(name, ..)| name.as_str()));
        tool.tool_use_id = Name::new_or_reuse(tool.tool_use_id, part.map(|(_, call_id, _)| call_id.as_str()));
        if let Some(call_id) = &tool.tool_use_id {
            match self.pending_calls.get_mut(call_id) {
                // The name and kind may be known only when the call completes.
                Some(call) if call.name == tool.tool_name && call.kind.as_ref() == kind => {}
                _ => self
                    .pending_calls
                    .insert(call_id.clone(), PendingCall { name: tool.tool_name.clone(), kind: kind.cloned() }),
            }
        }
        tool
    }

    /// The state of a result, and whether it is the result of a command.
    fn result_state(&self, item: &Item, open: Option<OpenItem>) -> (Tool, bool) {
        let mut bytes = ToolBytes::default();
        let (mut call_id, mut exit_code) = (None, None);
        for part in &item.content {
            match part {
                ContentPart::ToolResult { call_id: id, output, exit_code: code, stderr_bytes, .. } => {
                    call_id = Some(id.as_str());
                    exit_code = *code;
                    bytes.result += output.len() as u64;
                    bytes.stderr = stderr_bytes.unwrap_or(0);
                }
                ContentPart::FileRef { diff: Some(diff), .. } => bytes.diff += diff.len() as u64,
                _ => {}
            }
        }
        let call = call_id.and_then(|call_id| self.pending_calls.entry(call_id));
        let kind = call.and_then(|(_, call)| call.kind.as_ref());
        let is_command = kind == Some(&ToolKind::Command);
        if is_command {
            bytes.stdout = bytes.result.saturating_sub(bytes.stderr);
        }
        let mut tool = self.tool_state(item, open, kind, "tool_result");
        tool.tool_use_id = Name::new_or_reuse(call.map(|(call_id, _)| call_id.clone()), call_id);
        tool.tool_name = call.and_then(|(_, call)| call.name.clone());
        (tool.exit_code, tool.bytes) = (exit_code, bytes);
        (tool, is_command)
    }

    /// The state that calls and results have in common.
    fn tool_state(
        &self,
        item: &Item,
        open: Option<OpenItem>,
        kind: Option<&ToolKind>,
        default_kind: &'static str,
    ) -> Tool {
        let native = item.native_item_id.as_ref().map(NativeItemId::as_str);
        let known = match open {
            Some(OpenItem::Tool(open)) => Some(open.tool),
            _ => None,
        };
        let (backend_item_id, tool_name, tool_use_id) = match known {
            Some(known) => (known.backend_item_id, known.tool_name, known.tool_use_id),
            None => (None, None, None),
        };
        Tool {
            backend_item_id: Name::new_or_reuse(backend_item_id, native),
            thread_id: self.thread.clone(),
            turn_id: self.turn.clone(),
            kind: kind_name(kind, default_kind),
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
    pub(super) fn delta<'e>(&mut self, agent: AgentWrapperKind, delta: &ItemDelta) -> ProjectedEvents<'e> {
        self.tool.phase = ToolPhase::Delta;
        let event = match self.content {
            DeltaContent::Arguments => AgentWrapperEvent::tool_call(agent, &self.tool),
            DeltaContent::Output { is_command } => {
                let more = delta.delta.len() as u64;
                self.tool.bytes.result += more;
                if is_command {
                    self.tool.bytes.stdout += more;
                }
                AgentWrapperEvent::tool_result(agent, &self.tool)
            }
        };
        ProjectedEvents::one(event)
    }
}

/// The facet's name of a tool kind; `default` if it has none.
fn kind_name(kind: Option<&ToolKind>, default: &'static str) -> Name {
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
        Some(ToolKind::Unknown(kind)) => return Name::new(kind).unwrap_or_else(|| Name::fixed(default)),
        Some(ToolKind::Other) | None => default,
    })
}
