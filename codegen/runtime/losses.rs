//! What a decoded payload lost: parts that were left out, fields that are missing, and tags, values and kinds of JSON
//! that the types do not know.
//!
//! While a payload is read, a missing or unknown part is only noted with its offset. Where it stands is found
//! afterwards, in one more pass over the text, so that a payload that has lost nothing pays nothing.

use std::borrow::Cow;
use std::cell::Cell;

use super::decode::join;
use super::fault::Result;
use super::reader::Reader;

/// How many missing and unknown parts of one payload are noted.
const MAX_NOTED: usize = 1000;
/// How many characters of an unknown tag or value are told.
const MAX_WORD: usize = 80;
/// How deep noted parts are looked for; typed values do not nest deeper.
const MAX_DEPTH: usize = 120;

/// What a payload lost in decoding; empty for nearly every payload, so that it is one pointer wide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(Option<Box<LossList>>);

/// The losses of a payload by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossList {
    /// The payload's tag, each key's value joined by `/`. Empty if it has none, or if nothing was lost.
    pub tag: String,
    /// What was left out because it did not fit its declared type, or lacks a part that it cannot be without.
    pub repairs: Vec<Repair>,
    /// Where expected fields are missing or null.
    pub missing: Vec<Missing>,
    /// What is kept, but is nothing that the types know.
    pub unknown: Vec<Unknown>,
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

    /// The losses themselves.
    #[must_use]
    pub fn into_list(self) -> LossList {
        self.0.map_or(LossList::EMPTY, |list| *list)
    }

    /// Names the payload, unless nothing was lost.
    pub(crate) fn set_tag(&mut self, tag: &str) {
        if let Some(list) = &mut self.0 {
            tag.clone_into(&mut list.tag);
        }
    }
}

impl From<LossList> for Losses {
    fn from(list: LossList) -> Self {
        Self((list.len() > 0).then(|| Box::new(list)))
    }
}

impl std::ops::Deref for Losses {
    type Target = LossList;

    fn deref(&self) -> &LossList {
        self.0.as_deref().unwrap_or(&NO_LOSSES)
    }
}

impl LossList {
    /// How many losses there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.repairs.len() + self.missing.len() + self.unknown.len()
    }

    /// The path and the reason of each loss.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let repairs = self.repairs.iter().map(|repair| (repair.path.as_str(), repair.reason.as_str()));
        let missing = self.missing.iter().map(|missing| (missing.path.as_str(), missing.reason.as_str()));
        let unknown = self.unknown.iter().map(|unknown| (unknown.path.as_str(), unknown.reason.as_str()));
        repairs.chain(missing).chain(unknown)
    }
}

/// A part of a payload that did not fit, and was left out with whatever cannot be without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Where it stood: `params.item.content.3`.
    pub path: String,
    /// Why it did not fit.
    pub reason: String,
}

/// An object in which expected fields are missing or null. It is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Where it stands: `message.usage`; `.` is the payload itself.
    pub path: String,
    /// What is missing: ``Usage lacks `input_tokens`, `output_tokens` ``.
    pub reason: String,
}

/// A part of a payload that the types do not know. It is kept in an `Unknown` of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Where it stands: `params.item.status`; `.` is the payload itself.
    pub path: String,
    /// What it is: ``unknown value `perhaps` of CommandExecutionStatus``.
    pub reason: String,
    /// What about it is unknown.
    pub kind: UnknownKind,
}

/// What about a part is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKind {
    /// The tag of a union.
    Tag,
    /// The value of a string enum.
    Value,
    /// The kind of JSON: a number where a string or a list is known.
    JsonKind,
}

/// A part while its payload is being read.
struct Noted {
    /// The offset of the part's last byte, or of the object's in which it is missing.
    last_byte: usize,
    reason: String,
    what: What,
}

enum What {
    Missing,
    Unknown(UnknownKind),
}

thread_local! {
    /// The missing and unknown parts of the payload being read. A nested value has no other way to report to the top.
    static NOTED: Cell<Vec<Noted>> = const { Cell::new(Vec::new()) };
    /// Whether there are any, which is faster to ask.
    static HAS_NOTED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the object that `reader` stands behind lacks expected fields.
#[cold]
pub(crate) fn note_missing(name: &str, keys: &[&str], reader: &Reader<'_>) {
    note(What::Missing, format!("{name} lacks `{}`", keys.join("`, `")), reader);
}

/// Notes an unknown tag of the object that `reader` stands behind.
#[cold]
pub(crate) fn note_unknown_tag(union: &str, tag: &str, reader: &Reader<'_>) {
    note(What::Unknown(UnknownKind::Tag), ["unknown tag `", &clip(tag), "` of ", union].concat(), reader);
}

/// Notes an unknown value of a string enum, which `reader` stands behind.
#[cold]
pub(crate) fn note_unknown_value(name: &str, value: &str, reader: &Reader<'_>) {
    note(What::Unknown(UnknownKind::Value), format!("unknown value `{}` of {name}", clip(value)), reader);
}

/// Notes a value of a kind that its union does not have, which `reader` stands behind.
#[cold]
pub(crate) fn note_unknown_kind(union: &str, found: &str, reader: &Reader<'_>) {
    note(What::Unknown(UnknownKind::JsonKind), format!("{found} is no {union}"), reader);
}

fn note(what: What, reason: String, reader: &Reader<'_>) {
    let mut noted = NOTED.take();
    // Mostly there is no more than one.
    noted.reserve_exact(usize::from(noted.is_empty()));
    if noted.len() < MAX_NOTED {
        noted.push(Noted { last_byte: reader.offset().saturating_sub(1), reason, what });
    }
    NOTED.set(noted);
    HAS_NOTED.set(true);
}

/// Forgets what was noted in an earlier reading.
#[inline]
pub(crate) fn forget_noted() {
    if HAS_NOTED.replace(false) {
        NOTED.take();
    }
}

/// The losses of a payload that was read from `text`, with what was noted meanwhile. `stood` says what path a part of
/// the text had in the payload.
#[inline]
pub(crate) fn take_noted(
    repairs: Vec<Repair>,
    text: &str,
    stood: impl Fn(&[String]) -> Vec<String>,
    tag: impl FnOnce() -> String,
) -> Losses {
    if !HAS_NOTED.replace(false) && repairs.is_empty() {
        return Losses::default();
    }
    locate(NOTED.take(), text, stood, LossList { tag: tag(), repairs, ..LossList::EMPTY }).into()
}

#[cold]
fn locate(
    mut noted: Vec<Noted>,
    text: &str,
    stood: impl Fn(&[String]) -> Vec<String>,
    mut losses: LossList,
) -> LossList {
    // The last byte of the text is that of the payload itself, which is mostly what is unknown.
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
    // The text has been read once, so it can be read again.
    let _ = find_paths(&mut Reader::new(text), &mut Vec::new(), &mut offsets.as_slice(), &mut paths);
    paths.resize(noted.len(), Vec::new());
    losses.extend(noted.into_iter().zip(paths).map(|(noted, path)| (noted, join(&stood(&path)))));
    losses
}

impl LossList {
    /// Adds what was noted, with its path.
    fn extend(&mut self, noted: impl Iterator<Item = (Noted, String)>) {
        for (Noted { reason, what, .. }, path) in noted {
            match what {
                What::Unknown(kind) if self.unknown.is_empty() => self.unknown = vec![Unknown { path, reason, kind }],
                What::Missing => self.missing.push(Missing { path, reason }),
                What::Unknown(kind) => self.unknown.push(Unknown { path, reason, kind }),
            }
        }
    }
}

/// Passes over a value, and finds the path of the innermost value around each offset. Offsets are in order.
fn find_paths(
    reader: &mut Reader<'_>,
    steps: &mut Vec<String>,
    offsets: &mut &[usize],
    paths: &mut Vec<Vec<String>>,
) -> Result<()> {
    match reader.peek() {
        b'{' if steps.len() < MAX_DEPTH && !offsets.is_empty() => {
            let mut members = reader.object()?;
            while let Some(key) = members.key(reader)? {
                steps.push(key.into_owned());
                find_paths(reader, steps, offsets, paths)?;
                steps.pop();
            }
        }
        b'[' if steps.len() < MAX_DEPTH && !offsets.is_empty() => {
            let mut elements = reader.list()?;
            let mut index = 0_usize;
            while elements.next(reader)? {
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

/// The beginning of a word that may be very long.
fn clip(word: &str) -> Cow<'_, str> {
    match word.char_indices().nth(MAX_WORD) {
        None => Cow::Borrowed(word),
        Some((end, _)) => Cow::Owned(format!("{}…", &word[..end])),
    }
}
