//! The history of a session that an agent repeats when it loads the session.

use super::AcpConverter;
use crate::{Drafts, TurnEnd};

/// Drop reason for the history of a session that the stream has already.
pub(super) const REPLAYED: &str = "history that the stream has already";

/// What happens to the repeated history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replay {
    /// The stream has it already.
    Dropped,
    /// It is new to the stream.
    Converted,
}

impl AcpConverter {
    /// The host asks the agent to load a session. The agent repeats its history before it answers.
    pub(super) fn history_requested(&mut self, id: &str) {
        let is_known = self.has_history || self.known_id(id).is_some();
        self.session(id).replay = Some(if is_known { Replay::Dropped } else { Replay::Converted });
    }

    pub(super) fn drops_history(&self, id: &str) -> bool {
        self.sessions.get(id).is_some_and(|session| session.replay == Some(Replay::Dropped))
    }

    /// The agent has answered: whatever it sends from now on is new.
    pub(super) fn history_ended(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.replay.take() == Some(Replay::Converted) && session.is_announced {
            self.finish_messages(id, out);
            self.fail_denied_calls(id, out);
            // The last turn of the history has no end of its own.
            out.session(id).synthetic().turn_ended(TurnEnd::new());
            self.forget_finished_calls(id);
        }
        self.has_history = false;
    }
}
