//! Rendering of string enums.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::doc_tokens;
use crate::model::Enum;

pub(super) fn render(name: &str, definition: &Enum, doc: Option<&str>) -> TokenStream {
    let name = format_ident!("{name}");
    let doc = doc_tokens(doc, None);
    let any = definition.accepts_any.then(|| quote!(or any string));
    let variants = definition.literals.iter().map(|literal| {
        let (variant, wire) = (format_ident!("{}", literal.variant), &literal.wire);
        quote!(#variant = #wire,)
    });
    quote! {
        runtime::open_enum! { #doc #name { #(#variants)* } #any }
    }
}
