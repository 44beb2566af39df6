//! Converter for Amp.
//!
//! Amp prints complete messages, in lines of five types. It echoes prompts, reports the end of a turn only for the last
//! turn of a process, and exits with code 0 after a failure, so the `result` line decides the outcome.

mod failures;
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
use crate::drop_reason::HOST_RESPONSE;
use crate::losses::report_losses;
use crate::{
    Converter, Drafts, Failure, Input, InputRef, Key, Launch, MessageDraft, MessageEnd, Note, SessionDrafts, ToolCall,
    TurnEnd, UserMessage,
};
use prompts::Prompts;
use tools::{Arguments, OpenCalls};

/// Id of the agent, also the `location` of its `agent.unparsed` events.
const AGENT: &str = "amp";
/// Drop reason of a line without content.
const EMPTY: &str = "an empty message";
/// The flag that allows all tools without asking.
const ALLOW_ALL: &str = "--dangerously-allow-all";

/// Converts the input and output of Amp into drafts.
#[derive(Debug, Default)]
pub struct AmpConverter {
    /// Id of the thread that started last.
    thread_id: Option<String>,
    version: Option<String>,
    /// The process was started with [`ALLOW_ALL`].
    allows_all: bool,
    prompts: Prompts,
    calls: OpenCalls,
    plan: LastPlan,
    /// Number of messages, for keys of messages without an id.
    message_count: u64,
    process: Process,
}

/// State of the running process.
#[derive(Debug, Default)]
struct Process {
    /// Number of turns. The `duration_ms` of the result is the duration of all of them.
    turn_count: u32,
    /// Text of the last message, which the result repeats.
    last_text: String,
    /// Why the model stopped, if its latest message says so.
    stop_reason: Option<StopReason>,
    /// The thread has started. Before that, Amp reports errors only as plain text.
    has_thread: bool,
    /// The result has come, so the exit reports nothing new.
    has_result: bool,
    /// Lines on standard output that are not JSON.
    stdout: PlainText,
    stderr: PlainText,
}

impl Converter for AmpConverter {
    fn agent(&self) -> &'static str {
        AGENT
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        self.process = Process::default();
        self.version.clone_from(&launch.version);
        self.allows_all = launch.argv.iter().any(|argument| argument == ALLOW_ALL);
        if let Some(prompt) = self.prompts.process_started(launch) {
            out.current_session().prompt_sent(prompt);
        }
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => {
                if let Some(prompt) = self.prompts.push_line(line) {
                    out.current_session().prompt_sent(prompt);
                }
            }
            Input::Close => {
                if let Some(prompt) = self.prompts.input_closed() {
                    out.current_session().prompt_sent(prompt);
                }
            }
            Input::Received(line) => self.convert_received(line, out),
            Input::Stderr(line) => self.process.stderr.push(line),
            Input::Exit { code } => self.process_exited(code, out),
            // Amp has no HTTP interface.
            Input::Unreadable { .. } | Input::Request { .. } => {}
            Input::Reply { .. } => out.dropped(HOST_RESPONSE),
        }
    }
}

impl AmpConverter {
    fn convert_received(&mut self, line: &str, out: &mut Drafts) {
        match StreamMessage::decode(line) {
            Ok(decoded) => {
                self.convert_message(decoded.value, out);
                report_losses(AGENT, &decoded.losses, out);
            }
            Err(error) => {
                if matches!(error, DecodeError::NotJson { .. }) {
                    self.process.stdout.push(line);
                }
                let native_type = match &error {
                    DecodeError::Mismatch { tag, .. } if !tag.is_empty() => Some(tag.clone()),
                    _ => None,
                };
                out.current_session().unparsed(AGENT, error.to_string(), native_type);
            }
        }
    }

    /// Handles one message by its type.
    fn convert_message(&mut self, message: StreamMessage, out: &mut Drafts) {
        match message {
            StreamMessage::System(message) => self.init(message, out),
            StreamMessage::Assistant(message) => self.assistant(message, out),
            StreamMessage::User(message) => self.user(message, out),
            StreamMessage::ResultSuccess(result) => self.result_success(result, out),
            StreamMessage::ResultError(result) => self.result_error(result, out),
            // An unknown subtype still ends the turn. Its outcome is unknown, so it is not a success.
            StreamMessage::Unknown { tag, raw } if tag == "result" || tag.starts_with("result/") => {
                out.current_session().unparsed(AGENT, "unknown type", Some(tag));
                self.result_error(raw.decode().unwrap_or_default(), out);
            }
            StreamMessage::Unknown { tag, .. } => out.current_session().unparsed(AGENT, "unknown type", Some(tag)),
        }
    }

    /// The thread starts, or a new process continues it.
    fn init(&mut self, message: SystemMessage, out: &mut Drafts) {
        self.process.has_thread = true;
        let mut metadata = SessionMetadata::default();
        metadata.agent_version.clone_from(&self.version);
        metadata.cwd = message.cwd;
        metadata.agent_mode = message.agent_mode;
        metadata.permission_mode = self.allows_all.then(|| "bypass".to_owned());
        metadata.tools = message.tools;
        metadata.mcp_servers = message.mcp_servers.map(|servers| servers.into_iter().map(mcp_server).collect());
        let Some(thread_id) = message.session_id.filter(|id| !id.is_empty()) else {
            return out.current_session().turn_started(None, TurnMetadata::default().with_defaults(metadata));
        };
        let mut session = out.session(&thread_id);
        if self.thread_id.as_ref() == Some(&thread_id) {
            session.turn_started(None, TurnMetadata::default().with_defaults(metadata));
        } else {
            session.started(metadata);
            self.thread_id = Some(thread_id);
        }
    }

    fn assistant(&mut self, message: Box<AssistantMessage>, out: &mut Drafts) {
        let Some(body) = message.message else { return out.dropped(EMPTY) };
        let mut content = body.content.unwrap_or_default();
        if content.is_empty() && body.usage.is_none() {
            return out.dropped(EMPTY);
        }
        self.message_count += 1;
        let message_key = match &body.id {
            Some(id) => Key::from(id),
            None => Key::numbered("message", self.message_count),
        };
        let native_id = body.id.map(NativeItemId::from);
        if message.parent_tool_use_id.is_none() {
            self.process.stop_reason = body.stop_reason.as_ref().and_then(stop_reason);
        }
        let mut session =
            thread_drafts(out, message.session_id.as_deref()).sub_agent_or_main(message.parent_tool_use_id);
        let mut has_text = false;
        for (index, block) in (0..).zip(&mut content) {
            let key = || Key::numbered(message_key.as_str(), index);
            let in_message = |draft: MessageDraft| match &native_id {
                Some(id) => draft.native_id(id.clone()).in_message(&message_key),
                None => draft.in_message(&message_key),
            };
            match block {
                AssistantContent::Text(block) => {
                    let text = block.text.take().unwrap_or_default();
                    self.process.observe_text(&text, has_text);
                    has_text = true;
                    session.message_finished(key(), in_message(MessageDraft::assistant()), MessageEnd::text(text));
                }
                AssistantContent::ToolUse(block) => self.tool_use(block, &message_key, &mut session),
                AssistantContent::Thinking(block) => {
                    let text = block.thinking.take().unwrap_or_default();
                    session.message_finished(
                        key(),
                        in_message(MessageDraft::reasoning(Visibility::Public)),
                        MessageEnd::text(text),
                    );
                }
                AssistantContent::RedactedThinking(_) => {
                    session.message_finished(
                        key(),
                        in_message(MessageDraft::reasoning(Visibility::Private)),
                        MessageEnd::text(""),
                    );
                }
                AssistantContent::Unknown { tag, .. } => unknown_block(&mut session, "assistant", tag),
            }
        }
        if let Some(usage) = body.usage {
            session.add_usage(convert_usage(&usage, body.model));
        }
    }

    fn tool_use(&mut self, block: &mut ToolUseContent, message_key: &Key, session: &mut SessionDrafts<'_>) {
        let name = block.name.take().unwrap_or_else(|| "unknown".to_owned());
        let json = block.input.as_ref().map_or("{}", |input| input.get());
        let arguments = Arguments::parse(json);
        self.calls.insert(&block.id, &name, &arguments);
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
            .in_message(message_key);
        if let Some(title) = title {
            call = call.title(title);
        }
        session.tool_called(key, call);
        if let Some(steps) = steps.filter(|steps| self.plan.update(steps)) {
            session.note(Note::plan(steps));
        }
    }

    /// An echo of a prompt, or the results of tools.
    fn user(&mut self, message: NativeUser, out: &mut Drafts) {
        let mut content = message.message.and_then(|body| body.content).unwrap_or_default();
        let (thread_id, parent) = (message.session_id.as_deref(), message.parent_tool_use_id);
        let is_from_user = parent.is_none();
        let mut session = thread_drafts(out, thread_id).sub_agent_or_main(parent.as_deref());
        let mut parts = Vec::new();
        let mut other_blocks = 0;
        for block in &mut content {
            match block {
                UserContent::Text(block) => parts.push(ContentPart::text(block.text.take().unwrap_or_default())),
                UserContent::ToolResult(block) => {
                    other_blocks += 1;
                    self.tool_result(block, &mut session);
                }
                UserContent::Unknown { tag, .. } => {
                    other_blocks += 1;
                    unknown_block(&mut session, "user", tag);
                }
            }
        }
        let is_echo = is_from_user && (!parts.is_empty() || other_blocks == 0);
        let echoed = if is_echo { self.prompts.take_echoed(&parts) } else { None };
        let (images, is_steering) = echoed.unwrap_or_default();
        parts.extend(images);
        if parts.is_empty() {
            if other_blocks == 0 {
                out.dropped(EMPTY);
            }
            return;
        }
        self.message_count += 1;
        let mut user = UserMessage::new(parts);
        if is_from_user && !is_steering && other_blocks == 0 {
            self.end_turn_before_next(&mut thread_drafts(out, thread_id).synthetic());
            self.process.turn_count += 1;
            user = user.starts_turn();
        }
        let mut session = thread_drafts(out, thread_id).sub_agent_or_main(parent);
        session.user_message(Key::numbered("message", self.message_count), user);
    }

    /// Ends the running turn before the next prompt, if it is known why the model stopped. Amp does not report the end.
    fn end_turn_before_next(&mut self, session: &mut SessionDrafts<'_>) {
        let reason = self.process.stop_reason.take();
        if reason.is_some() && self.process.turn_count > 0 {
            session.turn_ended(TurnEnd::new().stop_reason(reason));
        }
    }

    fn tool_result(&mut self, block: &mut ToolResultContent, session: &mut SessionDrafts<'_>) {
        let call = self.calls.remove(&block.tool_use_id);
        let content = block.content.take().unwrap_or_default();
        let result = output::parse_result(content, block.is_error, call);
        session.tool_finished(&block.tool_use_id, result);
    }

    fn result_success(&mut self, result: ResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let text = result.result.unwrap_or_default();
        let mut session = thread_drafts(out, result.session_id.as_deref());
        // The subtype does not decide: without `is_error` the outcome is unknown.
        let status = if result.is_error == Some(false) { TurnStatus::Completed } else { TurnStatus::Failed };
        if result.is_error == Some(true) {
            session.failed(Failure::new(failures::code_for_message(&text), text));
        } else {
            if !text.trim().is_empty() && !self.process.last_text.contains(text.trim()) {
                // No earlier message contained this text.
                self.message_count += 1;
                let key = Key::numbered("message", self.message_count);
                session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(text));
            }
            if status == TurnStatus::Failed {
                session.failed(Failure::new(ErrorCode::AgentError, "the agent did not report whether it succeeded"));
            }
        }
        let end =
            self.process.turn_end(status, result.duration_ms.as_ref(), result.num_turns, result.permission_denials);
        session.turn_ended(end);
    }

    fn result_error(&mut self, result: ErrorResultMessage, out: &mut Drafts) {
        self.process.has_result = true;
        let message = result.error.unwrap_or_else(|| "the agent failed without an error message".to_owned());
        let mut session = thread_drafts(out, result.session_id.as_deref());
        let status = if failures::is_interrupt(&message) {
            session.interrupt_requested();
            TurnStatus::Interrupted
        } else {
            let code = match result.subtype {
                Some(ErrorResultMessageSubtype::ErrorMaxTurns) => ErrorCode::Limit,
                _ => failures::code_for_message(&message),
            };
            let kind = result.subtype.as_ref().map(ErrorResultMessageSubtype::as_str);
            session.failed(Failure::new(code, message).kind(kind));
            TurnStatus::Failed
        };
        let end =
            self.process.turn_end(status, result.duration_ms.as_ref(), result.num_turns, result.permission_denials);
        session.turn_ended(end);
    }

    fn process_exited(&mut self, code: Option<i32>, out: &mut Drafts) {
        self.calls = OpenCalls::default();
        let process = std::mem::take(&mut self.process);
        if process.has_result {
            return;
        }
        let mut session = out.current_session().synthetic();
        // Without the JSON format, the printed text is the answer.
        if code == Some(0) && self.prompts.is_plain_text_run() {
            return session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
        }
        match process.startup_error(code) {
            Some(error) => session.failed(Failure::new(failures::code_for_message(&error), error)),
            // Amp always prints a result before it exits.
            None => session.turn_cut_off(),
        }
    }
}

impl Process {
    /// Notes a text of the agent. `is_continued`: the same message has text before it.
    fn observe_text(&mut self, text: &str, is_continued: bool) {
        if is_continued {
            self.last_text.push('\n');
        } else {
            self.last_text.clear();
        }
        self.last_text.push_str(text);
    }

    /// The error message of a process that exited before its thread started. Standard error counts only for an exit
    /// code above 0: it is not the cause when a signal killed the process.
    fn startup_error(self, code: Option<i32>) -> Option<String> {
        if self.has_thread {
            return None;
        }
        let stderr = self.stderr.0.filter(|_| code.is_some_and(|code| code > 0));
        stderr.or(self.stdout.0)
    }

    fn turn_end(
        &self,
        status: TurnStatus,
        duration_ms: Option<&Number>,
        num_turns: Option<Number>,
        denials: Option<Vec<String>>,
    ) -> TurnEnd {
        // A turn that failed did not end because the model finished its answer.
        let is_certain = |reason: &StopReason| status == TurnStatus::Completed || *reason != StopReason::EndTurn;
        let stop_reason = self.stop_reason.clone().filter(is_certain);
        let mut end = TurnEnd::with_status(status).stop_reason(stop_reason);
        if self.turn_count <= 1 {
            end.duration_ms = duration_ms.and_then(to_u64);
        }
        end.native(
            NativeMetadata::new()
                .with("num_turns", num_turns.map(Value::Number))
                .with("permission_denials", denials.filter(|denials| !denials.is_empty())),
        )
    }
}

/// The most informative line of plain text output: the first that starts with `Error`, else the first.
#[derive(Debug, Default)]
struct PlainText(Option<String>);

impl PlainText {
    fn push(&mut self, line: &str) {
        let line = line.trim();
        let is_error = |line: &str| line.starts_with("Error");
        let is_better = match &self.0 {
            None => !line.is_empty(),
            Some(kept) => is_error(line) && !is_error(kept),
        };
        if is_better {
            self.0 = Some(line.to_owned());
        }
    }
}

/// Drafts for this thread, or for the current one if the line names none.
fn thread_drafts<'a>(out: &'a mut Drafts, thread_id: Option<&str>) -> SessionDrafts<'a> {
    out.session_or_current(thread_id.filter(|id| !id.is_empty()))
}

fn mcp_server(server: SystemMessageMcpServersItem) -> McpServerInfo {
    McpServerInfo::new(server.name.unwrap_or_default()).status(server.status.map(|status| status.as_str().to_owned()))
}

/// Why the model stopped; `None` if it has not stopped.
fn stop_reason(reason: &NativeStopReason) -> Option<StopReason> {
    match reason.as_str() {
        "end_turn" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        // The model continues after the tool.
        "tool_use" => None,
        _ => Some(StopReason::Other),
    }
}

fn unknown_block(session: &mut SessionDrafts<'_>, line_type: &str, tag: &str) {
    session.unparsed(AGENT, "unknown content block", Some(format!("{line_type}/{tag}")));
}

/// Converts the usage of a message. Amp counts cached input separately; the universal input includes it.
fn convert_usage(usage: &NativeUsage, model: Option<String>) -> Usage {
    let count = |number: &Option<Number>| number.as_ref().and_then(to_u64);
    let (read, written) = (count(&usage.cache_read_input_tokens), count(&usage.cache_creation_input_tokens));
    let uncached = count(&usage.input_tokens).unwrap_or(0);
    let input = uncached.saturating_add(read.unwrap_or(0)).saturating_add(written.unwrap_or(0));
    Usage::new(input, count(&usage.output_tokens).unwrap_or(0))
        .cached_input_tokens(read)
        .cache_write_tokens(written)
        .model(model)
}

/// Converts a JSON number to `u64`: the schema allows floats for counts.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast from f64 saturates")]
fn to_u64(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

#[cfg(test)]
mod tests;
