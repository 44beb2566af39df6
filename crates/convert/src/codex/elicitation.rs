//! What an MCP server asks the user through the agent. Codex asks for its own permissions the same way.

use interlingua_native::codex::{
    McpServerElicitationAction, McpServerElicitationRequestParams, McpServerElicitationRequestResponse,
};
use interlingua_native::{Json, Native as _};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::CodexConverter;
use super::content::json as to_json;
use super::requests::{What, set, set_json};
use crate::{Ask, Drafts, Scope};

/// The parts that all forms of the request have.
struct Request {
    thread: Option<String>,
    server: Option<String>,
    meta: Option<Json>,
    message: String,
    mode: &'static str,
    schema: Option<Value>,
    url: Option<String>,
}

impl From<McpServerElicitationRequestParams> for Request {
    fn from(params: McpServerElicitationRequestParams) -> Self {
        match params {
            McpServerElicitationRequestParams::OpenaiUserVerification(params) => Self {
                thread: params.thread_id,
                server: params.server_name,
                meta: params.meta,
                message: params.description.or(params.title).unwrap_or_default(),
                mode: "verification",
                schema: None,
                url: None,
            },
            McpServerElicitationRequestParams::Form(params) => Self {
                thread: params.thread_id,
                server: params.server_name,
                meta: params.meta,
                message: params.message.unwrap_or_default(),
                mode: "form",
                schema: params.requested_schema.map(to_json),
                url: None,
            },
            McpServerElicitationRequestParams::OpenaiForm(params) => Self {
                thread: params.thread_id,
                server: params.server_name,
                meta: params.meta,
                message: params.message.unwrap_or_default(),
                mode: "form",
                schema: params.requested_schema.map(|schema| schema.to_value()),
                url: None,
            },
            McpServerElicitationRequestParams::OpenaiForm2(params) => Self {
                thread: params.thread_id,
                server: params.server_name,
                meta: params.meta,
                message: params.message.unwrap_or_default(),
                mode: "form",
                schema: params.requested_schema.map(|schema| schema.to_value()),
                url: None,
            },
            McpServerElicitationRequestParams::Url(params) => Self {
                thread: params.thread_id,
                server: params.server_name,
                meta: params.meta,
                message: params.message.unwrap_or_default(),
                mode: "url",
                schema: None,
                url: params.url,
            },
            other => Self::unknown(&to_json(other)),
        }
    }
}

impl Request {
    /// A form of a later release: what all forms have so far.
    fn unknown(params: &Value) -> Self {
        let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
        Self {
            thread: text("threadId"),
            server: text("serverName"),
            meta: params.get("_meta").cloned().map(Json::from),
            message: text("message").unwrap_or_default(),
            mode: "unknown",
            schema: params.get("requestedSchema").cloned(),
            url: text("url"),
        }
    }
}

impl CodexConverter {
    pub(super) fn ask_for_server(&mut self, id: String, params: McpServerElicitationRequestParams, out: &mut Drafts) {
        let request = Request::from(params);
        let thread = self.answering(request.thread.as_deref(), out);
        let mut metadata = Map::new();
        set(&mut metadata, "server", request.server);
        let meta = request.meta.as_ref().map(Json::to_value).filter(|meta| !meta.is_null());
        let approval = meta.as_ref().and_then(|meta| meta.get("codex_approval_kind")).cloned();
        set_json(&mut metadata, "meta", meta);
        if let Some(approval) = approval.filter(|approval| !approval.is_null()) {
            metadata.insert("tool".to_owned(), approval);
            thread.session(out).permission_asked(id.as_str(), request.message, Some(Value::Object(metadata)));
            return self.demand(id, request.thread, What::ElicitedPermission);
        }
        metadata.insert("mode".to_owned(), request.mode.into());
        set(&mut metadata, "url", request.url);
        let options = request.schema.as_ref().map(options).unwrap_or_default();
        set_json(&mut metadata, "schema", request.schema);
        let ask = Ask { prompt: request.message, options, metadata: Some(Value::Object(metadata)) };
        thread.session(out).questions_asked(id.as_str(), vec![ask]);
        self.demand(id, request.thread, What::Elicitation);
    }
}

/// What can be chosen, where one field of the form has a list to choose from.
fn options(schema: &Value) -> Vec<String> {
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut lists = fields.into_iter().flat_map(Map::values).filter_map(choices);
    match (lists.next(), lists.next()) {
        (Some(options), None) => options,
        _ => Vec::new(),
    }
}

fn choices(field: &Value) -> Option<Vec<String>> {
    let of = |field: &Value| -> Option<Vec<String>> {
        if let Some(names) = field.get("enum").and_then(Value::as_array) {
            return Some(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect());
        }
        let named = field.get("oneOf").or_else(|| field.get("anyOf"))?.as_array()?;
        Some(named.iter().filter_map(|one| one.get("const")?.as_str().map(str::to_owned)).collect())
    };
    of(field).or_else(|| of(field.get("items")?)).filter(|options| !options.is_empty())
}

/// The answer that was accepted: the value of a lone field, or the whole form as JSON.
pub(super) fn answer(result: &str) -> Option<String> {
    let response = McpServerElicitationRequestResponse::decode(result).ok()?.value;
    if response.action != Some(McpServerElicitationAction::Accept) {
        return None;
    }
    let Some(content) = response.content else { return Some(String::new()) };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let words: Vec<String> =
                list.iter().map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)).collect();
            words.join(", ")
        }
        other => other.to_string(),
    };
    match content.to_value() {
        Value::Object(fields) if fields.len() == 1 => fields.values().next().map(text),
        Value::Object(fields) if fields.is_empty() => Some(String::new()),
        Value::Null => Some(String::new()),
        _ => Some(content.get().to_owned()),
    }
}

/// A permission given this way may be kept.
pub(super) fn verdict(result: &str) -> Option<Scope> {
    #[derive(Deserialize)]
    struct Meta {
        persist: Option<String>,
    }
    let response = McpServerElicitationRequestResponse::decode(result).ok()?.value;
    if response.action != Some(McpServerElicitationAction::Accept) {
        return None;
    }
    let kept = response.meta.and_then(|meta| meta.decode::<Meta>().ok()?.persist);
    Some(if kept.is_some() { Scope::Always } else { Scope::Once })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_field_answers_for_itself() {
        assert_eq!(answer(r#"{"action":"accept","content":{"colour":"red"}}"#).as_deref(), Some("red"));
        assert_eq!(answer(r#"{"action":"accept","content":{"a":["x","y"]}}"#).as_deref(), Some("x, y"));
        let both = answer(r#"{"action":"accept","content":{"colour":"red","sure":true}}"#);
        assert_eq!(both.as_deref(), Some(r#"{"colour":"red","sure":true}"#));
        assert_eq!(answer(r#"{"action":"decline"}"#), None);
    }

    #[test]
    fn only_an_acceptance_is_a_permission() {
        assert_eq!(verdict(r#"{"action":"accept"}"#), Some(Scope::Once));
        assert_eq!(verdict(r#"{"action":"accept","_meta":{"persist":"session"}}"#), Some(Scope::Always));
        for no in [r#"{"action":"cancel"}"#, r#"{"action":"perhaps"}"#, "{}", "7"] {
            assert_eq!(verdict(no), None, "{no}");
        }
    }
}
