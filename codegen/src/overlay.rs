//! Named corrections of a pulled schema.
//!
//! A vendor's schema is not always what its agent sends. Each entry of an `overlay.json` says what to change, why, and
//! which recording shows it. An entry that would change nothing is an error: the vendor has caught up, and the entry
//! can go.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// One correction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Correction {
    /// What the correction is called.
    pub name: String,
    /// Why it is needed.
    pub reason: String,
    /// The recording that shows it, as `agent/version/scenario`.
    pub recording: String,
    /// A text that a line of the recording contains.
    pub shows: String,
    /// The schema file it is for.
    #[serde(default = "main_schema")]
    pub schema: String,
    /// What to change, in order.
    pub changes: Vec<Change>,
}

fn main_schema() -> String {
    "schema.json".to_owned()
}

/// One change of the document. Pointers are JSON pointers; `*` in a step stands for any text, `-` appends to a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Adds what is not there.
    Add {
        /// Where.
        at: String,
        /// What.
        value: Value,
    },
    /// Replaces what is there.
    Replace {
        /// Where.
        at: String,
        /// With what.
        value: Value,
    },
    /// Removes what is there.
    Remove {
        /// Where.
        at: String,
    },
}

/// Reads an overlay file.
///
/// # Errors
/// When it is not a list of entries.
pub fn parse(file: &str, text: &str) -> Result<Vec<Correction>> {
    serde_json::from_str(text).map_err(|error| {
        let advice = "an overlay is a list of {name, reason, recording, shows, changes: [{add|replace|remove: …}]}";
        Error::new(file, "", format!("no overlay: {error}"), advice)
    })
}

/// Applies the entries meant for `schema` to the document.
pub(crate) fn apply(document: &mut Value, entries: &[Correction], schema: &str, file: &str) -> Result<()> {
    for entry in entries.iter().filter(|entry| entry.schema == schema) {
        for change in &entry.changes {
            apply_change(document, change).map_err(|(pointer, problem)| {
                let problem = format!("correction `{}`: {problem}", entry.name);
                Error::new(
                    file,
                    &pointer,
                    problem,
                    "remove the entry if the vendor has corrected the schema, or correct it",
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
    let Some((parent, last)) = at.rsplit_once('/') else { return Err(fail("a pointer starts with `/`")) };
    let mut places = Vec::new();
    matching(document, parent, String::new(), &mut places);
    let mut changed = 0;
    for place in places {
        let Some(parent) = document.pointer_mut(&place) else { continue };
        changed += match change {
            Change::Add { value, .. } => add(parent, last, value).map_err(fail)?,
            Change::Replace { value, .. } => replace(parent, last, value),
            Change::Remove { .. } => remove(parent, last),
        };
    }
    if changed == 0 { Err(fail("it changes nothing")) } else { Ok(()) }
}

/// The pointers that a pointer with `*` in it stands for.
fn matching(value: &Value, pattern: &str, so_far: String, found: &mut Vec<String>) {
    let Some(rest) = pattern.strip_prefix('/') else {
        found.push(so_far);
        return;
    };
    let (step, rest) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    match value {
        Value::Object(map) => {
            for (key, inner) in map.iter().filter(|(key, _)| fits(step, &escape(key))) {
                matching(inner, rest, format!("{so_far}/{}", escape(key)), found);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate().filter(|(index, _)| fits(step, &index.to_string())) {
                matching(inner, rest, format!("{so_far}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn fits(pattern: &str, text: &str) -> bool {
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
                return Err("what it adds is there already");
            }
            elements.push(value.clone());
            Ok(1)
        }
        Value::Object(map) => {
            let key = unescape(last);
            if map.contains_key(&key) {
                return Err("what it adds is there already");
            }
            map.insert(key, value.clone());
            Ok(1)
        }
        _ => Err("it adds to something that is no list or object"),
    }
}

fn replace(parent: &mut Value, last: &str, value: &Value) -> usize {
    let keys: Vec<String> = match &*parent {
        Value::Object(map) => map.keys().filter(|key| fits(last, &escape(key))).cloned().collect(),
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

fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
