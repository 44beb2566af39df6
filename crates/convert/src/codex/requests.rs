//! What the agent asks: permissions, questions, tools of the host's. And how it is answered.

use interlingua_native::codex::{
    AddPatchChangeKind, ApplyPatchApprovalParams, ApplyPatchApprovalResponse, CommandExecutionApprovalDecision,
    CommandExecutionApprovalDecisionText, CommandExecutionRequestApprovalParams,
    CommandExecutionRequestApprovalResponse, CommandExecutionThreadItem, DeletePatchChangeKind, DynamicToolCallParams,
    DynamicToolCallResponse, ExecCommandApprovalParams, ExecCommandApprovalResponse, FileChange,
    FileChangeApprovalDecision, FileChangeRequestApprovalParams, FileChangeRequestApprovalResponse,
    FileChangeThreadItem, FileUpdateChange, JsonrpcErrorError, NetworkPolicyAmendment, NetworkPolicyRuleAction,
    PatchChangeKind, PermissionGrantScope, PermissionsRequestApprovalParams, PermissionsRequestApprovalResponse,
    RequestPermissionProfile, ReviewDecision, ReviewDecisionText, ServerRequest, ServerRequestEnvelope,
    ServerRequestResolvedNotification, ToolRequestUserInputOption, ToolRequestUserInputParams,
    ToolRequestUserInputResponse, UpdatePatchChangeKind,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ApprovalScope, QuestionAnswer, QuestionOption, ToolKind};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::command::joined;
use super::content::{Output, json as to_json};
use super::items::tool_started;
use super::thread::Thread;
use super::tools::{Tool, qualified};
use super::wire::Envelope;
use super::{CodexConverter, WHERE, elicitation};
use crate::{Drafts, PermissionDraft, QuestionDraft, SessionDrafts, ToolCall, ToolResult};

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
type Verdict = Option<ApprovalScope>;

impl CodexConverter {
    pub(super) fn request(&mut self, envelope: ServerRequestEnvelope, out: &mut Drafts) {
        let id = envelope.id.to_string();
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
                out.current_session().unparsed(WHERE, format!("unknown request `{tag}`"), Some(tag));
            }
        }
    }

    fn ask_command(&mut self, id: String, params: CommandExecutionRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let call = CommandExecutionThreadItem {
            id: params.item_id.clone().unwrap_or_default(),
            command: params.command,
            command_actions: params.command_actions,
            cwd: params.cwd,
            ..CommandExecutionThreadItem::default()
        };
        let can_keep_a_rule = params.proposed_execpolicy_amendment.is_some()
            || params.proposed_network_policy_amendments.iter().flatten().any(|rule| allowed(Some(rule)).is_some())
            || params.available_decisions.iter().flatten().any(keeps_a_rule);
        // Older releases leave the command to the item.
        if call.command.is_some() {
            begin_unknown_call(thread, &call, out);
        }
        let mut native = Map::new();
        set(&mut native, "approvalId", params.approval_id);
        set_json(&mut native, "kind", params.kind);
        set_json(&mut native, "networkApprovalContext", params.network_approval_context);
        set_json(&mut native, "additionalPermissions", params.additional_permissions);
        set_json(&mut native, "proposedExecpolicyAmendment", params.proposed_execpolicy_amendment);
        set_json(&mut native, "proposedNetworkPolicyAmendments", params.proposed_network_policy_amendments);
        set_json(&mut native, "availableDecisions", params.available_decisions);
        let ask = PermissionDraft {
            call_id: params.item_id,
            kind: Some(ToolKind::Command),
            input: call.input(),
            title: call.command.is_none().then(|| "Run a command".to_owned()),
            reason: params.reason,
            scopes: scopes(true, can_keep_a_rule),
            native: known(native),
        };
        thread.session(out).permission_requested(id.as_str(), ask);
        self.demand(id, params.thread_id, What::Command);
    }

    fn ask_file_change(&mut self, id: String, params: FileChangeRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let mut native = Map::new();
        set(&mut native, "grantRoot", params.grant_root);
        let ask = PermissionDraft {
            call_id: params.item_id,
            kind: Some(ToolKind::FileChange),
            title: Some("Edit files".to_owned()),
            reason: params.reason,
            scopes: scopes(true, false),
            native: known(native),
            ..PermissionDraft::default()
        };
        thread.session(out).permission_requested(id.as_str(), ask);
        self.demand(id, params.thread_id, What::FileChange);
    }

    /// The tool that asks for wider permissions has no item, so there is no call.
    fn ask_permissions(&mut self, id: String, params: PermissionsRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let title = wanted(params.permissions.as_ref());
        let mut native = Map::new();
        set(&mut native, "itemId", params.item_id);
        set(&mut native, "cwd", params.cwd);
        set_json(&mut native, "permissions", params.permissions);
        let ask = PermissionDraft {
            kind: Some(ToolKind::Other),
            title: Some(title),
            reason: params.reason,
            scopes: scopes(true, false),
            native: known(native),
            ..PermissionDraft::default()
        };
        thread.session(out).permission_requested(id.as_str(), ask);
        self.demand(id, params.thread_id, What::Permissions);
    }

    fn ask_exec(&mut self, id: String, params: ExecCommandApprovalParams, out: &mut Drafts) {
        let call = CommandExecutionThreadItem {
            id: params.call_id.clone().unwrap_or_default(),
            command: params.command.map(|words| joined(&words)),
            cwd: params.cwd,
            ..CommandExecutionThreadItem::default()
        };
        let mut native = Map::new();
        set(&mut native, "approvalId", params.approval_id);
        let mut ask =
            PermissionDraft { kind: Some(ToolKind::Command), native: known(native), ..PermissionDraft::default() };
        (ask.call_id, ask.reason) = (params.call_id, params.reason);
        self.ask_legacy(id, params.conversation_id, &call, ask, out);
    }

    fn ask_patch(&mut self, id: String, params: ApplyPatchApprovalParams, out: &mut Drafts) {
        let changes = params.file_changes.unwrap_or_default().into_iter().map(legacy_change).collect();
        let call = FileChangeThreadItem {
            id: params.call_id.clone().unwrap_or_default(),
            changes: Some(changes),
            ..FileChangeThreadItem::default()
        };
        let mut native = Map::new();
        set(&mut native, "grantRoot", params.grant_root);
        let mut ask =
            PermissionDraft { kind: Some(ToolKind::FileChange), native: known(native), ..PermissionDraft::default() };
        (ask.call_id, ask.reason) = (params.call_id, params.reason);
        self.ask_legacy(id, params.conversation_id, &call, ask, out);
    }

    /// An approval of the older kind, whose request is the first to tell of the call.
    fn ask_legacy(
        &mut self,
        id: String,
        conversation: Option<String>,
        call: &impl Tool,
        mut ask: PermissionDraft,
        out: &mut Drafts,
    ) {
        let thread = self.answering(conversation.as_deref(), out);
        begin_unknown_call(thread, call, out);
        ask.input = call.input();
        ask.scopes = scopes(true, false);
        thread.session(out).permission_requested(id.as_str(), ask);
        self.demand(id, conversation, What::Legacy);
    }

    fn ask_user(&mut self, id: String, params: ToolRequestUserInputParams, out: &mut Drafts) {
        let thread = self.answering(params.thread_id.as_deref(), out);
        let mut ids = Vec::new();
        let mut asks = Vec::new();
        for question in params.questions.unwrap_or_default() {
            let options: Vec<QuestionOption> = question.options.into_iter().flatten().filter_map(option).collect();
            let mut native = Map::new();
            set(&mut native, "id", question.id.clone());
            ids.push(question.id.unwrap_or_default());
            asks.push(QuestionDraft {
                prompt: question.question.unwrap_or_default(),
                header: question.header.filter(|header| !header.is_empty()),
                free_text: options.is_empty() || question.is_other == Some(true),
                options,
                secret: question.is_secret == Some(true),
                call_id: params.item_id.clone(),
                native: known(native),
                ..QuestionDraft::default()
            });
        }
        thread.session(out).questions_requested(id.as_str(), asks);
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
                ToolCall::new(call.as_str(), name).kind(ToolKind::Other).arguments(arguments).native_id(call.as_str());
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
        let id = params.request_id.as_ref().map(ToString::to_string).unwrap_or_default();
        match self.demands.remove(&id) {
            Some(Demand { thread, what: What::Tool { call, told: false } }) => {
                out.session_or_current(thread.as_deref()).synthetic().tool_finished(call, ToolResult::failed(""));
            }
            Some(Demand { what: What::Tool { .. }, .. }) | None => {
                out.dropped("the end of a request that was answered");
            }
            Some(Demand { thread, .. }) => out.session_or_current(thread.as_deref()).request_withdrawn(id),
        }
    }

    /// The host answers. Whatever cannot be read as a yes is a no.
    pub(super) fn answered(&mut self, envelope: &Envelope<'_>, out: &mut Drafts) {
        let Some(id) = envelope.id.as_ref().map(ToString::to_string) else { return };
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
                Some(answer) => session.questions_answered(id, vec![QuestionAnswer::Answered(answer)]),
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
fn begin_unknown_call(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) {
    if item.id().is_empty() || thread.open.contains_key(item.id()) {
        return;
    }
    tool_started(thread, item, out);
    if let Some(open) = thread.open.get_mut(item.id()) {
        open.foretold = true;
    }
}

/// What an approval may mean: this call, and perhaps more.
pub(super) fn scopes(session: bool, always: bool) -> Vec<ApprovalScope> {
    let all = [(ApprovalScope::Once, true), (ApprovalScope::Session, session), (ApprovalScope::Always, always)];
    all.into_iter().filter_map(|(scope, offered)| offered.then_some(scope)).collect()
}

/// Whether a decision that is offered stores a rule that allows.
fn keeps_a_rule(decision: &CommandExecutionApprovalDecision) -> bool {
    match decision {
        CommandExecutionApprovalDecision::Object(decision) => match &decision.apply_network_policy_amendment {
            Some(rule) => allowed(rule.network_policy_amendment.as_ref()).is_some(),
            None => decision.accept_with_execpolicy_amendment.is_some(),
        },
        _ => false,
    }
}

/// What the agent wants to be allowed, in a line.
fn wanted(permissions: Option<&RequestPermissionProfile>) -> String {
    let network =
        permissions.and_then(|wanted| wanted.network.as_ref()).filter(|network| network.enabled == Some(true));
    let files = permissions.and_then(|wanted| wanted.file_system.as_ref());
    let paths = |what: &str, paths: Option<&Vec<String>>| {
        paths.filter(|paths| !paths.is_empty()).map(|paths| format!("{what} {}", paths.join(", ")))
    };
    let mut all: Vec<String> = network.map(|_| "use the network".to_owned()).into_iter().collect();
    all.extend(paths("read", files.and_then(|files| files.read.as_ref())));
    all.extend(paths("write", files.and_then(|files| files.write.as_ref())));
    if all.is_empty() { "Allow more permissions".to_owned() } else { format!("Allow to {}", all.join(", ")) }
}

/// A change as it was written before there were items.
fn legacy_change((path, change): (String, FileChange)) -> FileUpdateChange {
    let (kind, diff) = match change {
        FileChange::Add(change) => (Some(PatchChangeKind::Add(AddPatchChangeKind::default())), change.content),
        FileChange::Delete(change) => (Some(PatchChangeKind::Delete(DeletePatchChangeKind::default())), change.content),
        FileChange::Update(change) => {
            let kind = UpdatePatchChangeKind { move_path: change.move_path };
            (Some(PatchChangeKind::Update(kind)), change.unified_diff)
        }
        FileChange::Unknown { .. } => (None, None),
    };
    FileUpdateChange { path: Some(path), kind, diff }
}

fn option(option: ToolRequestUserInputOption) -> Option<QuestionOption> {
    let description = option.description.filter(|description| !description.is_empty());
    Some(QuestionOption::new(option.label?).description(description))
}

fn resolve(session: &mut SessionDrafts<'_>, id: String, verdict: Verdict) {
    match verdict {
        Some(scope) => session.permission_approved(id, scope),
        None => session.permission_denied(id),
    }
}

fn command_verdict(result: &str) -> Verdict {
    match CommandExecutionRequestApprovalResponse::decode(result).ok()?.value.decision? {
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::Accept) => {
            Some(ApprovalScope::Once)
        }
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::AcceptForSession) => {
            Some(ApprovalScope::Session)
        }
        CommandExecutionApprovalDecision::Object(decision) => match decision.apply_network_policy_amendment {
            Some(rule) => allowed(rule.network_policy_amendment.as_ref()),
            None => decision.accept_with_execpolicy_amendment.map(|_| ApprovalScope::Always),
        },
        _ => None,
    }
}

fn file_change_verdict(result: &str) -> Verdict {
    match FileChangeRequestApprovalResponse::decode(result).ok()?.value.decision? {
        FileChangeApprovalDecision::Accept => Some(ApprovalScope::Once),
        FileChangeApprovalDecision::AcceptForSession => Some(ApprovalScope::Session),
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
    let is_kept = response.scope == Some(PermissionGrantScope::Session);
    let scope = if is_kept { ApprovalScope::Session } else { ApprovalScope::Once };
    (network || files).then_some(scope)
}

/// Both of the older requests are answered in the same words.
fn legacy_verdict(result: &str) -> Verdict {
    let decision = match ExecCommandApprovalResponse::decode(result) {
        Ok(response) => response.value.decision,
        Err(_) => ApplyPatchApprovalResponse::decode(result).ok()?.value.decision,
    };
    match decision? {
        ReviewDecision::Text(ReviewDecisionText::Approved) => Some(ApprovalScope::Once),
        ReviewDecision::Text(ReviewDecisionText::ApprovedForSession) => Some(ApprovalScope::Session),
        ReviewDecision::Text(ReviewDecisionText::ApprovedMcpPolicyAmendment) => Some(ApprovalScope::Always),
        ReviewDecision::Object(decision) => match decision.network_policy_amendment {
            Some(rule) => allowed(rule.network_policy_amendment.as_ref()),
            None => decision.approved_execpolicy_amendment.map(|_| ApprovalScope::Always),
        },
        _ => None,
    }
}

/// A rule for the network may allow a host or forbid it.
fn allowed(rule: Option<&NetworkPolicyAmendment>) -> Verdict {
    (rule?.action == Some(NetworkPolicyRuleAction::Allow)).then_some(ApprovalScope::Always)
}

fn answers(ids: &[String], result: Option<&str>) -> Vec<QuestionAnswer> {
    let answers = result.and_then(|result| ToolRequestUserInputResponse::decode(result).ok());
    let mut answers = answers.and_then(|answers| answers.value.answers).unwrap_or_default();
    let mut answer = |id: &String| {
        let chosen = answers.remove(id).and_then(|answer| answer.answers).filter(|chosen| !chosen.is_empty());
        chosen.map_or(QuestionAnswer::Rejected(None), |chosen| QuestionAnswer::Answered(chosen.join(", ")))
    };
    ids.iter().map(&mut answer).collect()
}

fn tool_result(result: Option<&str>, error: Option<&str>) -> ToolResult {
    if let Some(response) = result.and_then(|result| DynamicToolCallResponse::decode(result).ok()) {
        let output = Output::dynamic(response.value.content_items.unwrap_or_default());
        output.result().failed_if(response.value.success != Some(true))
    } else {
        let error = error.and_then(|error| serde_json::from_str::<JsonrpcErrorError>(error).ok());
        ToolResult::failed(error.and_then(|error| error.message).unwrap_or_default())
    }
}

/// The rest of a request, if there is any.
pub(super) fn known(native: Map<String, Value>) -> Option<Value> {
    (!native.is_empty()).then_some(Value::Object(native))
}

pub(super) fn set(native: &mut Map<String, Value>, key: &str, value: Option<String>) {
    if let Some(value) = value {
        native.insert(key.to_owned(), value.into());
    }
}

pub(super) fn set_json<T: serde::Serialize>(native: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        native.insert(key.to_owned(), to_json(value));
    }
}
