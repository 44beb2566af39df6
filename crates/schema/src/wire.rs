//! The wire form of events: how a declaration becomes JSON.
//!
//! Every type of the wire is declared once, with one of the macros here:
//!
//! * [`wire_struct!`](crate::wire_struct): an object, field by field in the order of the wire;
//! * [`wire_enum!`](crate::wire_enum): a word, one of a list;
//! * [`wire_tagged_union!`](crate::wire_tagged_union): an object that names its own variant in `type`;
//! * [`wire_untagged_union!`](crate::wire_untagged_union): an object whose variant follows from a word elsewhere.
//!
//! A declaration gives the Rust type, its serde implementations, its JSON Schema (with the feature `json-schema` of the
//! crate that uses the macro) and [`WriteJson`]. The last writes the same bytes as serde, in less time: every key with
//! its punctuation is one constant, every listed word too, and texts are scanned sixteen bytes at a time. Tests compare
//! the two for every event type and every part.

mod lines;
mod macros;
#[cfg(test)]
mod tests;
mod text;
mod unknown_value;
mod value;

use serde::de::{self, DeserializeOwned, Unexpected};
use serde_json::Value;

pub use lines::JsonLines;
pub use text::write_string;
pub use unknown_value::UnknownValue;

/// Writes itself as JSON, in the bytes that serde would write.
pub trait WriteJson {
    /// Appends the JSON text.
    fn write_json(&self, out: &mut Vec<u8>);

    /// Appends the value as a member of an object, behind its key. The key comes with its punctuation.
    #[inline]
    fn write_member(&self, key: &'static str, out: &mut Vec<u8>) {
        out.extend_from_slice(key.as_bytes());
        self.write_json(out);
    }

    /// Whether a field that is declared with `?` is left out: it is `None` or an empty text.
    fn is_omitted(&self) -> bool {
        false
    }
}

/// [`WriteJson::is_omitted`], for serde.
pub fn is_omitted(value: &impl WriteJson) -> bool {
    value.is_omitted()
}

/// Reads an object.
///
/// # Errors
///
/// When the value is no object, or does not have the keys that it needs.
pub fn decode_object<T: DeserializeOwned>(json: &Value) -> Result<T, serde_json::Error> {
    // An array would be read as the fields in order.
    if json.is_array() {
        return Err(de::Error::invalid_type(Unexpected::Seq, &"an object"));
    }
    T::deserialize(json)
}

/// Ends an object whose members were written from `start` on, each with a comma before it: the first comma is where
/// the brace belongs.
pub fn close_object(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}
