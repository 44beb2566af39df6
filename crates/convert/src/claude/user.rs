//! `user` lines: results of tools, the user's words repeated, and what the agent puts in the user's mouth.

use interlingua_native::Json;
use interlingua_native::claude::{
    AssistantMessageParam, ContentBlockParam, MessageContentParam, MessageOrigin, MessageParam,
    SystemMessageParamContent, ToolResultBlockParam, UserMessageParam, UserStdoutMessage,
};
use interlingua_schema::ContentPart;

use super::clean::INTERRUPTED;
use super::{ClaudeConverter, HERE, at, content, output};
use crate::{Drafts, MessageDraft, MessageEnd, Note, UserMessage};

impl ClaudeConverter {
    pub(super) fn user(&mut self, line: UserStdoutMessage, out: &mut Drafts) {
        at(out, line.timestamp.as_deref());
        let is_system = matches!(line.message, Some(MessageParam::System(_)));
        let content = match line.message {
            Some(
                MessageParam::User(UserMessageParam { content })
                | MessageParam::Assistant(AssistantMessageParam { content }),
            ) => content,
            Some(MessageParam::System(message)) => message.content.and_then(instructions),
            Some(MessageParam::Unknown { tag, .. }) => {
                let native_type = Some(format!("user/{tag}"));
                return self.open(out, line.session_id.as_deref()).unparsed(HERE, "unknown role", native_type);
            }
            None => None,
        };
        let said = Said {
            uuid: line.uuid,
            is_repetition: line.is_replay == Some(true),
            is_made_up: is_system || line.is_synthetic == Some(true) || line.origin.as_ref().is_some_and(is_not_human),
            session: line.session_id,
            call: line.parent_tool_use_id,
        };
        match content {
            Some(MessageContentParam::Text(text)) => self.say(said, vec![ContentPart::text(text)], out),
            Some(MessageContentParam::List(blocks)) => self.blocks(said, blocks, line.tool_use_result.as_ref(), out),
            Some(MessageContentParam::Unknown(_)) => {
                let native_type = Some("user".to_owned());
                self.open(out, said.session.as_deref()).unparsed(HERE, "content of an unknown kind", native_type);
            }
            None => out.dropped("line without content"),
        }
    }

    fn blocks(&mut self, line: Said, blocks: Vec<ContentBlockParam>, record: Option<&Json>, out: &mut Drafts) {
        // The record is of one result; with several, nobody knows of which.
        let results = blocks.iter().filter(|block| matches!(block, ContentBlockParam::ToolResult(_))).count();
        let record = record.filter(|_| results == 1);
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                ContentBlockParam::ToolResult(block) => self.tool_result(&line, block, record, out),
                ContentBlockParam::Unknown { tag, .. } => {
                    let mut session = self.open(out, line.session.as_deref());
                    session.unparsed(HERE, "unknown content block", Some(format!("user/{tag}")));
                }
                block => parts.extend(content::said(block)),
            }
        }
        if !parts.is_empty() {
            self.say(line, parts, out);
        } else if results == 0 {
            out.dropped("line without content");
        }
    }

    fn tool_result(&mut self, line: &Said, block: ToolResultBlockParam, record: Option<&Json>, out: &mut Drafts) {
        let id = block.tool_use_id.clone();
        let failed = block.is_error == Some(true);
        let call = self.calls.end(&id);
        let result = output::result(block, call.as_ref(), record);
        let mut session = self.open(out, line.session.as_deref()).sub_agent_or_main(line.call.as_deref());
        self.briefs.show(line.call.as_deref(), &mut session);
        if !failed && !is_launch(record) {
            let mut told = self.open(out, line.session.as_deref()).sub_agent(id.as_str());
            self.briefs.show(Some(&id), &mut told);
        }
        let mut session = self.open(out, line.session.as_deref()).sub_agent_or_main(line.call.as_deref());
        self.requests.settled(&id, &mut session);
        session.tool_finished(id.as_str(), result);
        if !failed && let Some(plan) = call.as_ref().and_then(|call| self.plan.after(call, record)) {
            session.note(plan);
        }
        if !is_launch(record) {
            self.briefs.forget(&id);
        }
        if line.call.is_none() {
            self.prompts.tool_ended();
        }
    }

    /// What is said in the user's name, by the user or not.
    fn say(&mut self, line: Said, parts: Vec<ContentPart>, out: &mut Drafts) {
        let text: String = parts.iter().filter_map(ContentPart::streamed_text).collect();
        if INTERRUPTED.contains(&text.trim()) {
            if line.call.is_none() && self.turn.is_running() {
                self.turn.interrupted();
            }
            return out.dropped("marker that repeats an interrupt");
        }
        if line.call.is_none() && self.compaction_summary(line.session.as_deref(), &text, out) {
            return;
        }
        if let Some(output) = local_output(&text) {
            if output.is_empty() {
                return out.dropped("line without content");
            }
            self.turn.said(output);
            return self.open(out, line.session.as_deref()).note(Note::system(output));
        }
        let others = parts.iter().filter(|part| part.streamed_text().is_none());
        if line.is_made_up {
            let note = others.fold(Note::system(text), |note, part| note.with_part(part.clone()));
            return self.open(out, line.session.as_deref()).sub_agent_or_main(line.call).note(note);
        }
        if let Some(call) = line.call {
            if !self.briefs.told(&call, &text) {
                return out.dropped("prompt of a sub-agent that its call has told");
            }
            let end = others.fold(MessageEnd::text(text), |end, part| end.with_part(part.clone()));
            let key = self.new_key();
            let mut session = self.open(out, line.session.as_deref()).sub_agent(call);
            return session.message_finished(key, MessageDraft::prompt(), end);
        }
        if line.is_repetition && !self.prompts.repeated(line.uuid.as_deref()) {
            return out.dropped("history that is replayed");
        }
        let mut message = match slash_command(&text) {
            Some(command) => UserMessage::text(command),
            None => UserMessage::new(parts),
        };
        if let Some(uuid) = &line.uuid {
            message = message.native_id(uuid.as_str());
            if let Some(prompt) = self.prompts.by_uuid(uuid) {
                message = message.echo_of(prompt);
            }
        }
        let key = self.new_key();
        self.open(out, line.session.as_deref()).user_message(key, message);
    }
}

/// What a user's line says of itself.
struct Said {
    uuid: Option<String>,
    session: Option<String>,
    /// The tool call of the sub-agent that is told so.
    call: Option<String>,
    is_repetition: bool,
    is_made_up: bool,
}

/// The text of a system message.
fn instructions(content: SystemMessageParamContent) -> Option<MessageContentParam> {
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
        // Other agents, tasks that end, the agent itself.
        _ => true,
    }
}

/// The record of a sub-agent that was only launched, and goes on after its call has a result.
fn is_launch(record: Option<&Json>) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Launch {
        #[serde(rename = "isAsync")]
        is_async: bool,
    }
    record.is_some_and(|record| {
        record.get().contains("\"isAsync\"") && record.decode::<Launch>().is_ok_and(|launch| launch.is_async)
    })
}

/// The output of a slash command that ran without the model.
fn local_output(text: &str) -> Option<&str> {
    let text = text.trim();
    ["stdout", "stderr"].into_iter().find_map(|stream| {
        let inner = text.strip_prefix("<local-command-")?.strip_prefix(stream)?.strip_prefix('>')?;
        Some(inner.split("</local-command-").next().unwrap_or(inner).trim())
    })
}

/// A slash command that the agent repeats in its own markup, as the user typed it.
fn slash_command(text: &str) -> Option<String> {
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
    fn slash_commands_read_as_they_were_typed() {
        let text = "<command-name>/review</command-name>\n<command-message>x</command-message>\n<command-args>a b</command-args>";
        assert_eq!(slash_command(text).as_deref(), Some("/review a b"));
        assert_eq!(slash_command("<command-name>/compact</command-name>").as_deref(), Some("/compact"));
        assert_eq!(slash_command("see <command-name>"), None);
        assert_eq!(local_output("<local-command-stdout>Compacted </local-command-stdout>"), Some("Compacted"));
        assert_eq!(local_output("<local-command-stderr>no</local-command-stderr>"), Some("no"));
        assert_eq!(local_output("hello"), None);
    }
}
