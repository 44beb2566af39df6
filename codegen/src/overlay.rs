//! Corrections of a pulled schema.
//!
//! A vendor's schema does not always match what the agent sends. Each correction in an `overlay.json` has the changes, the
//! reason, and a recording that shows it. A correction that changes nothing is an error: the vendor has fixed the schema,
//! and the correction should be removed.

use serde::Deserialize;
use serde_json::Value;

use crate::document::{escape, unescape};
use crate::error::{Error, Result};

/// One correction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// Name of the correction.
    pub name: String,
    /// Why it is needed.
    pub reason: String,
    /// The recording that shows the need for it, as `agent/version/scenario`.
    pub recording: String,
    /// A text that a line of this recording contains.
    pub shows: String,
    /// The schema file that it applies to.
    #[serde(default = "main_schema")]
    pub schema: String,
    /// The changes, in order.
    pub changes: Vec<Change>,
}

fn main_schema() -> String {
    "schema.json".to_owned()
}

/// A change to the document. Pointers are JSON pointers in which `*` matches any text and `-` appends to a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Adds a value that does not exist.
    Add {
        /// JSON pointer to the value.
        at: String,
        /// The new value.
        value: Value,
    },
    /// Replaces an existing value.
    Replace {
        /// JSON pointer to the value.
        at: String,
        /// The new value.
        value: Value,
    },
    /// Removes an existing value.
    Remove {
        /// JSON pointer to the value.
        at: String,
    },
}

/// Parses an overlay file.
///
/// # Errors
/// If it is not a list of corrections.
pub fn parse(file: &str, text: &str) -> Result<Vec<Correction>> {
    serde_json::from_str(text).map_err(|error| {
        let advice = "an overlay is a list of {name, reason, recording, shows, changes: [{add|replace|remove: …}]}";
        Error::new(file, "", format!("not an overlay: {error}"), advice)
    })
}

/// Applies the corrections for the file `schema` to the document.
pub(crate) fn apply(document: &mut Value, corrections: &[Correction], schema: &str, file: &str) -> Result<()> {
    for correction in corrections.iter().filter(|correction| correction.schema == schema) {
        for change in &correction.changes {
            apply_change(document, change).map_err(|(pointer, problem)| {
                let problem = format!("correction `{}`: {problem}", correction.name);
                Error::new(
                    file,
                    &pointer,
                    problem,
                    "remove the correction if the vendor has fixed the schema, or else adapt it",
                )
            })?;
        }
    }
    Ok(())
}

fn apply_change(document: &mut Value, change: &Change) -> std::result::Result<(), (String, &'static str)> {
    let at = match change {
        Change::Add { at, .. } | Change::Replace { at, .. } | Change::Remove { at } => at,
    };
    let fail = |problem| (at.clone(), problem);
    let Some((parent, last)) = at.rsplit_once('/') else { return Err(fail("a pointer must start with `/`")) };
    let mut pointers = Vec::new();
    find_matching(document, parent, String::new(), &mut pointers);
    let mut changed = 0;
    for pointer in pointers {
        let Some(parent) = document.pointer_mut(&pointer) else { continue };
        changed += match change {
            Change::Add { value, .. } => add(parent, last, value).map_err(fail)?,
            Change::Replace { value, .. } => replace(parent, last, value),
            Change::Remove { .. } => remove(parent, last),
        };
    }
    if changed == 0 { Err(fail("it changes nothing")) } else { Ok(()) }
}

/// Finds all pointers that match a pattern with `*`. `prefix` is the pointer to `value`.
fn find_matching(value: &Value, pattern: &str, prefix: String, found: &mut Vec<String>) {
    let Some(rest) = pattern.strip_prefix('/') else {
        found.push(prefix);
        return;
    };
    let (step, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter().filter(|(key, _)| matches(step, &escape(key))) {
                find_matching(inner, rest, format!("{prefix}/{}", escape(key)), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate().filter(|(index, _)| matches(step, &index.to_string())) {
                find_matching(inner, rest, format!("{prefix}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            text.len() >= before.len() + after.len() && text.starts_with(before) && text.ends_with(after)
        }
    }
}

fn add(parent: &mut Value, last: &str, value: &Value) -> std::result::Result<usize, &'static str> {
    match parent {
        Value::Array(elements) if last == "-" => {
            if elements.contains(value) {
                return Err("the value that it adds already exists");
            }
            elements.push(value.clone());
            Ok(1)
        }
        Value::Object(map) => {
            let key = unescape(last);
            if map.contains_key(&key) {
                return Err("the value that it adds already exists");
            }
            map.insert(key, value.clone());
            Ok(1)
        }
        _ => Err("it adds to a value that is not a list or object"),
    }
}

fn replace(parent: &mut Value, last: &str, value: &Value) -> usize {
    let keys: Vec<String> = match &*parent {
        Value::Object(map) => map.keys().filter(|key| matches(last, &escape(key))).cloned().collect(),
        _ => Vec::new(),
    };
    let mut changed = 0;
    for key in keys {
        if let Some(target) = parent.get_mut(&key)
            && target != value
        {
            *target = value.clone();
            changed += 1;
        }
    }
    changed
}

fn remove(parent: &mut Value, last: &str) -> usize {
    match parent {
        Value::Object(map) => usize::from(map.remove(&unescape(last)).is_some()),
        Value::Array(elements) => {
            let before = elements.len();
            elements.retain(|element| element.as_str() != Some(last));
            before - elements.len()
        }
        _ => 0,
    }
}
