//! `assistant` lines: complete messages, usually one content block per line.

use interlingua_native::Json;
use interlingua_native::claude::{
    AssistantMessage, AssistantMessageError, ContentBlock, FallbackInfo, MessageContent, TextBlock,
};
use interlingua_schema::{Compaction, ContentPart, ToolInput, Visibility};

use super::inputs::{self, CallInput};
use super::streaming::BlockKind;
use super::{AGENT, ClaudeConverter, failures, server_tools, set_payload_time, tools};
use crate::{Drafts, MessageDraft, MessageEnd, Note, ToolCall, ToolResult};

/// Model name of messages that the CLI writes itself.
const CLI_MODEL: &str = "<synthetic>";

/// The message that a block belongs to.
pub(super) struct BlockContext {
    pub(super) session_id: Option<String>,
    /// Tool call of the sub-agent that produced it; `None` for the main agent.
    pub(super) sub_agent: Option<String>,
    pub(super) message_id: Option<String>,
    /// The message was cut off.
    pub(super) is_aborted: bool,
}

impl ClaudeConverter {
    pub(super) fn assistant(&mut self, line: AssistantMessage, out: &mut Drafts) {
        set_payload_time(out, line.timestamp.as_deref());
        let Some(message) = line.message else {
            return out.dropped("line without content");
        };
        if line.parent_tool_use_id.is_none() {
            self.start_message(message.id.as_deref(), out);
            self.accept_prompts(line.user_message_uuids.as_deref().unwrap_or_default(), out);
        }
        let is_error = line.error.is_some() || line.is_api_error_message == Some(true);
        let is_from_cli = message.model.as_ref().is_some_and(|model| model.as_str() == CLI_MODEL);
        let blocks = message.content.map(content_blocks).unwrap_or_default();
        let text = if is_from_cli { join_texts(&blocks) } else { String::new() };
        if is_from_cli && (is_error || failures::is_unmarked_failure(&text)) {
            let info = failures::FailureInfo {
                error: line.error.as_ref(),
                api_type: line.api_error_type.as_deref(),
                status: super::to_u64(line.api_error_status.as_ref()),
                ..failures::FailureInfo::default()
            };
            let failure = info.to_failure(text.as_str());
            if line.parent_tool_use_id.is_none() {
                self.turn.observe_failure(&text, line.error == Some(AssistantMessageError::MaxOutputTokens));
            }
            let session = self.session(out, line.session_id.as_deref());
            return session.sub_agent_or_main(line.parent_tool_use_id).failed(failure);
        }
        if blocks.is_empty() {
            return out.dropped("line without content");
        }
        let context = BlockContext {
            session_id: line.session_id,
            sub_agent: line.parent_tool_use_id,
            message_id: message.id,
            is_aborted: line.aborted == Some(true),
        };
        for block in blocks {
            self.content_block(&context, block, out);
        }
    }

    fn content_block(&mut self, context: &BlockContext, block: ContentBlock, out: &mut Drafts) {
        match block {
            ContentBlock::Text(block) => self.text_block(context, block, out),
            ContentBlock::Thinking(block) => {
                let text = block.thinking.unwrap_or_default();
                // Thinking that the agent does not show leaves an empty block.
                let visibility = if text.is_empty() { Visibility::Private } else { Visibility::Public };
                self.thinking_block(context, &BlockKind::Thinking, visibility, text, out);
            }
            ContentBlock::RedactedThinking(_) => {
                self.thinking_block(context, &BlockKind::Redacted, Visibility::Private, String::new(), out);
            }
            ContentBlock::ToolUse(block) => {
                let name = block.name.unwrap_or_default();
                let input = inputs::parse(&name, block.input.as_ref());
                self.tool_use(context, block.id, name, input, block.input.as_ref(), out);
            }
            ContentBlock::ServerToolUse(block) => {
                let name = block.name.map(|name| name.as_str().to_owned()).unwrap_or_default();
                let input = inputs::parse(&name, block.input.as_ref());
                self.tool_use(context, block.id.unwrap_or_default(), name, input, block.input.as_ref(), out);
            }
            ContentBlock::McpToolUse(block) => {
                let name = block.name.unwrap_or_default();
                let server = block.server_name.unwrap_or_default();
                let input = CallInput::from(Some(inputs::mcp_input(&server, &name, block.input.as_ref())));
                self.tool_use(context, block.id.unwrap_or_default(), name, input, block.input.as_ref(), out);
            }
            block @ (ContentBlock::WebSearchToolResult(_)
            | ContentBlock::WebFetchToolResult(_)
            | ContentBlock::AdvisorToolResult(_)
            | ContentBlock::CodeExecutionToolResult(_)
            | ContentBlock::BashCodeExecutionToolResult(_)
            | ContentBlock::TextEditorCodeExecutionToolResult(_)
            | ContentBlock::ToolSearchToolResult(_)
            | ContentBlock::McpToolResult(_)) => {
                if let Some((id, result)) = server_tools::parse_result(block) {
                    self.server_tool_result(context, id, result, out);
                }
            }
            ContentBlock::ContainerUpload(block) => {
                let file = block.file_id.unwrap_or_default();
                self.block_note(context, Note::notice(format!("file {file} uploaded to the container")), out);
            }
            ContentBlock::Compaction(block) => {
                let note = Note::compaction(Compaction::new().summary(block.content));
                self.block_note(context, note, out);
            }
            ContentBlock::Fallback(block) => {
                let name = |info: Option<FallbackInfo>| {
                    info.and_then(|info| info.model).map(|model| model.as_str().to_owned())
                };
                let (from, to) = (name(block.from), name(block.to));
                let note = self.settings.change_model(from, to, None);
                self.block_note(context, note, out);
            }
            ContentBlock::McpToolListing(block) => {
                let server = block.mcp_server_name.unwrap_or_default();
                let tools = block.tools.map_or(0, |tools| tools.len());
                let detail = format!("MCP server {server} has {tools} tools");
                self.block_note(context, Note::notice(detail), out);
            }
            ContentBlock::Unknown { tag, .. } => self.unknown_block(context, &tag, out),
        }
    }

    fn text_block(&mut self, context: &BlockContext, block: TextBlock, out: &mut Drafts) {
        let text = block.text.unwrap_or_default();
        let mut end = MessageEnd::text(text.as_str());
        if let Some(citations) = block.citations.filter(|citations| !citations.is_empty()) {
            let json = serde_json::to_value(citations).unwrap_or_default();
            end = end.with_part(ContentPart::Json { json });
        }
        if context.sub_agent.is_none() {
            self.turn.observe_message_text(context.message_id.as_deref(), &text);
        }
        self.finish_message(context, &BlockKind::Text, MessageDraft::assistant(), end, out);
    }

    fn thinking_block(
        &mut self,
        context: &BlockContext,
        kind: &BlockKind,
        visibility: Visibility,
        text: String,
        out: &mut Drafts,
    ) {
        self.finish_message(context, kind, MessageDraft::reasoning(visibility), MessageEnd::text(text), out);
    }

    /// Finishes a message under the key that its deltas had, or under a new key if it was not streamed.
    fn finish_message(
        &mut self,
        context: &BlockContext,
        kind: &BlockKind,
        message: MessageDraft,
        end: MessageEnd,
        out: &mut Drafts,
    ) {
        let key = self.streams.complete_block(context.sub_agent.as_deref(), context.message_id.as_deref(), kind);
        let key = key.unwrap_or_else(|| self.new_key());
        let mut message = message;
        if let Some(id) = &context.message_id {
            message = message.native_id(id.as_str()).in_message(id.as_str());
        }
        let end = if context.is_aborted { end.failed() } else { end };
        let mut session =
            self.session(out, context.session_id.as_deref()).sub_agent_or_main(context.sub_agent.as_deref());
        self.sub_agent_prompts.show(context.sub_agent.as_deref(), &mut session);
        session.message_finished(key, message, end);
    }

    fn tool_use(
        &mut self,
        context: &BlockContext,
        id: String,
        name: String,
        input: CallInput,
        arguments: Option<&Json>,
        out: &mut Drafts,
    ) {
        let streamed = BlockKind::Tool(id);
        self.streams.complete_block(context.sub_agent.as_deref(), context.message_id.as_deref(), &streamed);
        let BlockKind::Tool(id) = streamed else {
            return;
        };
        if let Some(ToolInput::SubAgent(task)) = &input.input {
            self.sub_agent_prompts.insert(&id, task.prompt.clone(), out.raw());
        }
        let kind = input.input.as_ref().and_then(ToolInput::kind).unwrap_or_else(|| tools::kind(&name));
        self.calls.insert(&id, &name, kind.clone(), context.sub_agent.as_deref(), arguments);
        let mut call = input.apply_to(ToolCall::new(id.as_str(), name).kind(kind).native_id(id.as_str()));
        call = call.json_arguments(arguments);
        if let Some(message) = &context.message_id {
            call = call.in_message(message.as_str());
        }
        let mut session =
            self.session(out, context.session_id.as_deref()).sub_agent_or_main(context.sub_agent.as_deref());
        self.sub_agent_prompts.show(context.sub_agent.as_deref(), &mut session);
        session.tool_called(id, call);
    }

    fn server_tool_result(&mut self, context: &BlockContext, id: Option<String>, result: ToolResult, out: &mut Drafts) {
        let id = id.unwrap_or_default();
        self.calls.remove(&id);
        let mut session =
            self.session(out, context.session_id.as_deref()).sub_agent_or_main(context.sub_agent.as_deref());
        session.tool_finished(id, result);
    }

    fn block_note(&mut self, context: &BlockContext, note: Note, out: &mut Drafts) {
        let session = self.session(out, context.session_id.as_deref());
        session.sub_agent_or_main(context.sub_agent.as_deref()).note(note);
    }

    fn unknown_block(&mut self, context: &BlockContext, tag: &str, out: &mut Drafts) {
        let native_type = Some(format!("assistant/{tag}"));
        self.session(out, context.session_id.as_deref()).unparsed(AGENT, "unknown content block", native_type);
    }
}

/// The texts of all text blocks, joined by newlines.
fn join_texts(blocks: &[ContentBlock]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(block) => block.text.as_deref(),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Blocks of a message. A single text may be a plain string.
fn content_blocks(content: MessageContent) -> Vec<ContentBlock> {
    match content {
        MessageContent::List(blocks) => blocks,
        MessageContent::Text(text) => {
            let mut block = TextBlock::default();
            block.text = Some(text);
            vec![ContentBlock::Text(block)]
        }
        MessageContent::Unknown(_) => Vec::new(),
    }
}
