//! Prompts that the host sent, when the agent accepts them, and whether it echoes them.
//!
//! A message that is sent during a turn is either accepted in that turn, together with tool results, or waits for the
//! next turn. Messages with an id have a `command_lifecycle` that says which; newer versions also repeat the id in the
//! answer. For other messages the order of the lines decides: a message that was sent before a tool ended is part of
//! the next request to the model.

use interlingua_schema::{ContentPart, RawJson};

use crate::{Key, PromptDraft};

/// Maximum number of prompts that are tracked.
const MAX_SENT_PROMPTS: usize = 256;

/// The prompts that the host sent.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// The agent echoes prompts.
    echoes: bool,
    /// Any prompt was sent. If not, the log may have only the agent's output.
    has_sent_any: bool,
    /// Number of prompts that the agent has not echoed.
    unechoed: usize,
    /// Number of prompts sent, for keys of prompts without an id.
    sent_count: u64,
    sent: Vec<SentPrompt>,
}

#[derive(Debug)]
struct SentPrompt {
    key: Key,
    /// The prompt, until a turn accepts it.
    prompt: Option<PromptDraft>,
    state: PromptState,
    /// A turn was running when it was sent.
    in_turn: bool,
    /// The agent reports with `command_lifecycle` when it accepts the prompt.
    has_lifecycle: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptState {
    Waiting,
    /// A tool of the running turn ended after the prompt was sent, so the next request to the model includes it.
    WithToolResults,
    /// The agent reports that it starts the prompt, before the `init` of the turn.
    Started,
    /// A turn has it.
    Accepted,
}

impl Prompts {
    pub(super) fn process_started(&mut self, echoes: bool) {
        self.echoes = echoes;
    }

    pub(super) fn process_exited(&mut self) {
        self.unechoed = 0;
        self.sent.clear();
    }

    /// Adds a message that the host sent. `uuid` is the host's id for it; `in_turn` says whether a turn is running.
    pub(super) fn push(
        &mut self,
        content: Vec<ContentPart>,
        uuid: Option<String>,
        raw: Option<RawJson>,
        in_turn: bool,
    ) -> PromptDraft {
        self.sent_count += 1;
        let key: Key = uuid.unwrap_or_else(|| format!("prompt-{}", self.sent_count)).into();
        self.has_sent_any = true;
        self.unechoed += 1;
        if self.sent.len() == MAX_SENT_PROMPTS {
            self.sent.remove(0);
        }
        let mut prompt = PromptDraft::new(content).id(key.clone()).raw(raw);
        if self.echoes {
            prompt = prompt.expect_echo();
        }
        let waiting = Some(prompt.clone());
        let state = PromptState::Waiting;
        self.sent.push(SentPrompt { key, prompt: waiting, state, in_turn, has_lifecycle: false });
        prompt
    }

    /// The prompts that no turn has accepted, with their keys. The next session accepts them.
    pub(super) fn waiting(&self) -> Vec<(Key, PromptDraft)> {
        let waiting = self.sent.iter().filter(|sent| sent.is_waiting());
        waiting.filter_map(|sent| Some((sent.key.clone(), sent.prompt.clone()?))).collect()
    }

    /// Whether there is a prompt that no turn has accepted.
    pub(super) fn has_waiting(&self) -> bool {
        self.sent.iter().any(SentPrompt::is_waiting)
    }

    /// Accepts the prompts of a turn that starts and returns their keys. The result is empty for a single prompt that
    /// the agent echoes: the sequencer shows the oldest prompt by itself, with the text of the echo.
    ///
    /// `merges`: the agent merges the prompts that were sent during a turn into one turn.
    pub(super) fn start_turn(&mut self, merges: bool) -> Vec<Key> {
        let is_started = |sent: &SentPrompt| sent.state == PromptState::Started;
        let first = self.sent.iter().position(SentPrompt::is_waiting);
        let merges = merges && first.is_some_and(|first| self.sent[first].in_turn && !self.sent[first].has_lifecycle);
        let any_started = self.sent.iter().any(is_started);
        let mut accepted = Vec::new();
        for (index, sent) in self.sent.iter_mut().enumerate() {
            let is_accepted = if any_started {
                is_started(sent)
            } else {
                sent.is_waiting() && (Some(index) == first || (merges && sent.in_turn))
            };
            if is_accepted {
                accepted.push(sent.accept());
            }
        }
        if self.echoes && accepted.len() == 1 { Vec::new() } else { accepted }
    }

    /// Notes that a tool of the main agent ended.
    pub(super) fn tool_ended(&mut self) {
        for sent in &mut self.sent {
            if sent.state == PromptState::Waiting && sent.in_turn && !sent.has_lifecycle {
                sent.state = PromptState::WithToolResults;
            }
        }
    }

    /// Accepts the prompts that a new request to the model includes, and returns their keys.
    pub(super) fn start_model_request(&mut self) -> Vec<Key> {
        let with_results = self.sent.iter_mut().filter(|sent| sent.state == PromptState::WithToolResults);
        with_results.map(SentPrompt::accept).collect()
    }

    /// Ends the turn: prompts that it did not accept wait for the next one.
    pub(super) fn end_turn(&mut self) {
        for sent in &mut self.sent {
            if sent.state == PromptState::WithToolResults {
                sent.state = PromptState::Waiting;
            }
        }
    }

    /// Notes that the agent reports this prompt as queued.
    pub(super) fn mark_queued(&mut self, uuid: &str) {
        if let Some(sent) = self.find_mut(uuid) {
            sent.has_lifecycle = true;
            if sent.state == PromptState::WithToolResults {
                sent.state = PromptState::Waiting;
            }
        }
    }

    /// Notes that the agent reports this prompt as started, between turns.
    pub(super) fn mark_started(&mut self, uuid: &str) {
        if let Some(sent) = self.find_mut(uuid).filter(|sent| sent.is_waiting()) {
            sent.state = PromptState::Started;
        }
    }

    /// Accepts this prompt in the running turn and returns its key; `None` if it was accepted before.
    pub(super) fn accept(&mut self, uuid: &str) -> Option<Key> {
        self.find_mut(uuid).filter(|sent| sent.is_waiting()).map(SentPrompt::accept)
    }

    /// Key of the prompt with this host id.
    pub(super) fn find_key(&self, uuid: &str) -> Option<Key> {
        self.sent.iter().find(|sent| sent.key.as_str() == uuid).map(|sent| sent.key.clone())
    }

    /// Notes an echo. Returns whether it echoes a prompt that was sent, rather than replayed history.
    pub(super) fn observe_echo(&mut self, uuid: Option<&str>) -> bool {
        let is_expected = self.unechoed > 0;
        self.unechoed = self.unechoed.saturating_sub(1);
        if let Some(sent) = uuid.and_then(|uuid| self.find_mut(uuid)) {
            sent.accept();
        }
        is_expected || !self.has_sent_any
    }

    fn find_mut(&mut self, uuid: &str) -> Option<&mut SentPrompt> {
        self.sent.iter_mut().find(|sent| sent.key.as_str() == uuid)
    }
}

impl SentPrompt {
    fn is_waiting(&self) -> bool {
        self.state != PromptState::Accepted
    }

    fn accept(&mut self) -> Key {
        self.state = PromptState::Accepted;
        self.prompt = None;
        self.key.clone()
    }
}
