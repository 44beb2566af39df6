//! Prompts of sub-agents. A prompt is in a `user` line of the sub-agent, or only in the call that starts it.

use foldhash::HashMap;

use interlingua_schema::RawJson;

use crate::{SessionDrafts, UserMessage};

/// Maximum number of sub-agents that are tracked.
const MAX_SUB_AGENTS: usize = 1024;

/// Key of the prompt's message. Each sub-agent has separate keys, so all of them can use the same one.
const KEY: &str = "prompt";

/// The prompt of a sub-agent.
#[derive(Debug)]
struct SubAgentPrompt {
    text: String,
    /// The payload with the call.
    raw: Option<RawJson>,
    is_shown: bool,
}

/// Prompts of sub-agents, by the tool call that started the sub-agent.
#[derive(Debug, Default)]
pub(super) struct SubAgentPrompts(HashMap<String, SubAgentPrompt>);

impl SubAgentPrompts {
    /// Adds the prompt in the arguments of a call.
    pub(super) fn insert(&mut self, call: &str, text: String, raw: Option<RawJson>) {
        if self.0.len() < MAX_SUB_AGENTS && !text.is_empty() {
            self.0.insert(call.to_owned(), SubAgentPrompt { text, raw, is_shown: false });
        }
    }

    /// Shows the prompt of a sub-agent once, before anything else of the sub-agent.
    pub(super) fn show(&mut self, call: Option<&str>, session: &mut SessionDrafts<'_>) {
        if self.0.is_empty() {
            return;
        }
        if let Some(prompt) = call.and_then(|call| self.0.get_mut(call)).filter(|prompt| !prompt.is_shown) {
            prompt.is_shown = true;
            let message = UserMessage::text(prompt.text.as_str()).raw(prompt.raw.take());
            session.user_message(KEY, message.injected());
        }
    }

    /// Notes that the agent prints a prompt of the sub-agent itself. Returns whether that prompt is not shown yet.
    pub(super) fn observe_line(&mut self, call: &str, text: &str) -> bool {
        match self.0.get_mut(call) {
            Some(prompt) if prompt.text.trim() == text.trim() => !std::mem::replace(&mut prompt.is_shown, true),
            Some(prompt) => {
                prompt.is_shown = true;
                true
            }
            None => true,
        }
    }

    /// Removes the prompt of a sub-agent that has ended.
    pub(super) fn remove(&mut self, call: &str) {
        self.0.remove(call);
    }
}
