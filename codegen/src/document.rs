//! Schema documents: their definitions and references.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// JSON pointers to the definitions in draft-07, 2020-12 and OpenAPI.
const DEFINITION_POINTERS: [&str; 3] = ["/definitions", "/$defs", "/components/schemas"];

/// A parsed schema document.
#[derive(Debug)]
pub struct Document {
    file: String,
    root: Value,
}

/// A schema inside a document, with its JSON pointer.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    pub(crate) pointer: String,
}

impl Document {
    /// Parses a document. `file` is its name in errors.
    ///
    /// # Errors
    /// If the text is not JSON, or has no definitions.
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let root: Value = serde_json::from_str(text).map_err(|error| {
            Error::new(file, "", format!("not JSON: {error}"), "pull the schema again, or restore the file")
        })?;
        Self::from_value(file, root)
    }

    pub(crate) fn from_value(file: &str, root: Value) -> Result<Self> {
        if !DEFINITION_POINTERS.iter().any(|pointer| root.pointer(pointer).is_some_and(Value::is_object)) {
            let advice = "a schema document has its types under `definitions`, `$defs` or `components.schemas`";
            return Err(Error::new(file, "", "no definitions", advice));
        }
        Ok(Self { file: file.to_owned(), root })
    }

    /// The node at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<Node<'_>> {
        self.root.pointer(pointer).map(|value| Node { value, pointer: pointer.to_owned() })
    }

    pub(crate) fn error(&self, pointer: &str, problem: impl Into<String>, advice: impl Into<String>) -> Error {
        Error::new(&self.file, pointer, problem, advice)
    }

    /// The definition with this name.
    pub(crate) fn definition(&self, name: &str) -> Option<Node<'_>> {
        DEFINITION_POINTERS.iter().find_map(|pointer| {
            let value = self.root.pointer(pointer)?.get(name)?;
            Some(Node { value, pointer: format!("{pointer}/{}", escape(name)) })
        })
    }

    /// The names of all definitions.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        DEFINITION_POINTERS
            .iter()
            .filter_map(|pointer| self.root.pointer(pointer)?.as_object())
            .flat_map(Map::keys)
            .map(String::as_str)
    }

    /// Resolves a `$ref` in `node` to the name of the definition and its node.
    pub(crate) fn resolve_ref(&self, reference: &str, node: &Node<'_>) -> Result<(String, Node<'_>)> {
        let missing = || {
            let problem = format!("`$ref` to `{reference}`, which is not in this file");
            self.error(&node.pointer, problem, "pull the schema again, or add the definition in overlay.json")
        };
        // The names of TypeScript generics are percent-encoded.
        let target = percent_decode(reference.strip_prefix('#').ok_or_else(missing)?);
        let value = self.root.pointer(&target).ok_or_else(missing)?;
        let name = target.rsplit('/').next().unwrap_or_default();
        Ok((unescape(name), Node { value, pointer: target.clone() }))
    }
}

impl<'a> Node<'a> {
    pub(crate) fn child(&self, step: &str, value: &'a Value) -> Self {
        Self { value, pointer: format!("{}/{}", self.pointer, escape(step)) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        self.value.get(key).map(|value| self.child(key, value))
    }

    pub(crate) fn list(&self, key: &str) -> Vec<Node<'a>> {
        let Some(list) = self.value.get(key).and_then(Value::as_array) else { return Vec::new() };
        let pointer = |index| format!("{}/{}/{index}", self.pointer, escape(key));
        list.iter().enumerate().map(|(index, value)| Node { value, pointer: pointer(index) }).collect()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key).and_then(Value::as_str)
    }
}

/// Escapes a step of a JSON pointer.
pub(crate) fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// Unescapes a step of a JSON pointer.
pub(crate) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let decoded = match (first, tail) {
            (b'%', [high, low, after @ ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|hex| u8::from_str_radix(hex, 16).ok())
                .map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = decoded.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
