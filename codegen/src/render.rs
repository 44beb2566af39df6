//! Rendering of the [`Model`] as Rust source.

mod enums;
mod requests;
mod structs;
mod unions;

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::error::{Error, Result};
use crate::model::{Arm, Branch, Kind, Model, Type};
use crate::union::is_large_type;

/// The formatted source of the module.
pub(crate) fn render(model: &Model, file: &str) -> Result<String> {
    let structs = structs::render(model, file)?;
    let mut items = TokenStream::new();
    for (name, definition) in &model.types {
        let doc = definition.doc.as_deref();
        items.extend(match &definition.kind {
            Kind::Struct(_) => structs.get(name).cloned().unwrap_or_default(),
            Kind::Enum(definition) => enums::render(name, definition, doc),
            Kind::Tagged(union) => unions::tagged(name, union, model, doc),
            Kind::Adjacent(union) => unions::adjacent(name, union, model, doc),
            Kind::Kinds(variants) => unions::kinds(name, variants, doc),
        });
    }
    items.extend(responses(model));
    items.extend(requests::conversions(model));
    items.extend(requests::rpc_methods(model));
    items.extend(requests::http(model));
    items.extend(roots(model));
    let tokens = quote! {
        #[allow(unused_imports)]
        use ::interlingua_native_runtime::{Json, generated as runtime};
        #[allow(unused_imports)]
        use ::serde_json::Number;
        #[allow(unused_imports)]
        use ::std::collections::BTreeMap;

        #items
    };
    let parsed = syn::parse2(tokens).map_err(|error| {
        Error::new(
            file,
            "",
            format!("the generated code does not parse: {error}"),
            "this is a bug in interlingua-codegen",
        )
    })?;
    Ok(prettyplease::unparse(&parsed))
}

/// Implementations of `Native` for the types that a caller decodes into.
fn roots(model: &Model) -> TokenStream {
    let keys = tag_keys(model);
    let mut names: BTreeMap<String, Vec<&str>> =
        model.roots.iter().map(|name| (name.clone(), own_tag_keys(name, model))).collect();
    for (name, definition) in &model.types {
        if matches!(&definition.kind, Kind::Adjacent(union) if !union.siblings.is_empty()) {
            names.insert(format!("{name}Envelope"), own_tag_keys(name, model));
        }
    }
    let implementations = names.into_iter().map(|(name, own_keys)| {
        let name = format_ident!("{name}");
        quote! {
            impl runtime::Native for #name {
                const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
                const OWN_TAG_KEYS: &'static [&'static str] = &[#(#own_keys),*];
                fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
                    runtime::decode(text)
                }
            }
        }
    });
    quote! {
        /// The tag keys of all unions in this module.
        const TAG_KEYS: &[&str] = &[#(#keys),*];
        #(#implementations)*
    }
}

/// The tag keys of one type, in the order in which they are read.
fn own_tag_keys<'a>(name: &str, model: &'a Model) -> Vec<&'a str> {
    let mut keys = Vec::new();
    match model.types.get(name).map(|definition| &definition.kind) {
        Some(Kind::Tagged(union)) => {
            let mut further = BTreeSet::new();
            branch_keys(&union.tree, &mut further);
            keys.push(union.tree.key.as_str());
            keys.extend(further.into_iter().filter(|key| *key != union.tree.key));
        }
        Some(Kind::Adjacent(union)) => keys.push(union.tag.as_str()),
        _ => {}
    }
    keys
}

/// The tag keys of all unions.
fn tag_keys(model: &Model) -> BTreeSet<&str> {
    let mut keys = BTreeSet::new();
    for definition in model.types.values() {
        match &definition.kind {
            Kind::Tagged(union) => branch_keys(&union.tree, &mut keys),
            Kind::Adjacent(union) => {
                keys.insert(union.tag.as_str());
            }
            _ => {}
        }
    }
    keys
}

fn branch_keys<'a>(branch: &'a Branch, keys: &mut BTreeSet<&'a str>) {
    keys.insert(&branch.key);
    for arm in branch.arms.values() {
        if let Arm::Branch(further) = arm {
            branch_keys(further, keys);
        }
    }
}

/// The enum of all responses, with one variant per request method.
fn responses(model: &Model) -> TokenStream {
    if model.responses.is_empty() {
        return TokenStream::new();
    }
    let requests: Vec<&String> = model.responses.keys().collect();
    let variants: Vec<_> =
        requests.iter().map(|request| format_ident!("{}", crate::name::to_pascal_case(request))).collect();
    let types: Vec<TokenStream> = model.responses.values().map(type_tokens).collect();
    let is_large = is_large_type(model);
    let (payloads, wrappers): (Vec<TokenStream>, Vec<TokenStream>) = model
        .responses
        .values()
        .zip(types.iter().zip(&variants))
        .map(|(ty, (tokens, variant))| {
            if is_large(ty) {
                (quote!(Box<#tokens>), quote!(|value| Self::#variant(Box::new(value))))
            } else {
                (tokens.clone(), quote!(Self::#variant))
            }
        })
        .unzip();
    quote! {
        /// The response to a request. The method of the request decides the type.
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
        #[serde(untagged)]
        pub enum Response {
            #(
                #[doc = concat!("Response to `", #requests, "`.")]
                #variants(#payloads),
            )*
        }

        impl Response {
            /// The requests that have a variant here.
            pub const REQUESTS: &'static [&'static str] = &[#(#requests),*];

            /// Decodes the response to `request`; `None` if there is no variant for it.
            #[must_use]
            pub fn decode(request: &str, text: &str) -> Option<Result<runtime::Decoded<Self>, runtime::DecodeError>> {
                match request {
                    #(#requests => Some(
                        <#types as runtime::Native>::decode(text).map(|decoded| decoded.with_request(request).map(#wrappers)),
                    ),)*
                    _ => None,
                }
            }
        }
    }
}

fn type_tokens(ty: &Type) -> TokenStream {
    ty.to_rust().parse().unwrap_or_default()
}

/// Doc attributes with the schema's description and a note, as separate paragraphs.
fn doc_tokens(description: Option<&str>, note: Option<&str>) -> TokenStream {
    let text = description.into_iter().chain(note).map(str::trim).collect::<Vec<_>>().join("\n\n");
    let mut is_in_code = false;
    let lines: Vec<String> = text.lines().map(|line| doc_line(line, &mut is_in_code)).collect();
    quote!(#(#[doc = #lines])*)
}

/// A line of documentation. Code is marked as text, because rustdoc would compile it as Rust.
fn doc_line(line: &str, is_in_code: &mut bool) -> String {
    let content = line.trim_start();
    if line.is_empty() {
        return String::new();
    }
    let is_fence = content.starts_with("```") && !content[3..].contains('`');
    if is_fence {
        *is_in_code = !*is_in_code;
        return if *is_in_code { " ```text".to_owned() } else { " ```".to_owned() };
    }
    // Four spaces also begin code.
    let indent = (line.len() - content.len()).min(if *is_in_code { line.len() } else { 3 });
    format!(" {}{content}", " ".repeat(indent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_in_descriptions_is_no_rust() {
        let mut is_in_code = false;
        let mut lines = |text: &str| text.lines().map(|line| doc_line(line, &mut is_in_code)).collect::<Vec<_>>();
        assert_eq!(
            lines("Example:\n```toml\n    a = 1\n```\n\n      more"),
            [" Example:", " ```text", "     a = 1", " ```", "", "    more"]
        );
        assert_eq!(lines("Inline: ```x``` only"), [" Inline: ```x``` only"]);
        assert_eq!(lines("```x``` first"), [" ```x``` first"]);
    }
}
