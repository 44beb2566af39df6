//! The Agent Client Protocol: its SDK publishes the schema of the protocol.
//!
//! The schema lists requests and notifications without their methods; the method of each is a keyword of its parameters.
//! Here they become unions by `method`, as in the schemas of the agents. What the schema says about values that it does
//! not know (`other`) is removed: generated unions accept unknown values anyway.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{ExtractedSchema, Installations};
use crate::definitions::check_required_types;
use crate::recipes::InstallGroup;

const SDK_PACKAGE: &str = "@agentclientprotocol/sdk";
/// The schema of version 1 with the types that are not stable yet. Agents send some of them already.
const SCHEMA_FILE: &str = "schema/v1/schema.unstable.json";
/// The side that a notification is sent to, if both may receive it.
const BOTH_SIDES: &str = "protocol";
/// The title of an alternative for values that the schema does not know.
const OTHER: &str = "other";

/// A union that is made of the parameters of its members.
struct MethodUnion {
    name: &'static str,
    /// The side that receives the messages, as the schema's `x-side` says it.
    receiver: &'static str,
    /// End of the names of the parameters.
    suffix: &'static str,
}

const METHOD_UNIONS: [MethodUnion; 4] = [
    MethodUnion { name: "AgentRequest", receiver: "client", suffix: "Request" },
    MethodUnion { name: "AgentNotification", receiver: "client", suffix: "Notification" },
    MethodUnion { name: "ClientRequest", receiver: "agent", suffix: "Request" },
    MethodUnion { name: "ClientNotification", receiver: "agent", suffix: "Notification" },
];

pub(super) fn extract(installations: &Installations) -> Result<ExtractedSchema> {
    let types = installations.get(InstallGroup::Types)?;
    let path = types.package_folder(SDK_PACKAGE).join(SCHEMA_FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let published: Value = serde_json::from_str(&text).with_context(|| format!("{SCHEMA_FILE} is not JSON"))?;
    let document = with_method_unions(&published)?;
    check_required_types(
        &document,
        "/$defs",
        &[
            "SessionNotification",
            "SessionUpdate",
            "RequestPermissionRequest",
            "PromptRequest",
            "PromptResponse",
            "Error",
        ],
    )?;
    Ok(ExtractedSchema { documents: vec![document], ..ExtractedSchema::default() })
}

/// Replaces the lists of messages by unions, and adds the messages that answer a request.
fn with_method_unions(published: &Value) -> Result<Value> {
    let definitions = published.get("$defs").and_then(Value::as_object).context("the schema has no `$defs`")?;
    let mut result: Map<String, Value> =
        definitions.iter().map(|(name, schema)| (name.clone(), without_other(schema))).collect();
    // They list the results without the request that they belong to. `source.toml` has the types of the responses.
    for name in ["AgentResponse", "ClientResponse", "ProxyRequest", "ProxyResponse", "ProxyNotification"] {
        result.remove(name);
    }
    for union in &METHOD_UNIONS {
        let members = method_union(definitions, union)?;
        let doc = definitions.get(union.name).and_then(|schema| schema.get("description"));
        let mut schema = json!({ "oneOf": members });
        if let (Value::Object(schema), Some(doc)) = (&mut schema, doc) {
            schema.insert("description".to_owned(), doc.clone());
        }
        result.insert(union.name.to_owned(), schema);
    }
    let id = json!({ "$ref": "#/$defs/RequestId" });
    result.insert(
        "JsonRpcResult".to_owned(),
        json!({
            "type": "object",
            "properties": { "jsonrpc": { "const": "2.0" }, "id": id, "result": {} },
            "required": ["jsonrpc", "id", "result"],
        }),
    );
    result.insert(
        "JsonRpcError".to_owned(),
        json!({
            "type": "object",
            "properties": { "jsonrpc": { "const": "2.0" }, "id": id, "error": { "$ref": "#/$defs/Error" } },
            "required": ["jsonrpc", "id", "error"],
        }),
    );
    let schema_uri = published.get("$schema").cloned().unwrap_or_default();
    Ok(json!({ "$schema": schema_uri, "title": "AgentClientProtocol", "$defs": result }))
}

/// The members of a union: one per definition of parameters for this side.
fn method_union(definitions: &Map<String, Value>, union: &MethodUnion) -> Result<Vec<Value>> {
    let is_request = union.suffix == "Request";
    let mut members = Vec::new();
    for (name, schema) in definitions.iter().filter(|(name, _)| name.ends_with(union.suffix)) {
        let text = |key| schema.get(key).and_then(Value::as_str);
        let (Some(side), Some(method)) = (text("x-side"), text("x-method")) else { continue };
        if side != union.receiver && (side != BOTH_SIDES || is_request) {
            continue;
        }
        let mut properties = json!({
            "jsonrpc": { "const": "2.0" },
            "method": { "const": method },
            "params": { "$ref": format!("#/$defs/{name}") },
        });
        // A line without `jsonrpc` is understood as well.
        let mut required = vec!["method", "params"];
        if is_request {
            properties["id"] = json!({ "$ref": "#/$defs/RequestId" });
            required.push("id");
        }
        members.push((method, json!({ "type": "object", "properties": properties, "required": required })));
    }
    anyhow::ensure!(!members.is_empty(), "the schema has no {} with `x-side` {:?}", union.name, union.receiver);
    members.sort_by_key(|(method, _)| *method);
    Ok(members.into_iter().map(|(_, member)| member).collect())
}

/// `schema` without the objects that stand for values that it does not know, at every depth.
fn without_other(schema: &Value) -> Value {
    let is_other = |member: &Value| {
        member.get("title").and_then(Value::as_str) == Some(OTHER)
            && member.get("type").and_then(Value::as_str) == Some("object")
    };
    match schema {
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| match value {
                Value::Array(members) if key == "anyOf" || key == "oneOf" => {
                    let kept = members.iter().filter(|member| !is_other(member)).map(without_other).collect();
                    (key.clone(), Value::Array(kept))
                }
                _ => (key.clone(), without_other(value)),
            };
            Value::Object(map.iter().map(entry).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_other).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_in_the_union_of_the_side_that_sends_it() {
        let params = |side, method| json!({ "type": "object", "x-side": side, "x-method": method });
        let document = with_method_unions(&json!({ "$defs": {
            "AgentRequest": { "description": "To the client." },
            "AskRequest": params("client", "ask"),
            "AskResponse": params("client", "ask"),
            "SayRequest": params("agent", "say"),
            "UpdateNotification": params("client", "update"),
            "CancelNotification": params("agent", "cancel"),
            "StopNotification": params("protocol", "$/stop"),
        }}))
        .unwrap();
        let methods = |union: &str| -> Vec<String> {
            let members = document["$defs"][union]["oneOf"].as_array().unwrap();
            members.iter().map(|member| member["properties"]["method"]["const"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(methods("AgentRequest"), ["ask"]);
        assert_eq!(methods("ClientRequest"), ["say"]);
        assert_eq!(methods("AgentNotification"), ["$/stop", "update"]);
        assert_eq!(methods("ClientNotification"), ["$/stop", "cancel"]);
        assert_eq!(document["$defs"]["AgentRequest"]["description"], "To the client.");
        assert_eq!(document["$defs"]["AgentRequest"]["oneOf"][0]["properties"]["id"]["$ref"], "#/$defs/RequestId");
    }

    #[test]
    fn alternatives_for_unknown_objects_are_removed() {
        let known = json!({ "type": "object", "properties": { "type": { "const": "a" } } });
        let other = json!({ "title": "other", "type": "object", "not": {} });
        let text = json!({ "title": "other", "type": "string" });
        let schema = json!({ "properties": { "x": { "anyOf": [known, other] }, "y": { "anyOf": [text] } } });
        let expected = json!({ "properties": { "x": { "anyOf": [known] }, "y": { "anyOf": [text] } } });
        assert_eq!(without_other(&schema), expected);
    }
}
