//! What the agent asks: permissions, questions, tools of the host's. And how it is answered.

use interlingua_native::codex::{
    ApplyPatchApprovalParams, ApplyPatchApprovalResponse, CommandExecutionApprovalDecision,
    CommandExecutionApprovalDecisionText, CommandExecutionRequestApprovalParams,
    CommandExecutionRequestApprovalResponse, CommandExecutionThreadItem, DynamicToolCallParams,
    DynamicToolCallResponse, ExecCommandApprovalParams, ExecCommandApprovalResponse, FileChangeApprovalDecision,
    FileChangeRequestApprovalParams, FileChangeRequestApprovalResponse, JsonrpcErrorError, NetworkPolicyAmendment,
    NetworkPolicyRuleAction, PermissionGrantScope, PermissionsRequestApprovalParams,
    PermissionsRequestApprovalResponse, ReviewDecision, ReviewDecisionText, ServerRequest, ServerRequestEnvelope,
    ServerRequestResolvedNotification, ToolRequestUserInputParams, ToolRequestUserInputResponse,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{Answer, ToolKind};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::command::{joined, unwrapped};
use super::content::{Output, json as to_json};
use super::items::tool_started;
use super::thread::Thread;
use super::tools::qualified;
use super::wire::{Envelope, id_text};
use super::{CodexConverter, WHERE, elicitation};
use crate::{Ask, Drafts, Scope, SessionDrafts, ToolCall, ToolResult};

/// Something only the host has; nobody is asked.
const HOSTS: &str = "a request for something of the host's own: a token, an attestation, the time";

/// What the agent waits for.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) thread: Option<String>,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    Command,
    FileChange,
    Permissions,
    /// As asked before there were threads.
    Legacy,
    /// The ids of the questions, in order.
    Questions(Vec<String>),
    Elicitation,
    /// A permission that is asked as if an MCP server did.
    ElicitedPermission,
    /// A tool of the host's. `told` if it is an item as well, which then tells its end.
    Tool {
        call: String,
        told: bool,
    },
}

/// How a permission was answered: refused, or given for as long as this.
type Verdict = Option<Scope>;

impl CodexConverter {
    pub(super) fn request(&mut self, envelope: ServerRequestEnvelope, out: &mut Drafts) {
        let id = id_text(&envelope.id);
        match envelope.message {
            ServerRequest::ItemCommandExecutionRequestApproval(params) => self.ask_command(id, *params, out),
            ServerRequest::ItemFileChangeRequestApproval(params) => self.ask_file_change(id, params, out),
            ServerRequest::ItemToolRequestUserInput(params) => self.ask_user(id, params, out),
            ServerRequest::McpServerElicitationRequest(params) => self.ask_for_server(id, params, out),
            ServerRequest::ItemPermissionsRequestApproval(params) => self.ask_permissions(id, params, out),
            ServerRequest::ItemToolCall(params) => self.call_tool(id, params, out),
            ServerRequest::AccountChatgptAuthTokensRefresh(_)
            | ServerRequest::AttestationGenerate(_)
            | ServerRequest::CurrentTimeRead(_) => out.dropped(HOSTS),
            ServerRequest::ApplyPatchApproval(params) => self.ask_patch(id, params, out),
            ServerRequest::ExecCommandApproval(params) => self.ask_exec(id, params, out),
            ServerRequest::Unknown { tag, .. } => {
                out.current().unparsed(WHERE, format!("unknown request `{tag}`"), Some(tag));
            }
            // The enum may grow with a schema refresh; a test finds a variant that is missing here.
            _ => out.current().unparsed(WHERE, "a request the converter does not know", None),
        }
    }

    fn ask_command(&mut self, id: String, params: CommandExecutionRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        begin_unknown_call(thread, &params, out);
        let told = params.item_id.as_ref().and_then(|item| thread.open.get(item));
        // Older releases leave the command to the item.
        let command = params.command.as_deref().map(|command| unwrapped(command).into_owned());
        let action = command.or_else(|| told.map(|open| open.action.clone()));
        let mut metadata = about("commandExecution", params.item_id, params.reason);
        set(&mut metadata, "cwd", params.cwd);
        set(&mut metadata, "approval_id", params.approval_id);
        set_json(&mut metadata, "kind", params.kind);
        set_json(&mut metadata, "network", params.network_approval_context);
        set_json(&mut metadata, "permissions", params.additional_permissions);
        set_json(&mut metadata, "proposed_rule", params.proposed_execpolicy_amendment);
        set_json(&mut metadata, "available_decisions", params.available_decisions);
        let action = action.unwrap_or_else(|| "run a command".to_owned());
        thread.session(out).permission_asked(id.as_str(), action, Some(Value::Object(metadata)));
        self.demand(id, params.thread_id, What::Command);
    }

    fn ask_file_change(&mut self, id: String, params: FileChangeRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let told = params.item_id.as_ref().and_then(|item| thread.open.get(item));
        let action = told.map_or_else(|| "change files".to_owned(), |open| open.action.clone());
        let changes = told.and_then(|open| open.changes.clone());
        let mut metadata = about("fileChange", params.item_id, params.reason);
        set_json(&mut metadata, "changes", changes);
        set(&mut metadata, "grant_root", params.grant_root);
        thread.session(out).permission_asked(id.as_str(), action, Some(Value::Object(metadata)));
        self.demand(id, params.thread_id, What::FileChange);
    }

    fn ask_permissions(&mut self, id: String, params: PermissionsRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let action = params.reason.clone().unwrap_or_else(|| "wider permissions".to_owned());
        let mut metadata = about("requestPermissions", params.item_id, params.reason);
        set(&mut metadata, "cwd", params.cwd);
        set_json(&mut metadata, "permissions", params.permissions);
        thread.session(out).permission_asked(id.as_str(), action, Some(Value::Object(metadata)));
        self.demand(id, params.thread_id, What::Permissions);
    }

    fn ask_exec(&mut self, id: String, params: ExecCommandApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.conversation_id.as_deref(), out);
        let mut metadata = about("commandExecution", params.call_id, params.reason);
        set(&mut metadata, "cwd", params.cwd);
        set(&mut metadata, "approval_id", params.approval_id);
        let action = joined(&params.command.unwrap_or_default());
        thread.session(out).permission_asked(id.as_str(), action, Some(Value::Object(metadata)));
        self.demand(id, params.conversation_id, What::Legacy);
    }

    fn ask_patch(&mut self, id: String, params: ApplyPatchApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.conversation_id.as_deref(), out);
        let changes = params.file_changes.unwrap_or_default();
        let paths: Vec<&str> = changes.keys().map(String::as_str).collect();
        let action = format!("change {}", paths.join(", "));
        let mut metadata = about("fileChange", params.call_id, params.reason);
        set_json(&mut metadata, "changes", Some(&changes));
        set(&mut metadata, "grant_root", params.grant_root);
        thread.session(out).permission_asked(id.as_str(), action, Some(Value::Object(metadata)));
        self.demand(id, params.conversation_id, What::Legacy);
    }

    fn ask_user(&mut self, id: String, params: ToolRequestUserInputParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let mut ids = Vec::new();
        let mut asks = Vec::new();
        for question in params.questions.unwrap_or_default() {
            let options = question.options.unwrap_or_default();
            let descriptions: Vec<Value> = options.iter().map(|option| to_json(&option.description)).collect();
            let mut metadata = about("requestUserInput", params.item_id.clone(), None);
            set(&mut metadata, "id", question.id.clone());
            set(&mut metadata, "header", question.header);
            set_json(&mut metadata, "descriptions", (!descriptions.is_empty()).then_some(descriptions));
            set_json(&mut metadata, "other_allowed", question.is_other);
            set_json(&mut metadata, "secret", question.is_secret);
            ids.push(question.id.unwrap_or_default());
            asks.push(Ask {
                prompt: question.question.unwrap_or_default(),
                options: options.into_iter().filter_map(|option| option.label).collect(),
                metadata: Some(Value::Object(metadata)),
            });
        }
        thread.session(out).questions_asked(id.as_str(), asks);
        self.demand(id, params.thread_id, What::Questions(ids));
    }

    /// A tool that the host brings. From some release on it is an item as well, which says more.
    fn call_tool(&mut self, id: String, params: DynamicToolCallParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let call = params.call_id.unwrap_or_else(|| id.clone());
        let told = thread.open.contains_key(&call);
        if told {
            out.dropped("the call of a tool that is an item too");
        } else {
            let name = qualified(params.namespace.as_deref(), params.tool.as_deref());
            let arguments = params.arguments.as_ref().map(Json::get).unwrap_or_default();
            let tool =
                ToolCall::new(call.as_str(), name).kind(ToolKind::Other).arguments(arguments).native(call.as_str());
            thread.session(out).tool_called(call.as_str(), tool);
        }
        self.demand(id, params.thread_id, What::Tool { call, told });
    }

    /// The agent waits for an answer.
    pub(super) fn demand(&mut self, id: String, thread: Option<String>, what: What) {
        self.demands.insert(id, Demand { thread, what });
    }

    /// The agent no longer waits. If nobody answered, it counts as refused.
    pub(super) fn request_resolved(&mut self, params: &ServerRequestResolvedNotification, out: &mut Drafts) {
        let id = params.request_id.as_ref().map(id_text).unwrap_or_default();
        match self.demands.remove(&id) {
            Some(Demand { thread, what: What::Tool { call, told: false } }) => {
                out.session_or_current(thread.as_deref()).synthetic().tool_finished(call, ToolResult::failed(""));
            }
            Some(Demand { what: What::Tool { .. }, .. }) | None => {
                out.dropped("the end of a request that was answered");
            }
            Some(Demand { thread, .. }) => out.session_or_current(thread.as_deref()).withdrawn(id),
        }
    }

    /// The host answers. Whatever cannot be read as a yes is a no.
    pub(super) fn answered(&mut self, envelope: &Envelope<'_>, out: &mut Drafts) {
        let Some(id) = envelope.id.as_ref().map(id_text) else { return };
        let Some(Demand { thread, what }) = self.demands.remove(&id) else { return };
        let result = envelope.result.map(RawValue::get);
        let mut session = out.session_or_current(thread.as_deref());
        match what {
            What::Command => resolve(&mut session, id, result.and_then(command_verdict)),
            What::FileChange => resolve(&mut session, id, result.and_then(file_change_verdict)),
            What::Permissions => resolve(&mut session, id, result.and_then(permissions_verdict)),
            What::Legacy => resolve(&mut session, id, result.and_then(legacy_verdict)),
            What::ElicitedPermission => resolve(&mut session, id, result.and_then(elicitation::verdict)),
            What::Elicitation => match result.and_then(elicitation::answer) {
                Some(answer) => session.questions_answered(id, vec![Answer::Answered(answer)]),
                None => session.questions_rejected(id, None),
            },
            What::Questions(ids) => session.questions_answered(id, answers(&ids, result)),
            What::Tool { call, told: false } => {
                session.tool_finished(call, tool_result(result, envelope.error.map(RawValue::get)));
            }
            What::Tool { .. } => {}
        }
    }
}

/// In 0.98 the item of a command comes after the answer; the request has all that it will say of the call.
fn begin_unknown_call(thread: &mut Thread, params: &CommandExecutionRequestApprovalParams, out: &mut Drafts) {
    let Some(id) = params.item_id.clone().filter(|id| !thread.open.contains_key(id)) else { return };
    if params.command.is_some() {
        let (command, cwd) = (params.command.clone(), params.cwd.clone());
        let item = CommandExecutionThreadItem { id, command, cwd, ..Default::default() };
        tool_started(thread, &item, out);
        if let Some(open) = thread.open.get_mut(&item.id) {
            open.foretold = true;
        }
    }
}

fn resolve(session: &mut SessionDrafts<'_>, id: String, verdict: Verdict) {
    match verdict {
        Some(scope) => session.permission_approved(id, scope),
        None => session.permission_denied(id),
    }
}

fn command_verdict(result: &str) -> Verdict {
    match CommandExecutionRequestApprovalResponse::decode(result).ok()?.value.decision? {
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::Accept) => Some(Scope::Once),
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::AcceptForSession) => {
            Some(Scope::Always)
        }
        CommandExecutionApprovalDecision::Object(decision) => match decision.apply_network_policy_amendment {
            Some(rule) => allowed(rule.network_policy_amendment.as_ref()),
            None => decision.accept_with_execpolicy_amendment.map(|_| Scope::Always),
        },
        _ => None,
    }
}

fn file_change_verdict(result: &str) -> Verdict {
    match FileChangeRequestApprovalResponse::decode(result).ok()?.value.decision? {
        FileChangeApprovalDecision::Accept => Some(Scope::Once),
        FileChangeApprovalDecision::AcceptForSession => Some(Scope::Always),
        _ => None,
    }
}

/// Granting nothing is a no.
fn permissions_verdict(result: &str) -> Verdict {
    let response = PermissionsRequestApprovalResponse::decode(result).ok()?.value;
    let granted = response.permissions?;
    let network = granted.network.is_some_and(|network| network.enabled == Some(true));
    let files = granted.file_system.is_some_and(|files| {
        [&files.read, &files.write].into_iter().flatten().any(|paths| !paths.is_empty())
            || files.entries.is_some_and(|entries| !entries.is_empty())
    });
    let scope = if response.scope == Some(PermissionGrantScope::Session) { Scope::Always } else { Scope::Once };
    (network || files).then_some(scope)
}

/// Both of the older requests are answered in the same words.
fn legacy_verdict(result: &str) -> Verdict {
    let decision = match ExecCommandApprovalResponse::decode(result) {
        Ok(response) => response.value.decision,
        Err(_) => ApplyPatchApprovalResponse::decode(result).ok()?.value.decision,
    };
    match decision? {
        ReviewDecision::Text(ReviewDecisionText::Approved) => Some(Scope::Once),
        ReviewDecision::Text(
            ReviewDecisionText::ApprovedForSession | ReviewDecisionText::ApprovedMcpPolicyAmendment,
        ) => Some(Scope::Always),
        ReviewDecision::Object(decision) => match decision.network_policy_amendment {
            Some(rule) => allowed(rule.network_policy_amendment.as_ref()),
            None => decision.approved_execpolicy_amendment.map(|_| Scope::Always),
        },
        _ => None,
    }
}

/// A rule for the network may allow a host or forbid it.
fn allowed(rule: Option<&NetworkPolicyAmendment>) -> Verdict {
    (rule?.action == Some(NetworkPolicyRuleAction::Allow)).then_some(Scope::Always)
}

fn answers(ids: &[String], result: Option<&str>) -> Vec<Answer> {
    let answers = result.and_then(|result| ToolRequestUserInputResponse::decode(result).ok());
    let mut answers = answers.and_then(|answers| answers.value.answers).unwrap_or_default();
    let mut answer = |id: &String| {
        let chosen = answers.remove(id).and_then(|answer| answer.answers).filter(|chosen| !chosen.is_empty());
        chosen.map_or(Answer::Rejected(None), |chosen| Answer::Answered(chosen.join(", ")))
    };
    ids.iter().map(&mut answer).collect()
}

fn tool_result(result: Option<&str>, error: Option<&str>) -> ToolResult {
    if let Some(response) = result.and_then(|result| DynamicToolCallResponse::decode(result).ok()) {
        let output = Output::dynamic(response.value.content_items.unwrap_or_default());
        output.result().failed_if(response.value.success == Some(false))
    } else {
        let error = error.and_then(|error| serde_json::from_str::<JsonrpcErrorError>(error).ok());
        ToolResult::failed(error.and_then(|error| error.message).unwrap_or_default())
    }
}

/// What is known of every request: the tool, its call and the reason.
fn about(tool: &str, call: Option<String>, reason: Option<String>) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("tool".to_owned(), tool.into());
    set(&mut metadata, "call_id", call);
    set(&mut metadata, "reason", reason);
    metadata
}

pub(super) fn set(metadata: &mut Map<String, Value>, key: &str, value: Option<String>) {
    if let Some(value) = value {
        metadata.insert(key.to_owned(), value.into());
    }
}

pub(super) fn set_json<T: serde::Serialize>(metadata: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        metadata.insert(key.to_owned(), to_json(value));
    }
}
