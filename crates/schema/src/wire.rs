//! The JSON form of events, and the macros that declare it.
//!
//! Every type of the event stream is declared once, with one of these macros:
//!
//! * [`wire_struct!`](crate::wire_struct): an object with its keys in the order of declaration;
//! * [`wire_enum!`](crate::wire_enum): a string, one of a list;
//! * [`wire_tagged_union!`](crate::wire_tagged_union): an object whose `type` key names the variant;
//! * [`wire_untagged_union!`](crate::wire_untagged_union): an object whose variant is named outside of it.
//!
//! A declaration produces the Rust type, its serde implementations, its JSON Schema (with the feature `json-schema` of
//! the crate that uses the macro) and [`WriteJson`]. `WriteJson` writes the same bytes as serde, but faster: every key
//! with its punctuation is one constant, every listed string too, and strings are scanned sixteen bytes at a time. Tests
//! compare the two for every event type and every content part.

mod lines;
mod macros;
mod string;
#[cfg(test)]
mod tests;
mod unknown_value;
mod value;

use serde::de::{self, DeserializeOwned, Unexpected};
use serde_json::Value;

pub use lines::JsonLines;
pub use string::write_string;
pub use unknown_value::UnknownValue;

/// Writes a value as JSON, with the same bytes as serde.
pub trait WriteJson {
    /// Appends the value as JSON text.
    fn write_json(&self, out: &mut Vec<u8>);

    /// Appends the value as a member of an object, after its key. `key` includes the punctuation: `,"key":`.
    #[inline]
    fn write_member(&self, key: &'static str, out: &mut Vec<u8>) {
        out.extend_from_slice(key.as_bytes());
        self.write_json(out);
    }

    /// Whether a field that is declared with `?` is omitted: it is `None` or an empty string.
    fn is_omitted(&self) -> bool {
        false
    }
}

/// [`WriteJson::is_omitted`] as a function, for serde's `skip_serializing_if`.
pub fn is_omitted(value: &impl WriteJson) -> bool {
    value.is_omitted()
}

/// Decodes an object.
///
/// # Errors
///
/// If the value is not an object, lacks a required key, or a key has the wrong type.
pub fn decode_object<T: DeserializeOwned>(json: &Value) -> Result<T, serde_json::Error> {
    // Serde would read an array as the fields in order.
    if json.is_array() {
        return Err(de::Error::invalid_type(Unexpected::Seq, &"an object"));
    }
    T::deserialize(json)
}

/// Completes an object whose members were written from `start` on, each with a comma before it. The first comma becomes
/// the opening brace.
pub fn close_object(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}
