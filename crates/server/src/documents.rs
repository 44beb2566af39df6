//! The OpenAPI document and the JSON Schema.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use crate::openapi::document;

/// The `OpenAPI` document of this API.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "server",
    operation_id = "getOpenApi",
    responses((status = 200, description = "The OpenAPI 3.1 document", body = Object))
)]
pub(crate) async fn openapi() -> impl IntoResponse {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    json_response(TEXT.get_or_init(|| document().to_string().into()).clone(), "application/json")
}

/// The JSON Schema of the universal event.
#[utoipa::path(
    get,
    path = "/v1/schema.json",
    tag = "server",
    operation_id = "getSchema",
    responses((status = 200, description = "A JSON Schema, draft 2020-12", body = Object, content_type = "application/schema+json"))
)]
pub(crate) async fn schema() -> impl IntoResponse {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| interlingua_schema::json_schema().as_value().to_string().into());
    json_response(text.clone(), "application/schema+json")
}

fn json_response(text: Bytes, content_type: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, content_type)], text)
}
