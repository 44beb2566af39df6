//! Rendering of what a host needs to send requests: conversions into unions, response types, and HTTP requests.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToSnakeCase as _;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::type_tokens;
use crate::model::{HttpRequest, Kind, Model, Type};

/// `From` for the payloads of sent unions, so that callers need not know which variants are boxed.
pub(super) fn conversions(model: &Model) -> TokenStream {
    let requests: Vec<(&String, &String)> =
        model.rpc_methods.iter().map(|rpc_method| (&rpc_method.union, &rpc_method.params)).collect();
    let unions: BTreeSet<&String> = model.sent.iter().chain(requests.iter().map(|(union, _)| *union)).collect();
    let mut tokens = TokenStream::new();
    for name in unions {
        let Some(definition) = model.types.get(name) else { continue };
        let variants: Vec<(String, Type, bool)> = match &definition.kind {
            Kind::Tagged(union) => {
                let variants = union.variants.iter();
                variants.map(|one| (one.name.clone(), Type::Named(one.payload.clone()), one.boxed)).collect()
            }
            Kind::Adjacent(union) => {
                let variants = union.variants.iter();
                variants.filter_map(|one| Some((one.name.clone(), one.payload.clone()?, one.boxed))).collect()
            }
            Kind::Kinds(variants) => {
                variants.iter().map(|one| (one.kind.variant_name().to_owned(), one.ty.clone(), one.boxed)).collect()
            }
            Kind::Struct(_) | Kind::Enum(_) => continue,
        };
        let mut payload_counts: BTreeMap<String, usize> = BTreeMap::new();
        for (_, payload, _) in &variants {
            *payload_counts.entry(payload.to_rust()).or_default() += 1;
        }
        let union = format_ident!("{name}");
        for (variant, payload, is_boxed) in variants {
            let is_used = match &payload {
                Type::Named(payload) => model.sent.contains(payload) || requests.contains(&(name, payload)),
                _ => model.sent.contains(name),
            };
            // If several variants have the same payload type, the caller must choose the variant.
            if !is_used || payload_counts.get(&payload.to_rust()) != Some(&1) {
                continue;
            }
            let (variant, payload) = (format_ident!("{variant}"), type_tokens(&payload));
            let boxed = is_boxed.then(|| quote!(boxed));
            tokens.extend(quote!(runtime::impl_from! { #union::#variant(#payload) #boxed }));
        }
    }
    tokens
}

/// `Request` for the parameters of each request, with the type of its response.
pub(super) fn rpc_methods(model: &Model) -> TokenStream {
    let implementations = model.rpc_methods.iter().map(|rpc_method| {
        let (params, union) = (format_ident!("{}", rpc_method.params), format_ident!("{}", rpc_method.union));
        let (method, response) = (&rpc_method.method, type_tokens(&rpc_method.response));
        quote! {
            impl runtime::Request for #params {
                const METHOD: &'static str = #method;
                type Response = #response;
                type Union = #union;
            }
        }
    });
    quote!(#(#implementations)*)
}

/// A struct for each HTTP request.
pub(super) fn http(model: &Model) -> TokenStream {
    let requests = model.http.iter().map(http_request);
    quote!(#(#requests)*)
}

fn http_request(request: &HttpRequest) -> TokenStream {
    let name = format_ident!("{}", request.name);
    let (method, path) = (&request.method, &request.path);
    let doc = format!(" `{method} {path}`");
    let keys: Vec<&str> = request.parameters().collect();
    let idents: Vec<_> = keys.iter().map(|key| format_ident!("{}", key.to_snake_case())).collect();
    let empty = || quote!(());
    let query = request.query.as_ref().map(|name| format_ident!("{name}"));
    let query_type = query.as_ref().map_or_else(empty, |query| quote!(#query));
    let body_type = request.body.as_ref().map_or_else(empty, type_tokens);
    let response = request.response.as_ref().map_or_else(empty, type_tokens);
    let query_field = query.as_ref().map(|query| quote!(/** The query parameters. */ pub query: #query,));
    let body_field = request.body.as_ref().map(|_| quote!(/** The body. */ pub body: #body_type,));
    let read_query = if query.is_some() { quote!(&self.query) } else { quote!(&()) };
    let read_body = if request.body.is_some() { quote!(Some(&self.body)) } else { quote!(None) };
    let query_parameter = request.query_is_required.then(|| quote!(query: #query_type,));
    let body_parameter = request.body.as_ref().map(|_| quote!(body: #body_type,));
    let set_query = match (&query, request.query_is_required) {
        (None, _) => TokenStream::new(),
        (Some(_), true) => quote!(query,),
        (Some(query), false) => quote!(query: #query::default(),),
    };
    let set_body = request.body.as_ref().map(|_| quote!(body,));
    let parameter_docs = keys.iter().map(|key| format!(" Path parameter `{key}`."));
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, PartialEq)]
        pub struct #name {
            #(#[doc = #parameter_docs] pub #idents: String,)*
            #query_field
            #body_field
        }

        impl #name {
            /// A request with its required parameters; optional ones are absent.
            #[must_use]
            pub fn new(#(#idents: impl Into<String>,)* #query_parameter #body_parameter) -> Self {
                Self { #(#idents: #idents.into(),)* #set_query #set_body }
            }
        }

        impl runtime::HttpRequest for #name {
            const METHOD: &'static str = #method;
            const PATH: &'static str = #path;
            type Query = #query_type;
            type Body = #body_type;
            type Response = #response;

            fn parameters(&self) -> Vec<(&'static str, &str)> {
                vec![#((#keys, self.#idents.as_str())),*]
            }

            fn query(&self) -> &Self::Query {
                #read_query
            }

            fn body(&self) -> Option<&Self::Body> {
                #read_body
            }
        }
    }
}
