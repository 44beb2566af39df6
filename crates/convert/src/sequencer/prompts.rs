//! What the user says: as sent by the host, or as the agent repeats it, but never both.

use interlingua_schema::{ContentPart, Origin, RawJson, Role};

use super::messages::{WholeMessage, hash};
use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::draft::{PromptPayload, streamed_text};
use crate::paths::normalize_part;
use crate::{Key, PromptDraft, UserMessage};

/// So many prompts wait for the agent to take them up; then the oldest is shown.
const MOST_WAITING: usize = 256;
/// So many prompts are remembered whose repetition is still to come.
const MOST_SHOWN: usize = 64;

/// A prompt that was sent and not yet shown.
#[derive(Debug)]
pub(super) struct Waiting {
    prompt: PromptDraft,
    /// The payload that it was sent in.
    raw: Option<RawJson>,
    text: u64,
}

impl Waiting {
    pub(super) fn is_not_echoed(&self) -> bool {
        !self.prompt.echoed
    }
}

/// A prompt that was shown, and that the agent may yet repeat.
#[derive(Debug)]
pub(super) struct Shown {
    id: Option<Key>,
    text: u64,
    echoed: bool,
}

impl Session {
    pub(super) fn prompt_sent(&mut self, scene: &mut Scene<'_>, scope: ScopeId, prompt: PromptDraft) {
        if !self.is_main(scope) {
            return self.say_as_user(scene, scope, Origin::DAEMON, UserMessage::new(prompt.content));
        }
        let awaited = prompt.echoed || !self.turn.as_ref().is_some_and(|turn| turn.spoke.nobody());
        let text = hash_of(&prompt.content);
        let raw = match &prompt.payload {
            PromptPayload::AtHand => scene.moment.raw.clone(),
            PromptPayload::Other(raw) => raw.clone(),
        };
        self.prompts.push_back(Waiting { prompt, raw, text });
        if !awaited || self.prompts.len() > MOST_WAITING {
            self.show_prompt(scene, 0);
        }
    }

    pub(super) fn prompt_accepted(&mut self, scene: &mut Scene<'_>, id: Option<&Key>) {
        let index = match id {
            Some(id) => self.prompts.iter().position(|waiting| waiting.prompt.id.as_ref() == Some(id)),
            None => Some(0),
        };
        if let Some(index) = index {
            self.show_prompt(scene, index);
        }
    }

    /// Forgets a prompt that the agent refuses. One that was shown stays.
    pub(super) fn prompt_rejected(&mut self, id: &Key) {
        self.prompts.retain(|waiting| waiting.prompt.id.as_ref() != Some(id));
    }

    /// Shows a prompt as the user's message, because the agent takes it up and does not repeat it itself, or has not
    /// done so yet.
    pub(super) fn show_prompt(&mut self, scene: &mut Scene<'_>, index: usize) {
        let Some(Waiting { prompt, raw, text }) = self.prompts.remove(index) else {
            return;
        };
        self.user_enters(scene);
        // Never the payload at hand, which only shows that the agent took the prompt up.
        let mut moment = scene.moment.clone();
        moment.raw = raw;
        let message = UserMessage::new(prompt.content);
        self.say_as_user(&mut scene.at(&moment), ScopeId::MAIN, Origin::DAEMON, message);
        self.shown.push_back(Shown { id: prompt.id, text, echoed: prompt.echoed });
        if self.shown.len() > MOST_SHOWN {
            self.shown.pop_front();
        }
    }

    /// At the end of a turn in which nobody spoke, or of the agent: whatever still waits is shown.
    pub(super) fn show_all_prompts(&mut self, scene: &mut Scene<'_>) {
        while !self.prompts.is_empty() {
            self.show_prompt(scene, 0);
        }
    }

    pub(super) fn user_message(&mut self, scene: &mut Scene<'_>, at: ItemRef, origin: Origin, message: UserMessage) {
        if self.closed_user_messages.get(&at).is_some() {
            return;
        }
        let scope = at.0;
        self.closed_user_messages.insert(at, ());
        if self.is_main(scope) {
            if !message.injected && self.was_shown(&message) {
                return;
            }
            if message.begins_turn && self.turn.as_ref().is_some_and(|turn| !turn.spoke.nobody()) {
                self.close_turn(scene);
            }
            self.user_enters(scene);
        }
        self.say_as_user(scene, scope, origin, message);
    }

    /// Finds the prompt that the agent repeats: true if it was shown already. One that still waits no longer does.
    fn was_shown(&mut self, message: &UserMessage) -> bool {
        let text = hash_of(&message.content);
        let named = message.prompt.as_ref();
        let is_shown = |shown: &Shown| match named {
            Some(id) if shown.id.is_some() => shown.id.as_ref() == Some(id),
            _ => shown.text == text,
        };
        if let Some(index) = self.shown.iter().position(is_shown) {
            self.shown.remove(index);
            return true;
        }
        let is_waiting = |waiting: &Waiting| match named {
            Some(id) if waiting.prompt.id.is_some() => waiting.prompt.id.as_ref() == Some(id),
            _ => waiting.text == text,
        };
        if let Some(index) = self.prompts.iter().position(is_waiting) {
            self.prompts.remove(index);
            return false;
        }
        // The agent may repeat a prompt in other words; then the order decides.
        if self.prompts.pop_front().is_some() {
            return false;
        }
        let late = self.shown.iter().position(|shown| shown.echoed);
        late.map(|index| self.shown.remove(index)).is_some()
    }

    fn say_as_user(&mut self, scene: &mut Scene<'_>, scope: ScopeId, origin: Origin, message: UserMessage) {
        let UserMessage { mut content, native_id, of, raw, .. } = message;
        for part in &mut content {
            normalize_part(part, self.cwd.as_deref());
        }
        let whole = WholeMessage { role: Role::User, native_id, of, content };
        let moment = scene.moment.with_raw(raw);
        self.whole_message(&mut scene.at(&moment), scope, origin, whole, false);
    }
}

/// What a content says, as a hash: the same however it is cut into parts.
fn hash_of(content: &[ContentPart]) -> u64 {
    hash(streamed_text(content))
}
