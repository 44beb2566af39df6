//! What the attributes at the handlers cannot say: shared schemas and enumerations, id patterns, examples, and the
//! events of a stream.

use interlingua_agents::{AcpProfile, Agent};
use interlingua_store::MAX_QUERY_BYTES;
use serde_json::{Map, Value, json};

use super::examples;
use crate::export::ExportFormat;

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
    add_headers(document);
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
    });
    for added in [added, mcp_schemas()] {
        if let Value::Object(added) = added {
            schemas.extend(added);
        }
    }
    for name in ["SessionState", "InstallState", "ServerInfoStatus"] {
        if let Some(schema) = schemas.get_mut(name) {
            schema[OPEN_ENUM] = true.into();
        }
    }
    if let Some(problem) = schemas.get_mut("Problem") {
        problem["properties"]["type"][OPEN_ENUM] = true.into();
    }
    // A misspelt name is refused.
    for name in ["CreateSession", "UpdateSession"] {
        if let Some(schema) = schemas.get_mut(name) {
            schema["additionalProperties"] = false.into();
        }
    }
    // Its variants are told apart by the constants of `type`.
    if let Some(event) = schemas.get_mut("UniversalEvent") {
        event["discriminator"] = json!({ "propertyName": "type" });
    }
}

/// The schemas of MCP servers, which the runtime reads.
fn mcp_schemas() -> Value {
    let strings = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let secret = |description: &str| {
        let mut schema = strings.clone();
        schema["description"] = description.into();
        schema
    };
    let enabled = json!({ "type": "boolean", "description": "Whether the agent uses the server; true if absent." });
    let timeout = json!({
        "type": "integer", "minimum": 1,
        "description": "Milliseconds that the server may take to start and to answer; the agent's default if absent.",
    });
    json!({
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
                "cwd": { "type": "string", "description": "Folder in which the program starts; the agent's if absent." },
                "enabled": enabled,
                "timeoutMs": timeout,
            },
            "required": ["command"],
            "additionalProperties": false,
            "example": { "command": "npx", "args": ["-y", "some-mcp-server"], "env": { "TOKEN": "…" } },
        },
        "McpOauthClient": {
            "type": "object",
            "description": "An OAuth client.",
            "properties": {
                "clientId": { "type": "string", "description": "Id of the client; it registers itself if absent." },
                "scope": { "type": "string", "description": "The scope that it asks for." },
            },
            "additionalProperties": false,
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
                "transport": { "type": "string", "enum": ["http", "sse"], "description": "As `type`, for `remote`." },
                "headers": secret("Headers of every request. They are kept in memory only."),
                "envHeaders": secret("Headers whose values are variables of the session's `env`: the names of these, by header."),
                "bearerTokenEnvVar": { "type": "string", "description": "Variable of the session's `env` with a bearer token." },
                "oauth": {
                    "description": "False, or the OAuth client as which the agent logs in.",
                    "oneOf": [{ "type": "boolean", "const": false }, { "$ref": "#/components/schemas/McpOauthClient" }],
                },
                "enabled": enabled,
                "timeoutMs": timeout,
            },
            "required": ["url"],
            "additionalProperties": false,
            "example": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "…" } },
        },
    })
}

/// Properties that are described by a schema of their own.
pub(super) const PROPERTIES: [(&str, &str, &str); 10] = [
    ("AgentInfo", "id", "AgentId"),
    ("CreateSession", "agent", "AgentId"),
    ("CreateSession", "permissionMode", "PermissionMode"),
    ("UpdateSession", "permissionMode", "PermissionMode"),
    ("SessionInfo", "agent", "AgentId"),
    ("SessionInfo", "permissionMode", "PermissionMode"),
    ("SessionInfo", "lastTurnStatus", "TurnStatus"),
    ("SearchHit", "agent", "AgentId"),
    ("HistorySessionInfo", "agent", "AgentId"),
    ("ImportRequest", "agent", "AgentId"),
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

fn refine_operations(document: &mut Value) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, operations) in paths.into_iter().flatten() {
        for operation in operations.as_object_mut().into_iter().flat_map(Map::values_mut) {
            for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
                refine_parameter(path, parameter);
            }
            let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
            let request = examples::REQUESTS.iter().find(|(operation, _)| *operation == id);
            if let (Some((_, example)), Some(body)) =
                (request, operation.pointer_mut("/requestBody/content/application~1json"))
                && let Ok(example) = serde_json::from_str::<Value>(example)
            {
                body["example"] = example;
            }
            if let Some(body) = operation.get_mut("requestBody") {
                refine_binary(body);
            }
            let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
            for (status, response) in responses.into_iter().flatten() {
                refine_binary(response);
                refine_response(&id, status, response);
            }
        }
    }
}

/// Content that is neither text nor JSON, which the attributes describe as a list of numbers.
fn refine_binary(body: &mut Value) {
    for content_type in ["application/octet-stream", "application/x-tar"] {
        if let Some(content) = body.get_mut("content").and_then(|content| content.get_mut(content_type)) {
            content["schema"] = json!({ "type": "string", "format": "binary" });
        }
    }
}

fn refine_response(operation: &str, status: &str, response: &mut Value) {
    response["headers"] = response_headers(operation, status);
    let description = response["description"].as_str().unwrap_or_default().to_owned();
    for (kind, media) in response.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        let example = match kind.as_str() {
            "text/event-stream" => {
                // What a schema of a stream describes is not settled: the text, or each event.
                *media = json!({ ITEM_SCHEMA: { "$ref": "#/components/schemas/UniversalEvent" } });
                Some(examples::stream(operation).into())
            }
            "application/problem+json" => examples::problem(status, &description),
            _ => examples::answer(operation),
        };
        if let Some(example) = example {
            media["example"] = example;
        }
    }
}

/// The headers of an answer that a client may need.
fn response_headers(operation: &str, status: &str) -> Value {
    let header = |description: &str, example: &str, required: bool| {
        let schema = json!({ "type": "string" });
        json!({ "description": description, "schema": schema, "example": example, "required": required })
    };
    let mut headers = json!({ "X-Request-Id": { "$ref": "#/components/headers/RequestId" } });
    match (operation, status) {
        (_, "401") => headers["WWW-Authenticate"] = header("The scheme of the token.", "Bearer", true),
        (_, "503") => {
            headers["Retry-After"] = header("Seconds after which the request can be sent again.", "1", true);
        }
        ("installAgent", "202") => {
            headers["Preference-Applied"] = header("The preference of the request.", "respond-async", true);
        }
        ("exportSession", "200") => {
            let example = "attachment; filename=\"demo.jsonl\"";
            headers["Content-Disposition"] = header("The name of the file.", example, true);
        }
        _ => {}
    }
    headers
}

/// Adds the headers that all answers share.
fn add_headers(document: &mut Value) {
    document["components"]["headers"] = json!({
        "RequestId": {
            "description": "Id of the request, as the client sent it or a new one. The server's log has it.",
            "schema": { "type": "string" },
            "example": "19b2f3c4d5e-7",
        },
    });
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
    if place == "query" && name == "format" {
        parameter["schema"] =
            json!({ "type": "string", "enum": ExportFormat::NAMES, "default": ExportFormat::NAMES[0] });
    }
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    match (place.as_str(), name.as_str()) {
        // The cursor of the list is a number, that of the stream has a form of its own.
        (Some("query"), Some("cursor")) if path == "/v1/sessions" => parameter["schema"] = text("^[0-9]+$"),
        (Some("query"), Some("cursor")) => parameter["schema"] = text("^[0-9a-z.-]+$"),
        (Some("query"), Some("since")) => {
            parameter["schema"] = text("^(-?[0-9]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.+)$");
            parameter["example"] = "2026-01-31T08:00:00Z".into();
        }
        (Some("query"), Some("filename")) => {
            parameter["schema"] = json!({
                "type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^/\\\u0000-\u001f\u007f-\u009f]+$",
            });
            parameter["example"] = "shot.png".into();
        }
        _ => {}
    }
    // A parameter that is not given is absent, not null.
    if (place == "query" || place == "header")
        && let Some(Value::Array(types)) = parameter.pointer_mut("/schema/type")
    {
        types.retain(|kind| kind != "null");
        if let [kind] = types.as_slice() {
            parameter["schema"]["type"] = kind.clone();
        }
    }
}
