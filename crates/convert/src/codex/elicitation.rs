//! What an MCP server asks the user through the agent. Codex asks for its own permissions the same way.

use interlingua_native::codex::{
    McpServerElicitationAction, McpServerElicitationRequestParams, McpServerElicitationRequestResponse,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ApprovalScope, McpInput, QuestionOption, ToolInput, ToolKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::CodexConverter;
use super::content::json as to_json;
use super::requests::{What, known, scopes, set, set_json};
use super::thread::Thread;
use crate::{Drafts, PermissionDraft, QuestionDraft};

/// The `codex_approval_kind` of a call of an MCP tool.
const TOOL_APPROVAL: &str = "mcp_tool_call";

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

/// The request of one of the forms. They are types of their own that share the first three fields.
macro_rules! request {
    ($params:ident, $message:expr, $mode:literal, $schema:expr, $url:expr) => {
        Self {
            thread: $params.thread_id,
            server: $params.server_name,
            meta: $params.meta,
            message: $message.unwrap_or_default(),
            mode: $mode,
            schema: $schema,
            url: $url,
        }
    };
}

impl From<McpServerElicitationRequestParams> for Request {
    fn from(params: McpServerElicitationRequestParams) -> Self {
        match params {
            McpServerElicitationRequestParams::OpenaiUserVerification(params) => {
                let message = params.description.or(params.title);
                request!(params, message, "verification", None, None)
            }
            McpServerElicitationRequestParams::Form(params) => {
                request!(params, params.message, "form", params.requested_schema.map(to_json), None)
            }
            McpServerElicitationRequestParams::OpenaiForm(params) => {
                request!(params, params.message, "form", params.requested_schema.map(|schema| schema.to_value()), None)
            }
            McpServerElicitationRequestParams::OpenaiForm2(params) => {
                request!(params, params.message, "form", params.requested_schema.map(|schema| schema.to_value()), None)
            }
            McpServerElicitationRequestParams::Url(params) => {
                request!(params, params.message, "url", None, params.url)
            }
            other @ McpServerElicitationRequestParams::Unknown { .. } => Self::unknown(&to_json(other)),
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

/// What Codex says beside an approval of an MCP tool.
#[derive(Default, Deserialize)]
struct ApprovalMeta {
    codex_approval_kind: Option<Value>,
    tool_name: Option<String>,
    tool_params: Option<Value>,
    /// How an approval may be kept: a word or a list of them.
    persist: Option<Value>,
}

impl CodexConverter {
    pub(super) fn ask_for_server(&mut self, id: String, params: McpServerElicitationRequestParams, out: &mut Drafts) {
        let request = Request::from(params);
        let meta = request.meta.as_ref().map(Json::to_value).filter(|meta| !meta.is_null());
        let approval: Option<ApprovalMeta> = meta.as_ref().and_then(|meta| ApprovalMeta::deserialize(meta).ok());
        let thread = self.answering(request.thread.as_deref(), out);
        match approval {
            Some(approval) if approval.codex_approval_kind.as_ref().is_some_and(|kind| !kind.is_null()) => {
                let ask = permission(thread, approval, request.server, request.message, meta);
                thread.session(out).permission_requested(id.as_str(), ask);
                self.demand(id, request.thread, What::ElicitedPermission);
            }
            _ => {
                let ask = question(thread, &request, meta);
                thread.session(out).questions_requested(id.as_str(), vec![ask]);
                self.demand(id, request.thread, What::Elicitation);
            }
        }
    }
}

/// The approval of a tool call. The request does not name the call, so it is found by the server, the tool and what the
/// tool is called with. Approvals of something else have only their message.
fn permission(
    thread: &Thread,
    approval: ApprovalMeta,
    server: Option<String>,
    message: String,
    meta: Option<Value>,
) -> PermissionDraft {
    let tool = approval.tool_name.or_else(|| quoted_tool(&message).map(str::to_owned));
    let params = approval.tool_params.filter(|params| !params.is_null());
    let is_meant = |call: &McpInput| {
        server.as_ref().is_none_or(|server| *server == call.server)
            && tool.as_ref().is_none_or(|tool| *tool == call.tool)
    };
    let is_same = |call: &McpInput| is_meant(call) && params.as_ref().is_none_or(|params| *params == call.arguments);
    let is_tool = approval.codex_approval_kind.is_some_and(|kind| kind == TOOL_APPROVAL);
    let call = only_open(thread, is_same).or_else(|| only_open(thread, is_meant)).filter(|_| is_tool);
    let offers = |scope: &str| match &approval.persist {
        Some(Value::Array(offered)) => offered.iter().any(|offered| offered == scope),
        Some(offered) => offered == scope,
        None => false,
    };
    let scopes = scopes(offers("session"), offers("always"));
    let input = match (server, tool) {
        (Some(server), Some(tool)) if is_tool => {
            Some(ToolInput::Mcp(McpInput::new(server, tool, params.unwrap_or_else(|| Value::Object(Map::new())))))
        }
        _ => None,
    };
    let mut native = Map::new();
    set(&mut native, "message", Some(message.clone()));
    set_json(&mut native, "_meta", meta);
    PermissionDraft {
        call_id: call.map(str::to_owned),
        kind: Some(if is_tool { ToolKind::Mcp } else { ToolKind::Other }),
        title: input.is_none().then_some(message),
        input,
        reason: None,
        scopes,
        native: known(native),
    }
}

/// The id of the one open call of an MCP tool that fits; `None` if there are several or none.
fn only_open(thread: &Thread, fits: impl Fn(&McpInput) -> bool) -> Option<&str> {
    let mut open = thread.open.iter().filter(|(_, open)| open.mcp.as_ref().is_some_and(&fits));
    open.next().filter(|_| open.next().is_none()).map(|(id, _)| id.as_str())
}

/// The tool that a question for approval names: `Allow the tiny MCP server to run tool "wipe"?`.
fn quoted_tool(message: &str) -> Option<&str> {
    let (_, after) = message.split_once("run tool \"")?;
    after.split_once('"').map(|(tool, _)| tool).filter(|tool| !tool.is_empty())
}

/// A question of the server itself, which asks it while one of its tools runs.
fn question(thread: &Thread, request: &Request, meta: Option<Value>) -> QuestionDraft {
    let is_of_server = |call: &McpInput| request.server.as_ref() == Some(&call.server);
    let choice = request.schema.as_ref().and_then(only_choice);
    let mut native = Map::new();
    set(&mut native, "serverName", request.server.clone());
    set(&mut native, "mode", Some(request.mode.to_owned()));
    set(&mut native, "url", request.url.clone());
    set_json(&mut native, "requestedSchema", request.schema.as_ref());
    set_json(&mut native, "_meta", meta);
    let mut ask = QuestionDraft {
        prompt: request.message.clone(),
        free_text: choice.as_ref().is_none_or(|choice| choice.among_others),
        call_id: only_open(thread, is_of_server).map(str::to_owned),
        native: known(native),
        ..QuestionDraft::default()
    };
    if let Some(choice) = choice {
        ask.header = choice.title;
        ask.options = choice.options;
        ask.multi_select = choice.several;
    }
    ask
}

/// A field of a form with a list to choose from.
#[derive(Debug, PartialEq)]
struct Choice {
    title: Option<String>,
    options: Vec<QuestionOption>,
    /// Several may be chosen.
    several: bool,
    /// The form has other fields as well.
    among_others: bool,
}

/// The field to choose from, where a form has exactly one.
fn only_choice(schema: &Value) -> Option<Choice> {
    let fields = schema.get("properties")?.as_object()?;
    let mut choices = fields.values().filter_map(choice);
    let mut only = choices.next().filter(|_| choices.next().is_none())?;
    only.among_others = fields.len() > 1;
    Some(only)
}

fn choice(field: &Value) -> Option<Choice> {
    let list = |field: &Value| options(field).filter(|options| !options.is_empty());
    let (options, several) = match list(field) {
        Some(options) => (options, false),
        None => (list(field.get("items")?)?, true),
    };
    let title = field.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(Choice { title, options, several, among_others: false })
}

fn options(field: &Value) -> Option<Vec<QuestionOption>> {
    if let Some(names) = field.get("enum").and_then(Value::as_array) {
        return Some(names.iter().filter_map(Value::as_str).map(QuestionOption::new).collect());
    }
    let named = field.get("oneOf").or_else(|| field.get("anyOf"))?.as_array()?;
    let option = |one: &Value| {
        let mut option = QuestionOption::new(one.get("const")?.as_str()?);
        option.description = one.get("title").and_then(Value::as_str).map(str::to_owned);
        Some(option)
    };
    Some(named.iter().filter_map(option).collect())
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
pub(super) fn verdict(result: &str) -> Option<ApprovalScope> {
    #[derive(Deserialize)]
    struct Meta {
        persist: Option<String>,
    }
    let response = McpServerElicitationRequestResponse::decode(result).ok()?.value;
    if response.action != Some(McpServerElicitationAction::Accept) {
        return None;
    }
    let kept = response.meta.and_then(|meta| meta.decode::<Meta>().ok()?.persist);
    Some(match kept.as_deref() {
        None => ApprovalScope::Once,
        Some("always") => ApprovalScope::Always,
        Some(_) => ApprovalScope::Session,
    })
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
        assert_eq!(verdict(r#"{"action":"accept"}"#), Some(ApprovalScope::Once));
        for (word, scope) in [("session", ApprovalScope::Session), ("always", ApprovalScope::Always)] {
            let answer = format!(r#"{{"action":"accept","_meta":{{"persist":"{word}"}}}}"#);
            assert_eq!(verdict(&answer), Some(scope));
        }
        for no in [r#"{"action":"cancel"}"#, r#"{"action":"perhaps"}"#, "{}", "7"] {
            assert_eq!(verdict(no), None, "{no}");
        }
    }
}
