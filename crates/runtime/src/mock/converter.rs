//! The converter of the mock agent: its lines become drafts, as with every agent.

use interlingua_convert::{
    Converter, Drafts, Failure, Input, InputRef, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft,
    QuestionDraft, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{
    ApprovalScope, ContentPart, FileAction, QuestionAnswer, QuestionOption, SessionMetadata, ToolInput, TurnMetadata,
    Visibility,
};
use serde_json::Value;

use super::line::{AgentLine, HostLine, PermissionDecision};
use super::scenario::{Choice, MockError, Question};

/// Location of unparsed payloads.
const LOCATION: &str = "mock";

/// Converts the mock agent's lines.
#[derive(Debug, Default)]
pub(super) struct MockConverter {
    /// The native session id, once the agent has reported it.
    session: Option<String>,
}

impl Converter for MockConverter {
    fn agent(&self) -> &'static str {
        super::ID
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.convert_sent(line, out),
            Input::Received(line) => self.convert_received(line, out),
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
    fn convert_sent(&mut self, line: &str, out: &mut Drafts) {
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
            HostLine::PermissionReply { request, reply: PermissionDecision::Once } => {
                session.permission_approved(request, ApprovalScope::Once);
            }
            // The mock agent remembers allowed actions as long as the session lasts.
            HostLine::PermissionReply { request, reply: PermissionDecision::Always } => {
                session.permission_approved(request, ApprovalScope::Session);
            }
            HostLine::PermissionReply { request, reply: PermissionDecision::Reject } => {
                session.permission_denied(request);
            }
            HostLine::Answers { request, answers } => {
                let answers = answers.into_iter().map(|choices| QuestionAnswer::Answered(choices.join(", "))).collect();
                session.questions_answered(request, answers);
            }
            HostLine::RejectQuestions { request } => session.questions_rejected(request, None),
            HostLine::Interrupt => session.interrupt_requested(),
        }
    }

    fn convert_received(&mut self, line: &str, out: &mut Drafts) {
        let line = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => return self.unparsed(line, &error, out),
        };
        if let AgentLine::Hello { session, model, version, cwd, mode, permission_mode, tools } = line {
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
            AgentLine::Hello { .. } => {}
            AgentLine::TurnStarted { turn, model } => {
                let mut metadata = TurnMetadata::default();
                metadata.model = Some(model);
                session.turn_started(Some(turn), metadata);
            }
            AgentLine::MessageDelta { message, delta } => session.message_delta(message, delta),
            AgentLine::Message { message, text, image } => {
                let draft = MessageDraft::assistant().native_id(message.as_str());
                let image = image.map(|image| ContentPart::Image { path: image.path, mime: image.mime });
                session.message_finished(
                    message,
                    draft,
                    image.into_iter().fold(MessageEnd::text(text), MessageEnd::with_part),
                );
            }
            AgentLine::ReasoningDelta { message, delta } => {
                session.message_started(message.as_str(), MessageDraft::reasoning(Visibility::Public));
                session.message_delta(message, delta);
            }
            AgentLine::Reasoning { message, text } => {
                session.message_finished(message, MessageDraft::reasoning(Visibility::Public), MessageEnd::text(text));
            }
            AgentLine::ToolCall { call, name, kind, arguments } => {
                let text = arguments.to_string();
                // The arguments have the keys of the tool's kind.
                let input = Some(ToolInput::decode(Some(&kind), arguments)).filter(|input| input.kind().is_some());
                session.tool_called(
                    call.as_str(),
                    ToolCall::new(call.as_str(), name).kind(kind).arguments(text).input(input),
                );
            }
            AgentLine::ToolOutput { call, delta } => session.tool_output(call, delta),
            AgentLine::ToolResult { call, output, exit_code, failed, files } => {
                let result = ToolResult::ok(output).exit_code(exit_code).failed_if(failed);
                let part = |file: super::line::File| ContentPart::FileRef {
                    path: file.path,
                    action: file.action,
                    diff: file.diff,
                };
                session.tool_finished(call, files.into_iter().map(part).fold(result, ToolResult::with_part));
            }
            AgentLine::Status(status) => match status.into_note() {
                Ok(note) => session.note(note),
                Err(error) => session.unparsed(LOCATION, error, Some("status".to_owned())),
            },
            AgentLine::Unknown { json } => session.note(Note::unknown(json)),
            AgentLine::PermissionRequest { request, action, call, reason } => {
                let mut permission = PermissionDraft::new(call);
                permission.title = Some(action);
                permission.reason = reason;
                permission.scopes = vec![ApprovalScope::Once, ApprovalScope::Session];
                session.permission_requested(request, permission);
            }
            AgentLine::Questions { request, questions } => {
                session.questions_requested(request, questions.into_iter().map(to_draft).collect());
            }
            AgentLine::Error { failure: MockError { message, code, aside, status, kind, retryable } } => {
                let failure = Failure::new(code, message).status(status).kind(kind).retryable(retryable);
                session.failed(if aside { failure.outside_turn() } else { failure });
            }
            AgentLine::TurnEnded { turn: _, status, usage, stop_reason } => {
                session.turn_ended(TurnEnd::with_status(status).usage(usage).stop_reason(stop_reason));
            }
        }
    }

    fn unparsed(&self, line: &str, error: &serde_json::Error, out: &mut Drafts) {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let native_type = value.as_ref().and_then(|value| value.get("type")?.as_str()).map(str::to_owned);
        let error = if value.is_some() { error.to_string() } else { format!("not JSON: {error}") };
        out.session_or_current(self.session.as_deref()).unparsed(LOCATION, error, native_type);
    }
}

fn to_draft(question: Question) -> QuestionDraft {
    let free_text = question.free_text.unwrap_or(question.options.is_empty());
    let option = |choice| match choice {
        Choice::Label(label) => QuestionOption::new(label),
        Choice::Described(option) => option,
    };
    let mut draft = QuestionDraft::new(question.prompt);
    draft.options = question.options.into_iter().map(option).collect();
    draft.header = question.header;
    draft.multi_select = question.multiple;
    draft.free_text = free_text;
    draft.secret = question.secret;
    draft
}
