//! Amp's events as drafts.
//!
//! Amp prints whole messages and five shapes of line. It repeats what it is told, says nothing when a turn is over but
//! the last one of a process, and reports failures with exit code 0, so the `result` line is what counts.

mod failure;
mod output;
mod prompts;
mod tools;

use interlingua_native::amp::{
    AssistantContent, AssistantMessage, ErrorResultMessage, ErrorResultMessageSubtype, ResultMessage, StreamMessage,
    SystemMessage, ToolResultContent, ToolUseContent, Usage as NativeUsage, UserContent, UserMessage as NativeUser,
};
use interlingua_native::{DecodeError, Native as _};
use interlingua_schema::{ContentPart, ErrorCode, Facts, NativeItemId, TurnStatus, Usage, Visibility};
use serde_json::{Number, Value};

use crate::draft::LastPlan;
use crate::{
    Converter, Drafts, Failure, Final, Input, Key, Launch, Message, Note, SessionDrafts, ToolCall, TurnEnd, UserMessage,
};
use prompts::Prompts;
use tools::OpenCalls;

/// Turns what Amp says into drafts.
#[derive(Debug, Default)]
pub struct AmpConverter {
    /// The thread that began last.
    thread: Option<String>,
    version: Option<String>,
    prompts: Prompts,
    calls: OpenCalls,
    plan: LastPlan,
    /// Numbers the messages, which have no ids of their own.
    messages: u64,
    process: Process,
}

/// What is known of the process that runs.
#[derive(Debug, Default)]
struct Process {
    /// How many turns it has had; its result tells the duration of all of them together.
    turns: u32,
    /// What the agent said last, as its result repeats it.
    last_text: String,
    /// It has told its result, so its exit is no news.
    has_result: bool,
    /// What it printed outside the format, which is why it ended if it ends badly.
    last_words: Option<String>,
}

impl Converter for AmpConverter {
    fn launch(&mut self, launch: &Launch, out: &mut Drafts) {
        self.process = Process::default();
        self.version.clone_from(&launch.version);
        if let Some(prompt) = self.prompts.launched(launch) {
            out.current().prompted(prompt);
        }
    }

    fn push(&mut self, input: Input<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => {
                if let Some(prompt) = self.prompts.sent(line) {
                    out.current().prompted(prompt);
                }
            }
            Input::Close => {
                if let Some(prompt) = self.prompts.closed() {
                    out.current().prompted(prompt);
                }
            }
            Input::Received(line) => self.received(line, out),
            Input::Stderr(line) => self.process.hear(line),
            Input::Exit { code } => self.exited(code, out),
            // Amp has no HTTP interface.
            Input::Request { .. } => {}
            Input::Reply { .. } => out.dropped("answer to the host's own request"),
        }
    }
}

impl AmpConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        let message = match StreamMessage::decode(line) {
            Ok(decoded) => decoded.value,
            Err(error) => {
                if matches!(error, DecodeError::NotJson { .. }) {
                    self.process.hear(line);
                }
                let native_type = match &error {
                    DecodeError::Misfit { tag, .. } if !tag.is_empty() => Some(tag.clone()),
                    _ => None,
                };
                return out.current().unparsed("amp", error.to_string(), native_type);
            }
        };
        match message {
            StreamMessage::System(message) => self.init(message, out),
            StreamMessage::Assistant(message) => self.assistant(message, out),
            StreamMessage::User(message) => self.user(message, out),
            StreamMessage::ResultSuccess(result) => self.succeeded(result, out),
            StreamMessage::ResultError(result) => self.failed(result, out),
            StreamMessage::Unknown { tag, .. } => out.current().unparsed("amp", "unknown type", Some(tag)),
            // The enum may grow with a schema refresh; a test finds a variant that is missing here.
            _ => out.current().unparsed("amp", "a type the converter does not know", None),
        }
    }

    /// The thread begins, or goes on in a new process.
    fn init(&mut self, message: SystemMessage, out: &mut Drafts) {
        let metadata = Facts::new()
            .with("agent_mode", message.agent_mode)
            .with("agent_version", self.version.clone())
            .with("cwd", message.cwd)
            .with("mcp_servers", message.mcp_servers.and_then(|servers| serde_json::to_value(servers).ok()))
            .with("tools", message.tools);
        let metadata = Some(metadata);
        let Some(thread) = message.session_id.filter(|id| !id.is_empty()) else {
            return out.current().turn_started(None, metadata);
        };
        let mut session = out.session(&thread);
        if self.thread.as_ref() == Some(&thread) {
            session.turn_started(None, metadata);
        } else {
            session.started(metadata);
            self.thread = Some(thread);
        }
    }

    fn assistant(&mut self, message: Box<AssistantMessage>, out: &mut Drafts) {
        let Some(body) = message.message else { return out.dropped(EMPTY) };
        let mut content = body.content.unwrap_or_default();
        if content.is_empty() && body.usage.is_none() {
            return out.dropped(EMPTY);
        }
        self.messages += 1;
        let of = match &body.id {
            Some(id) => Key::from(id),
            None => Key::numbered("message", self.messages),
        };
        let native = body.id.map(NativeItemId::from);
        let mut session = open(out, message.session_id.as_deref()).sub_agent_or_main(message.parent_tool_use_id);
        let mut said = false;
        for (index, block) in (0..).zip(&mut content) {
            let key = Key::numbered(of.as_str(), index);
            let say = |message: Message| match &native {
                Some(id) => message.native(id.clone()).of(&of),
                None => message.of(&of),
            };
            match block {
                AssistantContent::Text(block) => {
                    let text = block.text.take().unwrap_or_default();
                    self.process.says(&text, said);
                    said = true;
                    session.message_finished(key, say(Message::assistant()), Final::text(text));
                }
                AssistantContent::ToolUse(block) => self.called(block, &of, &mut session),
                AssistantContent::Thinking(block) => {
                    let text = block.thinking.take().unwrap_or_default();
                    session.message_finished(key, say(Message::reasoning(Visibility::Public)), Final::text(text));
                }
                AssistantContent::RedactedThinking(_) => {
                    session.message_finished(key, say(Message::reasoning(Visibility::Private)), Final::text(""));
                }
                AssistantContent::Unknown { tag, .. } => unknown_block(&mut session, "assistant", tag),
                _ => unknown_block(&mut session, "assistant", "?"),
            }
        }
        if let Some(usage) = body.usage {
            session.used(tokens(&usage, body.model));
        }
    }

    fn called(&mut self, block: &mut ToolUseContent, of: &Key, session: &mut SessionDrafts<'_>) {
        let name = block.name.take().unwrap_or_default();
        let arguments = block.input.as_ref().map_or("{}", |input| input.get());
        let steps = tools::plan(&name, arguments);
        self.calls.begin(&block.id, &name, arguments);
        let key = Key::from(&block.id);
        let kind = tools::kind(&name);
        let call_id = std::mem::take(&mut block.id);
        let call = ToolCall::new(call_id, name).kind(kind).arguments(arguments).native(&key).of(of);
        session.tool_called(key, call);
        if let Some(steps) = steps.filter(|steps| self.plan.is_news(steps)) {
            session.note(Note::plan(&steps));
        }
    }

    /// The agent repeats the user, or tells what its tools gave.
    fn user(&mut self, message: NativeUser, out: &mut Drafts) {
        let mut content = message.message.and_then(|body| body.content).unwrap_or_default();
        let from_user = message.parent_tool_use_id.is_none();
        let mut session = open(out, message.session_id.as_deref()).sub_agent_or_main(message.parent_tool_use_id);
        let mut said = Vec::new();
        let mut results = 0;
        for block in &mut content {
            match block {
                UserContent::Text(block) => said.push(ContentPart::text(block.text.take().unwrap_or_default())),
                UserContent::ToolResult(block) => {
                    results += 1;
                    self.finished(block, &mut session);
                }
                UserContent::Unknown { tag, .. } => {
                    results += 1;
                    unknown_block(&mut session, "user", tag);
                }
                _ => {
                    results += 1;
                    unknown_block(&mut session, "user", "?");
                }
            }
        }
        let echo = if from_user && (!said.is_empty() || results == 0) { self.prompts.echoed(&said) } else { None };
        let (left_out, steered) = echo.unwrap_or_default();
        said.extend(left_out);
        if said.is_empty() {
            if results == 0 {
                out.dropped(EMPTY);
            }
            return;
        }
        self.messages += 1;
        let mut user = UserMessage::new(said);
        if from_user && !steered && results == 0 {
            self.process.turns += 1;
            user = user.begins_turn();
        }
        session.user_message(Key::numbered("message", self.messages), user);
    }

    fn finished(&mut self, block: &mut ToolResultContent, session: &mut SessionDrafts<'_>) {
        let call = self.calls.end(&block.tool_use_id);
        let content = block.content.take().unwrap_or_default();
        let result = output::result(content, block.is_error == Some(true), call);
        session.tool_finished(&block.tool_use_id, result);
    }

    fn succeeded(&mut self, result: ResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let text = result.result.unwrap_or_default();
        let mut session = open(out, result.session_id.as_deref());
        let failed = result.is_error == Some(true);
        if failed {
            session.failed(Failure::new(failure::code(&text), text));
        } else if !text.trim().is_empty() && !self.process.last_text.contains(text.trim()) {
            // An answer that stands nowhere else.
            self.messages += 1;
            session.message_finished(Key::numbered("message", self.messages), Message::assistant(), Final::text(text));
        }
        let status = if failed { TurnStatus::Failed } else { TurnStatus::Completed };
        let end = self.process.end(status, result.duration_ms.as_ref(), result.num_turns, result.permission_denials);
        session.turn_ended(end);
    }

    fn failed(&mut self, result: ErrorResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let words = result.error.unwrap_or_else(|| "the agent failed and does not say why".to_owned());
        let mut session = open(out, result.session_id.as_deref());
        let status = if failure::is_interrupt(&words) {
            session.interrupt_asked();
            TurnStatus::Interrupted
        } else {
            let code = match result.subtype {
                Some(ErrorResultMessageSubtype::ErrorMaxTurns) => ErrorCode::Limit,
                _ => failure::code(&words),
            };
            session.failed(Failure::new(code, words));
            TurnStatus::Failed
        };
        let end = self.process.end(status, result.duration_ms.as_ref(), result.num_turns, result.permission_denials);
        session.turn_ended(end);
    }

    fn exited(&mut self, code: Option<i32>, out: &mut Drafts) {
        self.calls = OpenCalls::default();
        let process = std::mem::take(&mut self.process);
        if process.has_result {
            return;
        }
        let mut session = out.current().synthetic();
        match process.last_words {
            // Without the JSON format, what it printed was the answer.
            _ if code == Some(0) && self.prompts.is_plain_run() => {
                session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
            }
            // It failed before the thread was there, and says so in plain words only.
            Some(words) => session.failed(Failure::new(failure::code(&words), words)),
            None => {}
        }
    }
}

/// Why a line without content is dropped.
const EMPTY: &str = "an empty message";

impl Process {
    /// The agent says something, perhaps on top of what it said in the same message.
    fn says(&mut self, text: &str, more: bool) {
        if more {
            self.last_text.push('\n');
        } else {
            self.last_text.clear();
        }
        self.last_text.push_str(text);
    }

    /// Remembers what the agent says outside its format: the first line that calls itself an error, else the first.
    fn hear(&mut self, line: &str) {
        let line = line.trim();
        let is_error = |words: &str| words.starts_with("Error");
        let better = match &self.last_words {
            None => !line.is_empty(),
            Some(words) => is_error(line) && !is_error(words),
        };
        if better {
            self.last_words = Some(line.to_owned());
        }
    }

    fn end(
        &self,
        status: TurnStatus,
        duration: Option<&Number>,
        messages: Option<Number>,
        denials: Option<Vec<String>>,
    ) -> TurnEnd {
        let mut end = TurnEnd::with_status(status);
        if self.turns <= 1 {
            end.duration_ms = duration.and_then(whole);
        }
        end.metadata(
            Facts::new()
                .with("num_turns", messages.map(Value::Number))
                .with("permission_denials", denials.filter(|denials| !denials.is_empty())),
        )
    }
}

/// Speaks of the thread, or of the current one when the line names none.
fn open<'a>(out: &'a mut Drafts, thread: Option<&str>) -> SessionDrafts<'a> {
    out.session_or_current(thread.filter(|id| !id.is_empty()))
}

fn unknown_block(session: &mut SessionDrafts<'_>, line: &str, tag: &str) {
    session.unparsed("amp", "unknown content block", Some(format!("{line}/{tag}")));
}

/// Cached input is told apart from the rest; the universal figure counts all of it.
fn tokens(usage: &NativeUsage, model: Option<String>) -> Usage {
    let count = |number: &Option<Number>| number.as_ref().and_then(whole);
    let (read, written) = (count(&usage.cache_read_input_tokens), count(&usage.cache_creation_input_tokens));
    let fresh = count(&usage.input_tokens).unwrap_or(0);
    Usage {
        input_tokens: fresh.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0)),
        cached_input_tokens: read,
        cache_write_tokens: written,
        output_tokens: count(&usage.output_tokens).unwrap_or(0),
        model,
        ..Usage::default()
    }
}

/// A number that counts something; the schema says no more than that it is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from f64 saturates")]
fn whole(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

#[cfg(test)]
mod tests;
