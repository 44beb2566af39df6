//! Amp's events as drafts.
//!
//! Amp prints whole messages and five shapes of line. It repeats what it is told, says nothing when a turn is over but
//! the last one of a process, and reports failures with exit code 0, so the `result` line is what counts.

mod failure;
mod mcp;
mod output;
mod prompts;
mod tools;

use interlingua_native::amp::{
    AssistantContent, AssistantMessage, AssistantMessageMessageStopReason as NativeStopReason, ErrorResultMessage,
    ErrorResultMessageSubtype, ResultMessage, StreamMessage, SystemMessage, SystemMessageMcpServersItem,
    ToolResultContent, ToolUseContent, Usage as NativeUsage, UserContent, UserMessage as NativeUser,
};
use interlingua_native::{DecodeError, Native as _};
use interlingua_schema::{
    ContentPart, ErrorCode, McpServerInfo, NativeItemId, NativeMetadata, SessionMetadata, StopReason, ToolInput,
    TurnMetadata, TurnStatus, Usage, Visibility,
};
use serde_json::{Number, Value};

use crate::draft::LastPlan;
use crate::losses::report_losses;
use crate::{
    Converter, Drafts, Failure, Input, InputRef, Key, Launch, MessageDraft, MessageEnd, Note, SessionDrafts, ToolCall,
    TurnEnd, UserMessage,
};
use prompts::Prompts;
use tools::{Arguments, OpenCalls};

/// Turns what Amp says into drafts.
#[derive(Debug, Default)]
pub struct AmpConverter {
    /// The thread that began last.
    thread: Option<String>,
    version: Option<String>,
    /// It was started with the flag that lets it do everything.
    allows_all: bool,
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
    /// Why the model stopped, where its latest message says so.
    stop_reason: Option<StopReason>,
    /// It has begun its thread. Before that it has no other way to say what is wrong than plain text.
    has_thread: bool,
    /// It has told its result, so its exit is no news.
    has_result: bool,
    /// What it printed outside the format.
    stdout: PlainWords,
    stderr: PlainWords,
}

impl Converter for AmpConverter {
    fn agent(&self) -> &'static str {
        "amp"
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        self.process = Process::default();
        self.version.clone_from(&launch.version);
        self.allows_all = launch.argv.iter().any(|word| word == ALLOW_ALL);
        if let Some(prompt) = self.prompts.launched(launch) {
            out.current_session().prompt_sent(prompt);
        }
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => {
                if let Some(prompt) = self.prompts.sent(line) {
                    out.current_session().prompt_sent(prompt);
                }
            }
            Input::Close => {
                if let Some(prompt) = self.prompts.closed() {
                    out.current_session().prompt_sent(prompt);
                }
            }
            Input::Received(line) => self.received(line, out),
            Input::Stderr(line) => self.process.stderr.receive(line),
            Input::Exit { code } => self.exited(code, out),
            // Amp has no HTTP interface.
            Input::Unreadable { .. } | Input::Request { .. } => {}
            Input::Reply { .. } => out.dropped("answer to the host's own request"),
        }
    }
}

impl AmpConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        match StreamMessage::decode(line) {
            Ok(decoded) => {
                self.message(decoded.value, out);
                report_losses("amp", &decoded.losses, out);
            }
            Err(error) => {
                if matches!(error, DecodeError::NotJson { .. }) {
                    self.process.stdout.receive(line);
                }
                let native_type = match &error {
                    DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag.clone()),
                    _ => None,
                };
                out.current_session().unparsed("amp", error.to_string(), native_type);
            }
        }
    }

    fn message(&mut self, message: StreamMessage, out: &mut Drafts) {
        match message {
            StreamMessage::System(message) => self.init(message, out),
            StreamMessage::Assistant(message) => self.assistant(message, out),
            StreamMessage::User(message) => self.user(message, out),
            StreamMessage::ResultSuccess(result) => self.succeeded(result, out),
            StreamMessage::ResultError(result) => self.failed(result, out),
            // An unknown subtype still ends the turn. Its outcome is unknown, so it is not a success.
            StreamMessage::Unknown { tag, raw } if tag == "result" || tag.starts_with("result/") => {
                out.current_session().unparsed("amp", "unknown type", Some(tag));
                self.failed(raw.decode().unwrap_or_default(), out);
            }
            StreamMessage::Unknown { tag, .. } => out.current_session().unparsed("amp", "unknown type", Some(tag)),
        }
    }

    /// The thread begins, or goes on in a new process.
    fn init(&mut self, message: SystemMessage, out: &mut Drafts) {
        self.process.has_thread = true;
        let mut metadata = SessionMetadata::default();
        metadata.agent_version.clone_from(&self.version);
        metadata.cwd = message.cwd;
        metadata.agent_mode = message.agent_mode;
        metadata.permission_mode = self.allows_all.then(|| "bypass".to_owned());
        metadata.tools = message.tools;
        metadata.mcp_servers = message.mcp_servers.map(|servers| servers.into_iter().map(mcp_server).collect());
        let Some(thread) = message.session_id.filter(|id| !id.is_empty()) else {
            return out.current_session().turn_started(None, TurnMetadata::default().with_defaults(metadata));
        };
        let mut session = out.session(&thread);
        if self.thread.as_ref() == Some(&thread) {
            session.turn_started(None, TurnMetadata::default().with_defaults(metadata));
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
        if message.parent_tool_use_id.is_none() {
            self.process.stop_reason = body.stop_reason.as_ref().and_then(stop_reason);
        }
        let mut session = open(out, message.session_id.as_deref()).sub_agent_or_main(message.parent_tool_use_id);
        let mut said = false;
        for (index, block) in (0..).zip(&mut content) {
            let key = || Key::numbered(of.as_str(), index);
            let say = |message: MessageDraft| match &native {
                Some(id) => message.native_id(id.clone()).in_message(&of),
                None => message.in_message(&of),
            };
            match block {
                AssistantContent::Text(block) => {
                    let text = block.text.take().unwrap_or_default();
                    self.process.says(&text, said);
                    said = true;
                    session.message_finished(key(), say(MessageDraft::assistant()), MessageEnd::text(text));
                }
                AssistantContent::ToolUse(block) => self.called(block, &of, &mut session),
                AssistantContent::Thinking(block) => {
                    let text = block.thinking.take().unwrap_or_default();
                    session.message_finished(
                        key(),
                        say(MessageDraft::reasoning(Visibility::Public)),
                        MessageEnd::text(text),
                    );
                }
                AssistantContent::RedactedThinking(_) => {
                    session.message_finished(
                        key(),
                        say(MessageDraft::reasoning(Visibility::Private)),
                        MessageEnd::text(""),
                    );
                }
                AssistantContent::Unknown { tag, .. } => unknown_block(&mut session, "assistant", tag),
            }
        }
        if let Some(usage) = body.usage {
            session.add_usage(tokens(&usage, body.model));
        }
    }

    fn called(&mut self, block: &mut ToolUseContent, of: &Key, session: &mut SessionDrafts<'_>) {
        let name = block.name.take().unwrap_or_else(|| "unknown".to_owned());
        let json = block.input.as_ref().map_or("{}", |input| input.get());
        let arguments = Arguments::read(json);
        self.calls.begin(&block.id, &name, &arguments);
        let title = arguments.title(&name);
        let input = arguments.input(&name);
        let steps = match &input {
            Some(ToolInput::Plan(plan)) => Some(plan.steps.clone()),
            _ => None,
        };
        let key = Key::from(&block.id);
        let kind = tools::kind(&name);
        let call_id = std::mem::take(&mut block.id);
        let mut call = ToolCall::new(call_id, name)
            .kind(kind)
            .json_arguments(block.input.as_ref())
            .input(input)
            .native_id(&key)
            .in_message(of);
        if let Some(title) = title {
            call = call.title(title);
        }
        session.tool_called(key, call);
        if let Some(steps) = steps.filter(|steps| self.plan.update(steps)) {
            session.note(Note::plan(steps));
        }
    }

    /// The agent repeats the user, or tells what its tools gave.
    fn user(&mut self, message: NativeUser, out: &mut Drafts) {
        let mut content = message.message.and_then(|body| body.content).unwrap_or_default();
        let (thread, parent) = (message.session_id.as_deref(), message.parent_tool_use_id);
        let from_user = parent.is_none();
        let mut session = open(out, thread).sub_agent_or_main(parent.as_deref());
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
            self.end_turn_before_next(&mut open(out, thread).synthetic());
            self.process.turns += 1;
            user = user.starts_turn();
        }
        let mut session = open(out, thread).sub_agent_or_main(parent);
        session.user_message(Key::numbered("message", self.messages), user);
    }

    /// The next message shows that the turn of the one before is over, and why the model stopped is known.
    fn end_turn_before_next(&mut self, session: &mut SessionDrafts<'_>) {
        let reason = self.process.stop_reason.take();
        if reason.is_some() && self.process.turns > 0 {
            session.turn_ended(TurnEnd::new().stop_reason(reason));
        }
    }

    fn finished(&mut self, block: &mut ToolResultContent, session: &mut SessionDrafts<'_>) {
        let call = self.calls.end(&block.tool_use_id);
        let content = block.content.take().unwrap_or_default();
        let result = output::result(content, block.is_error, call);
        session.tool_finished(&block.tool_use_id, result);
    }

    fn succeeded(&mut self, result: ResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let text = result.result.unwrap_or_default();
        let mut session = open(out, result.session_id.as_deref());
        // The subtype alone does not decide: without `is_error` the outcome is unknown.
        let status = if result.is_error == Some(false) { TurnStatus::Completed } else { TurnStatus::Failed };
        if result.is_error == Some(true) {
            session.failed(Failure::new(failure::code(&text), text));
        } else {
            if !text.trim().is_empty() && !self.process.last_text.contains(text.trim()) {
                // An answer that stands nowhere else.
                self.messages += 1;
                let key = Key::numbered("message", self.messages);
                session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(text));
            }
            if status == TurnStatus::Failed {
                session.failed(Failure::new(ErrorCode::AgentError, "the agent does not say whether it succeeded"));
            }
        }
        let end = self.process.end(status, result.duration_ms.as_ref(), result.num_turns, result.permission_denials);
        session.turn_ended(end);
    }

    fn failed(&mut self, result: ErrorResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let words = result.error.unwrap_or_else(|| "the agent failed and does not say why".to_owned());
        let mut session = open(out, result.session_id.as_deref());
        let status = if failure::is_interrupt(&words) {
            session.interrupt_requested();
            TurnStatus::Interrupted
        } else {
            let code = match result.subtype {
                Some(ErrorResultMessageSubtype::ErrorMaxTurns) => ErrorCode::Limit,
                _ => failure::code(&words),
            };
            let kind = result.subtype.as_ref().map(ErrorResultMessageSubtype::as_str);
            session.failed(Failure::new(code, words).kind(kind));
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
        let mut session = out.current_session().synthetic();
        // Without the JSON format, what it printed was the answer.
        if code == Some(0) && self.prompts.is_plain_run() {
            return session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
        }
        match process.reason(code) {
            Some(words) => session.failed(Failure::new(failure::code(&words), words)),
            // It always tells its result before it goes.
            None => session.turn_cut_off(),
        }
    }
}

/// Why a line without content is dropped.
const EMPTY: &str = "an empty message";
/// The flag that lets Amp do everything without asking.
const ALLOW_ALL: &str = "--dangerously-allow-all";

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

    /// Why it ended before there was a thread, in its own words. What it wrote to its standard error before a signal
    /// killed it is not the cause.
    fn reason(self, code: Option<i32>) -> Option<String> {
        if self.has_thread {
            return None;
        }
        let stderr = self.stderr.0.filter(|_| code.is_some_and(|code| code > 0));
        stderr.or(self.stdout.0)
    }

    fn end(
        &self,
        status: TurnStatus,
        duration: Option<&Number>,
        messages: Option<Number>,
        denials: Option<Vec<String>>,
    ) -> TurnEnd {
        // A turn that failed did not end because the model had said all.
        let is_certain = |reason: &StopReason| status == TurnStatus::Completed || *reason != StopReason::EndTurn;
        let stop_reason = self.stop_reason.clone().filter(is_certain);
        let mut end = TurnEnd::with_status(status).stop_reason(stop_reason);
        if self.turns <= 1 {
            end.duration_ms = duration.and_then(whole);
        }
        end.native(
            NativeMetadata::new()
                .with("num_turns", messages.map(Value::Number))
                .with("permission_denials", denials.filter(|denials| !denials.is_empty())),
        )
    }
}

/// What was printed outside the format: the first line that calls itself an error, else the first.
#[derive(Debug, Default)]
struct PlainWords(Option<String>);

impl PlainWords {
    fn receive(&mut self, line: &str) {
        let line = line.trim();
        let is_error = |words: &str| words.starts_with("Error");
        let better = match &self.0 {
            None => !line.is_empty(),
            Some(words) => is_error(line) && !is_error(words),
        };
        if better {
            self.0 = Some(line.to_owned());
        }
    }
}

/// Speaks of the thread, or of the current one when the line names none.
fn open<'a>(out: &'a mut Drafts, thread: Option<&str>) -> SessionDrafts<'a> {
    out.session_or_current(thread.filter(|id| !id.is_empty()))
}

fn mcp_server(server: SystemMessageMcpServersItem) -> McpServerInfo {
    McpServerInfo::new(server.name.unwrap_or_default()).status(server.status.map(|status| status.as_str().to_owned()))
}

/// Why the model stopped; `None` where it has not, or does not say.
fn stop_reason(reason: &NativeStopReason) -> Option<StopReason> {
    match reason.as_str() {
        "end_turn" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        // It goes on when the tool is done.
        "tool_use" => None,
        _ => Some(StopReason::Other),
    }
}

fn unknown_block(session: &mut SessionDrafts<'_>, line: &str, tag: &str) {
    session.unparsed("amp", "unknown content block", Some(format!("{line}/{tag}")));
}

/// Cached input is told apart from the rest; the universal figure counts all of it.
fn tokens(usage: &NativeUsage, model: Option<String>) -> Usage {
    let count = |number: &Option<Number>| number.as_ref().and_then(whole);
    let (read, written) = (count(&usage.cache_read_input_tokens), count(&usage.cache_creation_input_tokens));
    let fresh = count(&usage.input_tokens).unwrap_or(0);
    let input = fresh.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
    Usage::new(input, count(&usage.output_tokens).unwrap_or(0))
        .cached_input_tokens(read)
        .cache_write_tokens(written)
        .model(model)
}

/// A number that counts something; the schema says no more than that it is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from f64 saturates")]
fn whole(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

#[cfg(test)]
mod tests;
