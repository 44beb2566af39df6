//! Structs, by typify: it gets a plain schema in which every union and enum is already a name.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use serde_json::{Map, Value, json};
use syn::visit_mut::VisitMut;
use syn::{Item, ItemStruct, LitStr, parse_quote};
use typify::{TypeSpace, TypeSpaceSettings};

use super::doc_tokens;
use crate::error::{Error, Result};
use crate::lower::unique_name;
use crate::model::{Field, Kind, Model, Struct, Type};

/// What typify is told to take from outside, beside the model's unions and enums.
const ANY: &str = "Json";
const NUMBER: &str = "Number";

/// Every struct of the model as tokens, by name.
pub(super) fn render(model: &Model, file: &str) -> Result<BTreeMap<String, TokenStream>> {
    let fault = |problem: String| Error::new(file, "", problem, "this is a fault of codegen");
    let mut settings = TypeSpaceSettings::default();
    settings.with_struct_builder(false).with_map_type("BTreeMap");
    for name in
        model.types.iter().filter(|(_, definition)| !matches!(definition.kind, Kind::Struct(_))).map(|(name, _)| name)
    {
        settings.with_replacement(name, name, std::iter::empty());
    }
    for name in [ANY, NUMBER] {
        settings.with_replacement(name, name, std::iter::empty());
    }
    let root =
        serde_json::from_value(document(model)).map_err(|error| fault(format!("no schema for typify: {error}")))?;
    let mut space = TypeSpace::new(&settings);
    space.add_root_schema(root).map_err(|error| fault(format!("typify: {error}")))?;
    let parsed: syn::File = syn::parse2(space.to_stream()).map_err(|error| fault(format!("typify's code: {error}")))?;
    let mut found = BTreeMap::new();
    for item in parsed.items {
        let Item::Struct(item) = item else { continue };
        let name = item.ident.to_string();
        let Some(definition) = model.types.get(&name) else { continue };
        let Kind::Struct(structure) = &definition.kind else { continue };
        let is_sent = model.sent.contains(&name);
        found.insert(name, finish(item, structure, is_sent, definition.doc.as_deref()));
    }
    let missing = model
        .types
        .iter()
        .find(|(name, definition)| matches!(definition.kind, Kind::Struct(_)) && !found.contains_key(*name));
    match missing {
        Some((name, _)) => Err(fault(format!("typify made no struct `{name}`"))),
        None => Ok(found),
    }
}

/// Keeps typify's fields with their docs and short paths, and adds how to read and write them, and how to construct the
/// struct if it is sent.
fn finish(mut item: ItemStruct, structure: &Struct, is_sent: bool, doc: Option<&str>) -> TokenStream {
    let name = item.ident.clone();
    let tag_doc = structure.tag.as_ref().map(|(key, value)| format!("Tagged with `\"{key}\": \"{value}\"` in JSON."));
    let doc = doc_tokens(doc, tag_doc.as_deref());
    let mut fields = TokenStream::new();
    let mut keys = TokenStream::new();
    let mut parameters = TokenStream::new();
    let mut taken = BTreeSet::new();
    // An object without known keys is a map to typify; here it is a struct that reads and writes an object.
    for field in item.fields.iter_mut().filter(|_| !structure.fields.is_empty()) {
        let key = key_of(field);
        field.attrs.retain(|attribute| attribute.path().is_ident("doc"));
        ShortPaths.visit_type_mut(&mut field.ty);
        // Keys such as `fooBar` and `foo-bar` are one name to typify.
        if let Some(ident) = &mut field.ident {
            *ident = format_ident!("{}", unique_name(&ident.to_string(), |name| taken.contains(name)));
            taken.insert(ident.to_string());
        }
        add_json_key_doc(field, &key);
        let ident = &field.ident;
        let declared = structure.fields.iter().find(|field| field.key == key && field.declared_required);
        let declared = declared.filter(|_| is_sent);
        if let (Some(declared), Some(ident)) = (declared, ident) {
            parameters.extend(parameter(ident, &field.ty, declared));
        }
        fields.extend(quote!(#field,));
        // A host has to write such a key, and a reader treats null as absent.
        let null = declared.filter(|field| field.nullable && !field.required).map(|_| quote!(| null));
        keys.extend(quote!(#ident = #key #null));
    }
    let constructor = is_sent.then(|| quote!(new (#parameters)));
    let mark = structure.tag.as_ref().map(|(key, value)| quote!(#key = #value));
    let keys_of = |is_listed: fn(&&Field) -> bool| -> Vec<&String> {
        structure.fields.iter().filter(is_listed).map(|field| &field.key).collect()
    };
    let required = keys_of(|field| field.required || (field.needed && field.is_always_there()));
    let listed = |word: &str, keys: Vec<&String>| {
        let word = format_ident!("{word}");
        (!keys.is_empty()).then(|| quote!(, #word #(#keys)*))
    };
    let expected = listed("expected", keys_of(|field| field.expected));
    let well_typed = listed("well_typed", keys_of(|field| field.needed && !field.is_always_there()));
    quote! {
        #doc
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct #name { #fields }
        runtime::impl_object! { #name (#mark) [#(#required)* #expected #well_typed] { #keys } #constructor }
    }
}

/// Adds the field's JSON key to its docs if the Rust name differs from it.
fn add_json_key_doc(field: &mut syn::Field, key: &str) {
    if field.ident.as_ref().is_some_and(|ident| ident != key) {
        if !field.attrs.is_empty() {
            field.attrs.push(parse_quote!(#[doc = ""]));
        }
        let text = format!(" JSON key: `{key}`.");
        field.attrs.push(parse_quote!(#[doc = #text]));
    }
}

/// A parameter of the constructor with the way it is put into its field: an id or text as a string, another value as
/// `Some`, or `as` it is.
fn parameter(ident: &syn::Ident, ty: &syn::Type, field: &Field) -> TokenStream {
    let inner = optional_type(ty);
    match (inner, field.nullable) {
        // Required in Rust, too.
        (None, _) if field.ty == Type::String => quote!(#ident id,),
        (None, _) | (Some(_), true) => quote!(#ident as #ty,),
        (Some(_), false) if field.ty == Type::String => quote!(#ident text,),
        (Some(inner), false) => quote!(#ident some #inner,),
    }
}

/// `T` of `Option<T>`.
fn optional_type(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The key of a field on the wire: what typify renames it to, or its own name.
fn key_of(field: &syn::Field) -> String {
    let mut key = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        // What else typify says here does not matter, and reading stops at the first thing that is not a name.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                key = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<LitStr>()?;
            }
            Ok(())
        });
    }
    key
}

/// `::std::option::Option<T>` reads `Option<T>`.
struct ShortPaths;

impl VisitMut for ShortPaths {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        syn::visit_mut::visit_path_mut(self, path);
        if path.segments.first().is_some_and(|first| first.ident == "std")
            && let Some(last) = path.segments.pop()
        {
            path.leading_colon = None;
            path.segments = std::iter::once(last).collect();
        }
    }
}

/// The schema typify reads: draft-07, every struct a definition.
fn document(model: &Model) -> Value {
    let mut definitions = Map::new();
    for name in [ANY, NUMBER] {
        definitions.insert(name.to_owned(), json!({}));
    }
    for (name, definition) in &model.types {
        let schema = match &definition.kind {
            Kind::Struct(structure) => object(structure),
            // Replaced by name; typify never looks inside.
            _ => json!({}),
        };
        definitions.insert(name.clone(), schema);
    }
    json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": definitions })
}

fn object(structure: &Struct) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &structure.fields {
        let mut schema = if field.required { schema_of(&field.ty) } else { optional(&field.ty) };
        if let (Some(doc), Value::Object(map)) = (&field.doc, &mut schema) {
            // A description beside `$ref` would be ignored in draft-07.
            if map.contains_key("$ref") {
                schema = json!({ "allOf": [schema], "description": doc });
            } else {
                map.insert("description".to_owned(), json!(doc));
            }
        }
        properties.insert(field.key.clone(), schema);
        if field.required {
            required.push(&field.key);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Nullable as well as not required: typify then writes `Option` and makes up no default.
fn optional(ty: &Type) -> Value {
    match schema_of(ty) {
        Value::Object(mut map) if map.contains_key("type") => {
            let name = map.remove("type").unwrap_or_default();
            map.insert("type".to_owned(), json!([name, "null"]));
            Value::Object(map)
        }
        schema => json!({ "oneOf": [schema, { "type": "null" }] }),
    }
}

fn schema_of(ty: &Type) -> Value {
    match ty {
        Type::Any => json!({ "$ref": format!("#/definitions/{ANY}") }),
        Type::Boolean => json!({ "type": "boolean" }),
        Type::Integer => json!({ "type": "integer", "format": "int64" }),
        Type::Unsigned => json!({ "type": "integer", "format": "uint64" }),
        Type::Number => json!({ "$ref": format!("#/definitions/{NUMBER}") }),
        Type::String => json!({ "type": "string" }),
        Type::List(of) => json!({ "type": "array", "items": schema_of(of) }),
        Type::Map(of) => json!({ "type": "object", "additionalProperties": schema_of(of) }),
        Type::Nullable(of) => optional(of),
        Type::Named(name) => json!({ "$ref": format!("#/definitions/{name}") }),
    }
}
