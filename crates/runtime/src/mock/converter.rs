//! What the mock agent says, as drafts: the same way that every agent goes.

use interlingua_convert::{
    Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft,
    QuestionDraft, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{
    ApprovalScope, ContentPart, FileAction, QuestionAnswer, QuestionOption, SessionMetadata, ToolInput, TurnMetadata,
    Visibility,
};
use serde_json::Value;

use super::line::{HostLine, Line, Permit};
use super::step::{Choice, Question, Trouble};

const WHERE: &str = "mock";

/// Reads the mock agent's wire.
#[derive(Debug, Default)]
pub(super) struct MockConverter {
    /// The native session, once the agent has said it.
    session: Option<String>,
}

impl Converter for MockConverter {
    fn agent(&self) -> &'static str {
        super::ID
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.sent(line, out),
            Input::Received(line) => self.received(line, out),
            Input::Stderr(_)
            | Input::Unreadable { .. }
            | Input::Request { .. }
            | Input::Reply { .. }
            | Input::Close
            | Input::Exit { .. } => {}
        }
    }
}

impl MockConverter {
    fn sent(&mut self, line: &str, out: &mut Drafts) {
        let Ok(line) = serde_json::from_str(line) else { return };
        let mut session = out.session_or_current(self.session.as_deref());
        match line {
            HostLine::Prompt { text, files } => {
                let mut content = vec![ContentPart::text(text)];
                content.extend(files.into_iter().map(|file| match file.mime {
                    Some(mime) if mime.starts_with("image/") => {
                        ContentPart::Image { path: file.path, mime: Some(mime) }
                    }
                    _ => ContentPart::FileRef { path: file.path, action: FileAction::Read, diff: None },
                }));
                session.prompt_sent(PromptDraft::new(content));
            }
            HostLine::Permit { request, reply: Permit::Once } => {
                session.permission_approved(request, ApprovalScope::Once);
            }
            // It remembers what is allowed as long as the session lasts.
            HostLine::Permit { request, reply: Permit::Always } => {
                session.permission_approved(request, ApprovalScope::Session);
            }
            HostLine::Permit { request, reply: Permit::Reject } => session.permission_denied(request),
            HostLine::Answer { request, answers } => {
                let answers = answers.into_iter().map(|choices| QuestionAnswer::Answered(choices.join(", "))).collect();
                session.questions_answered(request, answers);
            }
            HostLine::Reject { request } => session.questions_rejected(request, None),
            HostLine::Interrupt => session.interrupt_requested(),
        }
    }

    fn received(&mut self, line: &str, out: &mut Drafts) {
        let line = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => return self.unparsed(line, &error, out),
        };
        if let Line::Hello { session, model, version, cwd, mode, permission_mode, tools } = line {
            let mut metadata = SessionMetadata::default();
            metadata.agent_version = Some(version);
            metadata.model = Some(model);
            metadata.cwd = cwd;
            metadata.agent_mode = Some(mode);
            metadata.permission_mode = Some(permission_mode);
            metadata.tools = Some(tools);
            out.session(&session).started(metadata);
            self.session = Some(session);
            return;
        }
        let mut session = out.session_or_current(self.session.as_deref());
        match line {
            Line::Hello { .. } => {}
            Line::Turn { turn, model } => {
                let mut metadata = TurnMetadata::default();
                metadata.model = Some(model);
                session.turn_started(Some(turn), metadata);
            }
            Line::Text { message, delta } => session.message_delta(message, delta),
            Line::Said { message, text, image } => {
                let said = MessageDraft::assistant().native_id(message.as_str());
                let image = image.map(|image| ContentPart::Image { path: image.path, mime: image.mime });
                session.message_finished(
                    message,
                    said,
                    image.into_iter().fold(MessageEnd::text(text), MessageEnd::with_part),
                );
            }
            Line::Thought { message, delta } => {
                session.message_started(message.as_str(), MessageDraft::reasoning(Visibility::Public));
                session.message_delta(message, delta);
            }
            Line::Thinking { message, text } => {
                session.message_finished(message, MessageDraft::reasoning(Visibility::Public), MessageEnd::text(text));
            }
            Line::Call { call, name, kind, arguments } => {
                let text = arguments.to_string();
                // Its tools are called with the keys of their kind.
                let input = Some(ToolInput::decode(Some(&kind), arguments)).filter(|input| input.kind().is_some());
                session.tool_called(
                    call.as_str(),
                    ToolCall::new(call.as_str(), name).kind(kind).arguments(text).input(input),
                );
            }
            Line::Output { call, delta } => session.tool_output(call, delta),
            Line::Result { call, output, exit_code, failed, files } => {
                let result = ToolResult::ok(output).exit_code(exit_code).failed_if(failed);
                let part = |file: super::line::File| ContentPart::FileRef {
                    path: file.path,
                    action: file.action,
                    diff: file.diff,
                };
                session.tool_finished(call, files.into_iter().map(part).fold(result, ToolResult::with_part));
            }
            Line::Status(status) => match status.note() {
                Ok(note) => session.note(note),
                Err(error) => session.unparsed(WHERE, error, Some("status".to_owned())),
            },
            Line::Oddity { json } => session.note(Note::unknown(json)),
            Line::MayI { request, action, call, reason } => {
                let mut ask = PermissionDraft::new(call);
                ask.title = Some(action);
                ask.reason = reason;
                ask.scopes = vec![ApprovalScope::Once, ApprovalScope::Session];
                session.permission_requested(request, ask);
            }
            Line::Ask { request, questions } => {
                session.questions_requested(request, questions.into_iter().map(ask).collect());
            }
            Line::Failed { failure: Trouble { message, code, aside, status, kind, retryable } } => {
                let failure = Failure::new(code, message).status(status).kind(kind).retryable(retryable);
                session.failed(if aside { failure.outside_turn() } else { failure });
            }
            Line::Done { turn: _, status, usage, stop_reason } => {
                session.turn_ended(TurnEnd::with_status(status).usage(usage).stop_reason(stop_reason));
            }
        }
    }

    fn unparsed(&self, line: &str, error: &serde_json::Error, out: &mut Drafts) {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let native_type = value.as_ref().and_then(|value| value.get("type")?.as_str()).map(str::to_owned);
        let error = if value.is_some() { error.to_string() } else { format!("not JSON: {error}") };
        out.session_or_current(self.session.as_deref()).unparsed(WHERE, error, native_type);
    }
}

fn ask(question: Question) -> QuestionDraft {
    let free_text = question.free_text.unwrap_or(question.options.is_empty());
    let option = |choice| match choice {
        Choice::Label(label) => QuestionOption::new(label),
        Choice::Described(option) => option,
    };
    let mut ask = QuestionDraft::new(question.prompt);
    ask.options = question.options.into_iter().map(option).collect();
    ask.header = question.header;
    ask.multi_select = question.multiple;
    ask.free_text = free_text;
    ask.secret = question.secret;
    ask
}
