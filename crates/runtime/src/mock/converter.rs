//! What the mock agent says, as drafts: the same way that every agent goes.

use interlingua_convert::{
    Ask, Converter, Drafts, Failure, Final, Input, Message, Note, Prompt, Scope, ToolCall, ToolResult, TurnEnd,
};
use interlingua_schema::{Answer, ContentPart, Facts, FileAction, Visibility};
use serde_json::{Map, Value, json};

use super::line::{HostLine, Line, Permit};
use super::step::Question;

const WHERE: &str = "mock";

/// Reads the mock agent's wire.
#[derive(Debug, Default)]
pub(super) struct MockConverter {
    /// The native session, once the agent has said it.
    session: Option<String>,
}

impl Converter for MockConverter {
    fn push(&mut self, input: Input<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.sent(line, out),
            Input::Received(line) => self.received(line, out),
            Input::Stderr(_) | Input::Request { .. } | Input::Reply { .. } | Input::Close | Input::Exit { .. } => {}
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
                session.prompted(Prompt::new(content));
            }
            HostLine::Permit { request, reply: Permit::Once } => session.permission_approved(request, Scope::Once),
            HostLine::Permit { request, reply: Permit::Always } => session.permission_approved(request, Scope::Always),
            HostLine::Permit { request, reply: Permit::Reject } => session.permission_denied(request),
            HostLine::Answer { request, answers } => {
                let answers = answers.into_iter().map(|choices| Answer::Answered(choices.join(", "))).collect();
                session.questions_answered(request, answers);
            }
            HostLine::Reject { request } => session.questions_rejected(request, None),
            HostLine::Interrupt => session.interrupt_asked(),
        }
    }

    fn received(&mut self, line: &str, out: &mut Drafts) {
        let line = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(error) => return self.unparsed(line, &error, out),
        };
        if let Line::Hello { session, model, version } = line {
            out.session(&session).started(Some(
                Facts::new().with("model", Some(json!(model))).with("agent_version", Some(json!(version))),
            ));
            self.session = Some(session);
            return;
        }
        let mut session = out.session_or_current(self.session.as_deref());
        match line {
            Line::Hello { .. } => {}
            Line::Turn { turn } => session.turn_started(Some(turn), None),
            Line::Text { message, delta } => session.delta(message, delta),
            Line::Said { message, text, image } => {
                let said = Message::assistant().native(message.as_str());
                let image = image.map(|image| ContentPart::Image { path: image.path, mime: image.mime });
                session.message_finished(message, said, image.into_iter().fold(Final::text(text), Final::with));
            }
            Line::Thought { message, delta } => {
                session.message_started(message.as_str(), Message::reasoning(Visibility::Public));
                session.delta(message, delta);
            }
            Line::Thinking { message, text } => {
                session.message_finished(message, Message::reasoning(Visibility::Public), Final::text(text));
            }
            Line::Call { call, name, kind, arguments } => {
                let called = ToolCall::new(call.as_str(), name).kind(kind).arguments(arguments.to_string());
                session.tool_called(call, called);
            }
            Line::Output { call, delta } => session.tool_output(call, delta),
            Line::Result { call, output, exit_code, failed, files } => {
                let result = ToolResult::ok(output).exit_code(exit_code).failed_if(failed);
                let part = |file: super::line::File| ContentPart::FileRef {
                    path: file.path,
                    action: file.action,
                    diff: file.diff,
                };
                session.tool_finished(call, files.into_iter().map(part).fold(result, ToolResult::with));
            }
            Line::Status { label, detail, json } => {
                let note = Note::status(label, detail);
                session.note(json.into_iter().map(|json| ContentPart::Json { json }).fold(note, Note::with));
            }
            Line::Oddity { json } => session.note(Note::unknown(json)),
            Line::MayI { request, action, call } => {
                session.permission_asked(request, action, Some(json!({ "call_id": call })));
            }
            Line::Ask { request, questions } => {
                session.questions_asked(request, questions.into_iter().map(ask).collect());
            }
            Line::Failed { message, code, aside } => {
                let failure = Failure::new(code, message);
                session.failed(if aside { failure.aside() } else { failure });
            }
            Line::Done { turn, status, usage } => {
                session.turn_ended(TurnEnd::with_status(status).id(turn).usage(usage));
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

fn ask(question: Question) -> Ask {
    let mut metadata = Map::new();
    if let Some(header) = question.header {
        metadata.insert("header".to_owned(), header.into());
    }
    if question.multiple {
        metadata.insert("multi_select".to_owned(), true.into());
    }
    let metadata = (!metadata.is_empty()).then_some(Value::Object(metadata));
    Ask { prompt: question.prompt, options: question.options, metadata }
}
