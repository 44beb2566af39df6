//! Items: what is said and done in a thread.

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
use super::thread::{DEFAULT_MODE, Open, Reasoning, Thread, Turn, raw_key};
use super::tools::{Tool, agent_of};
use super::{CodexConverter, WHERE};
use crate::{Drafts, Key, MessageDraft, MessageEnd, Note, UserMessage};

/// Between the parts of a summary.
const PARTS: &str = "\n\n";
/// The mode of a thread while it reviews changes.
const REVIEW_MODE: &str = "review";
/// What the id of a sub-agent's completion has before the id of the turn that completed.
const COMPLETION_PREFIX: &str = "subagent-completed-";

impl CodexConverter {
    #[expect(clippy::match_same_arms, reason = "a table in the order of the schema")]
    pub(super) fn item_started(&mut self, params: ItemStartedNotification, out: &mut Drafts) {
        if let Some(ThreadItem::UserMessage(item)) = &params.item {
            self.user_spoke(params.thread_id.as_deref(), item);
        }
        let has_sent = self.sent > 0;
        let thread = self.on(params.thread_id.as_deref(), out);
        let Some(item) = params.item else { return out.dropped("an item without anything in it") };
        if !matches!(item, ThreadItem::UserMessage(_)) {
            thread.answers();
        }
        match item {
            ThreadItem::UserMessage(item) => user_message(thread, item, out),
            ThreadItem::HookPrompt(_) => out.dropped("a whole item that begins; its end is the same"),
            ThreadItem::AgentMessage(item) => message_started(thread, item.id, out),
            ThreadItem::FunctionCallOutput(_) => out.dropped("a whole item that begins; its end is the same"),
            ThreadItem::Plan(item) => message_started(thread, item.id, out),
            ThreadItem::Reasoning(item) => {
                thread.names.begins(&item.id);
                out.dropped("reasoning that begins; which of its streams is yet to be seen");
            }
            ThreadItem::CommandExecution(item) => _ = tool_started(thread, &*item, out),
            ThreadItem::FileChange(item) => file_change_started(thread, &item, out),
            ThreadItem::McpToolCall(item) => _ = tool_started(thread, &*item, out),
            ThreadItem::DynamicToolCall(item) => _ = tool_started(thread, &item, out),
            ThreadItem::CollabAgentToolCall(item) => {
                let call = tool_started(thread, &item, out);
                if matches!(item.tool, Some(CollabAgentTool::SpawnAgent | CollabAgentTool::ResumeAgent)) {
                    thread.running().spawns.push(call);
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
                out.dropped("a whole item that begins; its end is the same");
                turn_inferred(thread, params.turn_id, out);
                thread.running().reviewing = true;
            }
            ThreadItem::ExitedReviewMode(_) => out.dropped("a whole item that begins; its end is the same"),
            ThreadItem::ContextCompaction(item) => {
                compaction_started(thread, params.turn_id, &item, has_sent, out);
            }
            ThreadItem::Unknown { tag, .. } => {
                thread.session(out).unparsed(WHERE, format!("unknown item `{tag}`"), Some("item/started".to_owned()));
            }
        }
    }

    pub(super) fn item_completed(&mut self, params: ItemCompletedNotification, out: &mut Drafts) {
        let has_sent = self.sent > 0;
        let thread = self.on(params.thread_id.as_deref(), out);
        let Some(item) = params.item else { return out.dropped("an item without anything in it") };
        if !matches!(item, ThreadItem::UserMessage(_)) {
            thread.answers();
        }
        match item {
            ThreadItem::UserMessage(item) => user_message_completed(thread, item, out),
            ThreadItem::HookPrompt(item) => hook_prompt(thread, item, out),
            ThreadItem::AgentMessage(item) => agent_message(thread, item, out),
            ThreadItem::FunctionCallOutput(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::Plan(item) => plan(thread, item, out),
            ThreadItem::Reasoning(item) => reasoning(thread, item, out),
            ThreadItem::CommandExecution(item) => _ = tool_completed(thread, &*item, out),
            ThreadItem::FileChange(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::McpToolCall(item) => _ = tool_completed(thread, &*item, out),
            ThreadItem::DynamicToolCall(item) => _ = tool_completed(thread, &item, out),
            ThreadItem::CollabAgentToolCall(item) => {
                let call = tool_completed(thread, &item, out);
                if let Some(turn) = &mut thread.turn {
                    turn.spawns.retain(|spawn| *spawn != call);
                }
                let parent = thread.id.clone();
                if matches!(item.tool, Some(CollabAgentTool::SpawnAgent | CollabAgentTool::ResumeAgent)) {
                    for child in item.receiver_thread_ids.iter().flatten() {
                        self.spawned(&parent, child, &call, &item.id, out);
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
                thread.running().reviewing = true;
                let note = Note::mode_changed(Some(mode_of(thread)), REVIEW_MODE).native_id(item.id);
                thread.session(out).note(note);
            }
            ThreadItem::ExitedReviewMode(item) => {
                let turn = thread.running();
                turn.reviewing = false;
                // What it found is said in a message that follows.
                turn.review = item.review.filter(|review| !review.is_empty());
                let note = Note::mode_changed(Some(REVIEW_MODE.to_owned()), mode_of(thread)).native_id(item.id);
                thread.session(out).note(note);
            }
            ThreadItem::ContextCompaction(item) => compaction_completed(thread, &item, has_sent, out),
            ThreadItem::Unknown { tag, .. } => {
                thread.session(out).unparsed(WHERE, format!("unknown item `{tag}`"), Some("item/completed".to_owned()));
            }
        }
    }

    /// The agent may repeat a prompt before it answers the request that brought it.
    fn user_spoke(&mut self, thread: Option<&str>, item: &UserMessageThreadItem) {
        if !self.asked.is_empty() {
            let parts = user_parts(item.content.clone().unwrap_or_default());
            let text: String = parts.iter().filter_map(ContentPart::streamed_text).collect();
            self.prompt_repeated(thread, &text);
        }
    }

    pub(super) fn agent_message_delta(&mut self, params: AgentMessageDeltaNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let message = thread.names.of(&id);
        if let Some(turn) = thread.turn.as_mut().filter(|turn| turn.silent.contains(&id)) {
            turn.silent.retain(|silent| *silent != id);
            turn.messages.push(message.clone());
            thread.session(out).message_started(&message, MessageDraft::assistant().native_id(id));
        }
        thread.session(out).message_delta(message, params.delta.unwrap_or_default());
    }

    pub(super) fn plan_delta(&mut self, params: PlanDeltaNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let message = thread.names.of(&params.item_id.unwrap_or_default());
        thread.session(out).message_delta(message, params.delta.unwrap_or_default());
    }

    pub(super) fn reasoning_summary_delta(&mut self, params: ReasoningSummaryTextDeltaNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let name = thread.names.of(&id);
        let stream = stream_of(thread, &name);
        let text = joined_to(&mut stream.summary, params.summary_index, params.delta.unwrap_or_default());
        let mut session = thread.session(out);
        session.message_started(&name, MessageDraft::reasoning(Visibility::Public).native_id(id));
        session.message_delta(name, text);
    }

    pub(super) fn reasoning_text_delta(&mut self, params: ReasoningTextDeltaNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        let name = thread.names.of(&id);
        let stream = stream_of(thread, &name);
        let text = joined_to(&mut stream.raw, params.content_index, params.delta.unwrap_or_default());
        let name = raw_key(&name);
        let mut session = thread.session(out);
        session.message_started(&name, MessageDraft::reasoning(Visibility::Private).native_id(id));
        session.message_delta(name, text);
    }

    pub(super) fn command_output(&mut self, params: CommandExecutionOutputDeltaNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let call = thread.names.of(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, params.delta.unwrap_or_default());
    }

    pub(super) fn file_change_output(&mut self, params: FileChangeOutputDeltaNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let call = thread.names.of(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, params.delta.unwrap_or_default());
    }

    pub(super) fn mcp_progress(&mut self, params: McpToolCallProgressNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let mut message = params.message.unwrap_or_default();
        message.push('\n');
        let call = thread.names.of(&params.item_id.unwrap_or_default());
        thread.session(out).tool_output(call, message);
    }

    /// The agent types into a command that runs. Without a text it only looks at it.
    pub(super) fn terminal_interaction(&mut self, params: TerminalInteractionNotification, out: &mut Drafts) {
        let Some(text) = params.stdin.filter(|text| !text.is_empty()) else {
            return out.dropped("a look at a running command, whose output is told by itself");
        };
        let thread = self.on(params.thread_id.as_deref(), out);
        let command = params.item_id.unwrap_or_default();
        let call = thread.names.of(&command);
        let note = Note::notice(format!("Input to command {command}: {}", text.trim_end()));
        thread.session(out).note(note.with_call(call).native_id(command));
    }

    /// A patch grows while the model writes it, before there is an item.
    pub(super) fn patch_updated(&mut self, params: FileChangePatchUpdatedNotification, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let item = FileChangeThreadItem {
            id: params.item_id.unwrap_or_default(),
            changes: params.changes,
            ..FileChangeThreadItem::default()
        };
        if thread.open.contains_key(&item.id) || thread.is_patching(&item.id) {
            return out.dropped("a patch as far as it is written; the item has it whole");
        }
        let call = thread.names.begins(&item.id);
        thread.running().patching.push(call.clone());
        thread.session(out).tool_started(call, item.call());
    }

    fn sub_agent_activity_started(
        &mut self,
        thread: Option<&str>,
        item: &SubAgentActivityThreadItem,
        out: &mut Drafts,
    ) {
        let thread = self.on(thread, out);
        if item.kind == Some(SubAgentActivityKind::Completed) {
            return out.dropped("a whole item that begins; its end is the same");
        }
        let call = tool_started(thread, item, out);
        let parent = thread.id.clone();
        if let (Some(SubAgentActivityKind::Started), Some(child)) = (&item.kind, &item.agent_thread_id) {
            self.spawned(&parent, child, &call, &item.id, out);
        }
    }

    /// A sub-agent of the newer kind is done with what it was told to do: one turn of its thread.
    fn sub_agent_completed(&mut self, thread: Option<&str>, item: &SubAgentActivityThreadItem, out: &mut Drafts) {
        let child = item.agent_thread_id.as_deref().and_then(|child| self.threads.find(child));
        let call = child.and_then(|child| self.threads.at(child).spawned_by.clone());
        let (call, call_id) = call.unzip();
        let task_id = item.id.strip_prefix(COMPLETION_PREFIX).unwrap_or(&item.id).to_owned();
        let task = Task::new(task_id, TaskState::Completed).call_id(call_id);
        let note = Note::task(task, agent_of(item), call).native_id(item.id.as_str());
        self.on(thread, out).session(out).note(note);
    }
}

fn user_message(thread: &mut Thread, item: UserMessageThreadItem, out: &mut Drafts) {
    thread.running().user_message = Some(item.id.clone());
    thread.taken_back(out);
    let mut session = thread.session(out);
    let mut message = UserMessage::new(user_parts(item.content.unwrap_or_default())).native_id(item.id.as_str());
    if let Some(sent) = item.client_id {
        message = message.echo_of(sent);
    }
    session.user_message(item.id, message);
}

fn user_message_completed(thread: &mut Thread, item: UserMessageThreadItem, out: &mut Drafts) {
    match &thread.turn {
        Some(turn) if turn.user_message.as_ref() == Some(&item.id) => {
            out.dropped("the end of a user's message, which was whole when it began");
        }
        _ => user_message(thread, item, out),
    }
}

/// What a hook tells the agent in the user's place.
fn hook_prompt(thread: &Thread, item: HookPromptThreadItem, out: &mut Drafts) {
    let fragments: Vec<String> = item.fragments.into_iter().flatten().filter_map(|fragment| fragment.text).collect();
    thread.session(out).note(Note::system(fragments.join("\n")).native_id(item.id));
}

fn message_started(thread: &mut Thread, id: String, out: &mut Drafts) {
    let name = thread.names.begins(&id);
    let turn = thread.running();
    if turn.reviewing {
        turn.silent.push(id);
        return out.dropped("a message of a review that begins; most are never completed");
    }
    thread.running().messages.push(name.clone());
    thread.session(out).message_started(name, MessageDraft::assistant().native_id(id));
}

fn agent_message(thread: &mut Thread, item: AgentMessageThreadItem, out: &mut Drafts) {
    let name = done_streaming(thread, &item.id);
    if let Some(turn) = thread.turn.as_mut().filter(|turn| turn.review.is_some()) {
        turn.review = None;
    }
    let mut end = MessageEnd::text(item.text.unwrap_or_default());
    if let Some(questions) = item.questions.filter(|questions| !questions.is_empty()) {
        end = end.with_part(ContentPart::Json { json: json!({ "questions": questions }) });
    }
    thread.session(out).message_finished(name, MessageDraft::assistant().native_id(item.id), end);
}

/// A turn that begins with its first item: a compaction in older releases, a review before it is announced.
fn turn_inferred(thread: &mut Thread, turn: Option<String>, out: &mut Drafts) {
    let Some(id) = turn.filter(|id| !thread.is_in_turn() && thread.last_turn.as_ref() != Some(id)) else {
        return;
    };
    thread.turn = Some(Turn { id: id.clone(), inferred: true, ..Turn::default() });
    thread.names.turn_begins();
    let metadata = turn_metadata(thread);
    thread.session(out).synthetic().turn_started(Some(id), metadata);
}

/// What is known of a turn when it begins.
pub(super) fn turn_metadata(thread: &Thread) -> TurnMetadata {
    let mut metadata = TurnMetadata::default();
    metadata.model.clone_from(&thread.settings.model);
    metadata
}

/// The thread's mode outside of a review.
pub(super) fn mode_of(thread: &Thread) -> String {
    thread.settings.permission_mode().unwrap_or_else(|| DEFAULT_MODE.to_owned())
}

/// The plan that the agent proposes in plan mode is something it says.
fn plan(thread: &mut Thread, item: PlanThreadItem, out: &mut Drafts) {
    let name = done_streaming(thread, &item.id);
    let message = MessageDraft::assistant().native_id(item.id);
    thread.session(out).message_finished(name, message, MessageEnd::text(item.text.unwrap_or_default()));
}

/// A message is over; its name.
fn done_streaming(thread: &mut Thread, id: &str) -> Key {
    let name = thread.names.said(id);
    if let Some(turn) = &mut thread.turn {
        turn.messages.retain(|open| *open != name);
        turn.silent.retain(|silent| silent != id);
    }
    name
}

/// The summary and the raw text are two messages. Reasoning that shows neither was kept back.
fn reasoning(thread: &mut Thread, item: ReasoningThreadItem, out: &mut Drafts) {
    let name = thread.names.said(&item.id);
    let streamed = thread.turn.as_mut().and_then(|turn| turn.reasoning.remove(&name)).unwrap_or_default();
    let summary = item.summary.unwrap_or_default();
    let raw = item.content.unwrap_or_default();
    let id = item.id.as_str();
    let mut session = thread.session(out);
    let end = |parts: Vec<String>| {
        if parts.is_empty() { MessageEnd::as_streamed() } else { MessageEnd::text(parts.join(PARTS)) }
    };
    let nothing = summary.is_empty() && raw.is_empty() && streamed.summary.is_none() && streamed.raw.is_none();
    if !summary.is_empty() || streamed.summary.is_some() {
        session.message_finished(&name, MessageDraft::reasoning(Visibility::Public).native_id(id), end(summary));
    }
    if nothing {
        session.message_finished(
            raw_key(&name),
            MessageDraft::reasoning(Visibility::Private).native_id(id),
            MessageEnd::text(""),
        );
    } else if !raw.is_empty() || streamed.raw.is_some() {
        session.message_finished(raw_key(&name), MessageDraft::reasoning(Visibility::Private).native_id(id), end(raw));
    }
}

fn stream_of<'a>(thread: &'a mut Thread, name: &Key) -> &'a mut Reasoning {
    thread.running().reasoning.entry(name.clone()).or_default()
}

/// A piece of a part, with what separates it from the part before.
fn joined_to(latest: &mut Option<i64>, part: Option<i64>, text: String) -> String {
    let part = part.unwrap_or(0);
    match latest.replace(part) {
        Some(before) if before < part => format!("{PARTS}{text}"),
        _ => text,
    }
}

/// A tool begins; its name.
pub(super) fn tool_started(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) -> Key {
    if let Some(open) = thread.open.get_mut(item.id())
        && std::mem::take(&mut open.foretold)
    {
        out.dropped("the beginning of a call that its request told of");
        return thread.names.of(item.id());
    }
    let name = thread.names.begins(item.id());
    tool_opened(thread, &name, item, out);
    name
}

fn tool_opened(thread: &mut Thread, name: &Key, item: &impl Tool, out: &mut Drafts) {
    let whole = item.starts_whole();
    thread.opened(item.id(), Open { whole, ..item.open() });
    let mut session = thread.session(out);
    if whole {
        session.tool_called(name, item.call());
    } else {
        session.tool_started(name, item.call());
    }
}

/// A patch may have begun when the model began to write it.
fn file_change_started(thread: &mut Thread, item: &FileChangeThreadItem, out: &mut Drafts) {
    if !thread.is_patching(&item.id) {
        tool_started(thread, item, out);
        return;
    }
    let name = thread.names.of(&item.id);
    thread.running().patching.retain(|patch| *patch != name);
    tool_opened(thread, &name, item, out);
}

/// A tool is over; its name.
fn tool_completed(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) -> Key {
    let name = thread.names.ends(item.id());
    let known = thread.open.remove(item.id()).is_some_and(|open| open.whole);
    let mut session = thread.session(out);
    if !known {
        session.tool_called(&name, item.call());
    }
    session.tool_finished(&name, item.result().native_id(item.id()));
    name
}

fn compaction_started(
    thread: &mut Thread,
    turn: Option<String>,
    item: &ContextCompactionThreadItem,
    has_sent: bool,
    out: &mut Drafts,
) {
    turn_inferred(thread, turn, out);
    let compaction = compaction(thread, has_sent);
    let name = thread.names.begins(&item.id);
    let turn = thread.running();
    turn.compacted = true;
    turn.compacting = Some((name.clone(), compaction.clone()));
    thread.session(out).note_started(name, Note::compacting(compaction).native_id(item.id.as_str()));
}

fn compaction_completed(thread: &mut Thread, item: &ContextCompactionThreadItem, has_sent: bool, out: &mut Drafts) {
    let begun = thread.turn.as_mut().and_then(|turn| {
        turn.compacted = true;
        turn.compacting.take()
    });
    let compaction = begun.map_or_else(|| compaction(thread, has_sent), |(_, compaction)| compaction);
    let name = thread.names.ends(&item.id);
    thread.session(out).note_finished(name, Note::compaction(compaction).native_id(item.id.as_str()), false);
}

/// A compaction with its trigger: `manual` if the host requested it. Unknown where the log holds nothing that the
/// host sent.
pub(super) fn compaction(thread: &mut Thread, has_sent: bool) -> Compaction {
    let trigger = match (std::mem::take(&mut thread.compaction_asked), has_sent) {
        (true, _) => Some(CompactionTrigger::Manual),
        (false, true) => Some(CompactionTrigger::Auto),
        (false, false) => None,
    };
    Compaction::new().trigger(trigger)
}
