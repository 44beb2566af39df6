//! What is known of each thread.

use foldhash::{HashMap, HashSet};
use interlingua_native::codex::TokenUsageBreakdown;
use interlingua_schema::{Compaction, McpInput, Usage};

use super::names::Names;
use crate::draft::LastPlan;
use crate::{Drafts, Key, Note, SessionDrafts};

/// The mode of a thread that does not say its mode.
pub(super) const DEFAULT_MODE: &str = "default";
/// So many tools without an end are remembered per thread.
const MOST_OPEN: usize = 4096;

/// One thread: a session of its own, or a sub-agent's.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Empty for what names no thread.
    pub(super) id: String,
    /// It is a sub-agent's.
    pub(super) is_child: bool,
    /// The call that started it, where it is a sub-agent's: its key and the agent's id.
    pub(super) spawned_by: Option<(Key, String)>,
    /// Nobody said whether it is new. It is if the first total is that of its first request alone.
    may_be_new: bool,
    pub(super) settings: Settings,
    /// What the host wants it to work with from its next turn on.
    pub(super) next: Settings,
    /// The turn that is running.
    pub(super) turn: Option<Turn>,
    /// Interrupts that the host asked of it and the agent did not refuse.
    pub(super) interrupts: u32,
    /// The turn that ended last.
    pub(super) last_turn: Option<String>,
    /// The host asked for a compaction that has not begun.
    pub(super) compaction_asked: bool,
    /// The thread's use of tokens so far; unknown after a resume.
    total: Option<Usage>,
    pub(super) names: Names,
    /// The tools that began and did not end: what was said of them, for whoever asks permission.
    pub(super) open: HashMap<String, Open>,
    /// Hooks that run: the agent's id and ours, because the agent's repeats.
    pub(super) hooks: Vec<(String, String)>,
    pub(super) hook_count: u64,
    /// The goal as it was last told.
    pub(super) goal: Option<String>,
    pub(super) plan: LastPlan,
    pub(super) realtime: Realtime,
}

/// A spoken conversation.
#[derive(Debug, Default)]
pub(super) struct Realtime {
    /// It is told in segments, which the older transcript repeats.
    pub(super) in_segments: bool,
    /// What the agent is saying.
    pub(super) speaking: HashSet<String>,
    /// Transcripts without an id of their own so far.
    pub(super) transcripts: u64,
}

/// What a turn needs to be known of while it runs.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts apart from each other, not states")]
pub(super) struct Turn {
    pub(super) id: String,
    /// Messages that stream, by their names.
    pub(super) messages: Vec<Key>,
    /// Reasoning that streams, by its name.
    pub(super) reasoning: HashMap<Key, Reasoning>,
    /// Patches that are being written, before they are items, by their names.
    pub(super) patching: Vec<Key>,
    /// Calls that start a sub-agent which is not known yet, by their names.
    pub(super) spawns: Vec<Key>,
    /// Messages the host sent into the running turn, by the ids we gave them.
    pub(super) steers: Vec<String>,
    /// Turns that older releases announce for such messages, and that never are.
    pub(super) steered: Vec<String>,
    /// It was not announced, but its items began.
    pub(super) inferred: bool,
    /// A review runs: the model answers in JSON, which is neither streamed nor completed.
    pub(super) reviewing: bool,
    /// Messages of a review that began and did not say anything yet, by the agent's ids.
    pub(super) silent: Vec<String>,
    /// What a review found, until a message says it.
    pub(super) review: Option<String>,
    /// The user's message that was told last.
    pub(super) user_message: Option<String>,
    /// A compaction was told as an item.
    pub(super) compacted: bool,
    /// The compaction that runs: its name and what is known of it.
    pub(super) compacting: Option<(Key, Compaction)>,
    /// Which retry of a request was told last.
    pub(super) retries: u64,
    /// An error was told that ends it.
    pub(super) failed: bool,
    /// The words of that error.
    pub(super) error: Option<String>,
    /// All its changes of files so far.
    pub(super) diff: Option<String>,
    /// The agent said or did something in it.
    pub(super) answered: bool,
}

/// How far the streams of one reasoning item are: the index of the latest part of each.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    pub(super) summary: Option<i64>,
    pub(super) raw: Option<i64>,
}

/// A tool that runs.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Its arguments are all told.
    pub(super) whole: bool,
    /// Only a request has told of it; its item is yet to begin.
    pub(super) foretold: bool,
    /// What is called, where it is a tool of an MCP server.
    pub(super) mcp: Option<McpInput>,
}

/// What a thread works with, to tell when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) model: Option<String>,
    /// `plan` or `default`.
    pub(super) mode: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) effort: Option<String>,
}

impl Settings {
    /// The mode in our words: that of the collaboration unless it is the usual one, else what may be done without
    /// asking.
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

    /// Takes over what `new` says and tells what is different now; whether anything is.
    pub(super) fn change(&mut self, new: Self, session: &mut SessionDrafts<'_>) -> bool {
        // A thread begins in the default mode and does not say so.
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
            notice_change("Approval policy", before.approval.as_deref(), self.approval.as_deref(), session);
            notice_change("Sandbox", before.sandbox.as_deref(), self.sandbox.as_deref(), session);
        }
        notice_change("Reasoning effort", before.effort.as_deref(), self.effort.as_deref(), session);
        *self != before
    }
}

/// Tells a change that has no status of its own.
fn notice_change(what: &str, from: Option<&str>, to: Option<&str>, session: &mut SessionDrafts<'_>) {
    if let Some(to) = to.filter(|to| from != Some(to)) {
        let from = from.map(|from| format!(" from {from}")).unwrap_or_default();
        session.note(Note::notice(format!("{what} changed{from} to {to}")));
    }
}

impl Thread {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }

    pub(super) fn session<'a>(&self, out: &'a mut Drafts) -> SessionDrafts<'a> {
        if self.id.is_empty() { out.current_session() } else { out.session(&self.id) }
    }

    /// The agent says or does something.
    pub(super) fn answers(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.answered = true;
        }
    }

    /// The turn that is running, whether or not the agent said that it began.
    pub(super) fn running(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    /// Whether the model is writing this patch.
    pub(super) fn is_patching(&self, id: &str) -> bool {
        let patching = self.turn.as_ref().map(|turn| turn.patching.as_slice()).unwrap_or_default();
        !patching.is_empty() && patching.contains(&self.names.of(id))
    }

    /// What the model was in the middle of when it was asked again, or spoken to, is not gone on with.
    pub(super) fn taken_back(&mut self, out: &mut Drafts) {
        let mut session = self.session(out);
        let Some(turn) = &mut self.turn else { return };
        for message in std::mem::take(&mut turn.messages) {
            session.message_abandoned(message);
        }
        let mut thoughts: Vec<Key> = std::mem::take(&mut turn.reasoning).into_keys().collect();
        thoughts.sort_unstable();
        for thought in thoughts {
            session.message_abandoned(raw_key(&thought));
            session.message_abandoned(thought);
        }
        for patch in std::mem::take(&mut turn.patching) {
            session.tool_abandoned(patch);
        }
    }

    /// The agent announced a turn that is not over.
    pub(super) fn is_in_turn(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.id.is_empty())
    }

    /// A tool begins.
    pub(super) fn opened(&mut self, id: &str, open: Open) {
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        self.open.insert(id.to_owned(), open);
    }

    /// The thread begins here, so it has used nothing.
    pub(super) fn begins(&mut self) {
        self.total = Some(Usage::default());
    }

    /// A sub-agent's thread that may begin here.
    pub(super) fn may_begin(&mut self) {
        self.may_be_new = true;
    }

    /// The thread goes on with another one's turns.
    pub(super) fn goes_on(&mut self) {
        self.may_be_new = false;
    }

    /// The thread goes on in another process: its total is to be told anew, and nothing of it runs.
    pub(super) fn interrupted(&mut self) {
        self.total = None;
        self.may_be_new = false;
        self.compaction_asked = false;
        self.turn = None;
        self.interrupts = 0;
        self.names = Names::default();
        self.open.clear();
        self.hooks.clear();
    }

    /// What was used since the total was told last; `None` outside of a turn, where a total is that of earlier turns.
    pub(super) fn used(&mut self, total: &TokenUsageBreakdown, last: Option<&TokenUsageBreakdown>) -> Option<Usage> {
        let total = tokens(total);
        let last = last.map(tokens).unwrap_or_default();
        let before = self.total.replace(total.clone());
        let is_first = std::mem::take(&mut self.may_be_new) && total == last;
        let turn = self.turn.as_ref()?;
        // A resumed thread of 0.98 first repeats the total of its earlier turns, before the model answers.
        let unchanged = before.map_or(!turn.answered && !is_first, |before| before == total);
        // A review counts for itself in between, so the total itself cannot be reckoned with.
        let mut used = if unchanged { Usage::default() } else { last };
        used.model.clone_from(&self.settings.model);
        Some(used)
    }
}

/// The name of an item's raw reasoning, beside that of its summary.
pub(super) fn raw_key(name: &Key) -> Key {
    format!("{name}#raw").into()
}

fn tokens(figures: &TokenUsageBreakdown) -> Usage {
    let count = |figure: Option<i64>| figure.and_then(|figure| u64::try_from(figure).ok());
    Usage::new(count(figures.input_tokens).unwrap_or_default(), count(figures.output_tokens).unwrap_or_default())
        .cached_input_tokens(count(figures.cached_input_tokens))
        .cache_write_tokens(count(figures.cache_write_input_tokens))
        .reasoning_tokens(count(figures.reasoning_output_tokens))
}

/// All threads of a process, and those of the processes before it.
#[derive(Debug, Default)]
pub(super) struct Threads {
    list: Vec<Thread>,
    by_id: HashMap<String, usize>,
    /// The one that was begun last.
    current: usize,
    /// The one that was spoken of last, so that it is not looked up for every line.
    last: usize,
}

impl Threads {
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        match self.list.get(self.last) {
            Some(thread) if thread.id == id => Some(self.last),
            _ => self.by_id.get(id).copied(),
        }
    }

    /// The thread at a place that [`find`](Self::find) or [`begin`](Self::begin) gave.
    pub(super) fn at(&mut self, place: usize) -> &mut Thread {
        if self.list.is_empty() {
            self.list.push(Thread::default());
        }
        self.last = place.min(self.list.len() - 1);
        &mut self.list[self.last]
    }

    pub(super) fn begin(&mut self, id: &str) -> usize {
        let place = self.list.len();
        self.list.push(Thread::new(id));
        self.by_id.insert(id.to_owned(), place);
        place
    }

    /// Where what names no thread belongs: the thread begun last.
    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// A session of its own began, as opposed to a sub-agent.
    pub(super) fn set_current(&mut self, place: usize) {
        self.current = place;
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.list.iter_mut()
    }

    /// The thread in which this turn runs.
    pub(super) fn running(&self, turn: &str) -> Option<&str> {
        let running = |thread: &&Thread| thread.turn.as_ref().is_some_and(|running| running.id == turn);
        self.list.iter().find(running).map(|thread| thread.id.as_str())
    }

    /// The thread that has a turn running, if it is the only one but for sub-agents.
    pub(super) fn only_busy(&self) -> Option<&str> {
        let is_busy = |thread: &&Thread| !thread.is_child && !thread.id.is_empty() && thread.is_in_turn();
        let mut busy = self.list.iter().filter(is_busy);
        busy.next().filter(|_| busy.next().is_none()).map(|thread| thread.id.as_str())
    }

    /// The threads with calls that started sub-agents which are not known yet, and those calls.
    pub(super) fn spawning(&self) -> impl Iterator<Item = (&str, &[Key])> {
        self.list.iter().filter_map(|thread| match &thread.turn {
            Some(turn) if !turn.spawns.is_empty() => Some((thread.id.as_str(), turn.spawns.as_slice())),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(input: i64) -> TokenUsageBreakdown {
        TokenUsageBreakdown { input_tokens: Some(input), output_tokens: Some(1), ..TokenUsageBreakdown::default() }
    }

    #[test]
    fn a_turn_uses_what_the_total_grew_by() {
        let mut thread = Thread::new("t");
        thread.begins();
        thread.running();
        assert_eq!(thread.used(&figures(100), Some(&figures(100))).unwrap().input_tokens, 100);
        assert_eq!(thread.used(&figures(250), Some(&figures(150))).unwrap().input_tokens, 150);
        // Told again without anything new, as when a request was cut off.
        assert_eq!(thread.used(&figures(250), Some(&figures(150))).unwrap().input_tokens, 0);
    }

    #[test]
    fn after_a_resume_the_total_of_old_turns_does_not_count() {
        let mut thread = Thread::new("t");
        assert_eq!(thread.used(&figures(300), Some(&figures(100))), None);
        thread.running();
        assert_eq!(thread.used(&figures(400), Some(&figures(100))).unwrap().input_tokens, 100);
        thread.interrupted();
        thread.running();
        assert_eq!(thread.used(&figures(900), Some(&figures(100))).unwrap().input_tokens, 0);
        assert_eq!(thread.used(&figures(970), Some(&figures(70))).unwrap().input_tokens, 70);
        // Where the old total is not repeated, the first one comes with an answer.
        thread.interrupted();
        thread.running();
        thread.answers();
        assert_eq!(thread.used(&figures(990), Some(&figures(20))).unwrap().input_tokens, 20);
    }
}
