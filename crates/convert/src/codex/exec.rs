//! Events of `codex exec --json`: one run with one turn, whose items are complete when they arrive.

mod arguments;
mod tools;

use interlingua_native::codex::TurnError;
use interlingua_native::codex::exec::{
    ErrorItem, ThreadEvent, ThreadItem, TodoItem, TodoListItem, TurnCompletedEvent, TurnFailedEvent,
    Usage as NativeUsage,
};
use interlingua_native::{Json, LossList, Native as _};
use interlingua_schema::{PlanStep, SessionMetadata, StopReason, TurnMetadata, TurnStatus, Usage, Visibility};
use serde_json::Number;

use super::LOCATION;
use super::failures::{failure_from_message, is_retry_message, parse_retry, parse_stop_reason};
use crate::draft::{LastPlan, UNCHANGED_PLAN};
use crate::losses::report_losses;
use crate::version::parse_release;
use crate::{
    CumulativeUsage, Drafts, Launch, MessageDraft, MessageEnd, Note, PromptDraft, SessionDrafts, ToolCall, ToolResult,
    TurnEnd, plan_step,
};
use arguments::Arguments;
use tools::{
    CollabToolCallItem, command_call, command_result, file_change_call, file_change_result, mcp_call, mcp_result,
    web_search_call,
};

/// Fields of a turn's usage that were added later, with the first release that sends them.
const LATER_USAGE_FIELDS: [(&str, (u64, u64)); 2] =
    [("reasoning_output_tokens", (0, 125)), ("cache_write_input_tokens", (0, 145))];

/// State of a run of `codex exec`.
#[derive(Debug, Default)]
pub(super) struct Exec {
    /// The command line is one of `codex exec`.
    is_active: bool,
    version: Option<String>,
    prompt: Option<String>,
    /// Model on the command line.
    model: Option<String>,
    cwd: Option<String>,
    thread: Option<String>,
    /// A turn is running.
    in_turn: bool,
    /// Usage so far. A resumed thread includes the usage of earlier runs in its totals.
    usage: CumulativeUsage,
    last_plan: LastPlan,
    /// Number of the last retry of a model request.
    last_retry: u64,
    /// Error that was reported last. `turn.failed` repeats it.
    last_error: Option<String>,
}

impl Exec {
    pub(super) fn observe_launch(&mut self, launch: &Launch) {
        let exec = launch.argv.iter().position(|argument| argument == "exec" || argument == "e");
        *self = Self { thread: self.thread.take(), version: launch.version.clone(), ..Self::default() };
        let Some(arguments) = exec.and_then(|index| launch.argv.get(index + 1..)) else { return };
        self.is_active = true;
        let arguments = Arguments::parse(arguments);
        self.prompt = launch.prompt.clone().or(arguments.prompt);
        self.model = arguments.model;
        self.cwd = arguments.cwd;
        self.usage = if arguments.is_resumed { CumulativeUsage::resumed() } else { CumulativeUsage::from_zero() };
    }

    pub(super) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Appends a line of standard input to the prompt.
    pub(super) fn push_prompt_line(&mut self, line: &str) {
        if self.thread.is_none() {
            let prompt = self.prompt.get_or_insert_default();
            if !prompt.is_empty() {
                prompt.push('\n');
            }
            prompt.push_str(line);
        }
    }

    pub(super) fn handle_line(&mut self, line: &str, out: &mut Drafts) {
        match ThreadEvent::decode(line) {
            Ok(decoded) => {
                self.handle_event(decoded.value, out);
                if !self.lacks_only_newer_usage_fields(&decoded.losses) {
                    report_losses(LOCATION, &decoded.losses, out);
                }
            }
            Err(error) => out.current_session().unparsed(LOCATION, error.to_string(), None),
        }
    }

    /// Whether the payload is whole for the release that sent it: it lacks nothing but fields of `usage` that were
    /// added later. If the release is not known, it is one of the oldest if it lacks all of them.
    fn lacks_only_newer_usage_fields(&self, losses: &LossList) -> bool {
        let [missing] = losses.missing.as_slice() else { return false };
        if missing.path != "usage" || !losses.repairs.is_empty() || !losses.unknown.is_empty() {
            return false;
        }
        // Names are quoted in the reason: every second piece is one.
        let mut names = missing.reason.split('`').skip(1).step_by(2);
        match self.version.as_deref().and_then(parse_release) {
            Some(release) => {
                names.all(|name| LATER_USAGE_FIELDS.iter().any(|(later, first)| *later == name && release < *first))
            }
            None => {
                LATER_USAGE_FIELDS.len() == names.clone().count()
                    && names.all(|name| LATER_USAGE_FIELDS.iter().any(|(later, _)| *later == name))
            }
        }
    }

    fn handle_event(&mut self, event: ThreadEvent, out: &mut Drafts) {
        match event {
            ThreadEvent::ThreadStarted(event) => self.thread_started(event.thread_id.unwrap_or_default(), out),
            ThreadEvent::TurnStarted(_) => self.turn_started(out),
            ThreadEvent::TurnCompleted(event) => self.turn_completed(event, out),
            ThreadEvent::TurnFailed(event) => self.turn_failed(event, out),
            ThreadEvent::ItemStarted(event) => match event.item {
                Some(item) => self.item_started(item, out),
                None => out.dropped("an item without content"),
            },
            ThreadEvent::ItemUpdated(event) => match event.item {
                Some(ThreadItem::TodoList(item)) => self.plan_updated(item, out),
                _ => out.dropped("partial item; the completed one repeats it"),
            },
            ThreadEvent::ItemCompleted(event) => match event.item {
                Some(item) => self.item_completed(item, out),
                None => out.dropped("an item without content"),
            },
            ThreadEvent::Error(event) => self.error(event.message.unwrap_or_default(), out),
            ThreadEvent::Unknown { tag, .. } => {
                out.current_session().unparsed(LOCATION, format!("unknown event `{tag}`"), Some(tag));
            }
        }
    }

    fn session<'a>(&self, out: &'a mut Drafts) -> SessionDrafts<'a> {
        out.session_or_current(self.thread.as_deref())
    }

    /// Ends the running turn when the agent exits.
    pub(super) fn cut_off_turn(&mut self, out: &mut Drafts) {
        if std::mem::take(&mut self.in_turn) {
            self.session(out).turn_cut_off();
        }
    }

    /// A second run in the same log is a new process.
    fn thread_started(&mut self, id: String, out: &mut Drafts) {
        if self.thread.is_some() {
            out.process_restarted();
        }
        if self.thread.as_ref().is_some_and(|thread| *thread != id) {
            self.usage = CumulativeUsage::from_zero();
            self.last_plan = LastPlan::default();
        }
        self.in_turn = false;
        self.last_retry = 0;
        self.last_error = None;
        self.thread = Some(id);
        let mut metadata = SessionMetadata::default();
        metadata.agent_version.clone_from(&self.version);
        metadata.model.clone_from(&self.model);
        metadata.cwd.clone_from(&self.cwd);
        let prompt = self.prompt.take();
        let mut session = self.session(out);
        session.started(metadata);
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
            // The prompt comes from the command line, which is not a payload.
            session.prompt_sent(PromptDraft::text(prompt).raw(None));
        }
    }

    /// A run has one turn. In 0.98, the turns of sub-agents are reported as well; they are dropped.
    fn turn_started(&mut self, out: &mut Drafts) {
        if std::mem::replace(&mut self.in_turn, true) {
            return out.dropped("a sub-agent's turn");
        }
        self.session(out).turn_started(None, TurnMetadata::default());
    }

    fn turn_completed(&mut self, event: TurnCompletedEvent, out: &mut Drafts) {
        self.in_turn = false;
        let mut end = TurnEnd::with_status(TurnStatus::Completed).stop_reason(Some(StopReason::EndTurn));
        end.usage = event.usage.map(|usage| self.usage.turn_usage(to_usage(&usage)));
        self.last_error = None;
        self.session(out).turn_ended(end);
    }

    fn turn_failed(&mut self, event: TurnFailedEvent, out: &mut Drafts) {
        self.in_turn = false;
        let message = event.error.and_then(|error| error.message).unwrap_or_default();
        let reported = self.last_error.take();
        let mut session = self.session(out);
        if reported.as_ref() != Some(&message) {
            session.failed(failure_from_message(message.clone()));
        }
        session.turn_ended(TurnEnd::with_status(TurnStatus::Failed).stop_reason(parse_stop_reason(&message)));
    }

    /// Retries are reported as errors too and are recognised by their message.
    fn error(&mut self, message: String, out: &mut Drafts) {
        if is_retry_message(&message) {
            let mut error = TurnError::default();
            error.message = Some(message);
            let retry = parse_retry(error, self.last_retry);
            self.last_retry = retry.attempt;
            return self.session(out).note(Note::retry(retry));
        }
        self.session(out).failed(failure_from_message(message.clone()));
        self.last_error = Some(message);
    }

    fn item_started(&mut self, item: ThreadItem, out: &mut Drafts) {
        match item {
            ThreadItem::AgentMessage(_) | ThreadItem::Reasoning(_) | ThreadItem::Error(_) => {
                out.dropped("start of an item that is reported when it completes");
            }
            ThreadItem::CommandExecution(item) => self.tool_called(command_call(&item), out),
            ThreadItem::FileChange(item) => self.tool_called(file_change_call(&item), out),
            ThreadItem::McpToolCall(item) => self.tool_called(mcp_call(&item), out),
            // The query is known only when the search is complete.
            ThreadItem::WebSearch(item) => {
                let (id, call) = web_search_call(&item);
                self.session(out).tool_started(id, call);
            }
            ThreadItem::TodoList(item) => self.plan_updated(item, out),
            ThreadItem::Unknown { tag, raw } => self.undeclared_item(&tag, &raw, false, out),
        }
    }

    fn item_completed(&mut self, item: ThreadItem, out: &mut Drafts) {
        match item {
            ThreadItem::AgentMessage(item) => {
                let id = item.id.unwrap_or_default();
                let message = MessageDraft::assistant().native_id(id.as_str());
                self.session(out).message_finished(id, message, MessageEnd::text(item.text.unwrap_or_default()));
            }
            ThreadItem::Reasoning(item) => {
                let id = item.id.unwrap_or_default();
                let message = MessageDraft::reasoning(Visibility::Public).native_id(id.as_str());
                self.session(out).message_finished(id, message, MessageEnd::text(item.text.unwrap_or_default()));
            }
            ThreadItem::CommandExecution(item) => self.tool_finished(command_call(&item), command_result(item), out),
            ThreadItem::FileChange(item) => self.tool_finished(file_change_call(&item), file_change_result(item), out),
            ThreadItem::McpToolCall(item) => self.tool_finished(mcp_call(&item), mcp_result(item), out),
            ThreadItem::WebSearch(item) => self.tool_finished(web_search_call(&item), ToolResult::ok(""), out),
            ThreadItem::TodoList(item) => self.plan_updated(item, out),
            ThreadItem::Error(item) => self.error_item(item, out),
            ThreadItem::Unknown { tag, raw } => self.undeclared_item(&tag, &raw, true, out),
        }
    }

    /// Drafts the plan if it has changed.
    fn plan_updated(&mut self, item: TodoListItem, out: &mut Drafts) {
        let status = |done: Option<bool>| done.unwrap_or_default().then_some("completed");
        let step = |step: TodoItem| plan_step(step.text.unwrap_or_default(), status(step.completed));
        let steps: Vec<PlanStep> = item.items.into_iter().flatten().map(step).collect();
        if !self.last_plan.update(&steps) {
            return out.dropped(UNCHANGED_PLAN);
        }
        let note = Note::plan(steps);
        self.session(out).note(match item.id {
            Some(id) => note.native_id(id),
            None => note,
        });
    }

    /// An error that does not stop the run.
    fn error_item(&mut self, item: ErrorItem, out: &mut Drafts) {
        let note = Note::notice(item.message.unwrap_or_default());
        self.session(out).note(match item.id {
            Some(id) => note.native_id(id),
            None => note,
        });
    }

    /// An item that the SDK's types do not declare.
    fn undeclared_item(&mut self, tag: &str, raw: &Json, is_completed: bool, out: &mut Drafts) {
        let item = match tag {
            "collab_tool_call" => raw.decode::<CollabToolCallItem>().ok(),
            _ => None,
        };
        match item {
            Some(item) if is_completed => self.tool_finished(item.call(), item.result(), out),
            Some(item) => self.tool_called(item.call(), out),
            None => self.session(out).unparsed(LOCATION, format!("unknown item `{tag}`"), Some(tag.to_owned())),
        }
    }

    fn tool_called(&self, (id, call): (String, ToolCall), out: &mut Drafts) {
        self.session(out).tool_called(id, call);
    }

    fn tool_finished(&self, (id, call): (String, ToolCall), result: ToolResult, out: &mut Drafts) {
        let mut session = self.session(out);
        session.tool_called(id.as_str(), call);
        session.tool_finished(id, result);
    }
}

fn to_usage(usage: &NativeUsage) -> Usage {
    let count = |tokens: &Option<Number>| tokens.as_ref().and_then(Number::as_u64);
    Usage::new(count(&usage.input_tokens).unwrap_or_default(), count(&usage.output_tokens).unwrap_or_default())
        .cached_input_tokens(count(&usage.cached_input_tokens))
        .cache_write_tokens(count(&usage.cache_write_input_tokens))
        .reasoning_tokens(count(&usage.reasoning_output_tokens))
}
