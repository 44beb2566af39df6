//! Strict first, then lenient: one wrong part costs that part and not the event.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{Deserialize as _, DeserializeOwned, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault::{self, Fault};
use super::losses::{Losses, Repair, forget_noted, take_noted};
use super::object::Field;
use super::reader::Reader;

/// How many parts of one payload may be left out before it counts as something else altogether.
const MOST_REPAIRS: usize = 1000;

/// A type that an agent's payload decodes into.
pub trait Native: DeserializeOwned + Serialize {
    /// The keys that tell this module's unions apart.
    #[doc(hidden)]
    const TAG_KEYS: &'static [&'static str];

    /// The keys that tell apart the members of this type itself, in the order in which they are looked at.
    #[doc(hidden)]
    const OWN_TAG_KEYS: &'static [&'static str];

    /// Decodes one payload.
    ///
    /// Unknown tags and unknown enum values are no failure; [`Losses::unknown`] names them. Unknown fields are passed
    /// over. Where a known part does not fit its declared type or lacks a field that its meaning needs, the nearest
    /// optional field or list element is left out, and [`Losses::repairs`] names it.
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
    /// What the payload lost on the way; empty for nearly every payload.
    pub losses: Losses,
}

impl<T> Decoded<T> {
    /// Names a payload that has no tag of its own by the request that it answers.
    pub(crate) fn answers(mut self, request: &str) -> Self {
        self.losses.set_tag(request);
        self
    }

    /// The same payload as another type around the value.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Decoded<U> {
        Decoded { value: wrap(self.value), losses: self.losses }
    }
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
    forget_noted();
    let mut place = None;
    // The value may be wide, so it is not moved more often than it has to be.
    if read(&mut place, text).is_ok()
        && let Some(value) = place
    {
        let losses = take_noted(Vec::new(), text, <[String]>::to_vec, || tag_in(text, T::OWN_TAG_KEYS));
        return Ok(Decoded { value, losses });
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
    let value = T::field(&mut Reader::new(text.get())).map_err(D::Error::custom);
    // Serde has no place for them.
    forget_noted();
    value
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
    /// Where the decoding that just failed stood, innermost first. Filled on the way out, so success pays nothing.
    static FAILED_IN: Cell<Vec<Step>> = const { Cell::new(Vec::new()) };
}

/// A key or an index on the way to where decoding failed.
struct Step {
    name: String,
    /// What stands around it cannot be without it.
    is_needed: bool,
}

/// Notes that decoding failed inside an optional part under this key or index.
#[cold]
pub(crate) fn failed_in(step: &str) {
    note_step(step, false);
}

/// Notes that decoding failed inside a part that what stands around it cannot be without.
#[cold]
pub(crate) fn failed_in_needed(step: &str) {
    note_step(step, true);
}

fn note_step(name: &str, is_needed: bool) {
    let mut steps = FAILED_IN.take();
    steps.push(Step { name: name.to_owned(), is_needed });
    FAILED_IN.set(steps);
}

#[cold]
fn repair<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    let mut tree: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&whole_characters(text)).map_err(|_| error))
        .map_err(|error| DecodeError::NotJson { reason: error.to_string() })?;
    let tag = tag_of(&tree, T::OWN_TAG_KEYS);
    let mut repairs: Vec<Repair> = Vec::new();
    let mut removed: Vec<Vec<String>> = Vec::new();
    loop {
        // Tags go first, so that nothing is buffered and every error has its full path.
        let ordered = Ordered { tree: &tree, first: T::TAG_KEYS }.to_text();
        forget_noted();
        FAILED_IN.take();
        let mut place = None;
        let fault = match (read(&mut place, &ordered), place) {
            (Ok(()), Some(value)) => {
                let stood = |steps: &[String]| where_it_stood(&tree, steps, &removed);
                return Ok(Decoded { value, losses: take_noted(repairs, &ordered, stood, || tag) });
            }
            (Ok(()), None) => Fault::syntax(),
            (Err(fault), _) => fault,
        };
        let mut failed = FAILED_IN.take();
        failed.reverse();
        let mut steps: Vec<String> = failed.iter().map(|step| step.name.clone()).collect();
        let repair = Repair { path: join(&where_it_stood(&tree, &steps, &removed)), reason: fault.to_string() };
        // What stands around a needed part cannot be without it.
        let needed = failed.iter().rev().take_while(|step| step.is_needed).count();
        steps.truncate(steps.len() - needed);
        let stood = where_it_stood(&tree, &steps, &removed);
        if removed.len() == MOST_REPAIRS || !remove(&mut tree, &steps) {
            return Err(DecodeError::Misfit { tag, path: repair.path, reason: repair.reason });
        }
        removed.push(stood);
        repairs.push(repair);
    }
}

/// Formats a path: its steps joined by dots, `.` for the payload itself.
pub(super) fn join(steps: &[String]) -> String {
    if steps.is_empty() { ".".to_owned() } else { steps.join(".") }
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

/// The tag of a payload that has been read.
#[cold]
fn tag_in(text: &str, keys: &[&str]) -> String {
    let mut tag = String::new();
    for value in keys.iter().filter_map(|key| string_at(text, key)) {
        if !tag.is_empty() {
            tag.push('/');
        }
        tag.push_str(&value);
    }
    tag
}

/// The string under `key` in the object that `text` is.
fn string_at<'a>(text: &'a str, key: &str) -> Option<Cow<'a, str>> {
    let mut reader = Reader::new(text);
    let mut members = reader.object().ok()?;
    while members.key(&mut reader).ok()?? != key {
        reader.skip().ok()?;
    }
    reader.string().ok()
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
