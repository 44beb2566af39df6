//! `user` lines: tool results, echoes of prompts, and messages that the agent injects in the user's name.

use interlingua_native::Json;
use interlingua_native::claude::{
    AssistantMessageParam, ContentBlockParam, MessageContentParam, MessageOrigin, MessageParam,
    SystemMessageParamContent, ToolResultBlockParam, UserMessageParam, UserStdoutMessage,
};
use interlingua_schema::ContentPart;

use super::clean::INTERRUPT_MARKERS;
use super::{AGENT, ClaudeConverter, content, output, set_payload_time};
use crate::{Drafts, MessageDraft, MessageEnd, Note, UserMessage};

impl ClaudeConverter {
    pub(super) fn user(&mut self, line: UserStdoutMessage, out: &mut Drafts) {
        set_payload_time(out, line.timestamp.as_deref());
        let is_system = matches!(line.message, Some(MessageParam::System(_)));
        let content = match line.message {
            Some(
                MessageParam::User(UserMessageParam { content })
                | MessageParam::Assistant(AssistantMessageParam { content }),
            ) => content,
            Some(MessageParam::System(message)) => message.content.and_then(system_text),
            Some(MessageParam::Unknown { tag, .. }) => {
                let native_type = Some(format!("user/{tag}"));
                return self.session(out, line.session_id.as_deref()).unparsed(AGENT, "unknown role", native_type);
            }
            None => None,
        };
        let info = UserLine {
            uuid: line.uuid,
            is_replay: line.is_replay == Some(true),
            is_injected: is_system || line.is_synthetic == Some(true) || line.origin.as_ref().is_some_and(is_not_human),
            session_id: line.session_id,
            sub_agent: line.parent_tool_use_id,
        };
        match content {
            Some(MessageContentParam::Text(text)) => self.user_message(info, vec![ContentPart::text(text)], out),
            Some(MessageContentParam::List(blocks)) => {
                self.user_blocks(info, blocks, line.tool_use_result.as_ref(), out);
            }
            Some(MessageContentParam::Unknown(_)) => {
                let native_type = Some("user".to_owned());
                self.session(out, info.session_id.as_deref()).unparsed(AGENT, "unknown kind of content", native_type);
            }
            None => out.dropped("line without content"),
        }
    }

    fn user_blocks(&mut self, line: UserLine, blocks: Vec<ContentBlockParam>, record: Option<&Json>, out: &mut Drafts) {
        // `tool_use_result` belongs to one result. With several results it is unknown to which.
        let results = blocks.iter().filter(|block| matches!(block, ContentBlockParam::ToolResult(_))).count();
        let record = record.filter(|_| results == 1);
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                ContentBlockParam::ToolResult(block) => self.tool_result(&line, block, record, out),
                ContentBlockParam::Unknown { tag, .. } => {
                    let mut session = self.session(out, line.session_id.as_deref());
                    session.unparsed(AGENT, "unknown content block", Some(format!("user/{tag}")));
                }
                block => parts.extend(content::block_part(block)),
            }
        }
        if !parts.is_empty() {
            self.user_message(line, parts, out);
        } else if results == 0 {
            out.dropped("line without content");
        }
    }

    fn tool_result(&mut self, line: &UserLine, block: ToolResultBlockParam, record: Option<&Json>, out: &mut Drafts) {
        let id = block.tool_use_id.clone();
        let failed = block.is_error == Some(true);
        let call = self.calls.remove(&id);
        let result = output::parse_result(block, call.as_ref(), record);
        let mut session = self.session(out, line.session_id.as_deref()).sub_agent_or_main(line.sub_agent.as_deref());
        self.sub_agent_prompts.show(line.sub_agent.as_deref(), &mut session);
        if !failed && !is_async_launch(record) {
            let mut sub_agent = self.session(out, line.session_id.as_deref()).sub_agent(id.as_str());
            self.sub_agent_prompts.show(Some(&id), &mut sub_agent);
        }
        let mut session = self.session(out, line.session_id.as_deref()).sub_agent_or_main(line.sub_agent.as_deref());
        self.requests.withdraw_for_call(&id, &mut session);
        session.tool_finished(id.as_str(), result);
        if !failed && let Some(plan) = call.as_ref().and_then(|call| self.plan.update(call, record)) {
            session.note(plan);
        }
        if !is_async_launch(record) {
            self.sub_agent_prompts.remove(&id);
        }
        if line.sub_agent.is_none() {
            self.prompts.tool_ended();
        }
    }

    /// Handles a message in the user's name, whether the user wrote it or not.
    fn user_message(&mut self, line: UserLine, parts: Vec<ContentPart>, out: &mut Drafts) {
        let text: String = parts.iter().filter_map(ContentPart::streamed_text).collect();
        if INTERRUPT_MARKERS.contains(&text.trim()) {
            if line.sub_agent.is_none() && self.turn.is_running() {
                self.turn.mark_interrupted();
            }
            return out.dropped("marker that repeats an interrupt");
        }
        if line.sub_agent.is_none() && self.take_compaction_summary(line.session_id.as_deref(), &text, out) {
            return;
        }
        if let Some(output) = parse_local_command_output(&text) {
            if output.is_empty() {
                return out.dropped("line without content");
            }
            self.turn.observe_text(output);
            return self.session(out, line.session_id.as_deref()).note(Note::system(output));
        }
        let others = parts.iter().filter(|part| part.streamed_text().is_none());
        if line.is_injected {
            let note = others.fold(Note::system(text), |note, part| note.with_part(part.clone()));
            return self.session(out, line.session_id.as_deref()).sub_agent_or_main(line.sub_agent).note(note);
        }
        if let Some(sub_agent) = line.sub_agent {
            if !self.sub_agent_prompts.observe_line(&sub_agent, &text) {
                return out.dropped("sub-agent prompt that its call contains");
            }
            let end = others.fold(MessageEnd::text(text), |end, part| end.with_part(part.clone()));
            let key = self.new_key();
            let mut session = self.session(out, line.session_id.as_deref()).sub_agent(sub_agent);
            return session.message_finished(key, MessageDraft::prompt(), end);
        }
        if line.is_replay && !self.prompts.observe_echo(line.uuid.as_deref()) {
            return out.dropped("replayed history");
        }
        let mut message = match parse_slash_command(&text) {
            Some(command) => UserMessage::text(command),
            None => UserMessage::new(parts),
        };
        if let Some(uuid) = &line.uuid {
            message = message.native_id(uuid.as_str());
            if let Some(prompt) = self.prompts.find_key(uuid) {
                message = message.echo_of(prompt);
            }
        }
        let key = self.new_key();
        self.session(out, line.session_id.as_deref()).user_message(key, message);
    }
}

/// Fields of a `user` line besides its content.
struct UserLine {
    uuid: Option<String>,
    session_id: Option<String>,
    /// Tool call of the sub-agent that receives it; `None` for the main agent.
    sub_agent: Option<String>,
    is_replay: bool,
    /// The user did not write it.
    is_injected: bool,
}

/// Text of a system message.
fn system_text(content: SystemMessageParamContent) -> Option<MessageContentParam> {
    match content {
        SystemMessageParamContent::Text(text) => Some(MessageContentParam::Text(text)),
        SystemMessageParamContent::List(blocks) => {
            let texts: Vec<String> = blocks.into_iter().filter_map(|block| block.text).collect();
            Some(MessageContentParam::Text(texts.join("\n")))
        }
        SystemMessageParamContent::Unknown(_) => None,
    }
}

fn is_not_human(origin: &MessageOrigin) -> bool {
    match origin {
        MessageOrigin::Human(_) | MessageOrigin::Channel(_) | MessageOrigin::Unclassified(_) => false,
        // Other agents, tasks that ended, the agent itself.
        _ => true,
    }
}

/// Whether the result only says that a sub-agent was launched. The sub-agent continues after the result of its call.
fn is_async_launch(record: Option<&Json>) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct LaunchRecord {
        #[serde(rename = "isAsync")]
        is_async: bool,
    }
    record.is_some_and(|record| {
        record.get().contains("\"isAsync\"") && record.decode::<LaunchRecord>().is_ok_and(|launch| launch.is_async)
    })
}

/// The output of a slash command that ran without the model, without its markup.
fn parse_local_command_output(text: &str) -> Option<&str> {
    let text = text.trim();
    ["stdout", "stderr"].into_iter().find_map(|stream| {
        let inner = text.strip_prefix("<local-command-")?.strip_prefix(stream)?.strip_prefix('>')?;
        Some(inner.split("</local-command-").next().unwrap_or(inner).trim())
    })
}

/// A slash command as the user typed it, from the markup in which the agent echoes it.
fn parse_slash_command(text: &str) -> Option<String> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
    };
    if !text.trim_start().starts_with("<command-") {
        return None;
    }
    let name = between("command-name")?;
    Some(match between("command-args").filter(|arguments| !arguments.is_empty()) {
        Some(arguments) => format!("{name} {arguments}"),
        None => name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slash_commands_are_shown_as_the_user_typed_them() {
        let text = "<command-name>/review</command-name>\n<command-message>x</command-message>\n<command-args>a b</command-args>";
        assert_eq!(parse_slash_command(text).as_deref(), Some("/review a b"));
        assert_eq!(parse_slash_command("<command-name>/compact</command-name>").as_deref(), Some("/compact"));
        assert_eq!(parse_slash_command("see <command-name>"), None);
        assert_eq!(
            parse_local_command_output("<local-command-stdout>Compacted </local-command-stdout>"),
            Some("Compacted")
        );
        assert_eq!(parse_local_command_output("<local-command-stderr>no</local-command-stderr>"), Some("no"));
        assert_eq!(parse_local_command_output("hello"), None);
    }
}
