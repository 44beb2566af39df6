//! Types that a host sends, and the responses of requests.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::Document;
use crate::error::Result;
use crate::model::{Kind, Model, RpcMethod, Type};
use crate::settings::Settings;

/// The requests whose parameters are a named type, with the types of their responses. `replies` are the responses of the
/// host.
pub(super) fn rpc_methods(
    document: &Document,
    model: &Model,
    replies: &BTreeMap<String, Type>,
) -> Result<Vec<RpcMethod>> {
    let mut rpc_methods: Vec<RpcMethod> = Vec::new();
    for (method, response) in model.responses.iter().chain(replies) {
        let Some((union, params)) = find_request(model, method) else {
            let problem = format!("`{method}` has a response, but no union has such a request");
            return Err(document.error("", problem, "correct `responses` or `replies` in source.toml"));
        };
        let Some(params) = params else { continue };
        if let Some(other) = rpc_methods.iter().find(|rpc_method| rpc_method.params == params) {
            let problem = format!("`{method}` and `{}` have the same parameters, `{params}`", other.method);
            return Err(document.error("", problem, "remove one of them from `responses` or `replies` in source.toml"));
        }
        rpc_methods.push(RpcMethod { method: method.clone(), params, union, response: response.clone() });
    }
    Ok(rpc_methods)
}

/// The union that has a request, and the type of the request's parameters if it has one.
fn find_request(model: &Model, method: &str) -> Option<(String, Option<String>)> {
    model.types.iter().find_map(|(name, definition)| {
        let params = match &definition.kind {
            Kind::Adjacent(union) => {
                let variant = union.variants.iter().find(|variant| variant.wire == method)?;
                match &variant.payload {
                    Some(Type::Named(payload)) => Some(payload.clone()),
                    _ => None,
                }
            }
            Kind::Tagged(union) => {
                let variant = union.variants.iter().find(|variant| variant.tags.iter().any(|tag| tag == method))?;
                Some(variant.payload.clone())
            }
            _ => return None,
        };
        Some((name.clone(), params))
    })
}

/// The types that are sent: those in the settings, the responses of the host, the queries and bodies of HTTP requests, and
/// all types that these contain.
pub(super) fn sent_types(document: &Document, settings: &Settings, model: &Model) -> Result<BTreeSet<String>> {
    let mut pending: Vec<&str> = Vec::new();
    for name in &settings.sent {
        if !model.types.contains_key(name) {
            let problem = format!("`{name}` in `sent` is not a type");
            return Err(document.error("", problem, "correct `sent` in source.toml"));
        }
        pending.push(name);
    }
    let replies = model.rpc_methods.iter().filter(|rpc_method| settings.replies.contains_key(&rpc_method.method));
    pending.extend(replies.filter_map(|rpc_method| rpc_method.response.named()));
    for request in &model.http {
        pending.extend(request.query.as_deref());
        pending.extend(request.body.as_ref().and_then(Type::named));
    }
    let mut found = BTreeSet::new();
    while let Some(name) = pending.pop() {
        if found.insert(name.to_owned())
            && let Some(definition) = model.types.get(name)
        {
            let tags = settings.sent_tags.get(name);
            let is_sent = |tag: &str| tags.is_none_or(|tags| tags.iter().any(|sent| sent == tag));
            pending.extend(definition.kind.contained_types(is_sent));
        }
    }
    for (union, tags) in &settings.sent_tags {
        let known = model.types.get(union).map(|definition| union_tags(&definition.kind)).unwrap_or_default();
        if let Some(tag) = tags.iter().find(|tag| !known.contains(&tag.as_str())) {
            let problem = format!("`sent_tags` names `{tag}` of `{union}`, which does not exist");
            return Err(document.error("", problem, "correct `sent_tags` in source.toml and the code that sends it"));
        }
    }
    Ok(found)
}

/// The tags of a union.
fn union_tags(kind: &Kind) -> Vec<&str> {
    match kind {
        Kind::Tagged(union) => union.variants.iter().flat_map(|variant| &variant.tags).map(String::as_str).collect(),
        Kind::Adjacent(union) => union.variants.iter().map(|variant| variant.wire.as_str()).collect(),
        _ => Vec::new(),
    }
}
