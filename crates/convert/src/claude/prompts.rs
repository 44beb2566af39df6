//! What the host told the agent, when the agent takes it up, and how it repeats it.
//!
//! A message that is sent while a turn runs is either taken up in that turn, together with the results of its tools, or
//! waits for a turn of its own. Messages with an id have a `command_lifecycle` that says which; newer versions repeat
//! the id in what answers it. For the others the order of the lines tells: what was sent before a tool ended is part of
//! the next request to the model.

use interlingua_schema::{ContentPart, RawJson};

use crate::{Key, PromptDraft};

/// Maximum number of prompts that are tracked.
const MAX_SENT: usize = 256;

/// What was sent, and whether the agent repeats it.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    /// The agent repeats what it is told.
    repeats: bool,
    /// Something was sent at all; else the log may only have the agent's side.
    any: bool,
    /// How many of them the agent has not repeated.
    unrepeated: usize,
    serial: u64,
    sent: Vec<Sent>,
}

#[derive(Debug)]
struct Sent {
    key: Key,
    /// What was sent, until a turn has it.
    prompt: Option<PromptDraft>,
    state: State,
    /// A turn was running when it was sent.
    in_turn: bool,
    /// The agent tells itself when it takes the prompt up.
    has_lifecycle: bool,
}

/// How far a prompt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// A tool of the running turn ended after it was sent, so that the next request to the model includes it.
    WithResults,
    /// The agent says that it begins, before the turn that it begins.
    Started,
    /// A turn has it.
    Taken,
}

impl Prompts {
    pub(super) fn launched(&mut self, repeats: bool) {
        self.repeats = repeats;
    }

    pub(super) fn process_gone(&mut self) {
        self.unrepeated = 0;
        self.sent.clear();
    }

    /// The host sent a message, perhaps with an id of its own, perhaps while a turn runs.
    pub(super) fn sent(
        &mut self,
        content: Vec<ContentPart>,
        uuid: Option<String>,
        raw: Option<RawJson>,
        in_turn: bool,
    ) -> PromptDraft {
        self.serial += 1;
        let key: Key = uuid.unwrap_or_else(|| format!("prompt-{}", self.serial)).into();
        self.any = true;
        self.unrepeated += 1;
        if self.sent.len() == MAX_SENT {
            self.sent.remove(0);
        }
        let mut prompt = PromptDraft::new(content).id(key.clone()).raw(raw);
        if self.repeats {
            prompt = prompt.expect_echo();
        }
        let waiting = Some(prompt.clone());
        self.sent.push(Sent { key, prompt: waiting, state: State::Waiting, in_turn, has_lifecycle: false });
        prompt
    }

    /// What no turn has taken up, by its key: another session will.
    pub(super) fn waiting(&self) -> Vec<(Key, PromptDraft)> {
        let waiting = self.sent.iter().filter(|sent| sent.waits());
        waiting.filter_map(|sent| Some((sent.key.clone(), sent.prompt.clone()?))).collect()
    }

    /// Whether something was sent that no turn has taken up.
    pub(super) fn are_waiting(&self) -> bool {
        self.sent.iter().any(Sent::waits)
    }

    /// A turn begins: the prompts that it takes up. The sequencer shows the oldest by itself, and waits for the
    /// agent's own words where the agent repeats a single one.
    ///
    /// `merges`: the agent joins what was sent during a turn to one turn.
    pub(super) fn turn_begins(&mut self, merges: bool) -> Vec<Key> {
        let is_started = |sent: &Sent| sent.state == State::Started;
        let first = self.sent.iter().position(Sent::waits);
        let joins = merges && first.is_some_and(|first| self.sent[first].in_turn && !self.sent[first].has_lifecycle);
        let any_started = self.sent.iter().any(is_started);
        let mut taken = Vec::new();
        for (index, sent) in self.sent.iter_mut().enumerate() {
            let is_taken = if any_started {
                is_started(sent)
            } else {
                sent.waits() && (Some(index) == first || (joins && sent.in_turn))
            };
            if is_taken {
                taken.push(sent.take());
            }
        }
        if self.repeats && taken.len() == 1 { Vec::new() } else { taken }
    }

    /// A tool of the agent itself ended.
    pub(super) fn tool_ended(&mut self) {
        for sent in &mut self.sent {
            if sent.state == State::Waiting && sent.in_turn && !sent.has_lifecycle {
                sent.state = State::WithResults;
            }
        }
    }

    /// The agent asks the model: what it takes up in the running turn.
    pub(super) fn request_begins(&mut self) -> Vec<Key> {
        let with_results = self.sent.iter_mut().filter(|sent| sent.state == State::WithResults);
        with_results.map(Sent::take).collect()
    }

    /// The turn is over: what it did not take up waits for the next one.
    pub(super) fn turn_ends(&mut self) {
        for sent in &mut self.sent {
            if sent.state == State::WithResults {
                sent.state = State::Waiting;
            }
        }
    }

    /// The agent says that it has queued this prompt.
    pub(super) fn queued(&mut self, uuid: &str) {
        if let Some(sent) = self.find(uuid) {
            sent.has_lifecycle = true;
            if sent.state == State::WithResults {
                sent.state = State::Waiting;
            }
        }
    }

    /// The agent says that it begins with this prompt, between turns.
    pub(super) fn starts(&mut self, uuid: &str) {
        if let Some(sent) = self.find(uuid).filter(|sent| sent.waits()) {
            sent.state = State::Started;
        }
    }

    /// The agent says that this prompt is part of the running turn. Nothing if that is no news.
    pub(super) fn taken(&mut self, uuid: &str) -> Option<Key> {
        self.find(uuid).filter(|sent| sent.waits()).map(Sent::take)
    }

    /// The prompt with the host's own id.
    pub(super) fn by_uuid(&self, uuid: &str) -> Option<Key> {
        self.sent.iter().find(|sent| sent.key.as_str() == uuid).map(|sent| sent.key.clone())
    }

    /// Whether a repetition is of something that was sent, rather than of history.
    pub(super) fn repeated(&mut self, uuid: Option<&str>) -> bool {
        let expected = self.unrepeated > 0;
        self.unrepeated = self.unrepeated.saturating_sub(1);
        if let Some(sent) = uuid.and_then(|uuid| self.find(uuid)) {
            sent.take();
        }
        expected || !self.any
    }

    fn find(&mut self, uuid: &str) -> Option<&mut Sent> {
        self.sent.iter_mut().find(|sent| sent.key.as_str() == uuid)
    }
}

impl Sent {
    fn waits(&self) -> bool {
        self.state != State::Taken
    }

    fn take(&mut self) -> Key {
        self.state = State::Taken;
        self.prompt = None;
        self.key.clone()
    }
}
