//! What the host told the agent, and how the agent repeats it.

use interlingua_schema::ContentPart;

use crate::{Key, Prompt};

/// So many prompts are remembered that the agent may not have taken up.
const MOST_SENT: usize = 256;

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
    /// The agent spoke after it was sent.
    heard: bool,
}

impl Prompts {
    pub(super) fn launched(&mut self, repeats: bool) {
        self.repeats = repeats;
    }

    pub(super) fn process_gone(&mut self) {
        self.unrepeated = 0;
        self.sent.clear();
    }

    /// The host sent a message, perhaps with an id of its own.
    pub(super) fn sent(&mut self, content: Vec<ContentPart>, uuid: Option<String>) -> Prompt {
        self.serial += 1;
        let key: Key = uuid.unwrap_or_else(|| format!("prompt-{}", self.serial)).into();
        self.any = true;
        self.unrepeated += 1;
        if self.sent.len() == MOST_SENT {
            self.sent.remove(0);
        }
        self.sent.push(Sent { key: key.clone(), heard: false });
        let prompt = Prompt::new(content).id(key);
        if self.repeats { prompt.echoed() } else { prompt }
    }

    /// Whether something was sent that the agent may not have taken up.
    pub(super) fn are_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The agent speaks.
    pub(super) fn heard(&mut self) {
        for sent in &mut self.sent {
            sent.heard = true;
        }
    }

    /// The prompt with the host's own id.
    pub(super) fn by_uuid(&self, uuid: &str) -> Option<Key> {
        self.sent.iter().find(|sent| sent.key.as_str() == uuid).map(|sent| sent.key.clone())
    }

    /// Whether a repetition is of something that was sent, rather than of history.
    pub(super) fn repeated(&mut self) -> bool {
        let expected = self.unrepeated > 0;
        self.unrepeated = self.unrepeated.saturating_sub(1);
        expected || !self.any
    }

    /// The turn is over and nothing is queued behind it: what the agent has had time to read, it has taken up.
    pub(super) fn taken(&mut self) -> Vec<Key> {
        let sent = std::mem::take(&mut self.sent);
        let (taken, left) = sent.into_iter().partition(|sent| sent.heard);
        self.sent = left;
        let taken: Vec<Sent> = taken;
        taken.into_iter().map(|sent| sent.key).collect()
    }
}
