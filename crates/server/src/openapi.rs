//! The `OpenAPI` document of the API.
//!
//! Paths and bodies are described at the handlers. This module adds what is common to many of them: the possible
//! problem documents, and the universal event, whose schema is the same as in `/v1/schema.json`.

mod examples;
mod refine;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, OpenApi as Document, RefOr, Schema};
use utoipa::{Modify, OpenApi, PartialSchema, ToSchema};

use crate::{
    agents, all_events, attachments, check, documents, events, export, files, health, history, messages, metrics,
    problem, ready, requests, search, secrets, session_list, sessions,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Interlingua",
        description = "One event language for every coding agent: sessions with Claude Code, Codex, OpenCode, Amp and a mock agent behind one API.",
    ),
    paths(
        health::get_health,
        ready::get_ready,
        agents::list,
        agents::install,
        agents::install_status,
        agents::modes,
        agents::models,
        history::list,
        history::import,
        history::import_status,
        session_list::list,
        sessions::create,
        sessions::get,
        sessions::update,
        sessions::delete,
        sessions::interrupt,
        sessions::terminate,
        secrets::set_secrets,
        messages::list,
        messages::send,
        messages::cancel,
        messages::stream,
        attachments::upload,
        events::list,
        events::follow,
        all_events::follow,
        search::search,
        export::export,
        check::check,
        requests::reply_question,
        requests::reject_question,
        requests::reply_permission,
        files::entries,
        files::stat,
        files::read,
        files::write,
        files::create_directory,
        files::rename,
        files::delete,
        files::upload_batch,
        documents::openapi,
        documents::schema,
        metrics::get_metrics,
    ),
    components(schemas(problem::ProblemDocument)),
    modifiers(&TokenScheme),
    security(("token" = [])),
    tags(
        (name = "sessions", description = "Conversations with agents"),
        (name = "messages", description = "Sending messages to an agent"),
        (name = "events", description = "Reading the events of a session"),
        (name = "requests", description = "Answering permission requests and questions"),
        (name = "files", description = "Files of sessions, if the server runs with --fs"),
        (name = "agents", description = "The agents and their installation"),
        (name = "history", description = "The sessions that agents keep on disk"),
        (name = "server", description = "The server itself"),
    ),
)]
struct Api;

struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The server's token. Not needed if the server was started with --no-token."))
            .build();
        document
            .components
            .get_or_insert_with(Components::new)
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Declares placeholders for schemas that are inserted later, so that handlers can refer to them.
macro_rules! placeholders {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Serialize)]
            pub(crate) struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    utoipa::openapi::Object::new().into()
                }
            }

            impl ToSchema for $name {}
        )*
    };
}

placeholders! {
    /// The universal event; see [`add_event`].
    UniversalEvent,
    /// The usage of a turn or a session, which is part of the universal event.
    Usage,
    /// A request that waits for an answer; see [`refine`].
    PendingRequest,
}

/// Builds the `OpenAPI` document of the API.
#[must_use]
pub fn document() -> Value {
    let mut document = json!(Api::openapi());
    add_event(&mut document);
    add_problems(&mut document);
    refine::refine(&mut document);
    document
}

/// Inserts the JSON Schema of the universal event and its definitions.
fn add_event(document: &mut Value) {
    let mut event = interlingua_schema::json_schema().to_value();
    rewrite_references(&mut event);
    let definitions = event.as_object_mut().and_then(|event| {
        event.remove("$schema");
        event.remove("$defs")
    });
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(Value::Object(definitions)) = definitions {
        schemas.extend(definitions);
    }
    schemas.insert("UniversalEvent".to_owned(), event);
}

fn rewrite_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = reference.replace("#/$defs/", "#/components/schemas/");
            }
            fields.values_mut().for_each(rewrite_references);
        }
        Value::Array(values) => values.iter_mut().for_each(rewrite_references),
        _ => {}
    }
}

/// Adds the possible problem documents to every operation, depending on its path, query and body.
fn add_problems(document: &mut Value) {
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else {
        return;
    };
    for (path, operations) in paths {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            let has_body = operation.get("requestBody").is_some();
            let has_json_body = operation.pointer("/requestBody/content/application~1json").is_some();
            let has_query = operation
                .get("parameters")
                .and_then(Value::as_array)
                .is_some_and(|parameters| parameters.iter().any(|parameter| parameter["in"] == "query"));
            let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
            let reads_store = ["/v1/sessions", "/v1/events", "/v1/search"].iter().any(|start| path.starts_with(start));
            let uses_files = path.starts_with("/v1/fs/");
            let creates = path == "/v1/sessions/{id}" && method == "post";
            let asks_agent = path.contains("agents/");
            let bad_gateway = match (asks_agent || creates, has_body) {
                (true, true) => "The agent cannot be reached or installed, or the body was cut off",
                (true, false) => "The agent cannot be reached",
                (false, _) => "The body was cut off",
            };
            for (status, when, description) in [
                ("400", has_body || has_query || path.contains('{'), "The request is invalid"),
                ("401", path != "/v1/health" && path != "/v1/ready", "The token is missing or wrong"),
                (
                    "403",
                    true,
                    "The client is an agent of this server, or the server has no token and the Host or Origin is not allowed",
                ),
                ("404", path.contains('{'), "The session, request or agent does not exist"),
                ("404", path == "/v1/history/import", "There is no such import, or no such session on disk"),
                ("404", uses_files, "The file or session does not exist, or the filesystem API is off"),
                ("409", creates, "The session id is taken"),
                ("410", path.contains("/events"), "The offset is beyond the last event"),
                ("413", has_body && (has_json_body || !uses_files), "The body is too large"),
                ("415", has_json_body, "The content type of the body is not JSON"),
                ("408", has_body, "The client did not send the body in time"),
                ("422", has_body || has_query, "The body is JSON of the wrong shape, or a name is unknown"),
                ("500", reads_store || uses_files, "Internal error of the server"),
                ("502", asks_agent || has_body, bad_gateway),
                ("503", true, "The server is shutting down, or has no capacity for another connection"),
                ("504", path.contains('{'), "The agent did not answer in time"),
                ("507", path.contains("sessions") && method != "get", "The disk is full; nothing was written"),
                ("507", uses_files && method != "get", "The disk is full"),
            ] {
                if when {
                    responses.entry(status).or_insert_with(|| json!({ "description": description }));
                }
            }
            for (status, response) in responses {
                if status.starts_with(['4', '5']) {
                    response["content"] = json!({
                        "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } }
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect_references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    found.push(reference.clone());
                }
                fields.values().for_each(|value| collect_references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| collect_references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_resolves() {
        let document = document();
        let mut found = Vec::new();
        collect_references(&document, &mut found);
        assert!(found.iter().any(|reference| reference.ends_with("/UniversalEvent")));
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("references stay inside the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn the_types_of_events_are_told_apart() {
        let document = document();
        let event = &document["components"]["schemas"]["UniversalEvent"];
        assert_eq!(event["discriminator"]["propertyName"], "type");
        for variant in event["oneOf"].as_array().unwrap() {
            assert!(variant["properties"]["type"]["const"].is_string(), "{variant}");
        }
        let events = &document["paths"]["/v1/sessions/{id}/events/sse"]["get"]["responses"]["200"]["content"];
        assert_eq!(events["text/event-stream"]["x-item-schema"]["$ref"], "#/components/schemas/UniversalEvent");
    }

    #[test]
    fn null_and_absent_are_told_apart() {
        let document = document();
        let session = &document["components"]["schemas"]["SessionInfo"];
        let required: Vec<&str> =
            session["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        for (name, schema) in session["properties"].as_object().unwrap() {
            let is_omitted = ["lastTurnStatus", "secretsMissing", "placement", "server"].contains(&name.as_str());
            assert_eq!(required.contains(&name.as_str()), !is_omitted, "{name}");
            let is_nullable = schema["type"].as_array().is_some_and(|types| types.contains(&"null".into()))
                || ["anyOf", "oneOf"].iter().any(|any| {
                    schema[any].as_array().is_some_and(|schemas| schemas.contains(&json!({ "type": "null" })))
                });
            let expected = ["permissionMode", "variant", "nativeSessionId", "usage", "directory", "title"];
            assert_eq!(is_nullable, expected.contains(&name.as_str()), "{name}: {schema}");
        }
    }

    #[test]
    fn enumerations_and_ids_are_stated() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        assert!(schemas["AgentId"]["enum"].as_array().unwrap().contains(&"mock".into()));
        let states = schemas["SessionState"]["enum"].as_array().unwrap();
        let expected = interlingua_runtime::SessionState::ALL.map(|state| Value::from(state.name()));
        assert_eq!(states.as_slice(), expected);
        for (schema, property, target) in refine::PROPERTIES {
            let found = schemas[schema]["properties"][property].to_string();
            assert!(found.contains(&format!("/{target}\"")), "{schema}.{property}: {found}");
        }
        let parameters = document["paths"]["/v1/sessions/{id}"]["get"]["parameters"].as_array().unwrap();
        assert_eq!(parameters[0]["schema"]["maxLength"], 256);
        assert!(schemas["CreateSession"]["properties"]["mcp"].to_string().contains("McpServerConfig"));
    }

    #[test]
    fn the_document_states_what_the_server_enforces() {
        let document = document();
        let schemas = &document["components"]["schemas"];
        for strict in ["CreateSession", "UpdateSession"] {
            assert_eq!(schemas[strict]["additionalProperties"], false, "{strict}");
        }
        for open in [
            &schemas["Problem"]["properties"]["type"],
            &schemas["ServerInfoStatus"],
            &schemas["InstallState"],
            &schemas["SessionState"],
        ] {
            assert_eq!((&open["x-open-enum"], open["enum"].is_array()), (&true.into(), true), "{open}");
        }
        let states = interlingua_runtime::InstallState::ALL.map(|state| json!(state));
        assert_eq!(schemas["InstallState"]["enum"].as_array().unwrap().as_slice(), states);
        // What is omitted or refused is never null, and what is always there is required.
        for (schema, property) in
            [("InstallInfo", "message"), ("InstallInfo", "progress"), ("McpSecrets", "env"), ("McpSecrets", "headers")]
        {
            let found = schemas[schema]["properties"][property].to_string();
            assert!(!found.contains("null"), "{schema}.{property}: {found}");
        }
        assert!(schemas["Violation"]["required"].as_array().unwrap().contains(&"rule".into()));
        let operation = |path: &str, method: &str| document["paths"][path][method].clone();
        for (path, method, name, key, value) in [
            ("/v1/agents/{agent}/install", "post", "Prefer", "type", "string"),
            ("/v1/events/sse", "get", "Last-Event-ID", "type", "string"),
            ("/v1/sessions/{id}/events/sse", "get", "Last-Event-ID", "type", "integer"),
            ("/v1/sessions", "get", "cursor", "pattern", "^[0-9]+$"),
            ("/v1/sessions/{id}/export", "get", "format", "default", "jsonl"),
        ] {
            let parameters = operation(path, method)["parameters"].clone();
            let found = parameters.as_array().unwrap().iter().find(|parameter| parameter["name"] == name);
            assert_eq!(found.unwrap()["schema"][key], value, "{path} {name}");
        }
        for (path, method, statuses) in [
            ("/v1/sessions/{id}", "post", &["502", "503", "507"][..]),
            ("/v1/sessions/{id}/messages", "post", &["502"]),
            ("/v1/health", "get", &["503"]),
            ("/v1/openapi.json", "get", &["503"]),
        ] {
            for status in statuses {
                assert!(operation(path, method)["responses"][status].is_object(), "{method} {path} {status}");
            }
        }
        let export = operation("/v1/sessions/{id}/export", "get");
        assert_eq!(export["responses"]["200"]["headers"]["Content-Disposition"]["required"], true);
        assert_eq!(export["responses"]["503"]["headers"]["Retry-After"]["required"], true);
        let stream = operation("/v1/events/sse", "get")["responses"]["200"]["content"]["text/event-stream"].clone();
        let example = stream["example"].as_str().unwrap();
        let (id, data) = example.trim_end().split_once("\ndata: ").unwrap();
        assert!(id.trim_start_matches("id: ").parse::<interlingua_store::GlobalCursor>().is_ok(), "{example}");
        serde_json::from_str::<interlingua_schema::UniversalEvent>(data).unwrap();
    }

    #[test]
    fn every_error_is_a_problem_document() {
        let document = document();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path}");
                for (_, response) in responses.iter().filter(|(status, _)| !status.starts_with('2')) {
                    assert!(response["content"]["application/problem+json"].is_object(), "{method} {path}");
                }
                assert!(operation["operationId"].is_string() && operation["summary"].is_string(), "{method} {path}");
            }
        }
    }
}
