//! The types of the TypeScript SDK, from the server's `OpenAPI` document, which contains the universal event.
//!
//! Types are open where the wire is open. A string enum of a response also admits other strings, and a union of tagged
//! objects has one more variant for tags that a newer server may send. Both still narrow and complete: the additional
//! variant of a union is the only one that is left in a `default` branch. What only a client sends is closed, so that a
//! misspelt value does not compile.

mod names;
mod reachable;
mod shape;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use names::{NameTable, is_identifier, pascal_case};
use shape::{Shape, TaggedUnion, constant, optional_inner, reference_name};

const HEADER: &str = "\
// Generated from the server's OpenAPI document by `cargo xtask generate typescript`. Do not edit.

declare enum Unknown {
  Tag = \"a tag of a newer server\",
}

/**
 * A tag that this version of the SDK does not know: any other string. It is no literal of any union, so that a `switch`
 * over known tags narrows to known variants and leaves this one to its `default` branch.
 */
export type UnknownTag = Unknown.Tag;

/** An object with any members. */
export type JsonObject = { [key: string]: unknown };
";

/// Length of a union from which on each alternative has its own line.
const MAX_UNION_LENGTH: usize = 100;

/// Renders the TypeScript declarations of all schemas of an `OpenAPI` document.
pub(super) fn render(document: &Value) -> String {
    let empty = Map::new();
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object).unwrap_or(&empty);
    let emitter = Emitter {
        names: NameTable::new(schemas.keys().cloned()),
        closed: reachable::request_only(document, schemas),
        out: HEADER.to_owned(),
    };
    emitter.render(schemas)
}

struct Emitter {
    names: NameTable,
    /// Names of the schemas that only requests contain.
    closed: BTreeSet<String>,
    out: String,
}

impl Emitter {
    fn render(mut self, schemas: &Map<String, Value>) -> String {
        for (name, schema) in schemas {
            self.declare(name, schema);
        }
        self.out
    }

    /// Declares one named schema.
    fn declare(&mut self, name: &str, schema: &Value) {
        let open = !self.closed.contains(name);
        match Shape::of(schema) {
            Shape::TaggedUnion(union) => self.declare_tagged_union(name, schema, &union, open),
            Shape::Object(properties) if !properties.is_empty() => {
                self.doc(schema, "");
                let _ = writeln!(self.out, "export interface {name} {{");
                self.properties(schema, properties, open);
                self.out.push_str("}\n");
            }
            _ => {
                let text = break_union(&type_text(schema, open, 0), "");
                self.doc(schema, "");
                let _ = writeln!(self.out, "export type {name} ={text};");
            }
        }
    }

    /// Declares an interface for each variant of the union, and the union. Common properties go into a base interface.
    fn declare_tagged_union(&mut self, name: &str, schema: &Value, union: &TaggedUnion<'_>, open: bool) {
        let base = (!union.common.is_empty()).then(|| self.names.add(&format!("{name}Base")));
        if let Some(base) = &base {
            self.out.push_str("\n/** What all variants have. */\n");
            let _ = writeln!(self.out, "export interface {base} {{");
            self.properties(schema, union.common, open);
            self.out.push_str("}\n");
        }
        let extends = base.map(|base| format!(" extends {base}")).unwrap_or_default();
        let suffix = last_word(name);
        let mut members = Vec::new();
        for (tag, variant) in &union.variants {
            let short = format!("{}{suffix}", pascal_case(tag));
            let member = if self.names.contains(&short) { format!("{}{name}", pascal_case(tag)) } else { short };
            let member = self.names.add(&member);
            self.doc(variant, "");
            let _ = writeln!(self.out, "export interface {member}{extends} {{");
            if let Some(properties) = variant["properties"].as_object() {
                self.properties(variant, properties, open);
            }
            self.out.push_str("}\n");
            members.push(member);
        }
        let known = self.names.add(&format!("Known{name}"));
        let _ = writeln!(self.out, "\n/** The variants that this version of the SDK knows. */");
        let _ = writeln!(self.out, "export type {known} =\n  | {};", members.join("\n  | "));
        if !open {
            self.doc(schema, "");
            let _ = writeln!(self.out, "export type {name} = {known};");
            return;
        }
        let unknown = self.names.add(&format!("Unknown{suffix}"));
        let _ = writeln!(self.out, "\n/** A variant that this version of the SDK does not know. */");
        let _ = writeln!(self.out, "export interface {unknown}{extends} {{\n  {}: UnknownTag;", union.tag);
        match union.content {
            Some(content) => {
                let _ = writeln!(self.out, "  {content}: unknown;\n}}");
            }
            None => self.out.push_str("  [key: string]: unknown;\n}\n"),
        }
        self.doc(schema, "");
        let _ = writeln!(self.out, "export type {name} = {known} | {unknown};");
    }

    /// Writes the members of an interface.
    fn properties(&mut self, schema: &Value, properties: &Map<String, Value>, open: bool) {
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, property) in properties {
            self.doc(property, "  ");
            let optional = if required.contains(name.as_str()) { "" } else { "?" };
            let text = break_union(&type_text(property, open, 1), "  ");
            let _ = writeln!(self.out, "  {}{optional}:{text};", key(name));
        }
        if schema["additionalProperties"].is_object() {
            self.out.push_str("  [key: string]: unknown;\n");
        }
    }

    /// Writes the description of a schema as a comment.
    fn doc(&mut self, schema: &Value, indent: &str) {
        if indent.is_empty() {
            self.out.push('\n');
        }
        let Some(text) = description(schema) else { return };
        let text = text.replace("*/", "*\\/");
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        match lines.as_slice() {
            [line] => {
                let _ = writeln!(self.out, "{indent}/** {line} */");
            }
            lines => {
                let _ = writeln!(self.out, "{indent}/**");
                for line in lines {
                    let _ = writeln!(self.out, "{}", format!("{indent} * {line}").trim_end());
                }
                let _ = writeln!(self.out, "{indent} */");
            }
        }
    }
}

/// The description of a schema, or of the only alternative to null.
fn description(schema: &Value) -> Option<&str> {
    schema["description"].as_str().or_else(|| optional_inner(schema).and_then(|inner| inner["description"].as_str()))
}

/// The type of a schema inside a declaration.
fn type_text(schema: &Value, open: bool, depth: usize) -> String {
    if let Some(name) = reference_name(schema) {
        return name.to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    match Shape::of(schema) {
        Shape::Enum(values) => enum_text(&values, open),
        Shape::Union(alternatives) => union_text(alternatives.iter().map(|schema| type_text(schema, open, depth))),
        Shape::TaggedUnion(union) => {
            union_text(union.variants.iter().map(|(_, variant)| type_text(variant, open, depth)))
        }
        Shape::Intersection(parts) => {
            let parts: Vec<String> = parts.iter().map(|schema| parenthesise(type_text(schema, open, depth))).collect();
            parts.join(" & ")
        }
        Shape::Types(types) => union_text(types.iter().map(|name| {
            let mut single = schema.clone();
            single["type"] = Value::String((*name).to_owned());
            type_text(&single, open, depth)
        })),
        Shape::Object(properties) if !properties.is_empty() => inline_object(schema, properties, open, depth),
        Shape::Object(_) => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("{{ [key: string]: {} }}", type_text(values, open, depth)),
            _ => "JsonObject".to_owned(),
        },
        Shape::Array(items) => {
            items.map_or("unknown[]".to_owned(), |items| format!("{}[]", parenthesise(type_text(items, open, depth))))
        }
        Shape::Primitive(name) => name.to_owned(),
        Shape::Any => "unknown".to_owned(),
    }
}

fn inline_object(schema: &Value, properties: &Map<String, Value>, open: bool, depth: usize) -> String {
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let members: Vec<String> = properties
        .iter()
        .map(|(name, property)| {
            let optional = if required.contains(name.as_str()) { "" } else { "?" };
            format!("{}{optional}: {}", key(name), type_text(property, open, depth + 1))
        })
        .collect();
    format!("{{ {} }}", members.join("; "))
}

/// An enum with one value stays closed: it is a tag.
fn enum_text(values: &[&str], open: bool) -> String {
    let mut alternatives: Vec<String> = values.iter().map(|value| Value::from(*value).to_string()).collect();
    if open && values.len() > 1 {
        alternatives.push("(string & {})".to_owned());
    }
    alternatives.join(" | ")
}

fn union_text(alternatives: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for alternative in alternatives {
        if alternative == "unknown" {
            return alternative;
        }
        if !distinct.contains(&alternative) {
            distinct.push(alternative);
        }
    }
    // `null` last reads best.
    distinct.sort_by_key(|alternative| alternative == "null");
    distinct.join(" | ")
}

/// The text with a space before it. A union that is too long for a line has one alternative per line.
fn break_union(text: &str, indent: &str) -> String {
    let has_brackets = text.replace("(string & {})", "").contains(['{', '[', '(']);
    if text.len() <= MAX_UNION_LENGTH || has_brackets {
        return format!(" {text}");
    }
    let separator = format!("\n{indent}  | ");
    separator.clone() + &text.split(" | ").collect::<Vec<_>>().join(&separator)
}

fn parenthesise(text: String) -> String {
    if text.contains(" | ") || text.contains(" & ") { format!("({text})") } else { text }
}

fn key(name: &str) -> String {
    if is_identifier(name) { name.to_owned() } else { Value::from(name).to_string() }
}

/// The last word of a name in Pascal case: `Part` of `ContentPart`.
fn last_word(name: &str) -> &str {
    name.rfind(|c: char| c.is_ascii_uppercase()).map_or(name, |start| &name[start..])
}

/// The value of a schema that admits only one string.
fn constant_string(schema: &Value) -> Option<&str> {
    constant(schema).and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
