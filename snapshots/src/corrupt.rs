//! Recorded lines, broken on purpose.

use serde_json::{Value, json};

/// A way to break a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// A tag becomes one that nobody knows.
    UnknownTag,
    /// A string becomes one that nobody knows.
    UnknownValue,
    /// A value becomes one of another type.
    WrongType,
    /// A field is gone.
    MissingField,
    /// A field is there that nobody knows.
    ExtraField,
    /// A key is there twice, with different values.
    DuplicateKey,
    /// The text ends early.
    Cut,
    /// Something strange stands in the middle of the text.
    Garbage,
}

impl Damage {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::UnknownTag,
        Self::UnknownValue,
        Self::WrongType,
        Self::MissingField,
        Self::ExtraField,
        Self::DuplicateKey,
        Self::Cut,
        Self::Garbage,
    ];
}

/// A broken line.
#[derive(Debug, Clone, PartialEq)]
pub struct Corruption {
    /// What it is now.
    pub line: String,
    /// The value that was changed, as a JSON pointer; absent when the text itself was.
    pub pointer: Option<String>,
}

/// Keys whose values are tags.
const TAGS: [&str; 6] = ["type", "subtype", "method", "role", "status", "kind"];

/// Breaks a line. Where and with what is decided by two numbers, so that the same numbers break it the same way.
#[must_use]
pub fn corrupt(line: &str, damage: Damage, place: usize, with: usize) -> Corruption {
    let Ok(mut tree) = serde_json::from_str::<Value>(line) else { return garbage(line, place, with) };
    let mut pointers = Vec::new();
    walk(&tree, String::new(), &mut pointers);
    let fits = |pointer: &&String| {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let Some(value) = tree.pointer(pointer) else { return false };
        match damage {
            Damage::UnknownTag => TAGS.contains(&last) && value.is_string(),
            Damage::UnknownValue => value.is_string() && !TAGS.contains(&last),
            Damage::MissingField => !pointer.is_empty(),
            Damage::ExtraField | Damage::DuplicateKey => value.as_object().is_some_and(|fields| !fields.is_empty()),
            Damage::WrongType => true,
            Damage::Cut | Damage::Garbage => false,
        }
    };
    let candidates: Vec<&String> = pointers.iter().filter(fits).collect();
    if candidates.is_empty() {
        return if damage == Damage::Cut { cut(line, place) } else { garbage(line, place, with) };
    }
    let pointer = candidates[place % candidates.len()].clone();
    let changed = |tree: &Value| Corruption { line: tree.to_string(), pointer: Some(pointer.clone()) };
    match damage {
        Damage::MissingField => remove(&mut tree, &pointer),
        Damage::DuplicateKey => return twice(tree, pointer, with),
        _ => {
            if let Some(value) = tree.pointer_mut(&pointer) {
                match (damage, value) {
                    (Damage::ExtraField, Value::Object(fields)) => {
                        fields.insert("no_such_field".to_owned(), other_value(with));
                    }
                    (Damage::WrongType, value) => *value = other_value(with),
                    (_, value) => *value = json!("no_such_value"),
                }
            }
        }
    }
    changed(&tree)
}

fn other_value(with: usize) -> Value {
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
    values[with % values.len()].clone()
}

fn walk(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                walk(value, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                walk(value, format!("{pointer}/{index}"), found);
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

/// Says one key of an object twice, which no tree can hold.
fn twice(mut tree: Value, pointer: String, with: usize) -> Corruption {
    const MARK: &str = "\u{1}here\u{1}";
    let Some(Value::Object(fields)) = tree.pointer(&pointer) else {
        return Corruption { line: tree.to_string(), pointer: Some(pointer) };
    };
    let (key, _) = fields.iter().nth(with % fields.len()).unwrap_or_else(|| unreachable!("it is not empty"));
    let mut object = Value::Object(fields.clone()).to_string();
    object.insert_str(1, &format!("{}:{},", Value::from(key.as_str()), other_value(with / 7)));
    if let Some(place) = tree.pointer_mut(&pointer) {
        *place = Value::from(MARK);
    }
    let line = tree.to_string().replace(&Value::from(MARK).to_string(), &object);
    Corruption { line, pointer: Some(pointer) }
}

fn cut(line: &str, place: usize) -> Corruption {
    let mut end = place % (line.len() + 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    Corruption { line: line[..end].to_owned(), pointer: None }
}

fn garbage(line: &str, place: usize, with: usize) -> Corruption {
    let strange = ["\u{0}", "}", "\"", "\\", "\u{feff}", "💥", "NaN", ",,", "{\"type\":"];
    let mut line = line.to_owned();
    let mut at = place % (line.len() + 1);
    while !line.is_char_boundary(at) {
        at -= 1;
    }
    line.insert_str(at, strange[with % strange.len()]);
    Corruption { line, pointer: None }
}
