//! The control protocol: requests of the agent to the host, and the agent's responses to the host's requests.

use foldhash::HashMap;
use interlingua_native::claude::{
    ControlCancelRequest, ControlElicitationRequest, ControlPermissionRequest, ControlRequest, ControlRequestInner,
    ControlRequestUserDialogRequest, ControlResponse, ControlResult, HookCallbackRequest, PermissionUpdate,
    PermissionUpdateDestination,
};
use interlingua_native::{Json, Union as _};
use interlingua_schema::{ApprovalScope, ErrorCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::OpenCall;
use super::questions::{form_options, parse_questions};
use super::{AGENT, ClaudeConverter, inputs, native_details, tools};
use crate::drop_reason::HOST_RESPONSE;
use crate::{Drafts, Failure, Note, PermissionDraft, QuestionDraft, SessionDrafts, ToolCall};

/// Maximum number of model changes of the host that are tracked until the agent confirms them.
const MAX_MODEL_CHANGES: usize = 256;

/// A request of the agent that has no answer yet.
#[derive(Debug)]
pub(super) enum PendingRequest {
    Permission {
        call_id: Option<String>,
    },
    /// Questions, by their text.
    Questions {
        call_id: Option<String>,
        questions: Vec<String>,
    },
    Plan {
        call_id: Option<String>,
    },
    Elicitation,
    Dialog {
        call_id: Option<String>,
    },
    Hook {
        name: String,
    },
}

impl PendingRequest {
    /// The tool call that waits for the answer.
    fn call_id(&self) -> Option<&str> {
        match self {
            Self::Permission { call_id }
            | Self::Questions { call_id, .. }
            | Self::Plan { call_id }
            | Self::Dialog { call_id } => call_id.as_deref(),
            Self::Elicitation | Self::Hook { .. } => None,
        }
    }
}

/// Requests in both directions that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    /// Requests of the agent, by their id.
    pub(super) from_agent: HashMap<String, PendingRequest>,
    /// Models that the host asked for, by the id of its request.
    model_changes: HashMap<String, String>,
    /// Id of the host's latest request to interrupt the turn.
    pub(super) interrupt: Option<String>,
}

impl PendingRequests {
    /// Tracks the host's request to change the model until the agent confirms it.
    pub(super) fn insert_model_change(&mut self, request_id: String, model: String) {
        if self.model_changes.len() < MAX_MODEL_CHANGES {
            self.model_changes.insert(request_id, model);
        }
    }

    /// Withdraws the requests about a tool call that has its result: the agent no longer waits for an answer.
    pub(super) fn withdraw_for_call(&mut self, call_id: &str, session: &mut SessionDrafts<'_>) {
        if self.from_agent.is_empty() {
            return;
        }
        let is_about_call = |request: &PendingRequest| request.call_id() == Some(call_id);
        let withdrawn = self.from_agent.extract_if(|_, request| is_about_call(request)).map(|(key, _)| key);
        for key in sorted(withdrawn) {
            session.request_withdrawn(key);
        }
    }

    /// Withdraws all requests: the host closed the agent's input, so there will be no answers.
    pub(super) fn withdraw_all(&mut self, out: &mut Drafts) {
        for key in sorted(self.from_agent.drain().map(|(key, _)| key)) {
            out.current_session().request_withdrawn(key);
        }
    }
}

/// Keys of requests in a fixed order, so that the same input gives the same stream.
fn sorted(keys: impl Iterator<Item = String>) -> Vec<String> {
    let mut keys: Vec<String> = keys.collect();
    keys.sort_unstable();
    keys
}

impl ClaudeConverter {
    #[allow(clippy::match_same_arms, reason = "every variant is named")]
    pub(super) fn control_request(&mut self, request: ControlRequest, out: &mut Drafts) {
        let id = request.request_id;
        let Some(inner) = request.request else {
            return out.current_session().unparsed(
                AGENT,
                "control request has no `request` field",
                Some("control_request".into()),
            );
        };
        let subtype = inner.variant();
        match inner {
            ControlRequestInner::CanUseTool(request) => self.can_use_tool(id, &request, out),
            ControlRequestInner::HookCallback(request) => self.hook_callback(id, &request, out),
            ControlRequestInner::Elicitation(request) => self.elicitation(id, request, out),
            ControlRequestInner::RequestUserDialog(request) => self.user_dialog(id, request, out),
            ControlRequestInner::McpMessage(_) => out.dropped("transport to an MCP server inside the host"),
            ControlRequestInner::Unknown { tag, .. } => {
                let native_type = Some(format!("control_request/{tag}"));
                out.current_session().unparsed(AGENT, "unknown control request", native_type);
            }
            // Requests of a host. The agent sends one only to relay it from another host.
            ControlRequestInner::Interrupt(_)
            | ControlRequestInner::Initialize(_)
            | ControlRequestInner::SetPermissionMode(_)
            | ControlRequestInner::SetModel(_)
            | ControlRequestInner::SetMaxThinkingTokens(_)
            | ControlRequestInner::RenameSession(_)
            | ControlRequestInner::SetColor(_)
            | ControlRequestInner::McpStatus(_)
            | ControlRequestInner::GetContextUsage(_)
            | ControlRequestInner::GetSessionCost(_)
            | ControlRequestInner::ListModels(_)
            | ControlRequestInner::GetUsage(_)
            | ControlRequestInner::GetBinaryVersion(_)
            | ControlRequestInner::McpCall(_)
            | ControlRequestInner::FileSuggestions(_)
            | ControlRequestInner::RewindFiles(_)
            | ControlRequestInner::CancelAsyncMessage(_)
            | ControlRequestInner::ReadFile(_)
            | ControlRequestInner::SeedReadState(_)
            | ControlRequestInner::McpSetServers(_)
            | ControlRequestInner::RegisterRepoRoot(_)
            | ControlRequestInner::ReloadPlugins(_)
            | ControlRequestInner::ReloadSkills(_)
            | ControlRequestInner::ReloadOutputStyles(_)
            | ControlRequestInner::McpReconnect(_)
            | ControlRequestInner::McpToggle(_)
            | ControlRequestInner::SetHasSubscribers(_)
            | ControlRequestInner::StopTask(_)
            | ControlRequestInner::BackgroundTasks(_)
            | ControlRequestInner::GetTaskOutput(_)
            | ControlRequestInner::ApplyFlagSettings(_)
            | ControlRequestInner::GetSettings(_)
            | ControlRequestInner::GetHooksListing(_)
            | ControlRequestInner::UpdateSettings(_)
            | ControlRequestInner::ListPermissionRules(_)
            | ControlRequestInner::McpReadResource(_) => control_notice(subtype, out),
        }
    }

    fn can_use_tool(&mut self, id: String, request: &ControlPermissionRequest, out: &mut Drafts) {
        let tool = request.tool_name.as_deref().unwrap_or_default();
        let call_id = request.tool_use_id.as_deref().or_else(|| self.calls.find_only_call(tool)).map(str::to_owned);
        self.start_requested_call(request, out);
        let sub_agent = request.agent_id.as_ref().and_then(|task| self.tasks.visible_sub_agent(task));
        let mut session = out.current_session().sub_agent_or_main(sub_agent);
        match tool {
            "AskUserQuestion" => {
                let (questions, drafts) = parse_questions(request.input.as_ref(), call_id.as_deref());
                if !drafts.is_empty() {
                    session.questions_requested(id.as_str(), drafts);
                    self.requests.from_agent.insert(id, PendingRequest::Questions { call_id, questions });
                    return;
                }
            }
            "ExitPlanMode" => {
                let question = self.plan_approval(request, call_id.as_deref());
                session = out.current_session();
                session.questions_requested(id.as_str(), vec![question]);
                self.requests.from_agent.insert(id, PendingRequest::Plan { call_id });
                return;
            }
            _ => {}
        }
        session.permission_requested(id.as_str(), permission_draft(request));
        self.requests.from_agent.insert(id, PendingRequest::Permission { call_id });
    }

    /// Starts the call that a request is about if the line of the call has not come. That line comes later, except for
    /// calls of nested sub-agents, which are not on the wire.
    fn start_requested_call(&mut self, request: &ControlPermissionRequest, out: &mut Drafts) {
        let (Some(id), Some(name)) = (&request.tool_use_id, &request.tool_name) else { return };
        let sub_agent = match &request.agent_id {
            Some(task) => match self.tasks.visible_sub_agent(task) {
                Some(call) => Some(call.to_owned()),
                None => return,
            },
            None => None,
        };
        if self.calls.get(id).is_some() {
            return;
        }
        let kind = tools::kind(name);
        self.calls.insert(id, name, kind.clone(), sub_agent.as_deref(), request.input.as_ref());
        let call = ToolCall::new(id.as_str(), name.as_str()).kind(kind).native_id(id.as_str());
        let call = call.json_arguments(request.input.as_ref());
        let call = inputs::parse(name, request.input.as_ref()).apply_to(call);
        out.current_session().sub_agent_or_main(sub_agent).tool_called(id.as_str(), call);
    }

    /// The question whether to approve a plan. The plan is in the request, or only in the call.
    fn plan_approval(&self, request: &ControlPermissionRequest, call_id: Option<&str>) -> QuestionDraft {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct PlanInput {
            plan: Option<String>,
            #[serde(rename = "planFilePath")]
            file_path: Option<String>,
        }
        let of_request: PlanInput = request.input.as_ref().and_then(|input| input.decode().ok()).unwrap_or_default();
        let call = call_id.and_then(|id| self.calls.get(id));
        let of_call: PlanInput = call.map(OpenCall::arguments).unwrap_or_default();
        let plan = of_request.plan.or(of_call.plan).unwrap_or_default();
        QuestionDraft {
            call_id: call_id.map(str::to_owned),
            native: native_details(json!({ "plan_file_path": of_request.file_path.or(of_call.file_path) })),
            ..QuestionDraft::plan_approval(plan)
        }
    }

    fn hook_callback(&mut self, id: String, request: &HookCallbackRequest, out: &mut Drafts) {
        let event = request.input.as_ref().map_or("hook", |input| input.variant());
        let name = match &request.callback_id {
            Some(callback) => format!("{event}: {callback}"),
            None => event.to_owned(),
        };
        out.current_session().note_started(id.as_str(), Note::hook(name.as_str()));
        self.requests.from_agent.insert(id, PendingRequest::Hook { name });
    }

    fn elicitation(&mut self, id: String, request: ControlElicitationRequest, out: &mut Drafts) {
        let schema = request.requested_schema.as_ref().map(Json::to_value);
        let options = form_options(schema.as_ref());
        let native = native_details(json!({
            "mcp_server": request.mcp_server_name, "mode": request.mode.as_ref().map(|mode| mode.as_str().to_owned()),
            "url": request.url, "schema": schema, "description": request.description,
            "elicitation_id": request.elicitation_id,
        }));
        let question = QuestionDraft {
            prompt: request.message.unwrap_or_default(),
            header: request.title,
            // A form without options takes any text.
            free_text: options.is_empty(),
            options,
            native,
            ..QuestionDraft::default()
        };
        out.current_session().questions_requested(id.as_str(), vec![question]);
        self.requests.from_agent.insert(id, PendingRequest::Elicitation);
    }

    fn user_dialog(&mut self, id: String, request: ControlRequestUserDialogRequest, out: &mut Drafts) {
        let kind = request.dialog_kind.unwrap_or_default();
        let payload = request.payload.as_ref().map(Json::to_value);
        let text = |key: &str| payload.as_ref().and_then(|payload| payload.get(key)).and_then(Value::as_str);
        let prompt = ["message", "question", "title"].into_iter().find_map(text).unwrap_or(&kind).to_owned();
        let question = QuestionDraft {
            prompt,
            free_text: true,
            call_id: request.tool_use_id.clone(),
            native: native_details(json!({ "kind": kind, "payload": payload })),
            ..QuestionDraft::default()
        };
        out.current_session().questions_requested(id.as_str(), vec![question]);
        self.requests.from_agent.insert(id, PendingRequest::Dialog { call_id: request.tool_use_id });
    }

    /// The agent no longer waits for an answer.
    pub(super) fn control_cancel_request(&mut self, cancel: &ControlCancelRequest, out: &mut Drafts) {
        let id = cancel.request_id.as_deref().unwrap_or_default();
        match self.requests.from_agent.remove(id) {
            Some(PendingRequest::Hook { name }) => {
                out.current_session().note_finished(id, Note::hook(name), true);
            }
            Some(_) => out.current_session().request_withdrawn(id),
            None => out.dropped("withdrawal of an answered request"),
        }
    }

    /// The agent responds to a request of the host.
    pub(super) fn control_response(&mut self, response: ControlResponse, out: &mut Drafts) {
        match response.response {
            Some(ControlResult::Error(error)) => {
                let message = error.error.unwrap_or_else(|| "the agent refused a request".to_owned());
                if error.request_id.is_some() && error.request_id == self.requests.interrupt {
                    self.requests.interrupt = None;
                    self.turn.clear_interrupt();
                    out.current_session().interrupt_rejected();
                }
                let native = native_details(json!({ "request_id": error.request_id }));
                // A failed request of the host does not fail the turn.
                let failure = Failure::new(ErrorCode::InvalidRequest, message).native(native).outside_turn();
                out.current_session().failed(failure);
            }
            Some(ControlResult::Success(response)) => {
                let model = response.request_id.and_then(|id| self.requests.model_changes.remove(&id));
                if let Some(note) = model.and_then(|model| self.settings.update_model(Some(&model))) {
                    out.current_session().note(note);
                }
                out.dropped(HOST_RESPONSE);
            }
            Some(ControlResult::Unknown { tag, .. }) => {
                let native_type = Some(format!("control_response/{tag}"));
                out.current_session().unparsed(AGENT, "unknown control response", native_type);
            }
            None => out.dropped(HOST_RESPONSE),
        }
    }
}

fn control_notice(subtype: &str, out: &mut Drafts) {
    let detail = format!("control request: {subtype}");
    out.current_session().note(Note::notice(detail));
}

fn permission_draft(request: &ControlPermissionRequest) -> PermissionDraft {
    let tool = request.tool_name.as_deref().unwrap_or_default();
    let input = inputs::parse(tool, request.input.as_ref());
    PermissionDraft {
        call_id: request.tool_use_id.clone(),
        kind: Some(tools::kind(tool)),
        title: input.title.or_else(|| input.input.is_none().then(|| tool.to_owned())),
        input: input.input,
        reason: request.decision_reason.clone(),
        scopes: approval_scopes(request.permission_suggestions.as_deref()),
        native: native_details(json!({
            "tool_name": request.tool_name, "title": request.title, "display_name": request.display_name,
            "description": request.description, "suggestions": request.permission_suggestions,
            "blocked_path": request.blocked_path, "agent_id": request.agent_id, "mcp_server": request.mcp_server,
        })),
    }
}

/// Scopes of an approval with these changes of the permission rules, from the narrowest.
pub(super) fn approval_scopes(updates: Option<&[PermissionUpdate]>) -> Vec<ApprovalScope> {
    use PermissionUpdateDestination as To;
    let destinations: Vec<&To> = updates.unwrap_or_default().iter().filter_map(destination).collect();
    let mut scopes = vec![ApprovalScope::Once];
    if destinations.iter().any(|to| matches!(to, To::Session | To::CliArg)) {
        scopes.push(ApprovalScope::Session);
    }
    if destinations.iter().any(|to| matches!(to, To::UserSettings | To::ProjectSettings | To::LocalSettings)) {
        scopes.push(ApprovalScope::Always);
    }
    scopes
}

/// Where a change of the permission rules is stored.
fn destination(update: &PermissionUpdate) -> Option<&PermissionUpdateDestination> {
    match update {
        PermissionUpdate::AddRules(update) => update.destination.as_ref(),
        PermissionUpdate::ReplaceRules(update) => update.destination.as_ref(),
        PermissionUpdate::RemoveRules(update) => update.destination.as_ref(),
        PermissionUpdate::SetMode(update) => update.destination.as_ref(),
        PermissionUpdate::AddDirectories(update) => update.destination.as_ref(),
        PermissionUpdate::RemoveDirectories(update) => update.destination.as_ref(),
        PermissionUpdate::Unknown { .. } => None,
    }
}
