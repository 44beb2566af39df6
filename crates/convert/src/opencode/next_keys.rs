//! Keys of the items of the v2 API. Its text ids are unique only within a message, and ids repeat after a retry.

use super::session::Session;
use crate::Drafts;

/// Key and native id of a text or reasoning.
pub(super) struct StreamKey {
    pub(super) key: String,
    pub(super) native_id: String,
}

/// Latest call with an id.
#[derive(Debug)]
pub(super) struct NextCall {
    /// Message that contains the call.
    message: String,
    key: String,
    /// Number of calls with this id.
    starts: u32,
    is_complete: bool,
}

impl Session {
    /// Key of a text or reasoning that streams.
    pub(super) fn start_stream(&mut self, message: &str, id: Option<String>) -> StreamKey {
        let stream = self.stream_key(message, id);
        if !self.turn.streaming.contains(&stream.key) {
            self.turn.streaming.push(stream.key.clone());
        }
        stream
    }

    /// Key of a text or reasoning that ends.
    pub(super) fn end_stream(&mut self, message: &str, id: Option<String>) -> StreamKey {
        let stream = self.stream_key(message, id);
        self.turn.streaming.retain(|key| *key != stream.key);
        stream
    }

    fn stream_key(&self, message: &str, id: Option<String>) -> StreamKey {
        let native_id = format!("{message}:{}", id.unwrap_or_default());
        let key = if self.turn.retries == 0 { native_id.clone() } else { format!("{native_id}#{}", self.turn.retries) };
        StreamKey { key, native_id }
    }

    /// Abandons all streams, because the agent retries the request.
    pub(super) fn abandon_streams(&mut self, out: &mut Drafts) {
        for key in std::mem::take(&mut self.turn.streaming) {
            out.session(self.id.as_str()).message_abandoned(key);
        }
        self.turn.retries += 1;
    }

    /// Key of a call that starts, or of an open call that is reported again. The first call with an id has the id as
    /// key.
    pub(super) fn start_call(&mut self, call: &str, message: Option<&str>) -> String {
        let message = message.unwrap_or_default();
        let starts = match self.next_calls.get(&call.to_owned()) {
            Some(known) if known.message == message && !known.is_complete => return known.key.clone(),
            Some(known) => known.starts + 1,
            None => 1,
        };
        let key = if starts == 1 { call.to_owned() } else { format!("{call}#{starts}") };
        let started = NextCall { message: message.to_owned(), key: key.clone(), starts, is_complete: false };
        self.next_calls.insert(call.to_owned(), started);
        key
    }

    /// Key of the latest call with this id.
    pub(super) fn call_key(&self, call: String) -> String {
        self.next_calls.get(&call).map(|known| known.key.clone()).unwrap_or(call)
    }

    /// Completes the latest call with this id and returns its key. The id may be used again.
    pub(super) fn complete_call(&mut self, call: String) -> String {
        if let Some(known) = self.next_calls.get_mut(&call) {
            known.is_complete = true;
        }
        self.call_key(call)
    }
}
