//! Corrupts recorded lines on purpose, for tests.

use serde_json::{Value, json};

/// A way to corrupt a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CorruptionKind {
    /// A tag is replaced by one that no schema has.
    UnknownTag,
    /// A string that is not a tag is replaced by an unknown one.
    UnknownValue,
    /// A value is replaced by one that may have another type.
    WrongType,
    /// A field or list element is removed.
    MissingField,
    /// A field that no schema has is added.
    ExtraField,
    /// An object has one key twice, with different values.
    DuplicateKey,
    /// The text is truncated.
    Truncated,
    /// Invalid text is inserted at some position.
    Garbage,
}

impl CorruptionKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::UnknownTag,
        Self::UnknownValue,
        Self::WrongType,
        Self::MissingField,
        Self::ExtraField,
        Self::DuplicateKey,
        Self::Truncated,
        Self::Garbage,
    ];
}

/// A corrupted line.
#[derive(Debug, Clone, PartialEq)]
pub struct CorruptedLine {
    /// The corrupted text.
    pub line: String,
    /// JSON pointer to the changed value. `None` if the text was changed without regard to its structure.
    pub pointer: Option<String>,
}

/// Keys whose values are tags.
const TAG_KEYS: [&str; 6] = ["type", "subtype", "method", "role", "status", "kind"];

/// Corrupts a line. `position` chooses where and `variant` chooses the replacement; both are taken modulo the number of
/// choices. Equal arguments give equal results.
///
/// A line that has no place for this kind of corruption gets [`Garbage`](CorruptionKind::Garbage).
#[must_use]
pub fn corrupt(line: &str, kind: CorruptionKind, position: usize, variant: usize) -> CorruptedLine {
    let Ok(mut tree) = serde_json::from_str::<Value>(line) else { return insert_garbage(line, position, variant) };
    let mut pointers = Vec::new();
    collect_pointers(&tree, String::new(), &mut pointers);
    let is_candidate = |pointer: &&String| {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let Some(value) = tree.pointer(pointer) else { return false };
        match kind {
            CorruptionKind::UnknownTag => TAG_KEYS.contains(&last) && value.is_string(),
            CorruptionKind::UnknownValue => value.is_string() && !TAG_KEYS.contains(&last),
            CorruptionKind::MissingField => !pointer.is_empty(),
            CorruptionKind::ExtraField | CorruptionKind::DuplicateKey => {
                value.as_object().is_some_and(|fields| !fields.is_empty())
            }
            CorruptionKind::WrongType => true,
            CorruptionKind::Truncated | CorruptionKind::Garbage => false,
        }
    };
    let candidates: Vec<&String> = pointers.iter().filter(is_candidate).collect();
    if candidates.is_empty() {
        return if kind == CorruptionKind::Truncated {
            truncate(line, position)
        } else {
            insert_garbage(line, position, variant)
        };
    }
    let pointer = candidates[position % candidates.len()].clone();
    let changed = |tree: &Value| CorruptedLine { line: tree.to_string(), pointer: Some(pointer.clone()) };
    match kind {
        CorruptionKind::MissingField => remove(&mut tree, &pointer),
        CorruptionKind::DuplicateKey => return duplicate_key(tree, pointer, variant),
        _ => {
            if let Some(value) = tree.pointer_mut(&pointer) {
                match (kind, value) {
                    (CorruptionKind::ExtraField, Value::Object(fields)) => {
                        fields.insert("no_such_field".to_owned(), replacement(variant));
                    }
                    (CorruptionKind::WrongType, value) => *value = replacement(variant),
                    (_, value) => *value = json!("no_such_value"),
                }
            }
        }
    }
    changed(&tree)
}

fn replacement(variant: usize) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5e300),
        json!("x"),
        json!([]),
        json!([[1]]),
        json!({}),
        json!({"x": 1}),
    ];
    values[variant % values.len()].clone()
}

fn collect_pointers(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect_pointers(value, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect_pointers(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}

fn remove(tree: &mut Value, pointer: &str) {
    let Some((parent, step)) = pointer.rsplit_once('/') else { return };
    match tree.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&step.replace("~1", "/").replace("~0", "~"));
        }
        Some(Value::Array(elements)) => {
            if let Some(index) = step.parse().ok().filter(|index| *index < elements.len()) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}

/// Repeats one key of an object. Works on the text, because a [`Value`] cannot hold a key twice.
fn duplicate_key(mut tree: Value, pointer: String, variant: usize) -> CorruptedLine {
    const PLACEHOLDER: &str = "\u{1}here\u{1}";
    let Some(Value::Object(fields)) = tree.pointer(&pointer) else {
        return CorruptedLine { line: tree.to_string(), pointer: Some(pointer) };
    };
    let (key, _) = fields
        .iter()
        .nth(variant % fields.len())
        .unwrap_or_else(|| unreachable!("only objects with fields are candidates"));
    let mut object = Value::Object(fields.clone()).to_string();
    object.insert_str(1, &format!("{}:{},", Value::from(key.as_str()), replacement(variant / 7)));
    if let Some(value) = tree.pointer_mut(&pointer) {
        *value = Value::from(PLACEHOLDER);
    }
    let line = tree.to_string().replace(&Value::from(PLACEHOLDER).to_string(), &object);
    CorruptedLine { line, pointer: Some(pointer) }
}

fn truncate(line: &str, position: usize) -> CorruptedLine {
    let mut end = position % (line.len() + 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    CorruptedLine { line: line[..end].to_owned(), pointer: None }
}

fn insert_garbage(line: &str, position: usize, variant: usize) -> CorruptedLine {
    let snippets = ["\u{0}", "}", "\"", "\\", "\u{feff}", "💥", "NaN", ",,", "{\"type\":"];
    let mut line = line.to_owned();
    let mut index = position % (line.len() + 1);
    while !line.is_char_boundary(index) {
        index -= 1;
    }
    line.insert_str(index, snippets[variant % snippets.len()]);
    CorruptedLine { line, pointer: None }
}
