//! User messages. A prompt is shown as the host sent it or as the agent echoes it, never both.

use interlingua_schema::{ContentPart, Origin, RawJson, Role};

use super::emitter::EmitContext;
use super::messages::{WholeMessage, hash};
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::draft::{PromptPayload, streamed_text};
use crate::paths::normalize_part;
use crate::{Key, PromptDraft, UserMessage};

/// Maximum number of prompts that the agent has not accepted. With one more, the oldest is shown.
const MAX_PENDING_PROMPTS: usize = 256;
/// Number of shown prompts that are remembered because their echo may still come.
const MAX_SHOWN_PROMPTS: usize = 64;

/// A prompt that was sent and not yet shown.
#[derive(Debug)]
pub(super) struct PendingPrompt {
    prompt: PromptDraft,
    /// The payload that contains the prompt.
    raw: Option<RawJson>,
    text_hash: u64,
}

impl PendingPrompt {
    pub(super) fn needs_no_echo(&self) -> bool {
        !self.prompt.expects_echo
    }
}

/// A prompt that was shown, and that the agent may still echo.
#[derive(Debug)]
pub(super) struct ShownPrompt {
    id: Option<Key>,
    text_hash: u64,
    expects_echo: bool,
}

impl Session {
    pub(super) fn prompt_sent(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, prompt: PromptDraft) {
        if !self.is_main(scope) {
            return self.emit_user_message(ctx, scope, Origin::DAEMON, UserMessage::new(prompt.content));
        }
        let waits = prompt.expects_echo || !self.turn.as_ref().is_some_and(|turn| turn.participants.is_empty());
        let text_hash = text_hash(&prompt.content);
        let raw = match &prompt.payload {
            PromptPayload::Current => ctx.provenance.raw.clone(),
            PromptPayload::Other(raw) => raw.clone(),
        };
        self.pending_prompts.push_back(PendingPrompt { prompt, raw, text_hash });
        if !waits || self.pending_prompts.len() > MAX_PENDING_PROMPTS {
            self.show_prompt(ctx, 0);
        }
    }

    pub(super) fn prompt_accepted(&mut self, ctx: &mut EmitContext<'_>, id: Option<&Key>) {
        let index = match id {
            Some(id) => self.pending_prompts.iter().position(|pending| pending.prompt.id.as_ref() == Some(id)),
            None => Some(0),
        };
        if let Some(index) = index {
            self.show_prompt(ctx, index);
        }
    }

    /// Drops a pending prompt that the agent rejected. A prompt that was shown stays in the stream.
    pub(super) fn prompt_rejected(&mut self, id: &Key) {
        self.pending_prompts.retain(|pending| pending.prompt.id.as_ref() != Some(id));
    }

    /// Shows a pending prompt as the user's message: the agent accepted it and does not echo it, or has not done so
    /// yet.
    pub(super) fn show_prompt(&mut self, ctx: &mut EmitContext<'_>, index: usize) {
        let Some(PendingPrompt { prompt, raw, text_hash }) = self.pending_prompts.remove(index) else {
            return;
        };
        self.prepare_user_message(ctx);
        // Not the current payload, which only shows that the agent accepted the prompt.
        let mut provenance = ctx.provenance.clone();
        provenance.raw = raw;
        let message = UserMessage::new(prompt.content);
        self.emit_user_message(&mut ctx.with_provenance(&provenance), ScopeId::MAIN, Origin::DAEMON, message);
        self.shown_prompts.push_back(ShownPrompt { id: prompt.id, text_hash, expects_echo: prompt.expects_echo });
        if self.shown_prompts.len() > MAX_SHOWN_PROMPTS {
            self.shown_prompts.pop_front();
        }
    }

    /// Shows all pending prompts, because the stream or the agent process ends.
    pub(super) fn show_all_prompts(&mut self, ctx: &mut EmitContext<'_>) {
        while !self.pending_prompts.is_empty() {
            self.show_prompt(ctx, 0);
        }
    }

    pub(super) fn user_message(
        &mut self,
        ctx: &mut EmitContext<'_>,
        item_ref: ItemRef,
        origin: Origin,
        message: UserMessage,
    ) {
        if self.closed_user_messages.get(&item_ref).is_some() {
            return;
        }
        let scope = item_ref.0;
        self.closed_user_messages.insert(item_ref, ());
        if self.is_main(scope) {
            if !message.injected && self.match_echo(&message) {
                return;
            }
            if message.starts_turn && self.turn.as_ref().is_some_and(|turn| !turn.participants.is_empty()) {
                self.close_turn(ctx);
            }
            self.prepare_user_message(ctx);
        }
        self.emit_user_message(ctx, scope, origin, message);
    }

    /// Finds the prompt that a message echoes. Returns true if the prompt was shown already. Removes a pending one,
    /// because the echo takes its place.
    fn match_echo(&mut self, message: &UserMessage) -> bool {
        let text_hash = text_hash(&message.content);
        let id = message.echo_of.as_ref();
        let matches_shown = |shown: &ShownPrompt| match id {
            Some(id) if shown.id.is_some() => shown.id.as_ref() == Some(id),
            _ => shown.text_hash == text_hash,
        };
        if let Some(index) = self.shown_prompts.iter().position(matches_shown) {
            self.shown_prompts.remove(index);
            return true;
        }
        let matches_pending = |pending: &PendingPrompt| match id {
            Some(id) if pending.prompt.id.is_some() => pending.prompt.id.as_ref() == Some(id),
            _ => pending.text_hash == text_hash,
        };
        if let Some(index) = self.pending_prompts.iter().position(matches_pending) {
            self.pending_prompts.remove(index);
            return false;
        }
        // The agent may echo a prompt with a different text. Then prompts are matched in order.
        if self.pending_prompts.pop_front().is_some() {
            return false;
        }
        let late = self.shown_prompts.iter().position(|shown| shown.expects_echo);
        late.map(|index| self.shown_prompts.remove(index)).is_some()
    }

    fn emit_user_message(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, origin: Origin, message: UserMessage) {
        let UserMessage { mut content, native_id, native_message, raw, .. } = message;
        for part in &mut content {
            normalize_part(part, self.cwd.as_deref());
        }
        let whole = WholeMessage { role: Role::User, native_id, native_message, content };
        let provenance = ctx.provenance.with_raw(raw);
        self.emit_whole_message(&mut ctx.with_provenance(&provenance), scope, origin, whole, false);
    }
}

/// Hash of the text of a content. It does not depend on how the text is split into parts.
fn text_hash(content: &[ContentPart]) -> u64 {
    hash(streamed_text(content))
}
