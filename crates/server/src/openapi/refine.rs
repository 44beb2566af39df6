//! What the attributes at the handlers cannot say: shared schemas and enumerations, id patterns, examples, and the
//! events of a stream.

use interlingua_agents::{AcpProfile, Agent};
use interlingua_store::MAX_QUERY_BYTES;
use serde_json::{Map, Value, json};

/// Name of the extension that has the schema of one event of a `text/event-stream`. `OpenAPI` 3.2 calls it `itemSchema`.
const ITEM_SCHEMA: &str = "x-item-schema";
/// Marks an enumeration to which later versions may add values.
const OPEN_ENUM: &str = "x-open-enum";

pub(super) fn refine(document: &mut Value) {
    document["servers"] = json!([{
        "url": "http://127.0.0.1:2468",
        "description": "A server with the default address",
    }]);
    add_schemas(document);
    replace_properties(document);
    refine_operations(document);
}

fn schemas(document: &mut Value) -> Option<&mut Map<String, Value>> {
    document.pointer_mut("/components/schemas")?.as_object_mut()
}

fn open_enum(description: &str, values: &[&str]) -> Value {
    let description = format!("{description} Later versions may add values.");
    json!({ "type": "string", "description": description, "enum": values, OPEN_ENUM: true })
}

/// Schemas that several others refer to.
fn add_schemas(document: &mut Value) {
    let Some(schemas) = schemas(document) else { return };
    // The protocol itself is not an agent of the API; the agents that speak it are.
    let native = Agent::ALL.into_iter().filter(|agent| *agent != Agent::Acp).map(Agent::id);
    let acp = AcpProfile::ALL.iter().map(|profile| profile.descriptor.id);
    let agents: Vec<&str> = native.chain(acp).chain(["mock"]).collect();
    let modes = interlingua_runtime::PermissionMode::ALL.map(interlingua_runtime::PermissionMode::name);
    let strings = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let secret = |description: &str| {
        let mut schema = strings.clone();
        schema["description"] = description.into();
        schema
    };
    let request = |kind: &str, data: &str, description: &str| {
        json!({
            "description": description,
            "allOf": [
                { "$ref": format!("#/components/schemas/{data}") },
                { "type": "object", "properties": { "kind": { "type": "string", "const": kind } }, "required": ["kind"] },
            ],
        })
    };
    let added = json!({
        "AgentId": open_enum("An agent.", &agents),
        "PermissionMode": open_enum("What the agent may do without asking.", &modes),
        "PendingPermission": request("permission", "Permission", "A permission request that waits for an answer."),
        "PendingQuestion": request("question", "Question", "A question that waits for an answer."),
        "PendingRequest": {
            "description": "A request that waits for an answer: the data of its event, with its `kind`.",
            "oneOf": [
                { "$ref": "#/components/schemas/PendingPermission" },
                { "$ref": "#/components/schemas/PendingQuestion" },
            ],
            "discriminator": {
                "propertyName": "kind",
                "mapping": {
                    "permission": "#/components/schemas/PendingPermission",
                    "question": "#/components/schemas/PendingQuestion",
                },
            },
        },
        "McpServerConfig": {
            "description": "An MCP server: a program, or a URL.",
            "oneOf": [
                { "$ref": "#/components/schemas/LocalMcpServer" },
                { "$ref": "#/components/schemas/RemoteMcpServer" },
            ],
        },
        "LocalMcpServer": {
            "type": "object",
            "description": "A program that communicates over its standard input and output.",
            "properties": {
                "type": { "type": "string", "enum": ["stdio", "local"] },
                "command": {
                    "description": "The program, or the program and its first arguments.",
                    "oneOf": [
                        { "type": "string" },
                        { "type": "array", "items": { "type": "string" }, "minItems": 1 },
                    ],
                },
                "args": { "type": "array", "items": { "type": "string" }, "description": "Further arguments." },
                "env": secret("Environment variables of the program. They are kept in memory only."),
            },
            "required": ["command"],
            "additionalProperties": false,
            "example": { "command": "npx", "args": ["-y", "some-mcp-server"], "env": { "TOKEN": "…" } },
        },
        "RemoteMcpServer": {
            "type": "object",
            "description": "A server over HTTP.",
            "properties": {
                "type": {
                    "type": "string",
                    "enum": ["http", "remote", "sse"],
                    "description": "`sse` is the older transport; `http` if absent.",
                },
                "url": { "type": "string" },
                "headers": secret("Headers of every request. They are kept in memory only."),
            },
            "required": ["url"],
            "additionalProperties": false,
            "example": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "…" } },
        },
    });
    if let Value::Object(added) = added {
        schemas.extend(added);
    }
    if let Some(state) = schemas.get_mut("SessionState") {
        state[OPEN_ENUM] = true.into();
    }
    // Its variants are told apart by the constants of `type`.
    if let Some(event) = schemas.get_mut("UniversalEvent") {
        event["discriminator"] = json!({ "propertyName": "type" });
    }
}

/// Properties that are described by a schema of their own.
pub(super) const PROPERTIES: [(&str, &str, &str); 7] = [
    ("CreateSession", "agent", "AgentId"),
    ("CreateSession", "permissionMode", "PermissionMode"),
    ("UpdateSession", "permissionMode", "PermissionMode"),
    ("SessionInfo", "agent", "AgentId"),
    ("SessionInfo", "permissionMode", "PermissionMode"),
    ("SessionInfo", "lastTurnStatus", "TurnStatus"),
    ("SearchHit", "agent", "AgentId"),
];

fn replace_properties(document: &mut Value) {
    let Some(schemas) = schemas(document) else { return };
    for (schema, property, target) in PROPERTIES {
        let Some(property) = schemas.get_mut(schema).and_then(|schema| schema["properties"].get_mut(property)) else {
            continue;
        };
        let is_nullable = property["type"].as_array().is_some_and(|types| types.contains(&"null".into()));
        let reference = json!({ "$ref": format!("#/components/schemas/{target}") });
        let description = property["description"].take();
        *property = if is_nullable { json!({ "anyOf": [reference, { "type": "null" }] }) } else { reference };
        property["description"] = description;
    }
    let mcp = json!({ "$ref": "#/components/schemas/McpServerConfig" });
    if let Some(property) = schemas.get_mut("CreateSession").and_then(|schema| schema["properties"].get_mut("mcp")) {
        property["additionalProperties"] = mcp;
    }
}

/// Examples of request bodies, by operation.
pub(super) const EXAMPLES: [(&str, &str); 8] = [
    ("createSession", r#"{"agent": "claude", "directory": "/home/me/project", "permissionMode": "acceptEdits"}"#),
    ("updateSession", r#"{"title": "Fix the build", "labels": {"team": "core", "draft": null}}"#),
    ("sendMessage", r#"{"id": "msg-1", "message": "Why does the test fail?"}"#),
    ("streamTurn", r#"{"id": "msg-1", "message": "Why does the test fail?"}"#),
    ("replyPermission", r#"{"reply": "once"}"#),
    ("replyQuestion", r#"{"answers": [["SQLite"]]}"#),
    ("setSecrets", r#"{"env": {"API_KEY": "…"}}"#),
    ("installAgent", r#"{"version": "1.2.3"}"#),
];

fn refine_operations(document: &mut Value) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, operations) in paths.into_iter().flatten() {
        for operation in operations.as_object_mut().into_iter().flat_map(Map::values_mut) {
            for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
                refine_parameter(path, parameter);
            }
            let example = EXAMPLES.iter().find(|(id, _)| operation["operationId"] == *id);
            if let (Some((_, example)), Some(body)) =
                (example, operation.pointer_mut("/requestBody/content/application~1json"))
                && let Ok(example) = serde_json::from_str::<Value>(example)
            {
                body["example"] = example;
            }
            let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
            for response in responses.into_iter().flat_map(Map::values_mut) {
                if let Some(stream) = response.pointer_mut("/content/text~1event-stream") {
                    // What a schema of a stream describes is not settled: the text, or each event.
                    *stream = json!({
                        ITEM_SCHEMA: { "$ref": "#/components/schemas/UniversalEvent" },
                        "example": "id: 1\ndata: {\"event_id\":\"evt_1\",\"sequence\":1,…}\n\n",
                    });
                }
            }
        }
    }
}

fn refine_parameter(path: &str, parameter: &mut Value) {
    let (place, name) = (parameter["in"].clone(), parameter["name"].clone());
    if place == "path" && name == "id" && path.starts_with("/v1/sessions/") {
        parameter["schema"] = json!({
            "type": "string", "minLength": 1, "maxLength": 256, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
        });
        parameter["example"] = "demo".into();
    }
    if place == "path" && name == "message" {
        parameter["schema"] = json!({
            "type": "string", "minLength": 1, "maxLength": 128, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
        });
    }
    if place == "query" && name == "q" && path == "/v1/search" {
        parameter["schema"] = json!({ "type": "string", "minLength": 1, "maxLength": MAX_QUERY_BYTES });
        parameter["example"] = "failing test".into();
    }
    if name == "agent" && (place == "path" || place == "query") {
        parameter["schema"] = json!({ "$ref": "#/components/schemas/AgentId" });
    }
    if place == "query" && name == "state" {
        parameter["schema"] = json!({ "$ref": "#/components/schemas/SessionState" });
    }
    // A parameter that is not given is absent, not null.
    if place == "query"
        && let Some(Value::Array(types)) = parameter.pointer_mut("/schema/type")
    {
        types.retain(|kind| kind != "null");
        if let [kind] = types.as_slice() {
            parameter["schema"]["type"] = kind.clone();
        }
    }
}
