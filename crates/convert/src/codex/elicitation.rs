//! Elicitations: questions of an MCP server to the user. Codex asks for approval of MCP tools in the same way.

use interlingua_native::codex::{
    McpServerElicitationAction, McpServerElicitationRequestParams, McpServerElicitationRequestResponse,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ApprovalScope, McpInput, QuestionOption, ToolInput, ToolKind};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::CodexConverter;
use super::content::{insert_json, insert_text, non_empty, to_json};
use super::requests::{AgentRequestKind, approval_scopes};
use super::thread::Thread;
use crate::{Drafts, PermissionDraft, QuestionDraft};

/// `codex_approval_kind` of the approval of an MCP tool call.
const TOOL_APPROVAL: &str = "mcp_tool_call";

/// Fields that all forms of the request share.
struct Elicitation {
    thread: Option<String>,
    server: Option<String>,
    meta: Option<Json>,
    message: String,
    mode: &'static str,
    schema: Option<Value>,
    url: Option<String>,
}

/// Builds an `Elicitation` from one of the parameter types, which share the first three fields.
macro_rules! elicitation {
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

impl From<McpServerElicitationRequestParams> for Elicitation {
    fn from(params: McpServerElicitationRequestParams) -> Self {
        match params {
            McpServerElicitationRequestParams::OpenaiUserVerification(params) => {
                let message = params.description.or(params.title);
                elicitation!(params, message, "verification", None, None)
            }
            McpServerElicitationRequestParams::Form(params) => {
                elicitation!(params, params.message, "form", params.requested_schema.map(to_json), None)
            }
            McpServerElicitationRequestParams::OpenaiForm(params) => {
                elicitation!(
                    params,
                    params.message,
                    "form",
                    params.requested_schema.map(|schema| schema.to_value()),
                    None
                )
            }
            McpServerElicitationRequestParams::OpenaiForm2(params) => {
                elicitation!(
                    params,
                    params.message,
                    "form",
                    params.requested_schema.map(|schema| schema.to_value()),
                    None
                )
            }
            McpServerElicitationRequestParams::Url(params) => {
                elicitation!(params, params.message, "url", None, params.url)
            }
            other @ McpServerElicitationRequestParams::Unknown { .. } => Self::unknown(&to_json(other)),
        }
    }
}

impl Elicitation {
    /// Reads the shared fields of a form that a later release may add.
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

/// `_meta` of an approval of an MCP tool.
#[derive(Default, Deserialize)]
struct ApprovalMeta {
    codex_approval_kind: Option<Value>,
    tool_name: Option<String>,
    tool_params: Option<Value>,
    /// Scopes that the approval may have: one text or a list.
    persist: Option<Value>,
}

impl CodexConverter {
    pub(super) fn elicitation_requested(
        &mut self,
        id: String,
        params: McpServerElicitationRequestParams,
        out: &mut Drafts,
    ) {
        let elicitation = Elicitation::from(params);
        let meta = elicitation.meta.as_ref().map(Json::to_value).filter(|meta| !meta.is_null());
        let approval: Option<ApprovalMeta> = meta.as_ref().and_then(|meta| ApprovalMeta::deserialize(meta).ok());
        let thread = self.answering_thread(elicitation.thread.as_deref(), out);
        match approval {
            Some(approval) if approval.codex_approval_kind.as_ref().is_some_and(|kind| !kind.is_null()) => {
                let permission = permission_draft(thread, approval, elicitation.server, elicitation.message, meta);
                thread.session(out).permission_requested(id.as_str(), permission);
                self.add_agent_request(id, elicitation.thread, AgentRequestKind::ElicitedPermission);
            }
            _ => {
                let question = question_draft(thread, &elicitation, meta);
                thread.session(out).questions_requested(id.as_str(), vec![question]);
                self.add_agent_request(id, elicitation.thread, AgentRequestKind::Elicitation);
            }
        }
    }
}

/// Permission for an MCP tool call. The request does not name the call, so the call is found by server, tool and
/// arguments. Approvals of anything else only have a message.
fn permission_draft(
    thread: &Thread,
    approval: ApprovalMeta,
    server: Option<String>,
    message: String,
    meta: Option<Value>,
) -> PermissionDraft {
    let tool = approval.tool_name.or_else(|| quoted_tool(&message).map(str::to_owned));
    let params = approval.tool_params.filter(|params| !params.is_null());
    let is_same_tool = |call: &McpInput| {
        server.as_ref().is_none_or(|server| *server == call.server)
            && tool.as_ref().is_none_or(|tool| *tool == call.tool)
    };
    let is_same_call =
        |call: &McpInput| is_same_tool(call) && params.as_ref().is_none_or(|params| *params == call.arguments);
    let is_tool_call = approval.codex_approval_kind.is_some_and(|kind| kind == TOOL_APPROVAL);
    let call = find_only_open_call(thread, is_same_call)
        .or_else(|| find_only_open_call(thread, is_same_tool))
        .filter(|_| is_tool_call);
    let offers = |scope: &str| match &approval.persist {
        Some(Value::Array(offered)) => offered.iter().any(|offered| offered == scope),
        Some(offered) => offered == scope,
        None => false,
    };
    let scopes = approval_scopes(offers("session"), offers("always"));
    let input = match (server, tool) {
        (Some(server), Some(tool)) if is_tool_call => {
            Some(ToolInput::Mcp(McpInput::new(server, tool, params.unwrap_or_else(|| Value::Object(Map::new())))))
        }
        _ => None,
    };
    let mut native = Map::new();
    insert_text(&mut native, "message", Some(message.clone()));
    insert_json(&mut native, "_meta", meta);
    PermissionDraft {
        call_id: call.map(str::to_owned),
        kind: Some(if is_tool_call { ToolKind::Mcp } else { ToolKind::Other }),
        title: input.is_none().then_some(message),
        input,
        reason: None,
        scopes,
        native: non_empty(native),
    }
}

/// Id of the only open MCP tool call that matches; `None` if none or several do.
fn find_only_open_call(thread: &Thread, matches: impl Fn(&McpInput) -> bool) -> Option<&str> {
    let mut open = thread.open_tools.iter().filter(|(_, open)| open.mcp_input.as_ref().is_some_and(&matches));
    open.next().filter(|_| open.next().is_none()).map(|(id, _)| id.as_str())
}

/// Tool named in the message of an approval: `Allow the tiny MCP server to run tool "wipe"?`.
fn quoted_tool(message: &str) -> Option<&str> {
    let (_, after) = message.split_once("run tool \"")?;
    after.split_once('"').map(|(tool, _)| tool).filter(|tool| !tool.is_empty())
}

/// Question of the server itself. Servers ask while one of their tools is running.
fn question_draft(thread: &Thread, elicitation: &Elicitation, meta: Option<Value>) -> QuestionDraft {
    let is_from_server = |call: &McpInput| elicitation.server.as_ref() == Some(&call.server);
    let choice = elicitation.schema.as_ref().and_then(only_choice);
    let mut native = Map::new();
    insert_text(&mut native, "serverName", elicitation.server.clone());
    insert_text(&mut native, "mode", Some(elicitation.mode.to_owned()));
    insert_text(&mut native, "url", elicitation.url.clone());
    insert_json(&mut native, "requestedSchema", elicitation.schema.as_ref());
    insert_json(&mut native, "_meta", meta);
    let mut question = QuestionDraft {
        prompt: elicitation.message.clone(),
        free_text: choice.as_ref().is_none_or(|choice| choice.has_other_fields),
        call_id: find_only_open_call(thread, is_from_server).map(str::to_owned),
        native: non_empty(native),
        ..QuestionDraft::default()
    };
    if let Some(choice) = choice {
        question.header = choice.title;
        question.options = choice.options;
        question.multi_select = choice.is_multiple;
    }
    question
}

/// Form field with a list of options.
#[derive(Debug, PartialEq)]
struct Choice {
    title: Option<String>,
    options: Vec<QuestionOption>,
    /// More than one option may be selected.
    is_multiple: bool,
    has_other_fields: bool,
}

/// The field with options, if the form has exactly one.
fn only_choice(schema: &Value) -> Option<Choice> {
    let fields = schema.get("properties")?.as_object()?;
    let mut choices = fields.values().filter_map(choice);
    let mut only = choices.next().filter(|_| choices.next().is_none())?;
    only.has_other_fields = fields.len() > 1;
    Some(only)
}

fn choice(field: &Value) -> Option<Choice> {
    let list = |field: &Value| options(field).filter(|options| !options.is_empty());
    let (options, is_multiple) = match list(field) {
        Some(options) => (options, false),
        None => (list(field.get("items")?)?, true),
    };
    let title = field.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(Choice { title, options, is_multiple, has_other_fields: false })
}

fn options(field: &Value) -> Option<Vec<QuestionOption>> {
    if let Some(names) = field.get("enum").and_then(Value::as_array) {
        return Some(names.iter().filter_map(Value::as_str).map(QuestionOption::new).collect());
    }
    let variants = field.get("oneOf").or_else(|| field.get("anyOf"))?.as_array()?;
    let option = |variant: &Value| {
        let mut option = QuestionOption::new(variant.get("const")?.as_str()?);
        option.description = variant.get("title").and_then(Value::as_str).map(str::to_owned);
        Some(option)
    };
    Some(variants.iter().filter_map(option).collect())
}

/// Answer to an accepted elicitation: the value of a lone field, or the whole form as JSON. `None` if it was not
/// accepted.
pub(super) fn parse_answer(result: &str) -> Option<String> {
    let response = McpServerElicitationRequestResponse::decode(result).ok()?.value;
    if response.action != Some(McpServerElicitationAction::Accept) {
        return None;
    }
    let Some(content) = response.content else { return Some(String::new()) };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let texts: Vec<String> =
                list.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect();
            texts.join(", ")
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

/// Scope of an approval; `None` if it was not accepted.
pub(super) fn parse_approval(result: &str) -> Option<ApprovalScope> {
    #[derive(Deserialize)]
    struct Meta {
        persist: Option<String>,
    }
    let response = McpServerElicitationRequestResponse::decode(result).ok()?.value;
    if response.action != Some(McpServerElicitationAction::Accept) {
        return None;
    }
    let persist = response.meta.and_then(|meta| meta.decode::<Meta>().ok()?.persist);
    Some(match persist.as_deref() {
        None => ApprovalScope::Once,
        Some("always") => ApprovalScope::Always,
        Some(_) => ApprovalScope::Session,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_value_of_a_lone_field_or_the_whole_form() {
        assert_eq!(parse_answer(r#"{"action":"accept","content":{"colour":"red"}}"#).as_deref(), Some("red"));
        assert_eq!(parse_answer(r#"{"action":"accept","content":{"a":["x","y"]}}"#).as_deref(), Some("x, y"));
        let both = parse_answer(r#"{"action":"accept","content":{"colour":"red","sure":true}}"#);
        assert_eq!(both.as_deref(), Some(r#"{"colour":"red","sure":true}"#));
        assert_eq!(parse_answer(r#"{"action":"decline"}"#), None);
    }

    #[test]
    fn only_an_acceptance_approves() {
        assert_eq!(parse_approval(r#"{"action":"accept"}"#), Some(ApprovalScope::Once));
        for (persist, scope) in [("session", ApprovalScope::Session), ("always", ApprovalScope::Always)] {
            let answer = format!(r#"{{"action":"accept","_meta":{{"persist":"{persist}"}}}}"#);
            assert_eq!(parse_approval(&answer), Some(scope));
        }
        for result in [r#"{"action":"cancel"}"#, r#"{"action":"perhaps"}"#, "{}", "7"] {
            assert_eq!(parse_approval(result), None, "{result}");
        }
    }
}
