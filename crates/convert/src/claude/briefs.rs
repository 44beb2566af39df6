//! What sub-agents are told. The agent says it as a user's line of the sub-agent, or only in the call that starts it.

use foldhash::HashMap;

use interlingua_schema::RawJson;

use crate::{SessionDrafts, UserMessage};

/// Maximum number of sub-agents that are tracked.
const MAX_OPEN: usize = 1024;

/// What a sub-agent was told.
#[derive(Debug)]
struct Brief {
    words: String,
    /// The payload with the call.
    raw: Option<RawJson>,
    shown: bool,
}

/// What sub-agents were told, by the tool call that started them.
#[derive(Debug, Default)]
pub(super) struct Briefs(HashMap<String, Brief>);

impl Briefs {
    /// A sub-agent is started with these words.
    pub(super) fn given(&mut self, call: &str, words: String, raw: Option<RawJson>) {
        if self.0.len() < MAX_OPEN && !words.is_empty() {
            self.0.insert(call.to_owned(), Brief { words, raw, shown: false });
        }
    }

    /// The sub-agent does something: what it was told comes first.
    pub(super) fn show(&mut self, call: Option<&str>, session: &mut SessionDrafts<'_>) {
        if self.0.is_empty() {
            return;
        }
        if let Some(brief) = call.and_then(|call| self.0.get_mut(call)).filter(|brief| !brief.shown) {
            brief.shown = true;
            let message = UserMessage::text(brief.words.as_str()).raw(brief.raw.take());
            session.user_message(KEY, message.injected());
        }
    }

    /// The agent says itself what the sub-agent was told. Whether that is news.
    pub(super) fn told(&mut self, call: &str, words: &str) -> bool {
        match self.0.get_mut(call) {
            Some(brief) if brief.words.trim() == words.trim() => !std::mem::replace(&mut brief.shown, true),
            Some(brief) => {
                brief.shown = true;
                true
            }
            None => true,
        }
    }

    /// The sub-agent is over.
    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }
}

/// A sub-agent's keys are its own, so one name does for all of them.
const KEY: &str = "brief";
