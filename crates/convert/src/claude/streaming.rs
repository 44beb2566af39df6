//! `stream_event` lines: deltas of content blocks. The complete `assistant` line of a block comes just before the
//! block's stop event.
//!
//! A block is identified by its message and its index. The complete line has no index, but blocks come one after
//! another, so it belongs to the first incomplete block of its kind.

use interlingua_native::claude::{
    PartialAssistantMessage, RawContentBlockDelta, RawContentBlockDeltaEvent, RawContentBlockStartEvent,
    RawContentBlockStartEventContentBlock, RawMessageStreamEvent,
};
use interlingua_schema::Visibility;
use serde_json::Number;

use super::{AGENT, ClaudeConverter, tools};
use crate::{Drafts, MessageDraft, MessageEnd, SessionDrafts, ToolCall};

/// Drop reason of the events around the deltas.
const FRAMING: &str = "stream framing, or content that the complete line repeats";

/// Kind of a content block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Redacted,
    /// A tool call, with its id.
    Tool(String),
    Other,
}

#[derive(Debug)]
struct StreamedBlock {
    index: u64,
    kind: BlockKind,
    key: String,
    /// A delta with text has come.
    has_started: bool,
    /// The complete `assistant` line of the block has come.
    is_complete: bool,
}

/// A message that is being streamed.
#[derive(Debug)]
struct StreamedMessage {
    /// Tool call of the sub-agent that produces it; `None` for the main agent.
    sub_agent: Option<String>,
    message_id: Option<String>,
    blocks: Vec<StreamedBlock>,
    /// Its `message_stop` has come.
    has_stopped: bool,
}

/// The messages that are being streamed: at most one of the main agent and one of each sub-agent.
#[derive(Debug, Default)]
pub(super) struct StreamedMessages(Vec<StreamedMessage>);

impl StreamedMessages {
    fn get_mut(&mut self, sub_agent: Option<&str>) -> Option<&mut StreamedMessage> {
        self.0.iter_mut().find(|message| message.sub_agent.as_deref() == sub_agent)
    }

    /// Marks a block as complete when its `assistant` line comes. Returns the key that its deltas had, if it was
    /// streamed.
    pub(super) fn complete_block(
        &mut self,
        sub_agent: Option<&str>,
        message_id: Option<&str>,
        kind: &BlockKind,
    ) -> Option<String> {
        let message = self.get_mut(sub_agent).filter(|message| message.message_id.as_deref() == message_id)?;
        let block = message.blocks.iter_mut().find(|block| !block.is_complete && block.kind == *kind)?;
        block.is_complete = true;
        Some(std::mem::take(&mut block.key))
    }

    /// Closes the message that the agent or sub-agent is streaming. Blocks without a complete line are abandoned,
    /// unless the message has stopped.
    fn close(&mut self, session: &mut SessionDrafts<'_>, sub_agent: Option<&str>) {
        if let Some(index) = self.0.iter().position(|message| message.sub_agent.as_deref() == sub_agent) {
            let message = self.0.swap_remove(index);
            for block in message.blocks {
                block.close(session, message.has_stopped);
            }
        }
    }

    /// Like [`close`](Self::close), for the messages of the agent and all sub-agents.
    pub(super) fn close_all(&mut self, session: &mut SessionDrafts<'_>) {
        for message in std::mem::take(&mut self.0) {
            for block in message.blocks {
                block.close(session, message.has_stopped);
            }
        }
    }

    /// Abandons the main agent's message: its request failed and is retried, so the deltas so far are void.
    pub(super) fn abandon(&mut self, session: &mut SessionDrafts<'_>) {
        if let Some(message) = self.get_mut(None) {
            message.has_stopped = false;
        }
        self.close(session, None);
    }
}

impl StreamedMessage {
    /// Abandons the blocks from this index on.
    fn abandon_blocks(&mut self, session: &mut SessionDrafts<'_>, from_index: u64) {
        let (abandoned, kept): (Vec<StreamedBlock>, _) =
            std::mem::take(&mut self.blocks).into_iter().partition(|block| block.index >= from_index);
        self.blocks = kept;
        for block in abandoned {
            block.close(session, false);
        }
    }
}

impl StreamedBlock {
    fn close(self, session: &mut SessionDrafts<'_>, has_stopped: bool) {
        if self.is_complete {
            return;
        }
        match self.kind {
            BlockKind::Tool(id) if !has_stopped => session.tool_abandoned(id),
            BlockKind::Tool(_) | BlockKind::Redacted | BlockKind::Other => {}
            BlockKind::Text | BlockKind::Thinking if !self.has_started => {}
            BlockKind::Text | BlockKind::Thinking if !has_stopped => session.message_abandoned(self.key),
            BlockKind::Text | BlockKind::Thinking => {
                session.message_finished(self.key, MessageDraft::assistant(), MessageEnd::as_streamed());
            }
        }
    }
}

impl ClaudeConverter {
    pub(super) fn stream_event(&mut self, line: PartialAssistantMessage, out: &mut Drafts) {
        let sub_agent = line.parent_tool_use_id;
        let session_id = line.session_id;
        match line.event {
            Some(RawMessageStreamEvent::ContentBlockDelta(event)) => {
                self.content_block_delta(session_id.as_deref(), sub_agent.as_deref(), event, out);
            }
            Some(RawMessageStreamEvent::ContentBlockStart(event)) => {
                self.content_block_start(session_id.as_deref(), sub_agent.as_deref(), event, out);
            }
            Some(RawMessageStreamEvent::MessageStart(event)) => {
                let mut session = self.session(out, session_id.as_deref()).sub_agent_or_main(sub_agent.as_deref());
                self.streams.close(&mut session, sub_agent.as_deref());
                let message_id = event.message.and_then(|message| message.id);
                if sub_agent.is_none() {
                    self.start_message(message_id.as_deref(), out);
                }
                let message = StreamedMessage { sub_agent, message_id, blocks: Vec::new(), has_stopped: false };
                self.streams.0.push(message);
                out.dropped(FRAMING);
            }
            Some(RawMessageStreamEvent::MessageStop(_)) => {
                let mut session = self.session(out, session_id.as_deref()).sub_agent_or_main(sub_agent.as_deref());
                let abandoned = line.abandoned_blocks.map(|blocks| blocks.from_block_index.unwrap_or(0));
                if let Some(message) = self.streams.get_mut(sub_agent.as_deref()) {
                    message.has_stopped = true;
                    if let Some(from_index) = abandoned {
                        message.abandon_blocks(&mut session, u64::try_from(from_index).unwrap_or(0));
                    }
                }
                out.dropped(FRAMING);
            }
            Some(RawMessageStreamEvent::MessageDelta(_) | RawMessageStreamEvent::ContentBlockStop(_)) => {
                out.dropped(FRAMING);
            }
            Some(RawMessageStreamEvent::Unknown { tag, .. }) => {
                let native_type = Some(format!("stream_event/{tag}"));
                self.session(out, session_id.as_deref()).unparsed(AGENT, "unknown stream event", native_type);
            }
            None => out.dropped(FRAMING),
        }
    }

    fn content_block_start(
        &mut self,
        session_id: Option<&str>,
        sub_agent: Option<&str>,
        event: RawContentBlockStartEvent,
        out: &mut Drafts,
    ) {
        use RawContentBlockStartEventContentBlock as Start;
        let mut first_text = None;
        let mut tool = None;
        let kind = match event.content_block {
            Some(Start::Text(block)) => {
                first_text = block.text;
                BlockKind::Text
            }
            Some(Start::Thinking(block)) => {
                first_text = block.thinking;
                BlockKind::Thinking
            }
            Some(Start::RedactedThinking(_)) => BlockKind::Redacted,
            Some(Start::ToolUse(block)) => {
                let name = block.name.unwrap_or_default();
                tool = Some(ToolCall::new(block.id.as_str(), name.as_str()).kind(tools::kind(&name)));
                BlockKind::Tool(block.id)
            }
            Some(Start::ServerToolUse(block)) => {
                let (id, name) = (block.id.unwrap_or_default(), block.name.as_ref().map_or("", |name| name.as_str()));
                tool = Some(ToolCall::new(id.as_str(), name).kind(tools::kind(name)));
                BlockKind::Tool(id)
            }
            Some(Start::McpToolUse(block)) => {
                let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                tool = Some(ToolCall::new(id.as_str(), name).kind(interlingua_schema::ToolKind::Mcp));
                BlockKind::Tool(id)
            }
            _ => BlockKind::Other,
        };
        let key = self.new_key();
        let mut session = self.session(out, session_id).sub_agent_or_main(sub_agent);
        self.sub_agent_prompts.show(sub_agent, &mut session);
        let Some(message) = self.streams.get_mut(sub_agent) else {
            return out.dropped(FRAMING);
        };
        if let (Some(tool), BlockKind::Tool(id)) = (tool, &kind) {
            let mut tool = tool.native_id(id.as_str());
            if let Some(message_id) = &message.message_id {
                tool = tool.in_message(message_id.as_str());
            }
            session.tool_started(id.as_str(), tool);
        }
        let index = block_index(event.index.as_ref());
        let mut block = StreamedBlock { index, kind, key, has_started: false, is_complete: false };
        if let Some(text) = first_text.filter(|text| !text.is_empty()) {
            block.push_delta(&mut session, message.message_id.as_deref(), text);
        }
        message.blocks.push(block);
        out.dropped(FRAMING);
    }

    fn content_block_delta(
        &mut self,
        session_id: Option<&str>,
        sub_agent: Option<&str>,
        event: RawContentBlockDeltaEvent,
        out: &mut Drafts,
    ) {
        let mut session = self.session(out, session_id).sub_agent_or_main(sub_agent);
        let index = block_index(event.index.as_ref());
        let Some(message) = self.streams.get_mut(sub_agent) else {
            return out.dropped(FRAMING);
        };
        let block = message.blocks.iter_mut().find(|block| block.index == index && !block.is_complete);
        let Some(block) = block else {
            return out.dropped(FRAMING);
        };
        match event.delta {
            Some(RawContentBlockDelta::TextDelta(delta)) => {
                block.push_delta(&mut session, message.message_id.as_deref(), delta.text.unwrap_or_default());
            }
            Some(RawContentBlockDelta::ThinkingDelta(delta)) => {
                block.push_delta(&mut session, message.message_id.as_deref(), delta.thinking.unwrap_or_default());
            }
            Some(RawContentBlockDelta::InputJsonDelta(delta)) => {
                let text = delta.partial_json.unwrap_or_default();
                if let (BlockKind::Tool(id), false) = (&block.kind, text.is_empty()) {
                    session.tool_arguments(id.as_str(), text);
                }
            }
            Some(RawContentBlockDelta::Unknown { tag, .. }) => {
                session.unparsed(AGENT, "unknown delta", Some(format!("stream_event/{tag}")));
            }
            // The complete block repeats them.
            Some(
                RawContentBlockDelta::CitationsDelta(_)
                | RawContentBlockDelta::SignatureDelta(_)
                | RawContentBlockDelta::CompactionDelta(_),
            )
            | None => {}
        }
        out.dropped(FRAMING);
    }
}

impl StreamedBlock {
    fn push_delta(&mut self, session: &mut SessionDrafts<'_>, message_id: Option<&str>, text: String) {
        if text.is_empty() {
            return;
        }
        if !self.has_started {
            self.has_started = true;
            let mut start = match self.kind {
                BlockKind::Thinking => MessageDraft::reasoning(Visibility::Public),
                _ => MessageDraft::assistant(),
            };
            if let Some(message_id) = message_id {
                start = start.native_id(message_id).in_message(message_id);
            }
            session.message_started(self.key.as_str(), start);
        }
        session.message_delta(self.key.as_str(), text);
    }
}

fn block_index(number: Option<&Number>) -> u64 {
    super::to_u64(number).unwrap_or(0)
}
