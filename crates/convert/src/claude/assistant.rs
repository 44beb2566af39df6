//! `assistant` lines: one content block each, whole.

use interlingua_native::Json;
use interlingua_native::claude::{
    AssistantMessage, AssistantMessageError, ContentBlock, FallbackInfo, MessageContent, TextBlock,
};
use interlingua_schema::{Compaction, ContentPart, ToolInput, Visibility};

use super::inputs::{self, CallInput};
use super::streaming::BlockKind;
use super::{ClaudeConverter, HERE, at, failures, hosted, tools};
use crate::{Drafts, MessageDraft, MessageEnd, Note, ToolCall, ToolResult};

/// The model that the agent names when it speaks itself.
const NO_MODEL: &str = "<synthetic>";

/// Where a block stands.
pub(super) struct Place {
    pub(super) session: Option<String>,
    /// The tool call of the sub-agent that says it.
    pub(super) call: Option<String>,
    /// The message it is a block of.
    pub(super) message: Option<String>,
    /// The message was cut off.
    pub(super) aborted: bool,
}

impl ClaudeConverter {
    pub(super) fn assistant(&mut self, line: AssistantMessage, out: &mut Drafts) {
        at(out, line.timestamp.as_deref());
        let Some(message) = line.message else {
            return out.dropped("line without content");
        };
        if line.parent_tool_use_id.is_none() {
            self.message_begins(message.id.as_deref(), out);
            self.taken_up(line.user_message_uuids.as_deref().unwrap_or_default(), out);
        }
        let is_error = line.error.is_some() || line.is_api_error_message == Some(true);
        let is_made_up = message.model.as_ref().is_some_and(|model| model.as_str() == NO_MODEL);
        let content = message.content.map(blocks).unwrap_or_default();
        let text = if is_made_up { texts(&content) } else { String::new() };
        if is_made_up && (is_error || failures::is_unmarked(&text)) {
            let kind = failures::Kind {
                error: line.error.as_ref(),
                api_type: line.api_error_type.as_deref(),
                status: super::whole(line.api_error_status.as_ref()),
                ..failures::Kind::default()
            };
            let failure = kind.failure(text.as_str());
            if line.parent_tool_use_id.is_none() {
                self.turn.complained(&text, line.error == Some(AssistantMessageError::MaxOutputTokens));
            }
            let session = self.open(out, line.session_id.as_deref());
            return session.sub_agent_or_main(line.parent_tool_use_id).failed(failure);
        }
        if content.is_empty() {
            return out.dropped("line without content");
        }
        let place = Place {
            session: line.session_id,
            call: line.parent_tool_use_id,
            message: message.id,
            aborted: line.aborted == Some(true),
        };
        for block in content {
            self.block(&place, block, out);
        }
    }

    fn block(&mut self, place: &Place, block: ContentBlock, out: &mut Drafts) {
        match block {
            ContentBlock::Text(block) => self.text(place, block, out),
            ContentBlock::Thinking(block) => {
                let text = block.thinking.unwrap_or_default();
                // Thinking that the agent does not show leaves an empty block.
                let visibility = if text.is_empty() { Visibility::Private } else { Visibility::Public };
                self.reason(place, &BlockKind::Thinking, visibility, text, out);
            }
            ContentBlock::RedactedThinking(_) => {
                self.reason(place, &BlockKind::Redacted, Visibility::Private, String::new(), out);
            }
            ContentBlock::ToolUse(block) => {
                let name = block.name.unwrap_or_default();
                let about = inputs::read(&name, block.input.as_ref());
                self.call(place, block.id, name, about, block.input.as_ref(), out);
            }
            ContentBlock::ServerToolUse(block) => {
                let name = block.name.map(|name| name.as_str().to_owned()).unwrap_or_default();
                let about = inputs::read(&name, block.input.as_ref());
                self.call(place, block.id.unwrap_or_default(), name, about, block.input.as_ref(), out);
            }
            ContentBlock::McpToolUse(block) => {
                let name = block.name.unwrap_or_default();
                let server = block.server_name.unwrap_or_default();
                let about = CallInput::from(Some(inputs::mcp(&server, &name, block.input.as_ref())));
                self.call(place, block.id.unwrap_or_default(), name, about, block.input.as_ref(), out);
            }
            block @ (ContentBlock::WebSearchToolResult(_)
            | ContentBlock::WebFetchToolResult(_)
            | ContentBlock::AdvisorToolResult(_)
            | ContentBlock::CodeExecutionToolResult(_)
            | ContentBlock::BashCodeExecutionToolResult(_)
            | ContentBlock::TextEditorCodeExecutionToolResult(_)
            | ContentBlock::ToolSearchToolResult(_)
            | ContentBlock::McpToolResult(_)) => {
                if let Some((id, result)) = hosted::result(block) {
                    self.hosted_result(place, id, result, out);
                }
            }
            ContentBlock::ContainerUpload(block) => {
                let file = block.file_id.unwrap_or_default();
                self.note_here(place, Note::notice(format!("file {file} is in the container")), out);
            }
            ContentBlock::Compaction(block) => {
                let note = Note::compaction(Compaction::new().summary(block.content));
                self.note_here(place, note, out);
            }
            ContentBlock::Fallback(block) => {
                let name = |info: Option<FallbackInfo>| {
                    info.and_then(|info| info.model).map(|model| model.as_str().to_owned())
                };
                let (from, to) = (name(block.from), name(block.to));
                let note = self.settings.model_is(from, to, None);
                self.note_here(place, note, out);
            }
            ContentBlock::McpToolListing(block) => {
                let server = block.mcp_server_name.unwrap_or_default();
                let tools = block.tools.map_or(0, |tools| tools.len());
                let detail = format!("MCP server {server} has {tools} tools");
                self.note_here(place, Note::notice(detail), out);
            }
            ContentBlock::Unknown { tag, .. } => self.unknown_block(place, &tag, out),
        }
    }

    fn text(&mut self, place: &Place, block: TextBlock, out: &mut Drafts) {
        let text = block.text.unwrap_or_default();
        let mut end = MessageEnd::text(text.as_str());
        if let Some(citations) = block.citations.filter(|citations| !citations.is_empty()) {
            let json = serde_json::to_value(citations).unwrap_or_default();
            end = end.with_part(ContentPart::Json { json });
        }
        if place.call.is_none() {
            self.turn.said_in(place.message.as_deref(), &text);
        }
        self.finish(place, &BlockKind::Text, MessageDraft::assistant(), end, out);
    }

    fn reason(&mut self, place: &Place, kind: &BlockKind, visibility: Visibility, text: String, out: &mut Drafts) {
        self.finish(place, kind, MessageDraft::reasoning(visibility), MessageEnd::text(text), out);
    }

    /// Ends a message, under the key by which it was streamed if it was.
    fn finish(&mut self, place: &Place, kind: &BlockKind, message: MessageDraft, end: MessageEnd, out: &mut Drafts) {
        let key = self.streams.done(place.call.as_deref(), place.message.as_deref(), kind);
        let key = key.unwrap_or_else(|| self.new_key());
        let mut message = message;
        if let Some(id) = &place.message {
            message = message.native_id(id.as_str()).in_message(id.as_str());
        }
        let end = if place.aborted { end.failed() } else { end };
        let mut session = self.open(out, place.session.as_deref()).sub_agent_or_main(place.call.as_deref());
        self.briefs.show(place.call.as_deref(), &mut session);
        session.message_finished(key, message, end);
    }

    fn call(
        &mut self,
        place: &Place,
        id: String,
        name: String,
        about: CallInput,
        input: Option<&Json>,
        out: &mut Drafts,
    ) {
        let streamed = BlockKind::Tool(id);
        self.streams.done(place.call.as_deref(), place.message.as_deref(), &streamed);
        let BlockKind::Tool(id) = streamed else {
            return;
        };
        if let Some(ToolInput::SubAgent(task)) = &about.input {
            self.briefs.given(&id, task.prompt.clone(), out.raw());
        }
        let kind = about.input.as_ref().and_then(ToolInput::kind).unwrap_or_else(|| tools::kind(&name));
        self.calls.begin(&id, &name, kind.clone(), place.call.as_deref(), input);
        let mut call = about.describe(ToolCall::new(id.as_str(), name).kind(kind).native_id(id.as_str()));
        call = call.json_arguments(input);
        if let Some(message) = &place.message {
            call = call.in_message(message.as_str());
        }
        let mut session = self.open(out, place.session.as_deref()).sub_agent_or_main(place.call.as_deref());
        self.briefs.show(place.call.as_deref(), &mut session);
        session.tool_called(id, call);
    }

    /// The result of a tool that ran on the model's side.
    fn hosted_result(&mut self, place: &Place, id: Option<String>, result: ToolResult, out: &mut Drafts) {
        let id = id.unwrap_or_default();
        self.calls.end(&id);
        let mut session = self.open(out, place.session.as_deref()).sub_agent_or_main(place.call.as_deref());
        session.tool_finished(id, result);
    }

    fn note_here(&mut self, place: &Place, note: Note, out: &mut Drafts) {
        let session = self.open(out, place.session.as_deref());
        session.sub_agent_or_main(place.call.as_deref()).note(note);
    }

    fn unknown_block(&mut self, place: &Place, tag: &str, out: &mut Drafts) {
        let native_type = Some(format!("assistant/{tag}"));
        self.open(out, place.session.as_deref()).unparsed(HERE, "unknown content block", native_type);
    }
}

fn texts(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text(block) => block.text.as_deref(),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The blocks of a message. One text may be written as a plain string.
fn blocks(content: MessageContent) -> Vec<ContentBlock> {
    match content {
        MessageContent::List(blocks) => blocks,
        MessageContent::Text(text) => vec![ContentBlock::Text(TextBlock { text: Some(text), ..TextBlock::default() })],
        MessageContent::Unknown(_) => Vec::new(),
    }
}
