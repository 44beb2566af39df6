//! Items of a thread: messages, reasoning, tools, plans, compactions and reviews.

use interlingua_native::codex::{
    AgentMessageDeltaNotification, AgentMessageThreadItem, CollabAgentTool, CommandExecutionOutputDeltaNotification,
    ContextCompactionThreadItem, FileChangeOutputDeltaNotification, FileChangePatchUpdatedNotification,
    FileChangeThreadItem, HookPromptThreadItem, ItemCompletedNotification, ItemStartedNotification,
    McpToolCallProgressNotification, PlanDeltaNotification, PlanThreadItem, ReasoningSummaryTextDeltaNotification,
    ReasoningTextDeltaNotification, ReasoningThreadItem, SubAgentActivityKind, SubAgentActivityThreadItem,
    TerminalInteractionNotification, ThreadItem, UserMessageThreadItem,
};
use interlingua_schema::{Compaction, CompactionTrigger, ContentPart, Task, TaskState, TurnMetadata, Visibility};
use serde_json::json;

use super::content::user_parts;
use super::thread::{DEFAULT_MODE, OpenTool, ReasoningProgress, Thread, Turn, raw_reasoning_key};
use super::tools::{Tool, sub_agent_name};
use super::{CodexConverter, LOCATION};
use crate::{Drafts, Key, MessageDraft, MessageEnd, Note, UserMessage};

/// Separator of the parts of a summary.
const PART_SEPARATOR: &str = "\n\n";
/// Mode of a thread during a review.
const REVIEW_MODE: &str = "review";
/// Prefix of the item id that reports a completed sub-agent. The rest is the id of the completed turn.
const COMPLETION_PREFIX: &str = "subagent-completed-";

impl CodexConverter {
    #[expect(clippy::match_same_arms, reason = "a table in the order of the schema")]
    pub(super) fn item_started(&mut self, params: ItemStartedNotification, out: &mut Drafts) {
        if let Some(ThreadItem::UserMessage(item)) = &params.item {
            self.match_early_echo(params.thread_id.as_deref(), item);
        }
        let log_has_requests = self.sent_requests > 0;
        let thread = self.thread(params.thread_id.as_deref(), out);
        let Some(item) = params.item else { return out.dropped("an item without content") };
        if !matches!(item, ThreadItem::UserMessage(_)) {
            thread.mark_answered();
        }
        match item {
            ThreadItem::UserMessage(item) => user_message(thread, item, out),
            ThreadItem::HookPrompt(_) => out.dropped("start of an item that is reported when it completes"),
            ThreadItem::AgentMessage(item) => message_started(thread, item.id, out),
            ThreadItem::FunctionCallOutput(_) => out.dropped("start of an item that is reported when it completes"),
            ThreadItem::Plan(item) => message_started(thread, item.id, out),
            ThreadItem::Reasoning(item) => {
                thread.item_keys.start(&item.id);
                out.dropped("start of reasoning; its text follows");
            }
            ThreadItem::CommandExecution(item) => _ = tool_started(thread, &*item, out),
            ThreadItem::FileChange(item) => file_change_started(thread, &item, out),
            ThreadItem::McpToolCall(item) => _ = tool_started(thread, &*item, out),
            ThreadItem::DynamicToolCall(item) => _ = tool_started(thread, &item, out),
            ThreadItem::CollabAgentToolCall(item) => {
                let call = tool_started(thread, &item, out);
                if matches!(item.tool, Some(CollabAgentTool::SpawnAgent | CollabAgentTool::ResumeAgent)) {
                    thread.current_turn().pending_spawns.push(call);
                }
            }
            ThreadItem::SubAgentActivity(item) => {
                self.sub_agent_activity_started(params.thread_id.as_deref(), &item, out);
            }
            ThreadItem::WebSearch(item) => _ = tool_started(thread, &item, out),
            ThreadItem::ImageView(item) => _ = tool_started(thread, &item, out),
            ThreadItem::Sleep(item) => _ = tool_started(thread, &item, out),
            ThreadItem::ImageGeneration(item) => _ = tool_started(thread, &*item, out),
            ThreadItem::EnteredReviewMode(_) => {
                out.dropped("start of an item that is reported when it completes");
                infer_turn(thread, params.turn_id, out);
                thread.current_turn().in_review = true;
            }
            ThreadItem::ExitedReviewMode(_) => out.dropped("start of an item that is reported when it completes"),
            ThreadItem::ContextCompaction(item) => {
                compaction_started(thread, params.turn_id, &item, log_has_requests, out);
            }
            ThreadItem::Unknown { tag, .. } => {
                thread.session(out).unparsed(
                    LOCATION,
                    format!("unknown item `{tag}`"),
                    Some("item/started".to_owned()),
                );
            }
        }
    }

    pub(super) fn item_completed(&mut self, params: ItemCompletedNotification, out: &mut Drafts) {
        let log_has_requests = self.sent_requests > 0;
        let thread = self.thread(params.thread_id.as_deref(), out);
        let Some(item) = params.item else { return out.dropped("an item without content") };
        if !matches!(item, ThreadItem::UserMessage(_)) {
            thread.mark_answered();
        }
        match item {
            ThreadItem::UserMessage(item) => user_message_completed(thread, item, out),
            ThreadItem::HookPrompt(item) => hook_prompt(thread, item, out),
            ThreadItem::AgentMessage(item) => agent_message_completed(thread, item, out),
            ThreadItem::FunctionCallOutput(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::Plan(item) => plan_completed(thread, item, out),
            ThreadItem::Reasoning(item) => reasoning_completed(thread, item, out),
            ThreadItem::CommandExecution(item) => _ = tool_completed(thread, &*item, out),
            ThreadItem::FileChange(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::McpToolCall(item) => _ = tool_completed(thread, &*item, out),
            ThreadItem::DynamicToolCall(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::CollabAgentToolCall(item) => {
                let call = tool_completed(thread, &item, out);
                if let Some(turn) = &mut thread.turn {
                    turn.pending_spawns.retain(|spawn| *spawn != call);
                }
                let parent = thread.id.clone();
                if matches!(item.tool, Some(CollabAgentTool::SpawnAgent | CollabAgentTool::ResumeAgent)) {
                    for child in item.receiver_thread_ids.iter().flatten() {
                        self.sub_agent_spawned(&parent, child, &call, &item.id, out);
                    }
                }
            }
            ThreadItem::SubAgentActivity(item) if item.kind == Some(SubAgentActivityKind::Completed) => {
                self.sub_agent_completed(params.thread_id.as_deref(), &item, out);
            }
            ThreadItem::SubAgentActivity(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::WebSearch(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::ImageView(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::Sleep(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::ImageGeneration(item) => _ = tool_completed(thread, &*item, out),
            ThreadItem::EnteredReviewMode(item) => {
                thread.current_turn().in_review = true;
                let note = Note::mode_changed(Some(current_mode(thread)), REVIEW_MODE).native_id(item.id);
                thread.session(out).note(note);
            }
            ThreadItem::ExitedReviewMode(item) => {
                let turn = thread.current_turn();
                turn.in_review = false;
                // A message with the result usually follows.
                turn.review_result = item.review.filter(|review| !review.is_empty());
                let note = Note::mode_changed(Some(REVIEW_MODE.to_owned()), current_mode(thread)).native_id(item.id);
                thread.session(out).note(note);
            }
            ThreadItem::ContextCompaction(item) => compaction_completed(thread, &item, log_has_requests, out),
            ThreadItem::Unknown { tag, .. } => {
                thread.session(out).unparsed(
                    LOCATION,
                    format!("unknown item `{tag}`"),
                    Some("item/completed".to_owned()),
                );
            }
        }
    }

    /// The agent may echo a prompt before it responds to the request that carried it.
    fn match_early_echo(&mut self, thread: Option<&str>, item: &UserMessageThreadItem) {
        if !self.host_requests.is_empty() {
            let parts = user_parts(item.content.clone().unwrap_or_default());
            let text: String = parts.iter().filter_map(ContentPart::streamed_text).collect();
            self.drop_echoed_prompt(thread, &text);
        }
    }

    pub(super) fn agent_message_delta(&mut self, params: AgentMessageDeltaNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let message = thread.item_keys.current(&id);
        if let Some(turn) = thread.turn.as_mut().filter(|turn| turn.empty_review_messages.contains(&id)) {
            turn.empty_review_messages.retain(|empty| *empty != id);
            turn.open_messages.push(message.clone());
            thread.session(out).message_started(&message, MessageDraft::assistant().native_id(id));
        }
        thread.session(out).message_delta(message, params.delta.unwrap_or_default());
    }

    pub(super) fn plan_delta(&mut self, params: PlanDeltaNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let message = thread.item_keys.current(&params.item_id.unwrap_or_default());
        thread.session(out).message_delta(message, params.delta.unwrap_or_default());
    }

    pub(super) fn reasoning_summary_delta(&mut self, params: ReasoningSummaryTextDeltaNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let key = thread.item_keys.current(&id);
        let progress = reasoning_progress(thread, &key);
        let text = with_separator(&mut progress.summary, params.summary_index, params.delta.unwrap_or_default());
        let mut session = thread.session(out);
        session.message_started(&key, MessageDraft::reasoning(Visibility::Public).native_id(id));
        session.message_delta(key, text);
    }

    pub(super) fn reasoning_text_delta(&mut self, params: ReasoningTextDeltaNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let key = thread.item_keys.current(&id);
        let progress = reasoning_progress(thread, &key);
        let text = with_separator(&mut progress.raw, params.content_index, params.delta.unwrap_or_default());
        let key = raw_reasoning_key(&key);
        let mut session = thread.session(out);
        session.message_started(&key, MessageDraft::reasoning(Visibility::Private).native_id(id));
        session.message_delta(key, text);
    }

    pub(super) fn command_output(&mut self, params: CommandExecutionOutputDeltaNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let call = thread.item_keys.current(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, params.delta.unwrap_or_default());
    }

    pub(super) fn file_change_output(&mut self, params: FileChangeOutputDeltaNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let call = thread.item_keys.current(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, params.delta.unwrap_or_default());
    }

    pub(super) fn mcp_progress(&mut self, params: McpToolCallProgressNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let mut message = params.message.unwrap_or_default();
        message.push('\n');
        let call = thread.item_keys.current(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, message);
    }

    /// The agent writes to the standard input of a running command. Without a text, it only polls the command.
    pub(super) fn terminal_interaction(&mut self, params: TerminalInteractionNotification, out: &mut Drafts) {
        let Some(text) = params.stdin.filter(|text| !text.is_empty()) else {
            return out.dropped("poll of a running command; its output is reported separately");
        };
        let thread = self.thread(params.thread_id.as_deref(), out);
        let command = params.item_id.unwrap_or_default();
        let call = thread.item_keys.current(&command);
        let note = Note::notice(format!("Input to command {command}: {}", text.trim_end()));
        thread.session(out).note(note.with_call(call).native_id(command));
    }

    /// The model is writing a patch whose item has not started. The first update starts the call.
    pub(super) fn patch_updated(&mut self, params: FileChangePatchUpdatedNotification, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let mut item = FileChangeThreadItem::default();
        item.id = params.item_id.unwrap_or_default();
        item.changes = params.changes;
        if thread.open_tools.contains_key(&item.id) || thread.is_patching(&item.id) {
            return out.dropped("partial patch; the item contains all of it");
        }
        let call = thread.item_keys.start(&item.id);
        thread.current_turn().open_patches.push(call.clone());
        thread.session(out).tool_started(call, item.call());
    }

    fn sub_agent_activity_started(
        &mut self,
        thread: Option<&str>,
        item: &SubAgentActivityThreadItem,
        out: &mut Drafts,
    ) {
        let thread = self.thread(thread, out);
        if item.kind == Some(SubAgentActivityKind::Completed) {
            return out.dropped("start of an item that is reported when it completes");
        }
        let call = tool_started(thread, item, out);
        let parent = thread.id.clone();
        if let (Some(SubAgentActivityKind::Started), Some(child)) = (&item.kind, &item.agent_thread_id) {
            self.sub_agent_spawned(&parent, child, &call, &item.id, out);
        }
    }

    /// A `subAgentActivity` sub-agent has completed its task, which is one turn of its thread.
    fn sub_agent_completed(&mut self, thread: Option<&str>, item: &SubAgentActivityThreadItem, out: &mut Drafts) {
        let child = item.agent_thread_id.as_deref().and_then(|child| self.threads.find(child));
        let call = child.and_then(|child| self.threads.get_mut(child).spawned_by.clone());
        let (call, call_id) = call.unzip();
        let task_id = item.id.strip_prefix(COMPLETION_PREFIX).unwrap_or(&item.id).to_owned();
        let task = Task::new(task_id, TaskState::Completed).call_id(call_id);
        let note = Note::task(task, sub_agent_name(item), call).native_id(item.id.as_str());
        self.thread(thread, out).session(out).note(note);
    }
}

fn user_message(thread: &mut Thread, item: UserMessageThreadItem, out: &mut Drafts) {
    thread.current_turn().last_user_message = Some(item.id.clone());
    thread.abandon_streaming(out);
    let mut session = thread.session(out);
    let mut message = UserMessage::new(user_parts(item.content.unwrap_or_default())).native_id(item.id.as_str());
    if let Some(prompt_id) = item.client_id {
        message = message.echo_of(prompt_id);
    }
    session.user_message(item.id, message);
}

fn user_message_completed(thread: &mut Thread, item: UserMessageThreadItem, out: &mut Drafts) {
    match &thread.turn {
        Some(turn) if turn.last_user_message.as_ref() == Some(&item.id) => {
            out.dropped("end of a user's message that was complete at its start");
        }
        _ => user_message(thread, item, out),
    }
}

/// Text that a hook injects as if the user had written it.
fn hook_prompt(thread: &Thread, item: HookPromptThreadItem, out: &mut Drafts) {
    let fragments: Vec<String> = item.fragments.into_iter().flatten().filter_map(|fragment| fragment.text).collect();
    thread.session(out).note(Note::system(fragments.join("\n")).native_id(item.id));
}

fn message_started(thread: &mut Thread, id: String, out: &mut Drafts) {
    let key = thread.item_keys.start(&id);
    let turn = thread.current_turn();
    if turn.in_review {
        turn.empty_review_messages.push(id);
        return out.dropped("start of a review message; most are never completed");
    }
    thread.current_turn().open_messages.push(key.clone());
    thread.session(out).message_started(key, MessageDraft::assistant().native_id(id));
}

fn agent_message_completed(thread: &mut Thread, item: AgentMessageThreadItem, out: &mut Drafts) {
    let key = complete_message(thread, &item.id);
    if let Some(turn) = thread.turn.as_mut().filter(|turn| turn.review_result.is_some()) {
        turn.review_result = None;
    }
    let mut end = MessageEnd::text(item.text.unwrap_or_default());
    if let Some(questions) = item.questions.filter(|questions| !questions.is_empty()) {
        end = end.with_part(ContentPart::Json { json: json!({ "questions": questions }) });
    }
    thread.session(out).message_finished(key, MessageDraft::assistant().native_id(item.id), end);
}

/// Starts a turn that was not announced: a compaction in older releases, or a review before its announcement.
fn infer_turn(thread: &mut Thread, turn: Option<String>, out: &mut Drafts) {
    let Some(id) = turn.filter(|id| !thread.is_in_turn() && thread.last_turn_id.as_ref() != Some(id)) else {
        return;
    };
    thread.turn = Some(Turn { id: id.clone(), is_inferred: true, ..Turn::default() });
    thread.item_keys.start_turn();
    let metadata = turn_metadata(thread);
    thread.session(out).synthetic().turn_started(Some(id), metadata);
}

/// Metadata of a turn that starts.
pub(super) fn turn_metadata(thread: &Thread) -> TurnMetadata {
    let mut metadata = TurnMetadata::default();
    metadata.model.clone_from(&thread.settings.model);
    metadata
}

/// Permission mode of the thread outside a review or voice conversation.
pub(super) fn current_mode(thread: &Thread) -> String {
    thread.settings.permission_mode().unwrap_or_else(|| DEFAULT_MODE.to_owned())
}

/// A plan proposed in plan mode is a message.
fn plan_completed(thread: &mut Thread, item: PlanThreadItem, out: &mut Drafts) {
    let key = complete_message(thread, &item.id);
    let message = MessageDraft::assistant().native_id(item.id);
    thread.session(out).message_finished(key, message, MessageEnd::text(item.text.unwrap_or_default()));
}

/// Completes a message and returns its key.
fn complete_message(thread: &mut Thread, id: &str) -> Key {
    let key = thread.item_keys.complete_message(id);
    if let Some(turn) = &mut thread.turn {
        turn.open_messages.retain(|open| *open != key);
        turn.empty_review_messages.retain(|empty| empty != id);
    }
    key
}

/// Completes a reasoning item. Summary and raw text are two messages. If both are empty, the reasoning is hidden.
fn reasoning_completed(thread: &mut Thread, item: ReasoningThreadItem, out: &mut Drafts) {
    let key = thread.item_keys.complete_message(&item.id);
    let streamed = thread.turn.as_mut().and_then(|turn| turn.open_reasoning.remove(&key)).unwrap_or_default();
    let summary = item.summary.unwrap_or_default();
    let raw = item.content.unwrap_or_default();
    let id = item.id.as_str();
    let mut session = thread.session(out);
    let end = |parts: Vec<String>| {
        if parts.is_empty() { MessageEnd::as_streamed() } else { MessageEnd::text(parts.join(PART_SEPARATOR)) }
    };
    let is_hidden = summary.is_empty() && raw.is_empty() && streamed.summary.is_none() && streamed.raw.is_none();
    if !summary.is_empty() || streamed.summary.is_some() {
        session.message_finished(&key, MessageDraft::reasoning(Visibility::Public).native_id(id), end(summary));
    }
    if is_hidden {
        session.message_finished(
            raw_reasoning_key(&key),
            MessageDraft::reasoning(Visibility::Private).native_id(id),
            MessageEnd::text(""),
        );
    } else if !raw.is_empty() || streamed.raw.is_some() {
        session.message_finished(
            raw_reasoning_key(&key),
            MessageDraft::reasoning(Visibility::Private).native_id(id),
            end(raw),
        );
    }
}

fn reasoning_progress<'a>(thread: &'a mut Thread, key: &Key) -> &'a mut ReasoningProgress {
    thread.current_turn().open_reasoning.entry(key.clone()).or_default()
}

/// Prefixes a delta with the separator if it starts a new part.
fn with_separator(latest: &mut Option<i64>, part: Option<i64>, text: String) -> String {
    let part = part.unwrap_or(0);
    match latest.replace(part) {
        Some(previous) if previous < part => format!("{PART_SEPARATOR}{text}"),
        _ => text,
    }
}

/// Starts a tool call and returns its key.
pub(super) fn tool_started(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) -> Key {
    if let Some(open) = thread.open_tools.get_mut(item.id())
        && std::mem::take(&mut open.announced_by_request)
    {
        out.dropped("start of a call that its request announced");
        return thread.item_keys.current(item.id());
    }
    let key = thread.item_keys.start(item.id());
    open_tool(thread, &key, item, out);
    key
}

fn open_tool(thread: &mut Thread, key: &Key, item: &impl Tool, out: &mut Drafts) {
    let has_final_arguments = item.has_final_arguments();
    thread.insert_open_tool(item.id(), OpenTool { has_final_arguments, ..item.open_tool() });
    let mut session = thread.session(out);
    if has_final_arguments {
        session.tool_called(key, item.call());
    } else {
        session.tool_started(key, item.call());
    }
}

/// The call may already have started, while the model was writing the patch.
fn file_change_started(thread: &mut Thread, item: &FileChangeThreadItem, out: &mut Drafts) {
    if !thread.is_patching(&item.id) {
        tool_started(thread, item, out);
        return;
    }
    let key = thread.item_keys.current(&item.id);
    thread.current_turn().open_patches.retain(|patch| *patch != key);
    open_tool(thread, &key, item, out);
}

/// Completes a tool call and returns its key.
fn tool_completed(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) -> Key {
    let key = thread.item_keys.complete(item.id());
    let is_called = thread.open_tools.remove(item.id()).is_some_and(|open| open.has_final_arguments);
    let mut session = thread.session(out);
    if !is_called {
        session.tool_called(&key, item.call());
    }
    session.tool_finished(&key, item.result().native_id(item.id()));
    key
}

fn compaction_started(
    thread: &mut Thread,
    turn: Option<String>,
    item: &ContextCompactionThreadItem,
    log_has_requests: bool,
    out: &mut Drafts,
) {
    infer_turn(thread, turn, out);
    let compaction = new_compaction(thread, log_has_requests);
    let key = thread.item_keys.start(&item.id);
    let turn = thread.current_turn();
    turn.has_compaction_item = true;
    turn.open_compaction = Some((key.clone(), compaction.clone()));
    thread.session(out).note_started(key, Note::compacting(compaction).native_id(item.id.as_str()));
}

fn compaction_completed(
    thread: &mut Thread,
    item: &ContextCompactionThreadItem,
    log_has_requests: bool,
    out: &mut Drafts,
) {
    let started = thread.turn.as_mut().and_then(|turn| {
        turn.has_compaction_item = true;
        turn.open_compaction.take()
    });
    let compaction = started.map_or_else(|| new_compaction(thread, log_has_requests), |(_, compaction)| compaction);
    let key = thread.item_keys.complete(&item.id);
    thread.session(out).note_finished(key, Note::compaction(compaction).native_id(item.id.as_str()), false);
}

/// Compaction with its trigger: `manual` if the host requested it. Without requests in the log, the trigger is unknown.
pub(super) fn new_compaction(thread: &mut Thread, log_has_requests: bool) -> Compaction {
    let trigger = match (std::mem::take(&mut thread.compaction_requested), log_has_requests) {
        (true, _) => Some(CompactionTrigger::Manual),
        (false, true) => Some(CompactionTrigger::Auto),
        (false, false) => None,
    };
    Compaction::new().trigger(trigger)
}
