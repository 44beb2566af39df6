//! The API described for programs: its `OpenAPI` document.
//!
//! Paths and bodies are described beside the handlers. What holds for many of them is added here: the problems that a
//! request can meet, and the universal event, whose schema is the one that `/v1/schema.json` has.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Components, OpenApi as Document, RefOr, Schema};
use utoipa::{Modify, OpenApi, PartialSchema, ToSchema};

use crate::{agents, documents, events, health, messages, metrics, problem, requests, sessions};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Interlingua",
        description = "One event language for every coding agent: sessions with Claude Code, Codex, OpenCode, Amp and a mock agent behind one API.",
    ),
    paths(
        health::get_health,
        agents::list,
        agents::install,
        agents::modes,
        agents::models,
        sessions::list,
        sessions::create,
        sessions::get,
        sessions::delete,
        sessions::interrupt,
        sessions::terminate,
        messages::send,
        messages::stream,
        events::list,
        events::follow,
        requests::reply_question,
        requests::reject_question,
        requests::reply_permission,
        documents::openapi,
        documents::schema,
        metrics::get_metrics,
    ),
    components(schemas(problem::Document)),
    modifiers(&TokenScheme),
    security(("token" = [])),
    tags(
        (name = "sessions", description = "Conversations with agents"),
        (name = "messages", description = "Telling an agent something"),
        (name = "events", description = "Reading what happens in a session"),
        (name = "requests", description = "Answering what an agent asks"),
        (name = "agents", description = "The agents there are"),
        (name = "server", description = "The server itself"),
    ),
)]
struct Api;

struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The server's token. Not needed when it was started with --no-token."))
            .build();
        document
            .components
            .get_or_insert_with(Components::new)
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Stands for an event of a session where the document refers to one.
#[derive(Serialize)]
pub(crate) struct UniversalEvent;

impl PartialSchema for UniversalEvent {
    fn schema() -> RefOr<Schema> {
        utoipa::openapi::Object::new().into()
    }
}

impl ToSchema for UniversalEvent {}

/// The `OpenAPI` document of the API.
pub(crate) fn document() -> Value {
    let mut document = json!(Api::openapi());
    add_event(&mut document);
    add_problems(&mut document);
    document
}

/// Puts the universal event's own schema in its place.
fn add_event(document: &mut Value) {
    let mut event = interlingua_schema::json_schema().to_value();
    refer_to_components(&mut event);
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

fn refer_to_components(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = reference.replace("#/$defs/", "#/components/schemas/");
            }
            fields.values_mut().for_each(refer_to_components);
        }
        Value::Array(values) => values.iter_mut().for_each(refer_to_components),
        _ => {}
    }
}

/// Adds to every operation the problems that its shape lets a request meet, and gives all of them their type.
fn add_problems(document: &mut Value) {
    let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) else {
        return;
    };
    for (path, operations) in paths {
        for operation in operations.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let has_body = operation.get("requestBody").is_some();
            let has_query = operation
                .get("parameters")
                .and_then(Value::as_array)
                .is_some_and(|parameters| parameters.iter().any(|parameter| parameter["in"] == "query"));
            let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { continue };
            let creates = path == "/v1/sessions/{id}" && has_body;
            for (status, when, description) in [
                ("400", has_body || has_query || path.contains('{'), "Not a valid request"),
                ("401", path != "/v1/health", "The token is missing or wrong"),
                ("403", true, "Without a token: a Host or Origin that is not let in"),
                ("404", path.contains('{'), "No such session, request or agent"),
                ("409", creates, "The name is taken"),
                ("413", has_body, "The body is too large"),
                ("415", has_body, "The body is not said to be JSON"),
                ("422", has_body, "JSON of the wrong shape"),
                ("500", path.contains("sessions"), "The server's own fault"),
                ("502", path.contains("agents/"), "The agent cannot be reached or installed"),
                ("503", path.contains("sessions"), "The server is being stopped"),
                ("504", path.contains('{'), "It took too long"),
                ("507", path.contains("sessions") && !path.contains("events"), "The disk is full: nothing was written"),
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

    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    found.push(reference.clone());
                }
                fields.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn everything_referred_to_is_there() {
        let document = document();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.iter().any(|reference| reference.ends_with("/UniversalEvent")));
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("references stay inside the document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
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
