//! Prompts that the host sent, until OpenCode takes them up or refuses them.

use interlingua_schema::ContentPart;

use super::session::Session;
use crate::draft::streamed_text;
use crate::{Drafts, Key, PromptDraft};

/// So many are remembered; then the oldest is forgotten.
const MOST_SENT: usize = 256;

/// A prompt that the host sent.
#[derive(Debug)]
pub(super) struct Sent {
    key: Key,
    /// What it says, to be known again by.
    text: String,
    /// Nobody is to answer it.
    is_silent: bool,
    /// A command that the user runs without the agent. OpenCode words it in its own way.
    is_shell: bool,
    /// The prompt itself, as long as nobody has spoken of its session: the request may be refused.
    held: Option<PromptDraft>,
}

/// A prompt that OpenCode repeats.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    /// Its name, if the host gave it one.
    pub(super) name: Option<Key>,
    /// Nobody is to answer it.
    pub(super) is_silent: bool,
}

impl Sent {
    pub(super) fn message(key: Key, prompt: &PromptDraft, is_silent: bool) -> Self {
        Self { key, text: streamed_text(&prompt.content).into_owned(), is_silent, is_shell: false, held: None }
    }

    pub(super) fn shell(key: Key, command: &str) -> Self {
        Self { key, text: command.to_owned(), is_silent: false, is_shell: true, held: None }
    }
}

impl Session {
    /// The host prompts.
    pub(super) fn prompt_sent(&mut self, mut sent: Sent, prompt: PromptDraft, out: &mut Drafts) {
        if self.begun {
            self.before_prompt(out);
            out.session(self.id.as_str()).prompt_sent(prompt);
        } else {
            sent.held = Some(prompt);
        }
        self.sent.push(sent);
        if self.sent.len() > MOST_SENT {
            self.sent.remove(0);
        }
    }

    /// There is such a session: what was held back for it is said.
    pub(super) fn is_there(&mut self, out: &mut Drafts) {
        self.begun |= self.sent.iter().any(|sent| sent.held.is_some());
        for sent in &mut self.sent {
            if let Some(prompt) = sent.held.take() {
                out.session(self.id.as_str()).prompt_sent(prompt);
            }
        }
    }

    /// A new prompt ends the turn of one that failed before it was repeated. The same failure is news from now on.
    fn before_prompt(&mut self, out: &mut Drafts) {
        if self.run.failed_early {
            self.end_turn(out);
        }
        self.prompted_since = true;
    }

    /// OpenCode repeats a prompt of the host's: by its name, in its words, or else the oldest.
    pub(super) fn repeated(&mut self, message: &str, content: &[ContentPart]) -> Option<Repeated> {
        let text = streamed_text(content);
        let named = self.sent.iter().position(|sent| sent.key.as_str() == message);
        let found = named
            .or_else(|| self.sent.iter().position(|sent| !sent.is_shell && sent.text == text))
            .or_else(|| self.sent.iter().position(|sent| !sent.is_shell));
        let sent = self.sent.remove(found?);
        Some(Repeated { name: named.map(|_| sent.key), is_silent: sent.is_silent })
    }

    /// OpenCode runs the oldest of the user's own commands.
    pub(super) fn shell_taken(&mut self) -> Option<Key> {
        let index = self.sent.iter().position(|sent| sent.is_shell)?;
        Some(self.sent.remove(index).key)
    }

    /// Nothing more is to come of a prompt.
    pub(super) fn forget_sent(&mut self, key: &Key) {
        self.sent.retain(|sent| sent.key != *key);
    }
}
