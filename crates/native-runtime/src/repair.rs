//! Repair of a payload that does not fit its type: the part that does not fit is removed, and the rest is decoded again.

use std::cell::Cell;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::decode::{DecodeError, Decoded, Native, read_text};
use crate::error::ReadError;
use crate::field::Field;
use crate::losses::{Repair, clear_reports, take_losses};

/// Maximum number of parts that are removed from one payload.
const MAX_REPAIRS: usize = 1000;

thread_local! {
    /// The path to the place where decoding failed, innermost step first. It is filled while the error is returned, so
    /// that successful decoding is not slowed down.
    static FAILED_IN: Cell<Vec<Step>> = const { Cell::new(Vec::new()) };
}

/// A key or an index on the path to the place where decoding failed.
struct Step {
    name: String,
    /// Whether the value around this part is meaningless without it.
    is_needed: bool,
}

/// Records that decoding failed inside an optional part under this key or index.
#[cold]
pub(crate) fn record_failure_in_optional(step: &str) {
    record_step(step, false);
}

/// Records that decoding failed inside a part without which the value around it is meaningless.
#[cold]
pub(crate) fn record_failure_in_needed(step: &str) {
    record_step(step, true);
}

fn record_step(name: &str, is_needed: bool) {
    let mut steps = FAILED_IN.take();
    steps.push(Step { name: name.to_owned(), is_needed });
    FAILED_IN.set(steps);
}

/// Decodes a text after strict decoding failed.
#[cold]
pub(crate) fn repair<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    let mut tree: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&replace_lone_surrogates(text)).map_err(|_| error))
        .map_err(|error| DecodeError::NotJson { reason: error.to_string() })?;
    let tag = tag_in_tree(&tree, T::OWN_TAG_KEYS);
    let mut repairs: Vec<Repair> = Vec::new();
    let mut removed: Vec<Vec<String>> = Vec::new();
    loop {
        // With the tags first, every error is reported with its full path.
        let ordered = TagsFirst { tree: &tree, tag_keys: T::TAG_KEYS }.to_text();
        clear_reports();
        FAILED_IN.take();
        let mut place = None;
        let error = match (read_text(&mut place, &ordered), place) {
            (Ok(()), Some(value)) => {
                let original = |steps: &[String]| original_path(&tree, steps, &removed);
                return Ok(Decoded { value, losses: take_losses(repairs, &ordered, original, || tag) });
            }
            (Ok(()), None) => ReadError::syntax(),
            (Err(error), _) => error,
        };
        let mut failed = FAILED_IN.take();
        failed.reverse();
        let mut steps: Vec<String> = failed.iter().map(|step| step.name.clone()).collect();
        let repair = Repair { path: join_path(&original_path(&tree, &steps, &removed)), reason: error.to_string() };
        // A value that loses a needed part is removed as a whole.
        let needed = failed.iter().rev().take_while(|step| step.is_needed).count();
        steps.truncate(steps.len() - needed);
        let original = original_path(&tree, &steps, &removed);
        if removed.len() == MAX_REPAIRS || !remove(&mut tree, &steps) {
            return Err(DecodeError::Mismatch { tag, path: repair.path, reason: repair.reason });
        }
        removed.push(original);
        repairs.push(repair);
    }
}

/// Formats a path: its steps joined by dots, `.` for the payload itself.
pub(crate) fn join_path(steps: &[String]) -> String {
    if steps.is_empty() { ".".to_owned() } else { steps.join(".") }
}

/// The path that `steps` had before the elements at `removed` were removed from their lists.
fn original_path(tree: &Value, steps: &[String], removed: &[Vec<String>]) -> Vec<String> {
    let mut original: Vec<String> = Vec::with_capacity(steps.len());
    let mut node = Some(tree);
    for step in steps {
        let index = node.filter(|node| node.is_array()).and_then(|_| step.parse::<usize>().ok());
        node = node.and_then(|node| index.map_or_else(|| node.get(step), |index| node.get(index)));
        let step = index.map_or_else(|| step.clone(), |index| original_index(index, &original, removed).to_string());
        original.push(step);
    }
    original
}

/// The index that the element at `index` of `list` had before elements of the list were removed.
fn original_index(index: usize, list: &[String], removed: &[Vec<String>]) -> usize {
    let removed = removed.iter().filter(|path| path.len() == list.len() + 1 && path.starts_with(list));
    let mut removed: Vec<usize> = removed.filter_map(|path| path.last()?.parse().ok()).collect();
    removed.sort_unstable();
    removed.into_iter().fold(index, |index, removed| if removed <= index { index + 1 } else { index })
}

/// The text with `\ufffd` in place of every escape that is half of a surrogate pair.
///
/// JavaScript may cut a string between the two halves of a pair, and then writes the remaining half as an escape. Such an
/// escape is not a character.
fn replace_lone_surrogates(text: &str) -> String {
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at + 12,
            (Some(0xd800..=0xdfff), _) => {
                replaced.push_str(&text[copied..at]);
                replaced.push_str("\\ufffd");
                copied = at + 6;
                copied
            }
            // The backslash and the character that it escapes.
            _ => text[at + 1..].chars().next().map_or(text.len(), |escaped| at + 1 + escaped.len_utf8()),
        };
    }
    replaced.push_str(&text[copied..]);
    replaced
}

/// Removes the value at `steps`; `false` if that is the payload itself or there is no such value.
fn remove(tree: &mut Value, steps: &[String]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    let mut node = tree;
    for step in parents {
        let child = match node {
            Value::Array(elements) => step.parse().ok().and_then(|index: usize| elements.get_mut(index)),
            Value::Object(map) => map.get_mut(step),
            _ => None,
        };
        match child {
            Some(child) => node = child,
            None => return false,
        }
    }
    match node {
        Value::Array(elements) => match last.parse() {
            Ok(index) if index < elements.len() => {
                elements.remove(index);
                true
            }
            _ => false,
        },
        Value::Object(map) => map.remove(last).is_some(),
        _ => false,
    }
}

/// The tag of a payload: the values of `keys`, joined by `/`.
fn tag_in_tree(tree: &Value, keys: &[&str]) -> String {
    let tags: Vec<&str> = keys.iter().filter_map(|key| tree.get(key)?.as_str()).collect();
    tags.join("/")
}

/// A tree, written with the tag keys of every object first.
struct TagsFirst<'a> {
    tree: &'a Value,
    tag_keys: &'static [&'static str],
}

impl TagsFirst<'_> {
    fn to_text(&self) -> String {
        // Writing a tree of strings and numbers to memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn child<'b>(&self, tree: &'b Value) -> TagsFirst<'b> {
        TagsFirst { tree, tag_keys: self.tag_keys }
    }
}

impl Serialize for TagsFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.tree {
            Value::Array(list) => serializer.collect_seq(list.iter().map(|element| self.child(element))),
            Value::Object(map) => {
                let mut out = serializer.serialize_map(Some(map.len()))?;
                for key in self.tag_keys {
                    if let Some(value) = map.get(*key) {
                        out.serialize_entry(key, &self.child(value))?;
                    }
                }
                for (key, value) in map {
                    if !self.tag_keys.contains(&key.as_str()) {
                        out.serialize_entry(key, &self.child(value))?;
                    }
                }
                out.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn the_original_path_counts_removed_elements() {
        let tree = json!({ "list": [{ "a": 1 }, { "a": 2 }], "map": { "0": 1 } });
        let removed = [path("list.0"), path("list.2"), path("other.1")];
        assert_eq!(original_path(&tree, &path("list.0"), &removed), path("list.1"));
        assert_eq!(original_path(&tree, &path("list.1.a"), &removed), path("list.3.a"));
        assert_eq!(original_path(&tree, &path("map.0"), &removed), path("map.0"));
    }

    #[test]
    fn only_a_lone_surrogate_is_replaced() {
        let cases = [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00b""#, r#""\ufffdb""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
        ];
        for (text, expected) in cases {
            assert_eq!(replace_lone_surrogates(text), expected);
        }
    }

    #[test]
    fn a_value_is_removed_from_its_list_or_object() {
        let mut tree = json!({ "list": [1, { "a": 2 }] });
        assert!(remove(&mut tree, &path("list.1.a")));
        assert!(remove(&mut tree, &path("list.0")));
        assert_eq!(tree, json!({ "list": [{}] }));
        for missing in ["list.1", "list.x", "gone", "gone.a", "list.0.a.b"] {
            assert!(!remove(&mut tree, &path(missing)), "{missing}");
        }
        assert!(!remove(&mut tree, &[]));
    }

    #[test]
    fn tags_are_written_first() {
        let tree = json!({ "a": { "b": 1, "type": "x" }, "subtype": "z", "type": "y" });
        let ordered = TagsFirst { tree: &tree, tag_keys: &["type", "subtype"] }.to_text();
        assert_eq!(ordered, r#"{"type":"y","subtype":"z","a":{"type":"x","b":1}}"#);
    }

    proptest! {
        #[test]
        fn a_text_without_lone_surrogates_is_unchanged(string in any::<String>()) {
            let text = serde_json::to_string(&string).unwrap();
            prop_assert_eq!(replace_lone_surrogates(&text), text);
        }

        #[test]
        fn a_text_with_any_escapes_becomes_valid_json(inner in r"(a|\\\\|\\u[0-9a-f]{4}|\\ud83d|\\ude00){0,12}") {
            let text = format!("\"{inner}\"");
            prop_assert!(serde_json::from_str::<String>(&replace_lone_surrogates(&text)).is_ok(), "{}", text);
        }
    }
}
