//! Writing events fast.
//!
//! The bytes are those of serde, which reads what is written here; only the way there is shorter. Every key with its
//! quotation marks is one constant, names of variants are too, and texts are looked through eight bytes at a time.
//! The tests hold every event type and every part against serde.

mod data;
mod names;
mod parts;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::io;

use crate::{EventData, UniversalEvent};

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

/// The type of an event.
struct Kind<'a>(&'a EventData);

impl Json for Kind<'_> {
    fn json(&self, out: &mut Vec<u8>) {
        match self.0 {
            EventData::Unknown(event) => event.kind.json(out),
            // In our own names there is nothing to be escaped.
            known => {
                out.push(b'"');
                out.extend_from_slice(known.kind().as_bytes());
                out.push(b'"');
            }
        }
    }
}

impl UniversalEvent {
    /// Appends the event as one line of JSON, without the line break: the same bytes as `serde_json::to_writer`.
    ///
    /// # Errors
    ///
    /// Never: memory does not fail to be written. It fits where writers may.
    pub fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        object!(out, {
            "event_id": self.event_id,
            "sequence": self.sequence,
            "time": self.time,
            "session_id": self.session_id,
            "native_session_id": self.native_session_id,
            "source": self.origin.source(),
            "synthetic": self.origin.is_synthetic(),
            "type": Kind(&self.data),
            "data": self.data,
            "raw": self.raw,
        });
        Ok(())
    }
}
