//! Prompts of the host, until OpenCode echoes or refuses them.

use interlingua_schema::ContentPart;

use super::session::Session;
use crate::draft::streamed_text;
use crate::{Drafts, Key, PromptDraft};

/// Number of prompts that a session remembers. Beyond it, the oldest is forgotten.
const MAX_SENT_PROMPTS: usize = 256;

/// A prompt without an echo.
#[derive(Debug)]
pub(super) struct SentPrompt {
    key: Key,
    /// Text, to recognise the echo.
    text: String,
    /// The agent does not answer it.
    no_reply: bool,
    /// Shell command of the user, which runs without the agent. OpenCode rephrases it in its echo.
    is_shell: bool,
    /// Draft that waits until an event names the session. The request may still be refused.
    held_prompt: Option<PromptDraft>,
}

/// A prompt that OpenCode has echoed.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// Key of the prompt, if the echo has the message id that the host has chosen.
    pub(super) key: Option<Key>,
    /// The agent does not answer it.
    pub(super) no_reply: bool,
}

impl SentPrompt {
    pub(super) fn message(key: Key, prompt: &PromptDraft, no_reply: bool) -> Self {
        Self { key, text: streamed_text(&prompt.content).into_owned(), no_reply, is_shell: false, held_prompt: None }
    }

    pub(super) fn shell(key: Key, command: &str) -> Self {
        Self { key, text: command.to_owned(), no_reply: false, is_shell: true, held_prompt: None }
    }
}

impl Session {
    /// The host sends a prompt.
    pub(super) fn prompt_sent(&mut self, mut sent: SentPrompt, prompt: PromptDraft, out: &mut Drafts) {
        if self.is_started {
            self.prepare_for_prompt(out);
            out.session(self.id.as_str()).prompt_sent(prompt);
        } else {
            sent.held_prompt = Some(prompt);
        }
        self.sent_prompts.push(sent);
        if self.sent_prompts.len() > MAX_SENT_PROMPTS {
            self.sent_prompts.remove(0);
        }
    }

    /// An event proves that the session exists. Prompts that were held back for it are drafted.
    pub(super) fn confirm_exists(&mut self, out: &mut Drafts) {
        self.is_started |= self.sent_prompts.iter().any(|sent| sent.held_prompt.is_some());
        for sent in &mut self.sent_prompts {
            if let Some(prompt) = sent.held_prompt.take() {
                out.session(self.id.as_str()).prompt_sent(prompt);
            }
        }
    }

    /// A new prompt ends the turn of a prompt that failed before its echo. From now on, the same failure is a new one.
    fn prepare_for_prompt(&mut self, out: &mut Drafts) {
        if self.turn.failed_before_echo {
            self.end_turn(out);
        }
        self.has_new_prompt = true;
    }

    /// Finds the prompt that a user message echoes: by message id, else by text, else the oldest.
    pub(super) fn match_echo(&mut self, message: &str, content: &[ContentPart]) -> Option<Echo> {
        let text = streamed_text(content);
        let named = self.sent_prompts.iter().position(|sent| sent.key.as_str() == message);
        let found = named
            .or_else(|| self.sent_prompts.iter().position(|sent| !sent.is_shell && sent.text == text))
            .or_else(|| self.sent_prompts.iter().position(|sent| !sent.is_shell));
        let sent = self.sent_prompts.remove(found?);
        Some(Echo { key: named.map(|_| sent.key), no_reply: sent.no_reply })
    }

    /// Takes the oldest shell command, which OpenCode runs now.
    pub(super) fn take_shell_prompt(&mut self) -> Option<Key> {
        let index = self.sent_prompts.iter().position(|sent| sent.is_shell)?;
        Some(self.sent_prompts.remove(index).key)
    }

    /// Forgets a prompt that has been answered or refused.
    pub(super) fn forget_prompt(&mut self, key: &Key) {
        self.sent_prompts.retain(|sent| sent.key != *key);
    }
}
