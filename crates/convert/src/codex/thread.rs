//! State of each thread.

use foldhash::{HashMap, HashSet};
use interlingua_native::codex::TokenUsageBreakdown;
use interlingua_schema::{Compaction, McpInput, Usage};

use super::item_keys::ItemKeys;
use crate::draft::LastPlan;
use crate::{Drafts, Key, Note, SessionDrafts};

/// Mode of a thread that reports none.
pub(super) const DEFAULT_MODE: &str = "default";
/// Number of open tools that a thread remembers.
const MAX_OPEN_TOOLS: usize = 4096;

/// A thread: a session or a sub-agent of one.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Empty for payloads that name no thread.
    pub(super) id: String,
    pub(super) is_sub_agent: bool,
    /// Key and native id of the call that spawned this sub-agent.
    pub(super) spawned_by: Option<(Key, String)>,
    /// It is not known whether the thread is new. It is if its first total equals the usage of its first request.
    may_be_new: bool,
    pub(super) settings: Settings,
    /// Settings that the host requested for the next turn.
    pub(super) next_settings: Settings,
    /// Running turn.
    pub(super) turn: Option<Turn>,
    /// Number of interrupts that the host requested and the agent has not refused.
    pub(super) pending_interrupts: u32,
    /// Id of the turn that ended last.
    pub(super) last_turn_id: Option<String>,
    /// The host requested a compaction that has not started.
    pub(super) compaction_requested: bool,
    /// Token usage of the thread so far; unknown after a resume.
    total_usage: Option<Usage>,
    pub(super) item_keys: ItemKeys,
    /// Tools without a result, by item id. A permission request is matched to one of them.
    pub(super) open_tools: HashMap<String, OpenTool>,
    /// Native id and key of each running hook. The native ids repeat.
    pub(super) running_hooks: Vec<(String, String)>,
    pub(super) hook_count: u64,
    /// Goal as last reported.
    pub(super) last_goal: Option<String>,
    pub(super) last_plan: LastPlan,
    pub(super) realtime: Realtime,
}

/// State of a voice conversation.
#[derive(Debug, Default)]
pub(super) struct Realtime {
    /// The transcript comes in segments, which the older transcript notification repeats.
    pub(super) has_segments: bool,
    /// Segments of the agent that are streaming.
    pub(super) open_segments: HashSet<String>,
    /// Number of transcripts without an id.
    pub(super) transcript_count: u64,
}

/// State of a running turn.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct Turn {
    pub(super) id: String,
    /// Keys of the streaming messages.
    pub(super) open_messages: Vec<Key>,
    /// Streaming reasoning items, by key.
    pub(super) open_reasoning: HashMap<Key, ReasoningProgress>,
    /// Keys of the patches that the model is writing, before their items start.
    pub(super) open_patches: Vec<Key>,
    /// Keys of the calls that are spawning a sub-agent whose thread is not known yet.
    pub(super) pending_spawns: Vec<Key>,
    /// Ids of the prompts that the host sent into this turn.
    pub(super) steered_prompts: Vec<String>,
    /// Ids of the turns that older releases announce for such prompts. These turns never run.
    pub(super) phantom_turn_ids: Vec<String>,
    /// The turn was inferred from its first item before the agent announced it.
    pub(super) is_inferred: bool,
    /// A review is running. The model answers it in JSON, which is neither streamed nor completed.
    pub(super) in_review: bool,
    /// Native ids of the messages that started during a review and have no text yet.
    pub(super) empty_review_messages: Vec<String>,
    /// Result of the review, until a message contains it.
    pub(super) review_result: Option<String>,
    /// Id of the last user message.
    pub(super) last_user_message: Option<String>,
    /// The turn has a compaction item.
    pub(super) has_compaction_item: bool,
    /// Key and data of the running compaction.
    pub(super) open_compaction: Option<(Key, Compaction)>,
    /// Number of the last retry of a model request.
    pub(super) last_retry: u64,
    /// An error that ends the turn was reported.
    pub(super) has_reported_error: bool,
    /// Message of that error.
    pub(super) error_message: Option<String>,
    /// All file changes of the turn so far.
    pub(super) diff: Option<String>,
    /// The model has produced output in this turn.
    pub(super) has_answered: bool,
}

/// Progress of the two streams of a reasoning item: the index of the latest part of each.
#[derive(Debug, Default)]
pub(super) struct ReasoningProgress {
    pub(super) summary: Option<i64>,
    pub(super) raw: Option<i64>,
}

/// A tool call without a result.
#[derive(Debug, Default)]
pub(super) struct OpenTool {
    /// The call was drafted with all its arguments.
    pub(super) has_final_arguments: bool,
    /// A permission request came before the item, which has not started yet.
    pub(super) announced_by_request: bool,
    /// Input of the call, if the tool belongs to an MCP server.
    pub(super) mcp_input: Option<McpInput>,
}

/// Settings of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) model: Option<String>,
    /// Collaboration mode: `plan` or `default`.
    pub(super) mode: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) effort: Option<String>,
}

impl Settings {
    /// Universal permission mode: the collaboration mode unless it is the default one, else the approval policy.
    pub(super) fn permission_mode(&self) -> Option<String> {
        let mode = self.mode.as_deref();
        match (mode, self.approval.as_deref(), self.sandbox.as_deref()) {
            (Some(mode), ..) if mode != DEFAULT_MODE => Some(mode.to_owned()),
            (_, Some("on-request" | "untrusted"), _) => Some(DEFAULT_MODE.to_owned()),
            (_, Some("never"), Some("dangerFullAccess")) => Some("bypass".to_owned()),
            (_, Some(approval), _) => Some(approval.to_owned()),
            (mode, None, _) => mode.map(str::to_owned),
        }
    }

    /// Takes over the values of `new` and drafts a note for each change. Returns whether anything changed.
    pub(super) fn update(&mut self, new: Self, session: &mut SessionDrafts<'_>) -> bool {
        // A thread starts in the default mode and does not report it.
        self.mode.get_or_insert_with(|| DEFAULT_MODE.to_owned());
        let before = self.clone();
        self.model = new.model.or(self.model.take());
        self.mode = new.mode.or(self.mode.take());
        self.approval = new.approval.or(self.approval.take());
        self.sandbox = new.sandbox.or(self.sandbox.take());
        self.effort = new.effort.or(self.effort.take());
        if let Some(model) = self.model.as_ref().filter(|_| self.model != before.model) {
            session.note(Note::model_changed(before.model.clone(), model));
        }
        let (from, to) = (before.permission_mode(), self.permission_mode());
        if let Some(to) = to.filter(|to| from.as_ref() != Some(to)) {
            session.note(Note::mode_changed(from, to));
        } else {
            note_change("Approval policy", before.approval.as_deref(), self.approval.as_deref(), session);
            note_change("Sandbox", before.sandbox.as_deref(), self.sandbox.as_deref(), session);
        }
        note_change("Reasoning effort", before.effort.as_deref(), self.effort.as_deref(), session);
        *self != before
    }
}

/// Drafts a notice for a change that has no status label.
fn note_change(setting: &str, from: Option<&str>, to: Option<&str>, session: &mut SessionDrafts<'_>) {
    if let Some(to) = to.filter(|to| from != Some(to)) {
        let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
        session.note(Note::notice(format!("{setting} changed{from} to {to}")));
    }
}

impl Thread {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    pub(super) fn session<'a>(&self, out: &'a mut Drafts) -> SessionDrafts<'a> {
        if self.id.is_empty() { out.current_session() } else { out.session(&self.id) }
    }

    /// The model has produced output.
    pub(super) fn mark_answered(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.has_answered = true;
        }
    }

    /// Running turn, which is created if the agent has not announced one.
    pub(super) fn current_turn(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    /// Whether the model is writing this patch.
    pub(super) fn is_patching(&self, id: &str) -> bool {
        let open_patches = self.turn.as_ref().map(|turn| turn.open_patches.as_slice()).unwrap_or_default();
        !open_patches.is_empty() && open_patches.contains(&self.item_keys.current(id))
    }

    /// Abandons everything that is streaming. The model does not continue it after a retry or a new user message.
    pub(super) fn abandon_streaming(&mut self, out: &mut Drafts) {
        let mut session = self.session(out);
        let Some(turn) = &mut self.turn else { return };
        for message in std::mem::take(&mut turn.open_messages) {
            session.message_abandoned(message);
        }
        let mut reasoning: Vec<Key> = std::mem::take(&mut turn.open_reasoning).into_keys().collect();
        reasoning.sort_unstable();
        for key in reasoning {
            session.message_abandoned(raw_reasoning_key(&key));
            session.message_abandoned(key);
        }
        for patch in std::mem::take(&mut turn.open_patches) {
            session.tool_abandoned(patch);
        }
    }

    /// Whether a turn with an id is running.
    pub(super) fn is_in_turn(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.id.is_empty())
    }

    /// Remembers a tool that has started.
    pub(super) fn insert_open_tool(&mut self, id: &str, open: OpenTool) {
        if self.open_tools.len() >= MAX_OPEN_TOOLS {
            self.open_tools.clear();
        }
        self.open_tools.insert(id.to_owned(), open);
    }

    /// The thread is new, so it has used no tokens.
    pub(super) fn start_usage_at_zero(&mut self) {
        self.total_usage = Some(Usage::default());
    }

    /// The thread belongs to a sub-agent and may be new.
    pub(super) fn mark_maybe_new(&mut self) {
        self.may_be_new = true;
    }

    /// The thread continues the turns of another thread, so it is not new.
    pub(super) fn mark_continued(&mut self) {
        self.may_be_new = false;
    }

    /// Forgets the state of the process that has exited. The next process reports its own total, and nothing is
    /// running.
    pub(super) fn reset_process_state(&mut self) {
        self.total_usage = None;
        self.may_be_new = false;
        self.compaction_requested = false;
        self.turn = None;
        self.pending_interrupts = 0;
        self.item_keys = ItemKeys::default();
        self.open_tools.clear();
        self.running_hooks.clear();
    }

    /// Usage since the last total. `None` outside a turn, where the total is that of earlier turns.
    pub(super) fn usage_since_last_total(
        &mut self,
        total: &TokenUsageBreakdown,
        last: Option<&TokenUsageBreakdown>,
    ) -> Option<Usage> {
        let total = to_usage(total);
        let last = last.map(to_usage).unwrap_or_default();
        let before = self.total_usage.replace(total.clone());
        let is_first = std::mem::take(&mut self.may_be_new) && total == last;
        let turn = self.turn.as_ref()?;
        // In 0.98, a resumed thread first repeats the total of its earlier turns, before the model answers.
        let is_unchanged = before.map_or(!turn.has_answered && !is_first, |before| before == total);
        // A review counts separately in between, so the difference of two totals is not the usage.
        let mut used = if is_unchanged { Usage::default() } else { last };
        used.model.clone_from(&self.settings.model);
        Some(used)
    }
}

/// Key of the raw reasoning of an item. The key of the item itself is that of the summary.
pub(super) fn raw_reasoning_key(key: &Key) -> Key {
    format!("{key}#raw").into()
}

fn to_usage(tokens: &TokenUsageBreakdown) -> Usage {
    let count = |tokens: Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    Usage::new(count(tokens.input_tokens).unwrap_or_default(), count(tokens.output_tokens).unwrap_or_default())
        .cached_input_tokens(count(tokens.cached_input_tokens))
        .cache_write_tokens(count(tokens.cache_write_input_tokens))
        .reasoning_tokens(count(tokens.reasoning_output_tokens))
}

/// Threads of this process and of the processes before it.
#[derive(Debug, Default)]
pub(super) struct Threads {
    list: Vec<Thread>,
    by_id: HashMap<String, usize>,
    /// Thread of the session that started last.
    current: usize,
    /// Thread that was used last. It saves a lookup for most lines.
    last_used: usize,
}

impl Threads {
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        match self.list.get(self.last_used) {
            Some(thread) if thread.id == id => Some(self.last_used),
            _ => self.by_id.get(id).copied(),
        }
    }

    /// Thread at an index that [`find`](Self::find) or [`add`](Self::add) returned.
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Thread {
        if self.list.is_empty() {
            self.list.push(Thread::default());
        }
        self.last_used = index.min(self.list.len() - 1);
        &mut self.list[self.last_used]
    }

    pub(super) fn add(&mut self, id: &str) -> usize {
        let index = self.list.len();
        self.list.push(Thread::new(id));
        self.by_id.insert(id.to_owned(), index);
        index
    }

    /// Thread for payloads that name none: that of the session that started last.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// A session, not a sub-agent, has started.
    pub(super) fn set_current(&mut self, index: usize) {
        self.current = index;
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.list.iter_mut()
    }

    /// Id of the thread in which this turn is running.
    pub(super) fn find_by_turn(&self, turn_id: &str) -> Option<&str> {
        let runs = |thread: &&Thread| thread.turn.as_ref().is_some_and(|turn| turn.id == turn_id);
        self.list.iter().find(runs).map(|thread| thread.id.as_str())
    }

    /// Id of the session with a running turn, if there is exactly one.
    pub(super) fn only_busy_session(&self) -> Option<&str> {
        let is_busy = |thread: &&Thread| !thread.is_sub_agent && !thread.id.is_empty() && thread.is_in_turn();
        let mut busy = self.list.iter().filter(is_busy);
        busy.next().filter(|_| busy.next().is_none()).map(|thread| thread.id.as_str())
    }

    /// Threads with calls that are spawning an unknown sub-agent, and the keys of these calls.
    pub(super) fn with_pending_spawns(&self) -> impl Iterator<Item = (&str, &[Key])> {
        self.list.iter().filter_map(|thread| match &thread.turn {
            Some(turn) if !turn.pending_spawns.is_empty() => Some((thread.id.as_str(), turn.pending_spawns.as_slice())),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breakdown(input: i64) -> TokenUsageBreakdown {
        let mut usage = TokenUsageBreakdown::default();
        (usage.input_tokens, usage.output_tokens) = (Some(input), Some(1));
        usage
    }

    #[test]
    fn usage_of_a_turn_is_the_growth_of_the_total() {
        let mut thread = Thread::new("t");
        thread.start_usage_at_zero();
        thread.current_turn();
        assert_eq!(thread.usage_since_last_total(&breakdown(100), Some(&breakdown(100))).unwrap().input_tokens, 100);
        assert_eq!(thread.usage_since_last_total(&breakdown(250), Some(&breakdown(150))).unwrap().input_tokens, 150);
        // The same total again, as after a request that was cut off.
        assert_eq!(thread.usage_since_last_total(&breakdown(250), Some(&breakdown(150))).unwrap().input_tokens, 0);
    }

    #[test]
    fn usage_of_earlier_turns_does_not_count_after_a_resume() {
        let mut thread = Thread::new("t");
        assert_eq!(thread.usage_since_last_total(&breakdown(300), Some(&breakdown(100))), None);
        thread.current_turn();
        assert_eq!(thread.usage_since_last_total(&breakdown(400), Some(&breakdown(100))).unwrap().input_tokens, 100);
        thread.reset_process_state();
        thread.current_turn();
        assert_eq!(thread.usage_since_last_total(&breakdown(900), Some(&breakdown(100))).unwrap().input_tokens, 0);
        assert_eq!(thread.usage_since_last_total(&breakdown(970), Some(&breakdown(70))).unwrap().input_tokens, 70);
        // If the old total is not repeated, the first total follows an answer.
        thread.reset_process_state();
        thread.current_turn();
        thread.mark_answered();
        assert_eq!(thread.usage_since_last_total(&breakdown(990), Some(&breakdown(20))).unwrap().input_tokens, 20);
    }
}
