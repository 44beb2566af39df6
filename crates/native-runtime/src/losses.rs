//! Losses of a decoded payload: parts that were removed, fields that are missing, and tags, values and JSON kinds that the
//! types do not know.
//!
//! While a payload is read, a missing or unknown part is only reported with its offset. Its path is found afterwards, in a
//! second pass over the text, so that payloads without losses are decoded at full speed.

use std::borrow::Cow;
use std::cell::Cell;

use crate::error::ReadResult;
use crate::reader::Reader;
use crate::repair::join_path;

/// Maximum number of missing and unknown parts that are reported for one payload.
const MAX_REPORTS: usize = 1000;
/// Maximum number of characters of an unknown tag or value in a report.
const MAX_VALUE_CHARS: usize = 80;
/// Maximum depth of the search for reported parts. Typed values are not nested deeper.
const MAX_DEPTH: usize = 120;

/// The losses of a payload. It is one pointer wide, because nearly every payload has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses(Option<Box<LossList>>);

/// The losses of a payload by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossList {
    /// The payload's tag: the values of its tag keys, joined by `/`. Empty if it has none, or if nothing was lost.
    pub tag: String,
    /// Parts that were removed because they do not fit their type or lack a needed field.
    pub repairs: Vec<Repair>,
    /// Objects in which expected fields are missing or null.
    pub missing: Vec<MissingFields>,
    /// Parts that the types do not know. They are kept.
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

    /// Returns the list of losses.
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

/// A part of a payload that does not fit its type. It was removed, together with the values around it that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// Path of the part in the payload, such as `params.item.content.3`.
    pub path: String,
    /// Why the part does not fit.
    pub reason: String,
}

/// An object in which expected fields are missing or null. It is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingFields {
    /// Path of the object, such as `message.usage`; `.` is the payload itself.
    pub path: String,
    /// What is missing, such as ``Usage lacks `input_tokens`, `output_tokens` ``.
    pub reason: String,
}

/// A part of a payload that the types do not know. It is kept in the `Unknown` variant of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPart {
    /// Path of the part, such as `params.item.status`; `.` is the payload itself.
    pub path: String,
    /// What is unknown, such as ``unknown value `perhaps` of CommandExecutionStatus``.
    pub reason: String,
    /// Whether its tag, value or JSON kind is unknown.
    pub kind: UnknownKind,
}

/// What is unknown about a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownKind {
    /// The tag of a union.
    Tag,
    /// The value of a string enum.
    Value,
    /// The JSON kind, such as a number where the schema lists a string and a list.
    JsonKind,
}

/// A missing or unknown part of the payload that is being read.
struct Report {
    /// The offset of the last byte of the unknown part, or of the object in which fields are missing.
    last_byte: usize,
    reason: String,
    kind: ReportKind,
}

enum ReportKind {
    Missing,
    Unknown(UnknownKind),
}

thread_local! {
    /// The reports about the payload that is being read. A thread-local, because nested values cannot return them.
    static REPORTS: Cell<Vec<Report>> = const { Cell::new(Vec::new()) };
    /// Whether there are any reports. Faster to check than `REPORTS`.
    static HAS_REPORTS: Cell<bool> = const { Cell::new(false) };
}

/// Reports that the object that ends at `reader` lacks expected fields.
#[cold]
pub(crate) fn report_missing(name: &str, keys: &[&str], reader: &Reader<'_>) {
    report(ReportKind::Missing, format!("{name} lacks `{}`", keys.join("`, `")), reader);
}

/// Reports an unknown tag of the object that ends at `reader`.
#[cold]
pub(crate) fn report_unknown_tag(union: &str, tag: &str, reader: &Reader<'_>) {
    report(ReportKind::Unknown(UnknownKind::Tag), ["unknown tag `", &truncate(tag), "` of ", union].concat(), reader);
}

/// Reports an unknown value of a string enum. The value ends at `reader`.
#[cold]
pub fn report_unknown_value(name: &str, value: &str, reader: &Reader<'_>) {
    report(ReportKind::Unknown(UnknownKind::Value), format!("unknown value `{}` of {name}", truncate(value)), reader);
}

/// Reports a value of a JSON kind that its union does not have. The value ends at `reader`.
#[cold]
pub(crate) fn report_unknown_kind(union: &str, found: &str, reader: &Reader<'_>) {
    report(ReportKind::Unknown(UnknownKind::JsonKind), format!("expected {union}, found {found}"), reader);
}

fn report(kind: ReportKind, reason: String, reader: &Reader<'_>) {
    let mut reports = REPORTS.take();
    // Most payloads have at most one.
    reports.reserve_exact(usize::from(reports.is_empty()));
    if reports.len() < MAX_REPORTS {
        reports.push(Report { last_byte: reader.offset().saturating_sub(1), reason, kind });
    }
    REPORTS.set(reports);
    HAS_REPORTS.set(true);
}

/// Discards the reports of an earlier payload.
#[inline]
pub(crate) fn clear_reports() {
    if HAS_REPORTS.replace(false) {
        REPORTS.take();
    }
}

/// Returns the losses of the payload that was read from `text`, and clears the reports. `original_path` maps a path in
/// the text to a path in the payload.
#[inline]
pub(crate) fn take_losses(
    repairs: Vec<Repair>,
    text: &str,
    original_path: impl Fn(&[String]) -> Vec<String>,
    tag: impl FnOnce() -> String,
) -> Losses {
    if !HAS_REPORTS.replace(false) && repairs.is_empty() {
        return Losses::default();
    }
    locate(REPORTS.take(), text, original_path, LossList { tag: tag(), repairs, ..LossList::EMPTY }).into()
}

/// Finds the paths of reported parts and adds them to the losses.
#[cold]
fn locate(
    mut reports: Vec<Report>,
    text: &str,
    original_path: impl Fn(&[String]) -> Vec<String>,
    mut losses: LossList,
) -> LossList {
    // Fast path: most reports are about the payload itself, which ends at the last byte of the text.
    let end = text.trim_end().len() - 1;
    if let [Report { last_byte, .. }] = reports.as_slice()
        && *last_byte >= end
    {
        losses.extend(reports.into_iter().map(|report| (report, ".".to_owned())));
        return losses;
    }
    reports.sort_by_key(|report| report.last_byte);
    let offsets: Vec<usize> = reports.iter().map(|report| report.last_byte).collect();
    let mut paths = Vec::with_capacity(reports.len());
    // The text was read without an error before.
    let _ = find_paths(&mut Reader::new(text), &mut Vec::new(), &mut offsets.as_slice(), &mut paths);
    paths.resize(reports.len(), Vec::new());
    losses.extend(reports.into_iter().zip(paths).map(|(report, path)| (report, join_path(&original_path(&path)))));
    losses
}

impl LossList {
    /// Adds reported parts with their paths.
    fn extend(&mut self, reports: impl Iterator<Item = (Report, String)>) {
        for (Report { reason, kind, .. }, path) in reports {
            match kind {
                ReportKind::Unknown(kind) if self.unknown.is_empty() => {
                    self.unknown = vec![UnknownPart { path, reason, kind }];
                }
                ReportKind::Missing => self.missing.push(MissingFields { path, reason }),
                ReportKind::Unknown(kind) => self.unknown.push(UnknownPart { path, reason, kind }),
            }
        }
    }
}

/// Skips a value and adds the path of the innermost value around each offset. Offsets are in ascending order.
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

/// The beginning of a tag or value, which may be very long.
fn truncate(value: &str) -> Cow<'_, str> {
    if value.len() <= MAX_VALUE_CHARS {
        return Cow::Borrowed(value);
    }
    match value.char_indices().nth(MAX_VALUE_CHARS) {
        None => Cow::Borrowed(value),
        Some((end, _)) => Cow::Owned(format!("{}…", &value[..end])),
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
    fn a_long_value_is_truncated_between_characters() {
        assert_eq!(truncate("short"), "short");
        assert_eq!(truncate(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
