//! Rendering of unions: tagged, adjacently tagged, and by JSON kind.

use heck::ToSnakeCase as _;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

use super::{doc_tokens, type_tokens};
use crate::model::{Adjacent, AdjacentVariant, Arm, Branch, JsonKind, Kind, KindVariant, Model, Tagged, Type};

/// A tagged union.
pub(super) fn tagged(name: &str, union: &Tagged, model: &Model, doc: Option<&str>) -> TokenStream {
    let ident = format_ident!("{name}");
    let doc = doc_tokens(doc, None);
    let names: Vec<_> = union.variants.iter().map(|variant| format_ident!("{}", variant.name)).collect();
    let payloads = union.variants.iter().map(|variant| {
        let payload = format_ident!("{}", variant.payload);
        if variant.boxed { quote!(Box<#payload>) } else { quote!(#payload) }
    });
    let tags: Vec<String> = union.variants.iter().map(|variant| format!(" `{}`", variant.tags.join("`, `"))).collect();
    let impl_union = impl_union(
        &ident,
        union.variants.iter().flat_map(|variant| variant.tags.iter().map(|tag| (tag.as_str(), variant.name.as_str()))),
        union.variants.iter().map(|variant| (variant.name.as_str(), quote!((_)))),
    );
    let key = &union.tree.key;
    let read_by_tag = match_on_tag(&union.tree, &quote!(tag), "", union, model);
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq)]
        pub enum #ident {
            #(
                #[doc = #tags]
                #names(#payloads),
            )*
            /// An object with a tag that the schema does not list.
            Unknown {
                /// The tag. If there are several tag keys, their values are joined by `/`.
                tag: String,
                /// The whole object.
                raw: Json,
            },
        }

        #impl_union

        impl runtime::TaggedUnion for #ident {
            const KEY: &'static str = #key;
            const NAME: &'static str = #name;

            fn from_tag(
                place: &mut Option<Self>,
                tag: &str,
                #[allow(unused_mut)] mut object: runtime::TaggedObject<'_, '_>,
            ) -> runtime::ReadResult<()> {
                #read_by_tag
            }
        }

        runtime::impl_tagged_union!(#ident);

        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(Self::#names(payload) => payload.serialize(serializer),)*
                    Self::Unknown { raw, .. } => raw.serialize(serializer),
                }
            }
        }
    }
}

/// The `match` on the value of one tag key. `prefix` is the joined values of the keys before it.
fn match_on_tag(branch: &Branch, value: &TokenStream, prefix: &str, union: &Tagged, model: &Model) -> TokenStream {
    let root_key = &union.tree.key;
    let mut variants: Vec<(usize, Vec<&String>)> = Vec::new();
    let mut branches = TokenStream::new();
    for (wire, arm) in &branch.arms {
        match arm {
            Arm::Variant(index) => match variants.iter_mut().find(|(known, _)| known == index) {
                Some((_, wires)) => wires.push(wire),
                None => variants.push((*index, vec![wire])),
            },
            Arm::Branch(next) => {
                let key = &next.key;
                let prefix = if prefix.is_empty() { wire.clone() } else { format!("{prefix}/{wire}") };
                let inner = match_on_tag(next, &quote!(found), &prefix, union, model);
                branches.extend(quote! {
                    #wire => {
                        let Some(found) = object.find_tag(#key)? else {
                            let raw = object.into_unknown(#prefix)?;
                            *place = Some(Self::Unknown { tag: #prefix.to_owned(), raw });
                            return Ok(());
                        };
                        let found = &*found;
                        #inner
                    }
                });
            }
        }
    }
    let variants = variants.into_iter().map(|(index, wires)| {
        let variant = &union.variants[index];
        let name = format_ident!("{}", variant.name);
        let keep = keeps_tag(&variant.payload, root_key, model).then(|| quote!(object.keep_tag();));
        let read = quote!(runtime::read_variant!(place, object, #name));
        if let Some(keep) = keep { quote!(#(#wires)|* => { #keep #read }) } else { quote!(#(#wires)|* => #read,) }
    });
    let joined = if prefix.is_empty() {
        quote!(unknown.to_owned())
    } else {
        let pattern = format!("{prefix}/{{unknown}}");
        quote!(format!(#pattern))
    };
    quote! {
        match #value {
            #(#variants)*
            #branches
            unknown => {
                let joined = #joined;
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}

/// `Union`: the table of tags, and the name of a value's variant. Tests, audits and coverage reports use it.
fn impl_union<'a>(
    ident: &Ident,
    tags: impl Iterator<Item = (&'a str, &'a str)>,
    variants: impl Iterator<Item = (&'a str, TokenStream)>,
) -> TokenStream {
    let tags = tags.map(|(tag, variant)| quote!((#tag, #variant)));
    let arms = variants.map(|(variant, pattern)| {
        let name = format_ident!("{variant}");
        quote!(Self::#name #pattern => #variant,)
    });
    quote! {
        impl runtime::Union for #ident {
            const TAGS: &'static [(&'static str, &'static str)] = &[#(#tags),*];

            fn variant(&self) -> &'static str {
                match self {
                    #(#arms)*
                    Self::Unknown { .. } => "Unknown",
                }
            }
        }
    }
}

fn is_struct(name: &str, model: &Model) -> bool {
    matches!(model.types.get(name).map(|definition| &definition.kind), Some(Kind::Struct(_)))
}

/// Whether the struct has the union's tag as a field, because the tag has several values.
fn keeps_tag(payload: &str, key: &str, model: &Model) -> bool {
    match model.types.get(payload).map(|definition| &definition.kind) {
        Some(Kind::Struct(structure)) => structure.fields.iter().any(|field| field.key == key),
        _ => false,
    }
}

/// An adjacently tagged union.
pub(super) fn adjacent(name: &str, union: &Adjacent, model: &Model, doc: Option<&str>) -> TokenStream {
    let ident = format_ident!("{name}");
    let doc = doc_tokens(doc, None);
    let (tag, content) = (&union.tag, &union.content);
    let pattern = |payload: &Option<Type>| payload.as_ref().map_or_else(TokenStream::new, |_| quote!((_)));
    let impl_union = impl_union(
        &ident,
        union.variants.iter().map(|variant| (variant.wire.as_str(), variant.name.as_str())),
        union.variants.iter().map(|variant| (variant.name.as_str(), pattern(&variant.payload))),
    );
    let declared = union.variants.iter().map(|variant| {
        let (name, wire) = (format_ident!("{}", variant.name), format!(" `{}`", variant.wire));
        let payload = variant.payload.as_ref().map(|ty| {
            let ty = type_tokens(ty);
            if variant.boxed { quote!((Box<#ty>)) } else { quote!((#ty)) }
        });
        quote! {
            #[doc = #wire]
            #name #payload,
        }
    });
    let read = read_contents(union, model);
    let write = write_contents(union);
    let envelope = (!union.siblings.is_empty()).then(|| envelope(name, union));
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq)]
        pub enum #ident {
            #(#declared)*
            /// A message with a tag that the schema does not list.
            Unknown {
                /// The tag.
                tag: String,
                /// The whole message.
                raw: Json,
            },
        }

        #impl_union

        impl #ident {
            /// Writes the members, except those whose keys are in `written`.
            fn write_members<M: ::serde::ser::SerializeMap>(&self, map: &mut M, written: &[&str]) -> Result<(), M::Error> {
                match self {
                    #(#write)*
                    Self::Unknown { tag, raw } => runtime::write_unknown_message(map, (#tag, tag), raw, written),
                }
            }
        }

        impl runtime::AdjacentUnion for #ident {
            const TAG: &'static str = #tag;
            const CONTENT: &'static str = #content;
            const NAME: &'static str = #name;

            fn from_tag(
                place: &mut Option<Self>,
                tag: &str,
                content: &mut runtime::Reader<'_>,
            ) -> runtime::ReadResult<()> {
                match tag {
                    #(#read)*
                    _ => content.skip(),
                }
            }

            fn unknown(tag: String, raw: Json) -> Self {
                Self::Unknown { tag, raw }
            }
        }

        impl runtime::Field for #ident {
            fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
            }
        }
        runtime::impl_deserialize!(#ident);

        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                self.write_members(&mut map, &[])?;
                map.end()
            }
        }

        #envelope
    }
}

/// The match arms that read the content of each tag.
fn read_contents(union: &Adjacent, model: &Model) -> Vec<TokenStream> {
    let arm = |variant: &AdjacentVariant| {
        let (name, wire) = (format_ident!("{}", variant.name), &variant.wire);
        match &variant.payload {
            Some(Type::Named(payload)) if is_struct(payload, model) => {
                quote!(#wire => runtime::read_content!(place, content, #name),)
            }
            Some(_) => quote! {
                #wire => {
                    *place = Some(Self::#name(runtime::Field::read(content)?));
                    Ok(())
                }
            },
            None => quote! {
                #wire => {
                    content.skip()?;
                    *place = Some(Self::#name);
                    Ok(())
                }
            },
        }
    };
    union.variants.iter().map(arm).collect()
}

/// The match arms that write the tag and content of each variant.
fn write_contents(union: &Adjacent) -> Vec<TokenStream> {
    let (tag, content) = (&union.tag, &union.content);
    let arm = |variant: &AdjacentVariant| {
        let (name, wire) = (format_ident!("{}", variant.name), &variant.wire);
        if variant.payload.is_some() {
            quote! {
                Self::#name(content) => {
                    map.serialize_entry(#tag, #wire)?;
                    map.serialize_entry(#content, content)
                }
            }
        } else {
            quote!(Self::#name => map.serialize_entry(#tag, #wire),)
        }
    };
    union.variants.iter().map(arm).collect()
}

/// The struct of an adjacently tagged union together with the other keys of its object.
fn envelope(name: &str, union: &Adjacent) -> TokenStream {
    let (ident, message) = (format_ident!("{name}Envelope"), format_ident!("{name}"));
    let envelope_doc =
        format!(" A [`{name}`] with the other keys of its object, beside `{}` and `{}`.", union.tag, union.content);
    let keys: Vec<&String> = union.siblings.iter().map(|field| &field.key).collect();
    let key_bytes = keys.iter().map(|key| Literal::byte_string(key.as_bytes()));
    let fields: Vec<_> = union.siblings.iter().map(|field| sibling_name(&field.key)).collect();
    let types: Vec<TokenStream> = union.siblings.iter().map(|field| type_tokens(&field.ty)).collect();
    let indexes: Vec<syn::Index> = (0..keys.len()).map(syn::Index::from).collect();
    let declared = union.siblings.iter().zip(&fields).zip(&types).map(|((field, name), ty)| {
        let json_key = (*name != field.key).then(|| format!("JSON key: `{}`.", field.key));
        let doc = doc_tokens(field.doc.as_deref(), json_key.as_deref());
        if field.required { quote!(#doc pub #name: #ty,) } else { quote!(#doc pub #name: Option<#ty>,) }
    });
    let built = union.siblings.iter().zip(&fields).zip(&indexes).map(|((field, name), index)| {
        let key = &field.key;
        if field.required { quote!(#name: siblings.#index.ok_or(#key)?,) } else { quote!(#name: siblings.#index,) }
    });
    let written = union.siblings.iter().zip(&fields).map(|(field, name)| {
        let key = &field.key;
        if field.required {
            quote!(map.serialize_entry(#key, &self.#name)?;)
        } else {
            quote! {
                if let Some(value) = &self.#name {
                    map.serialize_entry(#key, value)?;
                }
            }
        }
    });
    quote! {
        #[doc = #envelope_doc]
        #[derive(Debug, Clone, PartialEq)]
        pub struct #ident {
            #(#declared)*
            /// The message.
            pub message: #message,
        }

        impl runtime::Envelope for #ident {
            type Message = #message;
            type Siblings = (#(Option<#types>,)*);

            fn read_sibling(
                into: &mut Self::Siblings,
                key: &[u8],
                reader: &mut runtime::Reader<'_>,
            ) -> runtime::ReadResult<bool> {
                match key {
                    #(#key_bytes => runtime::Slot::read_next(&mut into.#indexes, reader)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn build(siblings: Self::Siblings, message: #message) -> Result<Self, &'static str> {
                Ok(Self { #(#built)* message })
            }
        }

        impl runtime::Field for #ident {
            fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                runtime::read_envelope(reader)
            }
        }
        runtime::impl_deserialize!(#ident);

        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                #(#written)*
                self.message.write_members(&mut map, &[#(#keys),*])?;
                map.end()
            }
        }
    }
}

/// The field name of a sibling: its key in snake case. A keyword, or the name of the message field, gets a `_`.
fn sibling_name(key: &str) -> Ident {
    let name = key.to_snake_case();
    let is_reserved = name == "message" || syn::parse_str::<Ident>(&name).is_err();
    if is_reserved { format_ident!("{name}_") } else { format_ident!("{name}") }
}

/// A union by JSON kind.
pub(super) fn kinds(name: &str, variants: &[KindVariant], doc: Option<&str>) -> TokenStream {
    let ident = format_ident!("{name}");
    let doc = doc_tokens(doc, None);
    let names: Vec<_> = variants.iter().map(|variant| format_ident!("{}", variant.kind.variant_name())).collect();
    let types = variants.iter().map(|variant| {
        let ty = type_tokens(&variant.ty);
        if variant.boxed { quote!(Box<#ty>) } else { ty }
    });
    let variant_docs = variants.iter().map(|variant| match variant.kind {
        JsonKind::Boolean => " A boolean.",
        JsonKind::Number => " A number.",
        JsonKind::String => " A string.",
        JsonKind::Array => " A list.",
        JsonKind::Object => " An object.",
    });
    let readers = variants.iter().map(kind_reader);
    quote! {
        #doc
        #[derive(Debug, Clone, PartialEq)]
        pub enum #ident {
            #(
                #[doc = #variant_docs]
                #names(#types),
            )*
            /// A JSON kind that the schema does not list.
            Unknown(Json),
        }

        impl runtime::KindUnion for #ident {
            const NAME: &'static str = #name;

            fn unknown(raw: Json) -> Self {
                Self::Unknown(raw)
            }
            #(#readers)*
        }

        runtime::impl_kind_union!(#ident);

        impl ::serde::Serialize for #ident {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    #(Self::#names(value) => value.serialize(serializer),)*
                    Self::Unknown(raw) => raw.serialize(serializer),
                }
            }
        }
    }
}

/// The method that reads the values of a variant.
fn kind_reader(variant: &KindVariant) -> TokenStream {
    let name = format_ident!("{}", variant.kind.variant_name());
    let wrap = |value: TokenStream| {
        if variant.boxed { quote!(Self::#name(Box::new(#value))) } else { quote!(Self::#name(#value)) }
    };
    match variant.kind {
        JsonKind::Boolean => quote! {
            fn read_boolean(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                runtime::Field::read(reader).map(Self::#name)
            }
        },
        JsonKind::Number => {
            let whole = match variant.ty {
                Type::Integer => Some(quote!(as_i64)),
                Type::Unsigned => Some(quote!(as_u64)),
                _ => None,
            };
            let body = match whole {
                None => quote!(runtime::Field::read(reader).map(Self::#name)),
                Some(whole) => quote! {
                    let start = reader.clone();
                    match reader.read_number()?.#whole() {
                        Some(value) => Ok(Self::#name(value)),
                        None => {
                            *reader = start;
                            runtime::read_unknown_kind(reader)
                        }
                    }
                },
            };
            quote! {
                fn read_number(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                    #body
                }
            }
        }
        JsonKind::String => quote! {
            fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                runtime::Field::read(reader).map(Self::#name)
            }
        },
        JsonKind::Array => {
            let value = wrap(quote!(runtime::Field::read(reader)?));
            quote! {
                fn read_array(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                    Ok(#value)
                }
            }
        }
        JsonKind::Object => {
            let value = wrap(quote!(runtime::Field::read(reader)?));
            quote! {
                fn read_object(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
                    Ok(#value)
                }
            }
        }
    }
}
