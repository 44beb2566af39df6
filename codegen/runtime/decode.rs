//! Strict first, then lenient: one wrong part costs that part and not the event.

use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize as _, DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault;
use super::object::Field;
use super::reader::Reader;

/// How many parts of one payload may be left out before it counts as something else altogether.
const MOST_REPAIRS: usize = 1000;

/// A type that an agent's payload decodes into.
pub trait Native: DeserializeOwned + Serialize {
    /// The keys that tell this module's unions apart.
    #[doc(hidden)]
    const TAG_KEYS: &'static [&'static str];

    /// Decodes one payload.
    ///
    /// Unknown tags, unknown enum values and unknown fields are no failure. Where a known part does not fit its
    /// declared type, the nearest optional field or list element is left out and named in [`Decoded::repairs`].
    ///
    /// # Errors
    /// When the text is not JSON, or the payload does not fit even so.
    fn decode(text: &str) -> Result<Decoded<Self>, DecodeError>;
}

/// A union of this crate: which tags it knows, and which variant a value is.
pub trait Union: Sized {
    /// Each tag with the name of its variant.
    const TAGS: &'static [(&'static str, &'static str)];

    /// The name of this value's variant; `Unknown` for a tag that is not in [`Self::TAGS`].
    fn variant(&self) -> &'static str;
}

/// A decoded payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<T> {
    /// The typed value.
    pub value: T,
    /// Tags anywhere in the payload that the types do not know, each with its union: `ThreadItem sleep`.
    pub unknown_tags: Vec<String>,
    /// What had to be left out because it did not fit its declared type; empty for nearly every payload.
    pub repairs: Vec<Repair>,
}

impl<T> Decoded<T> {
    /// The same payload as another type around the value.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Decoded<U> {
        Decoded { value: wrap(self.value), unknown_tags: self.unknown_tags, repairs: self.repairs }
    }
}

/// A part of a payload that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where it stood: `params.item.content.3`.
    pub path: String,
    /// Why it did not fit.
    pub reason: String,
}

/// Why a payload could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is not one JSON value.
    NotJson {
        /// What the parser says.
        reason: String,
    },
    /// The text is JSON that does not fit the type.
    Misfit {
        /// The payload's tag, empty if it has none.
        tag: String,
        /// Where it does not fit; `.` is the payload itself.
        path: String,
        /// Why it does not fit.
        reason: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { reason } => write!(f, "not JSON: {reason}"),
            Self::Misfit { tag, path, reason } if tag.is_empty() => write!(f, "no known payload, at {path}: {reason}"),
            Self::Misfit { tag, path, reason } => write!(f, "`{tag}` does not fit its type at {path}: {reason}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes `text`; see [`Native::decode`].
pub(crate) fn decode<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    UNKNOWN_TAGS.take();
    let mut place = None;
    // The value may be wide, so it is not moved more often than it has to be.
    if read(&mut place, text).is_ok()
        && let Some(value) = place
    {
        return Ok(Decoded { value, unknown_tags: UNKNOWN_TAGS.take(), repairs: Vec::new() });
    }
    repair(text)
}

/// Reads the one value of a text to where it will stay.
fn read<T: Field>(place: &mut Option<T>, text: &str) -> fault::Result<()> {
    let mut reader = Reader::new(text);
    T::place(place, &mut reader)?;
    reader.end()
}

/// Reads a value through serde. What it stands in has to be JSON.
pub(crate) fn deserialize<'de, T: Field, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    T::field(&mut Reader::new(text.get())).map_err(D::Error::custom)
}

/// Makes a type that reads itself one of serde's.
macro_rules! readable {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::deserialize(deserializer)
            }
        }
    };
}
pub(crate) use readable;

thread_local! {
    /// The unknown tags of the payload being decoded. Serde gives a nested value no way to report to the top.
    static UNKNOWN_TAGS: Cell<Vec<String>> = const { Cell::new(Vec::new()) };
}

thread_local! {
    /// Where the decoding that just failed stood, innermost first. Filled on the way out, so success pays nothing.
    static FAILED_IN: Cell<Vec<String>> = const { Cell::new(Vec::new()) };
}

/// Notes that decoding failed inside `step`, a key or an index.
#[cold]
pub(crate) fn failed_in(step: &str) {
    let mut steps = FAILED_IN.take();
    steps.push(step.to_owned());
    FAILED_IN.set(steps);
}

/// Notes an unknown tag of the payload being decoded.
#[cold]
pub(crate) fn note_unknown_tag(union: &str, tag: &str) {
    let mut tags = UNKNOWN_TAGS.take();
    tags.push(format!("{union} {tag}"));
    UNKNOWN_TAGS.set(tags);
}

#[cold]
fn repair<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    let mut tree: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&whole_characters(text)).map_err(|_| error))
        .map_err(|error| DecodeError::NotJson { reason: error.to_string() })?;
    let mut repairs = Vec::new();
    let mut removed: Vec<Vec<String>> = Vec::new();
    loop {
        // Tags go first, so that nothing is buffered and every error has its full path.
        let ordered = Ordered { tree: &tree, first: T::TAG_KEYS }.to_text();
        UNKNOWN_TAGS.take();
        FAILED_IN.take();
        let mut place = None;
        let reason = match (read(&mut place, &ordered), place) {
            (Ok(()), Some(value)) => return Ok(Decoded { value, unknown_tags: UNKNOWN_TAGS.take(), repairs }),
            (Ok(()), None) => "nothing was read".to_owned(),
            (Err(fault), _) => fault.to_string(),
        };
        let mut steps = FAILED_IN.take();
        steps.reverse();
        let stood = where_it_stood(&tree, &steps, &removed);
        let path = if stood.is_empty() { ".".to_owned() } else { stood.join(".") };
        if repairs.len() == MOST_REPAIRS || !remove(&mut tree, &steps) {
            return Err(DecodeError::Misfit { tag: tag_of(&tree, T::TAG_KEYS), path, reason });
        }
        removed.push(stood);
        repairs.push(Repair { path, reason });
    }
}

/// The path that `steps` had before the elements at `removed` were taken out of their lists.
fn where_it_stood(tree: &Value, steps: &[String], removed: &[Vec<String>]) -> Vec<String> {
    let mut stood: Vec<String> = Vec::with_capacity(steps.len());
    let mut node = Some(tree);
    for step in steps {
        let index = node.filter(|node| node.is_array()).and_then(|_| step.parse::<usize>().ok());
        node = node.and_then(|node| index.map_or_else(|| node.get(step), |index| node.get(index)));
        let step = index.map_or_else(|| step.clone(), |index| first_index(index, &stood, removed).to_string());
        stood.push(step);
    }
    stood
}

/// The index that the element at `index` of `list` had before any of the list was removed.
fn first_index(index: usize, list: &[String], removed: &[Vec<String>]) -> usize {
    let gone = removed.iter().filter(|path| path.len() == list.len() + 1 && path.starts_with(list));
    let mut gone: Vec<usize> = gone.filter_map(|path| path.last()?.parse().ok()).collect();
    gone.sort_unstable();
    gone.into_iter().fold(index, |index, gone| if gone <= index { index + 1 } else { index })
}

/// The text with `\ufffd` for every escape that is half a character.
///
/// JavaScript cuts strings between the two halves of a surrogate pair, and writes what is left as an escape that
/// stands for no character.
fn whole_characters(text: &str) -> String {
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut whole = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at + 12,
            (Some(0xd800..=0xdfff), _) => {
                whole.push_str(&text[copied..at]);
                whole.push_str("\\ufffd");
                copied = at + 6;
                copied
            }
            // The backslash, and the character it escapes.
            _ => text[at + 1..].chars().next().map_or(text.len(), |escaped| at + 1 + escaped.len_utf8()),
        };
    }
    whole.push_str(&text[copied..]);
    whole
}

/// Removes what stands at `steps`; `false` if that is the payload itself or nothing is there.
fn remove(tree: &mut Value, steps: &[String]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    let mut node = tree;
    for step in parents {
        let next = match node {
            Value::Array(list) => step.parse().ok().and_then(|index: usize| list.get_mut(index)),
            Value::Object(map) => map.get_mut(step),
            _ => None,
        };
        match next {
            Some(next) => node = next,
            None => return false,
        }
    }
    match node {
        Value::Array(list) => match last.parse() {
            Ok(index) if index < list.len() => {
                list.remove(index);
                true
            }
            _ => false,
        },
        Value::Object(map) => map.remove(last).is_some(),
        _ => false,
    }
}

fn tag_of(tree: &Value, keys: &[&str]) -> String {
    let tags: Vec<&str> = keys.iter().filter_map(|key| tree.get(key)?.as_str()).collect();
    tags.join("/")
}

/// A tree written with the tag keys of every object first.
struct Ordered<'a> {
    tree: &'a Value,
    first: &'static [&'static str],
}

impl Ordered<'_> {
    fn to_text(&self) -> String {
        // Writing a tree of strings and numbers to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn at<'b>(&self, tree: &'b Value) -> Ordered<'b> {
        Ordered { tree, first: self.first }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.tree {
            Value::Array(list) => serializer.collect_seq(list.iter().map(|element| self.at(element))),
            Value::Object(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for key in self.first {
                    if let Some(value) = map.get(*key) {
                        out.serialize_entry(key, &self.at(value))?;
                    }
                }
                for (key, value) in map {
                    if !self.first.contains(&key.as_str()) {
                        out.serialize_entry(key, &self.at(value))?;
                    }
                }
                out.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}
