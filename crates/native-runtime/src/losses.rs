//! What a decoded payload lost: parts that were removed, fields that are missing, and tags, values and kinds of JSON
//! that the types do not know.
//!
//! While a payload is read, a missing or unknown part is only noted with its offset. Its path is found afterwards, in a
//! second pass over the text, so that a payload without losses pays nothing.

use std::borrow::Cow;
use std::cell::Cell;

use crate::error::ReadResult;
use crate::reader::Reader;
use crate::repair::join_path;

/// How many missing and unknown parts of one payload are reported.
const MAX_NOTED: usize = 1000;
/// How many characters of an unknown tag or value are reported.
const MAX_WORD_CHARS: usize = 80;
/// How deep noted parts are searched for; typed values do not nest deeper.
const MAX_DEPTH: usize = 120;

/// What a payload lost in decoding; empty for nearly every payload, so that it is one pointer wide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(Option<Box<LossList>>);

/// The losses of a payload by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossList {
    /// The payload's tag, the values of its keys joined by `/`. Empty if it has none, or if nothing was lost.
    pub tag: String,
    /// The parts that were removed because they do not fit their declared type, or lack a needed field.
    pub repairs: Vec<Repair>,
    /// The objects in which expected fields are missing or null.
    pub missing: Vec<MissingFields>,
    /// The parts that are kept and that the types do not know.
    pub unknown: Vec<UnknownPart>,
}

impl LossList {
    /// No losses.
    pub const EMPTY: Self = Self { tag: String::new(), repairs: Vec::new(), missing: Vec::new(), unknown: Vec::new() };
}

static NO_LOSSES: LossList = LossList::EMPTY;

impl Losses {
    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the losses.
    #[must_use]
    pub fn into_list(self) -> LossList {
        self.0.map_or(LossList::EMPTY, |list| *list)
    }

    /// Sets the tag of the payload, unless nothing was lost.
    pub(crate) fn set_tag(&mut self, tag: &str) {
        if let Some(list) = &mut self.0 {
            tag.clone_into(&mut list.tag);
        }
    }
}

impl From<LossList> for Losses {
    fn from(list: LossList) -> Self {
        Self((!list.is_empty()).then(|| Box::new(list)))
    }
}

impl std::ops::Deref for Losses {
    type Target = LossList;

    fn deref(&self) -> &LossList {
        self.0.as_deref().unwrap_or(&NO_LOSSES)
    }
}

impl LossList {
    /// The number of losses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.repairs.len() + self.missing.len() + self.unknown.len()
    }

    /// Whether nothing was lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The path and the reason of each loss.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let repairs = self.repairs.iter().map(|repair| (repair.path.as_str(), repair.reason.as_str()));
        let missing = self.missing.iter().map(|missing| (missing.path.as_str(), missing.reason.as_str()));
        let unknown = self.unknown.iter().map(|unknown| (unknown.path.as_str(), unknown.reason.as_str()));
        repairs.chain(missing).chain(unknown)
    }
}

/// A part of a payload that does not fit. It was removed, together with the values around it that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The path of the part in the payload, as `params.item.content.3`.
    pub path: String,
    /// Why the part does not fit.
    pub reason: String,
}

/// An object in which expected fields are missing or null. It is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFields {
    /// The path of the object, as `message.usage`; `.` is the payload itself.
    pub path: String,
    /// What is missing, as ``Usage lacks `input_tokens`, `output_tokens` ``.
    pub reason: String,
}

/// A part of a payload that the types do not know. It is kept in the `Unknown` variant of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPart {
    /// The path of the part, as `params.item.status`; `.` is the payload itself.
    pub path: String,
    /// What is unknown, as ``unknown value `perhaps` of CommandExecutionStatus``.
    pub reason: String,
    /// Which aspect of the part is unknown.
    pub kind: UnknownKind,
}

/// Which aspect of a part is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKind {
    /// The tag of a union.
    Tag,
    /// The value of a string enum.
    Value,
    /// The kind of JSON, as a number in place of a string or a list.
    JsonKind,
}

/// A missing or unknown part of the payload that is being read.
struct Noted {
    /// The offset of the last byte of the unknown part, or of the object in which fields are missing.
    last_byte: usize,
    reason: String,
    aspect: Aspect,
}

enum Aspect {
    Missing,
    Unknown(UnknownKind),
}

thread_local! {
    /// The missing and unknown parts of the payload that is being read. Nested values have no other way to report them.
    static NOTED: Cell<Vec<Noted>> = const { Cell::new(Vec::new()) };
    /// Whether there are any, which is faster to check.
    static HAS_NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the object before `reader` lacks expected fields.
#[cold]
pub(crate) fn report_missing(name: &str, keys: &[&str], reader: &Reader<'_>) {
    note(Aspect::Missing, format!("{name} lacks `{}`", keys.join("`, `")), reader);
}

/// Notes an unknown tag of the object before `reader`.
#[cold]
pub(crate) fn report_unknown_tag(union: &str, tag: &str, reader: &Reader<'_>) {
    note(Aspect::Unknown(UnknownKind::Tag), ["unknown tag `", &clip(tag), "` of ", union].concat(), reader);
}

/// Notes an unknown value of a string enum, the value before `reader`.
#[cold]
pub fn report_unknown_value(name: &str, value: &str, reader: &Reader<'_>) {
    note(Aspect::Unknown(UnknownKind::Value), format!("unknown value `{}` of {name}", clip(value)), reader);
}

/// Notes a value of a kind that its union does not have, the value before `reader`.
#[cold]
pub(crate) fn report_unknown_kind(union: &str, found: &str, reader: &Reader<'_>) {
    note(Aspect::Unknown(UnknownKind::JsonKind), format!("{found} is no {union}"), reader);
}

fn note(aspect: Aspect, reason: String, reader: &Reader<'_>) {
    let mut noted = NOTED.take();
    // Most payloads have no more than one.
    noted.reserve_exact(usize::from(noted.is_empty()));
    if noted.len() < MAX_NOTED {
        noted.push(Noted { last_byte: reader.offset().saturating_sub(1), reason, aspect });
    }
    NOTED.set(noted);
    HAS_NOTED.set(true);
}

/// Discards what an earlier reading has noted.
#[inline]
pub(crate) fn forget_noted() {
    if HAS_NOTED.replace(false) {
        NOTED.take();
    }
}

/// Returns the losses of the payload that was read from `text`. `original_path` turns a path in the text into one in the
/// payload.
#[inline]
pub(crate) fn take_noted(
    repairs: Vec<Repair>,
    text: &str,
    original_path: impl Fn(&[String]) -> Vec<String>,
    tag: impl FnOnce() -> String,
) -> Losses {
    if !HAS_NOTED.replace(false) && repairs.is_empty() {
        return Losses::default();
    }
    locate(NOTED.take(), text, original_path, LossList { tag: tag(), repairs, ..LossList::EMPTY }).into()
}

#[cold]
fn locate(
    mut noted: Vec<Noted>,
    text: &str,
    original_path: impl Fn(&[String]) -> Vec<String>,
    mut losses: LossList,
) -> LossList {
    // The last byte of the text belongs to the payload itself, which is the most frequent unknown part.
    let end = text.trim_end().len() - 1;
    if let [Noted { last_byte, .. }] = noted.as_slice()
        && *last_byte >= end
    {
        losses.extend(noted.into_iter().map(|noted| (noted, ".".to_owned())));
        return losses;
    }
    noted.sort_by_key(|noted| noted.last_byte);
    let offsets: Vec<usize> = noted.iter().map(|noted| noted.last_byte).collect();
    let mut paths = Vec::with_capacity(noted.len());
    // The text has been read without an error before.
    let _ = find_paths(&mut Reader::new(text), &mut Vec::new(), &mut offsets.as_slice(), &mut paths);
    paths.resize(noted.len(), Vec::new());
    losses.extend(noted.into_iter().zip(paths).map(|(noted, path)| (noted, join_path(&original_path(&path)))));
    losses
}

impl LossList {
    /// Adds noted parts with their paths.
    fn extend(&mut self, noted: impl Iterator<Item = (Noted, String)>) {
        for (Noted { reason, aspect, .. }, path) in noted {
            match aspect {
                Aspect::Unknown(kind) if self.unknown.is_empty() => {
                    self.unknown = vec![UnknownPart { path, reason, kind }]
                }
                Aspect::Missing => self.missing.push(MissingFields { path, reason }),
                Aspect::Unknown(kind) => self.unknown.push(UnknownPart { path, reason, kind }),
            }
        }
    }
}

/// Skips a value and finds the path of the innermost value around each offset. Offsets are in ascending order.
fn find_paths(
    reader: &mut Reader<'_>,
    steps: &mut Vec<String>,
    offsets: &mut &[usize],
    paths: &mut Vec<Vec<String>>,
) -> ReadResult<()> {
    match reader.peek() {
        b'{' if steps.len() < MAX_DEPTH && !offsets.is_empty() => {
            let mut members = reader.enter_object()?;
            while let Some(key) = members.next_key(reader)? {
                steps.push(key.into_owned());
                find_paths(reader, steps, offsets, paths)?;
                steps.pop();
            }
        }
        b'[' if steps.len() < MAX_DEPTH && !offsets.is_empty() => {
            let mut elements = reader.enter_list()?;
            let mut index = 0_usize;
            while elements.advance(reader)? {
                steps.push(index.to_string());
                find_paths(reader, steps, offsets, paths)?;
                steps.pop();
                index += 1;
            }
        }
        _ => reader.skip()?,
    }
    while let [first, rest @ ..] = *offsets
        && *first < reader.offset()
    {
        paths.push(steps.clone());
        *offsets = rest;
    }
    Ok(())
}

/// The beginning of a tag or value that may be very long.
fn clip(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(MAX_WORD_CHARS) {
        None => Cow::Borrowed(word),
        Some((end, _)) => Cow::Owned(format!("{}…", &word[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, offsets: &[usize]) -> Vec<String> {
        let mut paths = Vec::new();
        find_paths(&mut Reader::new(text), &mut Vec::new(), &mut &*offsets, &mut paths).unwrap();
        paths.iter().map(|path| join_path(path)).collect()
    }

    #[test]
    fn an_offset_belongs_to_the_innermost_value_around_it() {
        let text = r#"{"a": [1, {"b": "x"}], "c": 2}"#;
        let offset = |part: &str| text.find(part).unwrap() + part.len() - 1;
        let offsets = [offset("1"), offset("\"x\""), offset("\"x\"}"), offset("2"), text.len() - 1];
        assert_eq!(find(text, &offsets), ["a.0", "a.1.b", "a.1", "c", "."]);
    }

    #[test]
    fn a_payload_without_losses_has_an_empty_list() {
        assert!(Losses::default().is_empty());
        assert!(Losses::from(LossList::EMPTY).is_empty());
        assert_eq!(Losses::default().into_list(), LossList::EMPTY);
    }

    #[test]
    fn a_long_word_is_cut_between_characters() {
        assert_eq!(clip("short"), "short");
        assert_eq!(clip(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
