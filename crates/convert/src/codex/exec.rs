//! The dialect of `codex exec --json`: one run, one turn, items that are whole.

use interlingua_native::codex::TurnError;
use interlingua_native::codex::exec::{
    CommandExecutionItem, CommandExecutionStatus, ContentBlock, ErrorItem, FileChangeItem, FileUpdateChange,
    McpToolCallItem, McpToolCallStatus, PatchApplyStatus, PatchChangeKind, ThreadEvent, ThreadItem, TodoItem,
    TodoListItem, TurnCompletedEvent, TurnFailedEvent, Usage as NativeUsage, WebSearchItem,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{
    ChangeKind, CommandInput, ContentPart, FileAction, FileChange, FileChangeInput, PlanStep, SessionMetadata,
    StopReason, SubAgentInput, ToolInput, ToolKind, TurnMetadata, TurnStatus, Usage, Visibility,
};
use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::WHERE;
use super::command::as_typed;
use super::content::{Output, json as to_json};
use super::failures::{failure_in_words, is_retry, retry, stop_reason};
use super::tools::{collab_title, mcp_input, qualified, web_input};
use crate::draft::{LastPlan, UNCHANGED_PLAN};
use crate::losses::report_losses;
use crate::{
    CumulativeUsage, Drafts, Launch, MessageDraft, MessageEnd, Note, PromptDraft, SessionDrafts, ToolCall, ToolResult,
    TurnEnd, plan_step,
};

/// Options of `codex exec` that take a value.
const WITH_VALUE: &[&str] = &[
    "-a",
    "-c",
    "-i",
    "-o",
    "-p",
    "-s",
    "--add-dir",
    "--ask-for-approval",
    "--color",
    "--config",
    "--disable",
    "--enable",
    "--image",
    "--local-provider",
    "--output-last-message",
    "--output-schema",
    "--profile",
    "--sandbox",
];

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Exec {
    /// The command line says that this dialect is spoken.
    spoken: bool,
    version: Option<String>,
    prompt: Option<String>,
    /// What the command line says it works with.
    model: Option<String>,
    cwd: Option<String>,
    thread: Option<String>,
    /// Its turn runs.
    in_turn: bool,
    /// It goes on with an earlier run's thread, whose use of tokens is counted in.
    usage: CumulativeUsage,
    plan: LastPlan,
    /// Which retry of a request was told last.
    retries: u64,
    /// The error that was told last, which the turn's end repeats.
    error: Option<String>,
}

impl Exec {
    pub(super) fn launch(&mut self, launch: &Launch) {
        let words = launch.argv.iter().position(|word| word == "exec" || word == "e");
        *self = Self { thread: self.thread.take(), version: launch.version.clone(), ..Self::default() };
        let Some(words) = words.and_then(|place| launch.argv.get(place + 1..)) else { return };
        self.spoken = true;
        let arguments = Arguments::of(words);
        self.prompt = launch.prompt.clone().or(arguments.prompt);
        self.model = arguments.model;
        self.cwd = arguments.cwd;
        self.usage = if arguments.resumes { CumulativeUsage::resumed() } else { CumulativeUsage::from_zero() };
    }

    pub(super) fn is_spoken(&self) -> bool {
        self.spoken
    }

    /// A line on standard input is part of the prompt.
    pub(super) fn sent(&mut self, line: &str) {
        if self.thread.is_none() {
            let prompt = self.prompt.get_or_insert_default();
            if !prompt.is_empty() {
                prompt.push('\n');
            }
            prompt.push_str(line);
        }
    }

    pub(super) fn received(&mut self, line: &str, out: &mut Drafts) {
        match ThreadEvent::decode(line) {
            Ok(decoded) => {
                self.event(decoded.value, out);
                report_losses(WHERE, &decoded.losses, out);
            }
            Err(error) => out.current_session().unparsed(WHERE, error.to_string(), None),
        }
    }

    fn event(&mut self, event: ThreadEvent, out: &mut Drafts) {
        match event {
            ThreadEvent::ThreadStarted(event) => self.thread_started(event.thread_id.unwrap_or_default(), out),
            ThreadEvent::TurnStarted(_) => self.turn_started(out),
            ThreadEvent::TurnCompleted(event) => self.turn_completed(event, out),
            ThreadEvent::TurnFailed(event) => self.turn_failed(event, out),
            ThreadEvent::ItemStarted(event) => match event.item {
                Some(item) => self.item_started(item, out),
                None => out.dropped("an item without anything in it"),
            },
            ThreadEvent::ItemUpdated(event) => match event.item {
                Some(ThreadItem::TodoList(item)) => self.plan(item, out),
                _ => out.dropped("an item on its way; its end tells all of it"),
            },
            ThreadEvent::ItemCompleted(event) => match event.item {
                Some(item) => self.item_completed(item, out),
                None => out.dropped("an item without anything in it"),
            },
            ThreadEvent::Error(event) => self.error(event.message.unwrap_or_default(), out),
            ThreadEvent::Unknown { tag, .. } => {
                out.current_session().unparsed(WHERE, format!("unknown event `{tag}`"), Some(tag));
            }
        }
    }

    fn session<'a>(&self, out: &'a mut Drafts) -> SessionDrafts<'a> {
        out.session_or_current(self.thread.as_deref())
    }

    /// The agent exits in the middle of its turn, if one runs.
    pub(super) fn cut_off(&mut self, out: &mut Drafts) {
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
            self.plan = LastPlan::default();
        }
        self.in_turn = false;
        self.retries = 0;
        self.error = None;
        self.thread = Some(id);
        let mut metadata = SessionMetadata::default();
        metadata.agent_version.clone_from(&self.version);
        metadata.model.clone_from(&self.model);
        metadata.cwd.clone_from(&self.cwd);
        let prompt = self.prompt.take();
        let mut session = self.session(out);
        session.started(metadata);
        if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
            // A command line is no payload.
            session.prompt_sent(PromptDraft::text(prompt).raw(None));
        }
    }

    /// A run is one turn. Another that begins in it is a sub-agent's, whose doings 0.98 tells as if they were the run's.
    fn turn_started(&mut self, out: &mut Drafts) {
        if std::mem::replace(&mut self.in_turn, true) {
            return out.dropped("a sub-agent's turn");
        }
        self.session(out).turn_started(None, TurnMetadata::default());
    }

    fn turn_completed(&mut self, event: TurnCompletedEvent, out: &mut Drafts) {
        self.in_turn = false;
        let mut end = TurnEnd::with_status(TurnStatus::Completed).stop_reason(Some(StopReason::EndTurn));
        end.usage = event.usage.map(|usage| self.usage.turn_usage(tokens(&usage)));
        self.error = None;
        self.session(out).turn_ended(end);
    }

    fn turn_failed(&mut self, event: TurnFailedEvent, out: &mut Drafts) {
        self.in_turn = false;
        let message = event.error.and_then(|error| error.message).unwrap_or_default();
        let told = self.error.take();
        let mut session = self.session(out);
        if told.as_ref() != Some(&message) {
            session.failed(failure_in_words(message.clone()));
        }
        session.turn_ended(TurnEnd::with_status(TurnStatus::Failed).stop_reason(stop_reason(&message)));
    }

    /// A retry is told as an error too, and known by its words.
    fn error(&mut self, message: String, out: &mut Drafts) {
        if is_retry(&message) {
            let error = TurnError { message: Some(message), ..TurnError::default() };
            let retry = retry(error, self.retries);
            self.retries = retry.attempt;
            return self.session(out).note(Note::retry(retry));
        }
        self.session(out).failed(failure_in_words(message.clone()));
        self.error = Some(message);
    }

    fn item_started(&mut self, item: ThreadItem, out: &mut Drafts) {
        match item {
            ThreadItem::AgentMessage(_) | ThreadItem::Reasoning(_) | ThreadItem::Error(_) => {
                out.dropped("a whole item that begins; its end is the same");
            }
            ThreadItem::CommandExecution(item) => called(command(&item), self.session(out)),
            ThreadItem::FileChange(item) => called(file_change(&item), self.session(out)),
            ThreadItem::McpToolCall(item) => called(mcp(&item), self.session(out)),
            // What is searched for is known when it was found.
            ThreadItem::WebSearch(item) => {
                let call = web_search(&item);
                self.session(out).tool_started(item.id.unwrap_or_default(), call);
            }
            ThreadItem::TodoList(item) => self.plan(item, out),
            ThreadItem::Unknown { tag, raw } => self.other(&tag, &raw, false, out),
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
            ThreadItem::CommandExecution(item) => finished(command(&item), command_result(item), self.session(out)),
            ThreadItem::FileChange(item) => finished(file_change(&item), file_change_result(item), self.session(out)),
            ThreadItem::McpToolCall(item) => finished(mcp(&item), mcp_result(item), self.session(out)),
            ThreadItem::WebSearch(item) => {
                finished((item.id.clone(), web_search(&item)), ToolResult::ok(""), self.session(out));
            }
            ThreadItem::TodoList(item) => self.plan(item, out),
            ThreadItem::Error(item) => self.remark(item, out),
            ThreadItem::Unknown { tag, raw } => self.other(&tag, &raw, true, out),
        }
    }

    /// The plan, each time it is another one.
    fn plan(&mut self, item: TodoListItem, out: &mut Drafts) {
        let status = |done: Option<bool>| done.unwrap_or_default().then_some("completed");
        let step = |step: TodoItem| plan_step(step.text.unwrap_or_default(), status(step.completed));
        let steps: Vec<PlanStep> = item.items.into_iter().flatten().map(step).collect();
        if !self.plan.update(&steps) {
            return out.dropped(UNCHANGED_PLAN);
        }
        let note = Note::plan(steps);
        self.session(out).note(match item.id {
            Some(id) => note.native_id(id),
            None => note,
        });
    }

    /// Something went wrong that does not stop the run.
    fn remark(&mut self, item: ErrorItem, out: &mut Drafts) {
        let note = Note::notice(item.message.unwrap_or_default());
        self.session(out).note(match item.id {
            Some(id) => note.native_id(id),
            None => note,
        });
    }

    /// An item that the SDK's types leave out.
    fn other(&mut self, tag: &str, raw: &Json, is_over: bool, out: &mut Drafts) {
        let item = match tag {
            "collab_tool_call" => raw.decode::<CollabItem>().ok(),
            _ => None,
        };
        match item {
            Some(item) if is_over => finished(item.call(), item.result(), self.session(out)),
            Some(item) => called(item.call(), self.session(out)),
            None => self.session(out).unparsed(WHERE, format!("unknown item `{tag}`"), Some(tag.to_owned())),
        }
    }
}

/// A tool that works with other agents.
#[derive(Deserialize)]
struct CollabItem {
    id: String,
    tool: String,
    prompt: Option<String>,
    #[serde(default)]
    receiver_thread_ids: Vec<String>,
    #[serde(default)]
    agents_states: serde_json::Map<String, Value>,
    status: Option<String>,
}

impl CollabItem {
    fn call(&self) -> (Option<String>, ToolCall) {
        let arguments = json!({ "prompt": self.prompt, "agents": self.receiver_thread_ids }).to_string();
        let mut call =
            ToolCall::new(self.id.as_str(), self.tool.as_str()).kind(ToolKind::SubAgent).arguments(arguments);
        if let Some(prompt) = self.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
            call = call.input(Some(ToolInput::SubAgent(SubAgentInput::new(prompt))));
        } else if let Some(title) = collab_title(&self.tool) {
            call = call.title(title);
        }
        (Some(self.id.clone()), call.native_id(self.id.as_str()))
    }

    fn result(&self) -> ToolResult {
        let mut output = Output::default();
        for (agent, state) in &self.agents_states {
            let says = |key: &str| state.get(key).and_then(Value::as_str);
            // That one is yet to begin is no output.
            if says("message").is_none() && says("status") == Some("pending_init") {
                continue;
            }
            output.say(&format!("{agent}: {}", says("message").or_else(|| says("status")).unwrap_or("unknown")));
        }
        output.result().failed_if(self.status.as_deref() != Some("completed"))
    }
}

type Call = (Option<String>, ToolCall);

fn called((id, call): Call, mut session: SessionDrafts<'_>) {
    session.tool_called(id.unwrap_or_default(), call);
}

fn finished((id, call): Call, result: ToolResult, mut session: SessionDrafts<'_>) {
    let id = id.unwrap_or_default();
    session.tool_called(id.as_str(), call);
    session.tool_finished(id, result);
}

fn call(
    id: Option<&String>,
    name: impl Into<String>,
    kind: ToolKind,
    arguments: impl Into<String>,
    input: Option<ToolInput>,
) -> Call {
    let native = id.cloned().unwrap_or_default();
    let call = ToolCall::new(native.as_str(), name).kind(kind).arguments(arguments).input(input);
    (id.cloned(), call.native_id(native))
}

fn command(item: &CommandExecutionItem) -> Call {
    let typed = item.command.as_deref().and_then(|command| as_typed(command, &[]));
    let input = typed.as_deref().map(|typed| ToolInput::Command(CommandInput::new(typed)));
    let arguments = json!({ "command": typed.unwrap_or_default() }).to_string();
    call(item.id.as_ref(), "command_execution", ToolKind::Command, arguments, input)
}

fn command_result(item: CommandExecutionItem) -> ToolResult {
    let code = item.exit_code.as_ref().and_then(Number::as_i64).and_then(|code| i32::try_from(code).ok());
    let failed = match item.status {
        Some(CommandExecutionStatus::Completed) => false,
        Some(CommandExecutionStatus::Failed) => true,
        // The command is over, and how it went is not understood.
        Some(CommandExecutionStatus::InProgress | CommandExecutionStatus::Unknown(_)) | None => code != Some(0),
    };
    ToolResult::ok(item.aggregated_output.unwrap_or_default()).failed_if(failed).exit_code(code)
}

fn file_change(item: &FileChangeItem) -> Call {
    let arguments = json!({ "changes": item.changes }).to_string();
    let changes = item.changes.as_ref().map(|changes| changes.iter().map(change_input).collect());
    let input = changes.map(|changes| ToolInput::FileChange(FileChangeInput::new(changes)));
    call(item.id.as_ref(), "file_change", ToolKind::FileChange, arguments, input)
}

fn change_input(change: &FileUpdateChange) -> FileChange {
    let mut input = FileChange::new(change.path.as_deref().unwrap_or_default());
    input.change = match change.kind {
        Some(PatchChangeKind::Add) => Some(ChangeKind::Create),
        Some(PatchChangeKind::Delete) => Some(ChangeKind::Delete),
        Some(PatchChangeKind::Update) => Some(ChangeKind::Update),
        _ => None,
    };
    input
}

/// This dialect says which files changed, not how.
fn file_change_result(item: FileChangeItem) -> ToolResult {
    if item.status != Some(PatchApplyStatus::Completed) {
        return ToolResult::failed("");
    }
    let mut result = ToolResult::ok("");
    result.parts.extend(item.changes.into_iter().flatten().map(|change| ContentPart::FileRef {
        path: change.path.unwrap_or_default(),
        action: if change.kind == Some(PatchChangeKind::Add) { FileAction::Write } else { FileAction::Patch },
        diff: None,
    }));
    result
}

fn mcp(item: &McpToolCallItem) -> Call {
    let name = qualified(item.server.as_deref(), item.tool.as_deref());
    let arguments = item.arguments.as_ref().map(Json::get).unwrap_or_default();
    let input = mcp_input(item.server.as_deref(), item.tool.as_deref(), item.arguments.as_ref());
    call(item.id.as_ref(), name, ToolKind::Mcp, arguments, input.map(ToolInput::Mcp))
}

fn mcp_result(item: McpToolCallItem) -> ToolResult {
    let failed = item.error.is_some() || item.status != Some(McpToolCallStatus::Completed);
    let result = item.result.unwrap_or_default();
    let blocks: Vec<Json> =
        result.content.into_iter().flatten().map(|block: ContentBlock| to_json(block).into()).collect();
    let mut output = Output::mcp(blocks.iter(), result.structured_content.as_ref());
    if let Some(message) = item.error.and_then(|error| error.message) {
        output.say(&message);
    }
    output.result().failed_if(failed)
}

fn web_search(item: &WebSearchItem) -> ToolCall {
    let mut arguments = serde_json::Map::new();
    if let Some(query) = item.query.as_ref().filter(|query| !query.is_empty()) {
        arguments.insert("query".to_owned(), query.as_str().into());
    }
    let action = item.action.as_ref().map(to_json);
    let input = web_input(action.as_ref(), item.query.as_deref());
    if let Some(action) = action {
        arguments.insert("action".to_owned(), action);
    }
    let arguments = Value::Object(arguments).to_string();
    call(item.id.as_ref(), "web_search", ToolKind::Web, arguments, input.map(ToolInput::Web)).1
}

fn tokens(usage: &NativeUsage) -> Usage {
    let count = |figure: &Option<Number>| figure.as_ref().and_then(Number::as_u64);
    Usage::new(count(&usage.input_tokens).unwrap_or_default(), count(&usage.output_tokens).unwrap_or_default())
        .cached_input_tokens(count(&usage.cached_input_tokens))
        .cache_write_tokens(count(&usage.cache_write_input_tokens))
        .reasoning_tokens(count(&usage.reasoning_output_tokens))
}

/// What a command line says: the prompt, whether an earlier thread goes on, the model and the directory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    prompt: Option<String>,
    resumes: bool,
    model: Option<String>,
    cwd: Option<String>,
}

impl Arguments {
    fn of(words: &[String]) -> Self {
        let mut plain: Vec<&str> = Vec::new();
        let mut last = false;
        let (mut model, mut cwd) = (None, None);
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--" => plain.extend(words.by_ref()),
                "--last" => last = true,
                "-m" | "--model" => model = words.next().map(str::to_owned),
                "-C" | "--cd" => cwd = words.next().filter(|path| path.starts_with('/')).map(str::to_owned),
                word if WITH_VALUE.contains(&word) => {
                    words.next();
                }
                word if word.len() > 1 && word.starts_with('-') => {}
                word => plain.push(word),
            }
        }
        let resumes = plain.first() == Some(&"resume");
        // `resume` is followed by the thread's id, unless the last one is meant.
        let before = match (resumes, last) {
            (true, true) => 1,
            (true, false) => 2,
            (false, _) => 0,
        };
        let prompt = plain.get(before).filter(|prompt| **prompt != "-").map(|prompt| (*prompt).to_owned());
        Self { prompt, resumes, model, cwd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &[&str]) -> Arguments {
        Arguments::of(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_prompt_is_found_on_the_command_line() {
        let prompt = |prompt: &str| Arguments { prompt: Some(prompt.to_owned()), ..Arguments::default() };
        let (model, cwd) = (Some("gpt".to_owned()), Some("/w".to_owned()));
        let both = Arguments { model, cwd, ..prompt("fix it") };
        assert_eq!(arguments(&["--json", "-m", "gpt", "--cd", "/w", "fix it"]), both);
        assert_eq!(arguments(&["--json", "--", "--odd"]), prompt("--odd"));
        assert_eq!(arguments(&["--json"]), Arguments::default());
        assert_eq!(arguments(&["--json", "-"]), Arguments::default());
        assert_eq!(arguments(&["resume", "id", "go on"]), Arguments { resumes: true, ..prompt("go on") });
        assert_eq!(arguments(&["resume", "--last", "go on"]), Arguments { resumes: true, ..prompt("go on") });
    }
}
