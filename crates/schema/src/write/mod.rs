//! Writing events fast.
//!
//! The bytes are those of serde, which reads what is written here; only the way there is shorter. Every key with its
//! quotation marks is one constant, names of variants are too, and texts are looked through eight bytes at a time.
//! The tests hold every event type and every part against serde.

mod data;
mod lines;
mod metadata;
mod names;
mod parts;
#[cfg(test)]
mod tests;
mod text;
mod tool_input;
mod value;

use std::io;

use crate::{NativeSessionId, Origin, RawJson, SessionId, Source, Timestamp, UniversalEvent};
pub use lines::JsonLines;

/// Writes itself as JSON.
trait Json {
    /// Appends the JSON text.
    fn json(&self, out: &mut Vec<u8>);
}

/// Appends an object: `"key": value` always, `"key"?: option` unless it is `None`, `"key" = "text"` as it stands here.
macro_rules! object {
    ($out:ident, { $($members:tt)* }) => {{
        let start = $out.len();
        object!(@ $out, $($members)*);
        $crate::write::close($out, start);
    }};
    (@ $out:ident, $key:literal: $value:expr, $($rest:tt)*) => {
        $out.extend_from_slice(concat!(",\"", $key, "\":").as_bytes());
        $crate::write::Json::json(&$value, $out);
        object!(@ $out, $($rest)*);
    };
    (@ $out:ident, $key:literal?: $value:expr, $($rest:tt)*) => {
        if let Some(value) = &$value {
            $out.extend_from_slice(concat!(",\"", $key, "\":").as_bytes());
            $crate::write::Json::json(value, $out);
        }
        object!(@ $out, $($rest)*);
    };
    (@ $out:ident, $key:literal = $text:literal, $($rest:tt)*) => {
        $out.extend_from_slice(concat!(",\"", $key, "\":\"", $text, "\"").as_bytes());
        object!(@ $out, $($rest)*);
    };
    (@ $out:ident,) => {};
}
use object;

/// Ends an object whose members were written from `start` on, each with a comma before it: the first comma is where
/// the brace belongs.
fn close(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

/// What stands around an event's data, but for the session.
struct Envelope<'a> {
    event_id: &'a str,
    sequence: u64,
    time: Timestamp,
    origin: Origin,
    raw: Option<&'a RawJson>,
}

impl Envelope<'_> {
    /// Appends an event. `session` appends what says whose it is, and `data` its type and data, each member with a
    /// comma before it.
    #[inline]
    fn write(&self, out: &mut Vec<u8>, session: impl FnOnce(&mut Vec<u8>), data: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(br#"{"event_id":"#);
        self.event_id.json(out);
        out.extend_from_slice(br#","sequence":"#);
        self.sequence.json(out);
        out.extend_from_slice(br#","time":"#);
        self.time.json(out);
        session(out);
        match (self.origin.source(), self.origin.is_synthetic()) {
            (Source::Agent, false) => out.extend_from_slice(br#","source":"agent","synthetic":false"#),
            (Source::Agent, true) => out.extend_from_slice(br#","source":"agent","synthetic":true"#),
            (Source::Daemon, false) => out.extend_from_slice(br#","source":"daemon","synthetic":false"#),
            (Source::Daemon, true) => out.extend_from_slice(br#","source":"daemon","synthetic":true"#),
        }
        data(out);
        out.extend_from_slice(br#","raw":"#);
        self.raw.json(out);
        out.push(b'}');
    }
}

/// Appends the members that say whose an event is.
fn session(out: &mut Vec<u8>, session_id: &SessionId, native: Option<&NativeSessionId>) {
    out.extend_from_slice(br#","session_id":"#);
    session_id.json(out);
    out.extend_from_slice(br#","native_session_id":"#);
    native.json(out);
}

impl UniversalEvent {
    /// Appends the event as one line of JSON, without the line break: the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never: memory does not fail to be written. It fits where writers may.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = self;
        let event_id = event_id.as_str();
        let envelope = Envelope { event_id, sequence: *sequence, time: *time, origin: *origin, raw: raw.as_ref() };
        let session = |out: &mut Vec<u8>| self::session(out, session_id, native_session_id.as_ref());
        envelope.write(out, session, |out| data::with_type(out, data));
        Ok(())
    }
}
