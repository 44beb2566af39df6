//! Requests of the agent and the host's responses: permissions, questions and calls of host tools.

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
use serde_json::Map;
use serde_json::value::RawValue;

use super::content::{Output, insert_json, insert_text, non_empty};
use super::items::tool_started;
use super::thread::Thread;
use super::tools::{Tool, qualified_name};
use super::wire::Envelope;
use super::{CodexConverter, LOCATION, elicitation};
use crate::shell::join_words;
use crate::{Drafts, PermissionDraft, QuestionDraft, SessionDrafts, ToolCall, ToolResult};

/// Drop reason for requests that the host program answers without asking the user.
const HOST_DATA: &str = "a request for data of the host: a token, an attestation, the time";

/// A request of the agent without a response.
#[derive(Debug)]
pub(super) struct AgentRequest {
    pub(super) thread: Option<String>,
    pub(super) kind: AgentRequestKind,
}

#[derive(Debug)]
pub(super) enum AgentRequestKind {
    Command,
    FileChange,
    Permissions,
    /// Approval request of the older protocol.
    Legacy,
    /// Ids of the questions, in order.
    Questions(Vec<String>),
    Elicitation,
    /// Permission that is requested as an elicitation.
    ElicitedPermission,
    /// Call of a host tool. With `has_item`, an item reports its result.
    Tool {
        call: String,
        has_item: bool,
    },
}

/// Scope of an approval; `None` if it was denied.
type Approval = Option<ApprovalScope>;

impl CodexConverter {
    pub(super) fn handle_agent_request(&mut self, envelope: ServerRequestEnvelope, out: &mut Drafts) {
        let id = envelope.id.to_string();
        match envelope.message {
            ServerRequest::ItemCommandExecutionRequestApproval(params) => {
                self.command_approval_requested(id, *params, out);
            }
            ServerRequest::ItemFileChangeRequestApproval(params) => {
                self.file_change_approval_requested(id, params, out);
            }
            ServerRequest::ItemToolRequestUserInput(params) => self.user_input_requested(id, params, out),
            ServerRequest::McpServerElicitationRequest(params) => self.elicitation_requested(id, params, out),
            ServerRequest::ItemPermissionsRequestApproval(params) => self.permissions_requested(id, params, out),
            ServerRequest::ItemToolCall(params) => self.tool_call_requested(id, params, out),
            ServerRequest::AccountChatgptAuthTokensRefresh(_)
            | ServerRequest::AttestationGenerate(_)
            | ServerRequest::CurrentTimeRead(_) => out.dropped(HOST_DATA),
            ServerRequest::ApplyPatchApproval(params) => self.legacy_patch_approval_requested(id, params, out),
            ServerRequest::ExecCommandApproval(params) => self.legacy_exec_approval_requested(id, params, out),
            ServerRequest::Unknown { tag, .. } => {
                out.current_session().unparsed(LOCATION, format!("unknown request `{tag}`"), Some(tag));
            }
        }
    }

    fn command_approval_requested(
        &mut self,
        id: String,
        params: CommandExecutionRequestApprovalParams,
        out: &mut Drafts,
    ) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let mut call = CommandExecutionThreadItem::default();
        call.id = params.item_id.clone().unwrap_or_default();
        call.command = params.command;
        call.command_actions = params.command_actions;
        call.cwd = params.cwd;
        let can_store_rule = params.proposed_execpolicy_amendment.is_some()
            || params
                .proposed_network_policy_amendments
                .iter()
                .flatten()
                .any(|rule| allow_rule_scope(Some(rule)).is_some())
            || params.available_decisions.iter().flatten().any(stores_allow_rule);
        // Older releases send the command only in the item.
        if call.command.is_some() {
            start_unknown_call(thread, &call, out);
        }
        let mut native = Map::new();
        insert_text(&mut native, "approvalId", params.approval_id);
        insert_json(&mut native, "kind", params.kind);
        insert_json(&mut native, "networkApprovalContext", params.network_approval_context);
        insert_json(&mut native, "additionalPermissions", params.additional_permissions);
        insert_json(&mut native, "proposedExecpolicyAmendment", params.proposed_execpolicy_amendment);
        insert_json(&mut native, "proposedNetworkPolicyAmendments", params.proposed_network_policy_amendments);
        insert_json(&mut native, "availableDecisions", params.available_decisions);
        let permission = PermissionDraft {
            call_id: params.item_id,
            kind: Some(ToolKind::Command),
            input: call.input(),
            title: call.command.is_none().then(|| "Run a command".to_owned()),
            reason: params.reason,
            scopes: approval_scopes(true, can_store_rule),
            native: non_empty(native),
        };
        thread.session(out).permission_requested(id.as_str(), permission);
        self.add_agent_request(id, params.thread_id, AgentRequestKind::Command);
    }

    fn file_change_approval_requested(
        &mut self,
        id: String,
        params: FileChangeRequestApprovalParams,
        out: &mut Drafts,
    ) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let mut native = Map::new();
        insert_text(&mut native, "grantRoot", params.grant_root);
        let permission = PermissionDraft {
            call_id: params.item_id,
            kind: Some(ToolKind::FileChange),
            title: Some("Edit files".to_owned()),
            reason: params.reason,
            scopes: approval_scopes(true, false),
            native: non_empty(native),
            ..PermissionDraft::default()
        };
        thread.session(out).permission_requested(id.as_str(), permission);
        self.add_agent_request(id, params.thread_id, AgentRequestKind::FileChange);
    }

    /// The tool that requests wider permissions has no item, so the permission has no call.
    fn permissions_requested(&mut self, id: String, params: PermissionsRequestApprovalParams, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let title = permissions_title(params.permissions.as_ref());
        let mut native = Map::new();
        insert_text(&mut native, "itemId", params.item_id);
        insert_text(&mut native, "cwd", params.cwd);
        insert_json(&mut native, "permissions", params.permissions);
        let permission = PermissionDraft {
            kind: Some(ToolKind::Other),
            title: Some(title),
            reason: params.reason,
            scopes: approval_scopes(true, false),
            native: non_empty(native),
            ..PermissionDraft::default()
        };
        thread.session(out).permission_requested(id.as_str(), permission);
        self.add_agent_request(id, params.thread_id, AgentRequestKind::Permissions);
    }

    fn legacy_exec_approval_requested(&mut self, id: String, params: ExecCommandApprovalParams, out: &mut Drafts) {
        let mut call = CommandExecutionThreadItem::default();
        call.id = params.call_id.clone().unwrap_or_default();
        call.command = params.command.map(|words| join_words(&words));
        call.cwd = params.cwd;
        let mut native = Map::new();
        insert_text(&mut native, "approvalId", params.approval_id);
        let mut permission =
            PermissionDraft { kind: Some(ToolKind::Command), native: non_empty(native), ..PermissionDraft::default() };
        (permission.call_id, permission.reason) = (params.call_id, params.reason);
        self.legacy_approval_requested(id, params.conversation_id, &call, permission, out);
    }

    fn legacy_patch_approval_requested(&mut self, id: String, params: ApplyPatchApprovalParams, out: &mut Drafts) {
        let changes = params.file_changes.unwrap_or_default().into_iter().map(convert_legacy_change).collect();
        let mut call = FileChangeThreadItem::default();
        call.id = params.call_id.clone().unwrap_or_default();
        call.changes = Some(changes);
        let mut native = Map::new();
        insert_text(&mut native, "grantRoot", params.grant_root);
        let mut permission = PermissionDraft {
            kind: Some(ToolKind::FileChange),
            native: non_empty(native),
            ..PermissionDraft::default()
        };
        (permission.call_id, permission.reason) = (params.call_id, params.reason);
        self.legacy_approval_requested(id, params.conversation_id, &call, permission, out);
    }

    /// Approval request of the older protocol, which announces the call before any item.
    fn legacy_approval_requested(
        &mut self,
        id: String,
        conversation: Option<String>,
        call: &impl Tool,
        mut permission: PermissionDraft,
        out: &mut Drafts,
    ) {
        let thread = self.answering_thread(conversation.as_deref(), out);
        start_unknown_call(thread, call, out);
        permission.input = call.input();
        permission.scopes = approval_scopes(true, false);
        thread.session(out).permission_requested(id.as_str(), permission);
        self.add_agent_request(id, conversation, AgentRequestKind::Legacy);
    }

    fn user_input_requested(&mut self, id: String, params: ToolRequestUserInputParams, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let mut ids = Vec::new();
        let mut drafts = Vec::new();
        for question in params.questions.unwrap_or_default() {
            let options: Vec<QuestionOption> =
                question.options.into_iter().flatten().filter_map(question_option).collect();
            let mut native = Map::new();
            insert_text(&mut native, "id", question.id.clone());
            ids.push(question.id.unwrap_or_default());
            drafts.push(QuestionDraft {
                prompt: question.question.unwrap_or_default(),
                header: question.header.filter(|header| !header.is_empty()),
                free_text: options.is_empty() || question.is_other == Some(true),
                options,
                secret: question.is_secret == Some(true),
                call_id: params.item_id.clone(),
                native: non_empty(native),
                ..QuestionDraft::default()
            });
        }
        thread.session(out).questions_requested(id.as_str(), drafts);
        self.add_agent_request(id, params.thread_id, AgentRequestKind::Questions(ids));
    }

    /// Call of a host tool. In newer releases an item reports the same call in more detail.
    fn tool_call_requested(&mut self, id: String, params: DynamicToolCallParams, out: &mut Drafts) {
        let thread = self.answering_thread(params.thread_id.as_deref(), out);
        let call = params.call_id.unwrap_or_else(|| id.clone());
        let has_item = thread.open_tools.contains_key(&call);
        if has_item {
            out.dropped("tool call that is also an item");
        } else {
            let name = qualified_name(params.namespace.as_deref(), params.tool.as_deref());
            let arguments = params.arguments.as_ref().map(Json::get).unwrap_or_default();
            let tool =
                ToolCall::new(call.as_str(), name).kind(ToolKind::Other).arguments(arguments).native_id(call.as_str());
            thread.session(out).tool_called(call.as_str(), tool);
        }
        self.add_agent_request(id, params.thread_id, AgentRequestKind::Tool { call, has_item });
    }

    pub(super) fn add_agent_request(&mut self, id: String, thread: Option<String>, kind: AgentRequestKind) {
        self.agent_requests.insert(id, AgentRequest { thread, kind });
    }

    /// The agent no longer waits for a response. A request without one is withdrawn.
    pub(super) fn request_resolved(&mut self, params: &ServerRequestResolvedNotification, out: &mut Drafts) {
        let id = params.request_id.as_ref().map(ToString::to_string).unwrap_or_default();
        match self.agent_requests.remove(&id) {
            Some(AgentRequest { thread, kind: AgentRequestKind::Tool { call, has_item: false } }) => {
                out.session_or_current(thread.as_deref()).synthetic().tool_finished(call, ToolResult::failed(""));
            }
            Some(AgentRequest { kind: AgentRequestKind::Tool { .. }, .. }) | None => {
                out.dropped("end of an answered request");
            }
            Some(AgentRequest { thread, .. }) => out.session_or_current(thread.as_deref()).request_withdrawn(id),
        }
    }

    /// Handles a response of the host. Anything that does not clearly approve is a denial.
    pub(super) fn handle_host_response(&mut self, envelope: &Envelope<'_>, out: &mut Drafts) {
        let Some(id) = envelope.id.as_ref().map(ToString::to_string) else { return };
        let Some(AgentRequest { thread, kind }) = self.agent_requests.remove(&id) else { return };
        let result = envelope.result.map(RawValue::get);
        let mut session = out.session_or_current(thread.as_deref());
        match kind {
            AgentRequestKind::Command => resolve_permission(&mut session, id, result.and_then(parse_command_approval)),
            AgentRequestKind::FileChange => {
                resolve_permission(&mut session, id, result.and_then(parse_file_change_approval));
            }
            AgentRequestKind::Permissions => {
                resolve_permission(&mut session, id, result.and_then(parse_granted_permissions));
            }
            AgentRequestKind::Legacy => resolve_permission(&mut session, id, result.and_then(parse_legacy_approval)),
            AgentRequestKind::ElicitedPermission => {
                resolve_permission(&mut session, id, result.and_then(elicitation::parse_approval));
            }
            AgentRequestKind::Elicitation => match result.and_then(elicitation::parse_answer) {
                Some(answer) => session.questions_answered(id, vec![QuestionAnswer::Answered(answer)]),
                None => session.questions_rejected(id, None),
            },
            AgentRequestKind::Questions(ids) => session.questions_answered(id, parse_answers(&ids, result)),
            AgentRequestKind::Tool { call, has_item: false } => {
                session.tool_finished(call, parse_tool_result(result, envelope.error.map(RawValue::get)));
            }
            AgentRequestKind::Tool { .. } => {}
        }
    }
}

/// Starts the call of a request whose item has not started. In 0.98, the item of a command follows the response and
/// adds nothing to the request.
fn start_unknown_call(thread: &mut Thread, item: &impl Tool, out: &mut Drafts) {
    if item.id().is_empty() || thread.open_tools.contains_key(item.id()) {
        return;
    }
    tool_started(thread, item, out);
    if let Some(open) = thread.open_tools.get_mut(item.id()) {
        open.announced_by_request = true;
    }
}

/// Scopes that an approval may have: always this call, perhaps more.
pub(super) fn approval_scopes(session: bool, always: bool) -> Vec<ApprovalScope> {
    let all = [(ApprovalScope::Once, true), (ApprovalScope::Session, session), (ApprovalScope::Always, always)];
    all.into_iter().filter_map(|(scope, offered)| offered.then_some(scope)).collect()
}

/// Whether an offered decision stores a rule that allows something.
fn stores_allow_rule(decision: &CommandExecutionApprovalDecision) -> bool {
    match decision {
        CommandExecutionApprovalDecision::Object(decision) => match &decision.apply_network_policy_amendment {
            Some(rule) => allow_rule_scope(rule.network_policy_amendment.as_ref()).is_some(),
            None => decision.accept_with_execpolicy_amendment.is_some(),
        },
        _ => false,
    }
}

/// Requested permissions in one line.
fn permissions_title(permissions: Option<&RequestPermissionProfile>) -> String {
    let network = permissions
        .and_then(|permissions| permissions.network.as_ref())
        .filter(|network| network.enabled == Some(true));
    let files = permissions.and_then(|permissions| permissions.file_system.as_ref());
    let paths = |action: &str, paths: Option<&Vec<String>>| {
        paths.filter(|paths| !paths.is_empty()).map(|paths| format!("{action} {}", paths.join(", ")))
    };
    let mut all: Vec<String> = network.map(|_| "use the network".to_owned()).into_iter().collect();
    all.extend(paths("read", files.and_then(|files| files.read.as_ref())));
    all.extend(paths("write", files.and_then(|files| files.write.as_ref())));
    if all.is_empty() { "Allow more permissions".to_owned() } else { format!("Allow to {}", all.join(", ")) }
}

/// Converts a file change of the older protocol.
fn convert_legacy_change((path, change): (String, FileChange)) -> FileUpdateChange {
    let (kind, diff) = match change {
        FileChange::Add(change) => (Some(PatchChangeKind::Add(AddPatchChangeKind::default())), change.content),
        FileChange::Delete(change) => (Some(PatchChangeKind::Delete(DeletePatchChangeKind::default())), change.content),
        FileChange::Update(change) => {
            let mut kind = UpdatePatchChangeKind::default();
            kind.move_path = change.move_path;
            (Some(PatchChangeKind::Update(kind)), change.unified_diff)
        }
        FileChange::Unknown { .. } => (None, None),
    };
    let mut converted = FileUpdateChange::default();
    (converted.path, converted.kind, converted.diff) = (Some(path), kind, diff);
    converted
}

fn question_option(option: ToolRequestUserInputOption) -> Option<QuestionOption> {
    let description = option.description.filter(|description| !description.is_empty());
    Some(QuestionOption::new(option.label?).description(description))
}

fn resolve_permission(session: &mut SessionDrafts<'_>, id: String, approval: Approval) {
    match approval {
        Some(scope) => session.permission_approved(id, scope),
        None => session.permission_denied(id),
    }
}

fn parse_command_approval(result: &str) -> Approval {
    match CommandExecutionRequestApprovalResponse::decode(result).ok()?.value.decision? {
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::Accept) => {
            Some(ApprovalScope::Once)
        }
        CommandExecutionApprovalDecision::Text(CommandExecutionApprovalDecisionText::AcceptForSession) => {
            Some(ApprovalScope::Session)
        }
        CommandExecutionApprovalDecision::Object(decision) => match decision.apply_network_policy_amendment {
            Some(rule) => allow_rule_scope(rule.network_policy_amendment.as_ref()),
            None => decision.accept_with_execpolicy_amendment.map(|_| ApprovalScope::Always),
        },
        _ => None,
    }
}

fn parse_file_change_approval(result: &str) -> Approval {
    match FileChangeRequestApprovalResponse::decode(result).ok()?.value.decision? {
        FileChangeApprovalDecision::Accept => Some(ApprovalScope::Once),
        FileChangeApprovalDecision::AcceptForSession => Some(ApprovalScope::Session),
        _ => None,
    }
}

/// A response that grants nothing is a denial.
fn parse_granted_permissions(result: &str) -> Approval {
    let response = PermissionsRequestApprovalResponse::decode(result).ok()?.value;
    let granted = response.permissions?;
    let grants_network = granted.network.is_some_and(|network| network.enabled == Some(true));
    let grants_files = granted.file_system.is_some_and(|files| {
        [&files.read, &files.write].into_iter().flatten().any(|paths| !paths.is_empty())
            || files.entries.is_some_and(|entries| !entries.is_empty())
    });
    let is_for_session = response.scope == Some(PermissionGrantScope::Session);
    let scope = if is_for_session { ApprovalScope::Session } else { ApprovalScope::Once };
    (grants_network || grants_files).then_some(scope)
}

/// Both approval requests of the older protocol have the same response.
fn parse_legacy_approval(result: &str) -> Approval {
    let decision = match ExecCommandApprovalResponse::decode(result) {
        Ok(response) => response.value.decision,
        Err(_) => ApplyPatchApprovalResponse::decode(result).ok()?.value.decision,
    };
    match decision? {
        ReviewDecision::Text(ReviewDecisionText::Approved) => Some(ApprovalScope::Once),
        ReviewDecision::Text(ReviewDecisionText::ApprovedForSession) => Some(ApprovalScope::Session),
        ReviewDecision::Text(ReviewDecisionText::ApprovedMcpPolicyAmendment) => Some(ApprovalScope::Always),
        ReviewDecision::Object(decision) => match decision.network_policy_amendment {
            Some(rule) => allow_rule_scope(rule.network_policy_amendment.as_ref()),
            None => decision.approved_execpolicy_amendment.map(|_| ApprovalScope::Always),
        },
        _ => None,
    }
}

/// A network rule may allow or forbid a host; only one that allows is an approval.
fn allow_rule_scope(rule: Option<&NetworkPolicyAmendment>) -> Approval {
    (rule?.action == Some(NetworkPolicyRuleAction::Allow)).then_some(ApprovalScope::Always)
}

fn parse_answers(ids: &[String], result: Option<&str>) -> Vec<QuestionAnswer> {
    let answers = result.and_then(|result| ToolRequestUserInputResponse::decode(result).ok());
    let mut answers = answers.and_then(|answers| answers.value.answers).unwrap_or_default();
    let mut answer = |id: &String| {
        let chosen = answers.remove(id).and_then(|answer| answer.answers).filter(|chosen| !chosen.is_empty());
        chosen.map_or(QuestionAnswer::Rejected(None), |chosen| QuestionAnswer::Answered(chosen.join(", ")))
    };
    ids.iter().map(&mut answer).collect()
}

fn parse_tool_result(result: Option<&str>, error: Option<&str>) -> ToolResult {
    if let Some(response) = result.and_then(|result| DynamicToolCallResponse::decode(result).ok()) {
        let output = Output::from_dynamic(response.value.content_items.unwrap_or_default());
        output.into_result().failed_if(response.value.success != Some(true))
    } else {
        let error = error.and_then(|error| serde_json::from_str::<JsonrpcErrorError>(error).ok());
        ToolResult::failed(error.and_then(|error| error.message).unwrap_or_default())
    }
}
