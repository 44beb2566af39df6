//! `stream_event` lines: the deltas of blocks whose whole line comes just before their end.
//!
//! A block is known by its message and its index. The whole line has no index, but blocks come one after another, so
//! it is of the first open block of its kind.

use interlingua_native::claude::{
    PartialAssistantMessage, RawContentBlockDelta, RawContentBlockDeltaEvent, RawContentBlockStartEvent,
    RawContentBlockStartEventContentBlock, RawMessageStreamEvent,
};
use interlingua_schema::Visibility;
use serde_json::Number;

use super::{ClaudeConverter, HERE, tools};
use crate::{Drafts, MessageDraft, MessageEnd, SessionDrafts, ToolCall};

/// Why the events around the deltas are dropped.
const FRAME: &str = "stream framing, or what the whole line repeats";

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Redacted,
    /// A call, with its id.
    Tool(String),
    Other,
}

#[derive(Debug)]
struct Block {
    index: u64,
    kind: BlockKind,
    key: String,
    /// Something of it was said.
    started: bool,
    /// Its whole line has come.
    done: bool,
}

/// A message that streams.
#[derive(Debug)]
struct Streaming {
    /// The tool call of the sub-agent that says it.
    call: Option<String>,
    message: Option<String>,
    blocks: Vec<Block>,
    ended: bool,
}

/// The messages that stream: one of the agent and of each sub-agent at most.
#[derive(Debug, Default)]
pub(super) struct Streams(Vec<Streaming>);

impl Streams {
    fn of(&mut self, call: Option<&str>) -> Option<&mut Streaming> {
        self.0.iter_mut().find(|streaming| streaming.call.as_deref() == call)
    }

    /// The whole line of a block has come: the key by which it was streamed, if it was.
    pub(super) fn done(&mut self, call: Option<&str>, message: Option<&str>, kind: &BlockKind) -> Option<String> {
        let streaming = self.of(call).filter(|streaming| streaming.message.as_deref() == message)?;
        let block = streaming.blocks.iter_mut().find(|block| !block.done && block.kind == *kind)?;
        block.done = true;
        Some(std::mem::take(&mut block.key))
    }

    /// Ends the message that streams there. Blocks without a whole line are taken back, unless the message was said
    /// to its end.
    fn close(&mut self, session: &mut SessionDrafts<'_>, call: Option<&str>) {
        if let Some(at) = self.0.iter().position(|streaming| streaming.call.as_deref() == call) {
            let streaming = self.0.swap_remove(at);
            for block in streaming.blocks {
                block.close(session, streaming.ended);
            }
        }
    }

    /// As [`close`](Self::close), for whoever streams.
    pub(super) fn close_all(&mut self, session: &mut SessionDrafts<'_>) {
        for streaming in std::mem::take(&mut self.0) {
            for block in streaming.blocks {
                block.close(session, streaming.ended);
            }
        }
    }

    /// The agent's own request failed and is made again: what it said so far is void.
    pub(super) fn take_back(&mut self, session: &mut SessionDrafts<'_>) {
        if let Some(streaming) = self.of(None) {
            streaming.ended = false;
        }
        self.close(session, None);
    }
}

impl Streaming {
    /// Takes back the blocks from this one on.
    fn void(&mut self, session: &mut SessionDrafts<'_>, from: u64) {
        let (void, kept): (Vec<Block>, _) =
            std::mem::take(&mut self.blocks).into_iter().partition(|block| block.index >= from);
        self.blocks = kept;
        for block in void {
            block.close(session, false);
        }
    }
}

impl Block {
    fn close(self, session: &mut SessionDrafts<'_>, whole: bool) {
        if self.done {
            return;
        }
        match self.kind {
            BlockKind::Tool(id) if !whole => session.tool_abandoned(id),
            BlockKind::Tool(_) | BlockKind::Redacted | BlockKind::Other => {}
            BlockKind::Text | BlockKind::Thinking if !self.started => {}
            BlockKind::Text | BlockKind::Thinking if !whole => session.message_abandoned(self.key),
            BlockKind::Text | BlockKind::Thinking => {
                session.message_finished(self.key, MessageDraft::assistant(), MessageEnd::as_streamed());
            }
        }
    }
}

impl ClaudeConverter {
    pub(super) fn stream_event(&mut self, line: PartialAssistantMessage, out: &mut Drafts) {
        let call = line.parent_tool_use_id;
        let session = line.session_id;
        match line.event {
            Some(RawMessageStreamEvent::ContentBlockDelta(event)) => {
                self.block_delta(session.as_deref(), call.as_deref(), event, out);
            }
            Some(RawMessageStreamEvent::ContentBlockStart(event)) => {
                self.block_start(session.as_deref(), call.as_deref(), event, out);
            }
            Some(RawMessageStreamEvent::MessageStart(event)) => {
                let mut session = self.open(out, session.as_deref()).sub_agent_or_main(call.as_deref());
                self.streams.close(&mut session, call.as_deref());
                let message = event.message.and_then(|message| message.id);
                if call.is_none() {
                    self.message_begins(message.as_deref(), out);
                }
                self.streams.0.push(Streaming { call, message, blocks: Vec::new(), ended: false });
                out.dropped(FRAME);
            }
            Some(RawMessageStreamEvent::MessageStop(_)) => {
                let mut session = self.open(out, session.as_deref()).sub_agent_or_main(call.as_deref());
                let abandoned = line.abandoned_blocks.map(|blocks| blocks.from_block_index.unwrap_or(0));
                if let Some(streaming) = self.streams.of(call.as_deref()) {
                    streaming.ended = true;
                    if let Some(from) = abandoned {
                        streaming.void(&mut session, u64::try_from(from).unwrap_or(0));
                    }
                }
                out.dropped(FRAME);
            }
            Some(RawMessageStreamEvent::MessageDelta(_) | RawMessageStreamEvent::ContentBlockStop(_)) => {
                out.dropped(FRAME);
            }
            Some(RawMessageStreamEvent::Unknown { tag, .. }) => {
                let native_type = Some(format!("stream_event/{tag}"));
                self.open(out, session.as_deref()).unparsed(HERE, "unknown stream event", native_type);
            }
            None => out.dropped(FRAME),
        }
    }

    fn block_start(
        &mut self,
        native: Option<&str>,
        call: Option<&str>,
        event: RawContentBlockStartEvent,
        out: &mut Drafts,
    ) {
        use RawContentBlockStartEventContentBlock as Start;
        let mut first_words = None;
        let mut tool = None;
        let kind = match event.content_block {
            Some(Start::Text(block)) => {
                first_words = block.text;
                BlockKind::Text
            }
            Some(Start::Thinking(block)) => {
                first_words = block.thinking;
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
        let mut session = self.open(out, native).sub_agent_or_main(call);
        self.briefs.show(call, &mut session);
        let Some(streaming) = self.streams.of(call) else {
            return out.dropped(FRAME);
        };
        if let (Some(tool), BlockKind::Tool(id)) = (tool, &kind) {
            let mut tool = tool.native_id(id.as_str());
            if let Some(message) = &streaming.message {
                tool = tool.in_message(message.as_str());
            }
            session.tool_started(id.as_str(), tool);
        }
        let mut block = Block { index: index(event.index.as_ref()), kind, key, started: false, done: false };
        if let Some(words) = first_words.filter(|words| !words.is_empty()) {
            block.delta(&mut session, streaming.message.as_deref(), words);
        }
        streaming.blocks.push(block);
        out.dropped(FRAME);
    }

    fn block_delta(
        &mut self,
        native: Option<&str>,
        call: Option<&str>,
        event: RawContentBlockDeltaEvent,
        out: &mut Drafts,
    ) {
        let mut session = self.open(out, native).sub_agent_or_main(call);
        let at = index(event.index.as_ref());
        let Some(streaming) = self.streams.of(call) else {
            return out.dropped(FRAME);
        };
        let block = streaming.blocks.iter_mut().find(|block| block.index == at && !block.done);
        let Some(block) = block else {
            return out.dropped(FRAME);
        };
        match event.delta {
            Some(RawContentBlockDelta::TextDelta(delta)) => {
                block.delta(&mut session, streaming.message.as_deref(), delta.text.unwrap_or_default());
            }
            Some(RawContentBlockDelta::ThinkingDelta(delta)) => {
                block.delta(&mut session, streaming.message.as_deref(), delta.thinking.unwrap_or_default());
            }
            Some(RawContentBlockDelta::InputJsonDelta(delta)) => {
                let text = delta.partial_json.unwrap_or_default();
                if let (BlockKind::Tool(id), false) = (&block.kind, text.is_empty()) {
                    session.tool_arguments(id.as_str(), text);
                }
            }
            Some(RawContentBlockDelta::Unknown { tag, .. }) => {
                session.unparsed(HERE, "unknown delta", Some(format!("stream_event/{tag}")));
            }
            // Their whole comes with the block.
            Some(
                RawContentBlockDelta::CitationsDelta(_)
                | RawContentBlockDelta::SignatureDelta(_)
                | RawContentBlockDelta::CompactionDelta(_),
            )
            | None => {}
        }
        out.dropped(FRAME);
    }
}

impl Block {
    fn delta(&mut self, session: &mut SessionDrafts<'_>, message: Option<&str>, text: String) {
        if text.is_empty() {
            return;
        }
        if !self.started {
            self.started = true;
            let mut start = match self.kind {
                BlockKind::Thinking => MessageDraft::reasoning(Visibility::Public),
                _ => MessageDraft::assistant(),
            };
            if let Some(message) = message {
                start = start.native_id(message).in_message(message);
            }
            session.message_started(self.key.as_str(), start);
        }
        session.message_delta(self.key.as_str(), text);
    }
}

fn index(number: Option<&Number>) -> u64 {
    super::whole(number).unwrap_or(0)
}
