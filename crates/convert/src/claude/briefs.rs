//! What sub-agents are told. The agent says it as a user's line of the sub-agent, or only in the call that starts it.

use foldhash::HashMap;

use crate::{Final, Message, SessionDrafts};

/// So many sub-agents are remembered that have not said anything yet.
const MOST_OPEN: usize = 1024;

/// What sub-agents were told that has not been shown, by the tool call that started them.
#[derive(Debug, Default)]
pub(super) struct Briefs(HashMap<String, String>);

impl Briefs {
    /// A sub-agent is started with these words.
    pub(super) fn given(&mut self, call: &str, words: String) {
        if self.0.len() < MOST_OPEN && !words.is_empty() {
            self.0.insert(call.to_owned(), words);
        }
    }

    /// The sub-agent is spoken of for the first time: what it was told comes first.
    pub(super) fn show(&mut self, call: Option<&str>, session: &mut SessionDrafts<'_>) {
        if self.0.is_empty() {
            return;
        }
        if let Some(words) = call.and_then(|call| self.0.remove(call)) {
            session.message_finished(KEY, Message::prompt(), Final::text(words));
        }
    }

    /// The agent says itself what the sub-agent was told, or the sub-agent is over.
    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }
}

/// A sub-agent's keys are its own, so one name does for all of them.
const KEY: &str = "brief";
