//! What the items of the v2 API are known by. Its ids are counted in each message, or come again after a
//! retry.

use super::session::Session;
use crate::Drafts;

/// A text or reasoning.
pub(super) struct Said {
    pub(super) key: String,
    /// OpenCode's own name for it.
    pub(super) native: String,
}

/// The latest call with an id.
#[derive(Debug)]
pub(super) struct NextCall {
    /// The message it came from.
    message: String,
    key: String,
    /// How many calls had the id.
    times: u32,
    is_done: bool,
}

impl Session {
    /// More of a text or reasoning comes.
    pub(super) fn saying(&mut self, message: &str, id: Option<String>) -> Said {
        let said = self.name(message, id);
        if !self.run.saying.contains(&said.key) {
            self.run.saying.push(said.key.clone());
        }
        said
    }

    /// A text or reasoning ends.
    pub(super) fn said(&mut self, message: &str, id: Option<String>) -> Said {
        let said = self.name(message, id);
        self.run.saying.retain(|saying| *saying != said.key);
        said
    }

    fn name(&self, message: &str, id: Option<String>) -> Said {
        let native = format!("{message}:{}", id.unwrap_or_default());
        let key = if self.run.retries == 0 { native.clone() } else { format!("{native}#{}", self.run.retries) };
        Said { key, native }
    }

    /// The agent begins again: what it was saying is given up.
    pub(super) fn retried(&mut self, out: &mut Drafts) {
        for said in std::mem::take(&mut self.run.saying) {
            out.session(self.id.as_str()).message_abandoned(said);
        }
        self.run.retries += 1;
    }

    /// The key of a call that begins, or is spoken of again. The id alone does where no other call had it.
    pub(super) fn new_call(&mut self, call: &str, message: Option<&str>) -> String {
        let message = message.unwrap_or_default();
        let times = match self.next_calls.get(&call.to_owned()) {
            Some(known) if known.message == message && !known.is_done => return known.key.clone(),
            Some(known) => known.times + 1,
            None => 1,
        };
        let key = if times == 1 { call.to_owned() } else { format!("{call}#{times}") };
        let new = NextCall { message: message.to_owned(), key: key.clone(), times, is_done: false };
        self.next_calls.insert(call.to_owned(), new);
        key
    }

    /// The key of the latest call with this id.
    pub(super) fn call_key(&self, call: String) -> String {
        self.next_calls.get(&call).map(|known| known.key.clone()).unwrap_or(call)
    }

    /// The key of the latest call with this id, which is done: the id may be another's from now on.
    pub(super) fn call_done(&mut self, call: String) -> String {
        if let Some(known) = self.next_calls.get_mut(&call) {
            known.is_done = true;
        }
        self.call_key(call)
    }
}
