//! The control protocol: what the agent asks the host, and what the host sends.

use foldhash::HashMap;
use interlingua_native::claude::{
    ControlCancelRequest, ControlElicitationRequest, ControlPermissionRequest, ControlRequest, ControlRequestInner,
    ControlRequestUserDialogRequest, ControlResponse, ControlResult, HookCallbackRequest, MessageParam,
    PermissionResult, PermissionUpdate, PermissionUpdateDestination, StdinMessage,
};
use interlingua_native::{Json, Native as _, Union as _};
use interlingua_schema::{ApprovalScope, ErrorCode, QuestionAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::known;
use super::questions::{accepted, answers, choices, questions};
use super::{ClaudeConverter, HERE, content, inputs, tools};
use crate::{Drafts, Failure, Note, PermissionDraft, QuestionDraft, SessionDrafts, ToolCall};

/// So many requests of the host are remembered whose answer matters.
const MAX_ASKED: usize = 256;

/// What the agent asked and waits for.
#[derive(Debug)]
enum Pending {
    Permission {
        call: Option<String>,
    },
    /// Questions, by their text.
    Questions {
        call: Option<String>,
        questions: Vec<String>,
    },
    Plan {
        call: Option<String>,
    },
    Elicitation,
    Dialog {
        call: Option<String>,
    },
    Hook {
        note: String,
    },
}

impl Pending {
    /// The tool call that it is about.
    fn call(&self) -> Option<&str> {
        match self {
            Self::Permission { call } | Self::Questions { call, .. } | Self::Plan { call } | Self::Dialog { call } => {
                call.as_deref()
            }
            Self::Elicitation | Self::Hook { .. } => None,
        }
    }
}

/// Requests in both directions that have no answer yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// The agent's.
    pending: HashMap<String, Pending>,
    /// The host's, to change the model.
    model_changes: HashMap<String, String>,
    /// The host's latest, to interrupt the turn.
    interrupt: Option<String>,
}

impl Requests {
    /// The tool that a permission or a question was about is done: whoever was asked is not waited for.
    pub(super) fn settled(&mut self, call: &str, session: &mut SessionDrafts<'_>) {
        if self.pending.is_empty() {
            return;
        }
        self.pending.retain(|key, pending| {
            let settled = pending.call() == Some(call);
            if settled {
                session.request_withdrawn(key.as_str());
            }
            !settled
        });
    }

    /// The host closed the agent's input: there will be no answers.
    pub(super) fn unanswerable(&mut self, out: &mut Drafts) {
        let mut keys: Vec<String> = self.pending.drain().map(|(key, _)| key).collect();
        keys.sort_unstable();
        for key in keys {
            out.current_session().request_withdrawn(key);
        }
    }
}

impl ClaudeConverter {
    #[allow(clippy::match_same_arms, reason = "every variant is named")]
    pub(super) fn control_request(&mut self, request: ControlRequest, out: &mut Drafts) {
        let id = request.request_id;
        let Some(inner) = request.request else {
            return out.current_session().unparsed(
                HERE,
                "a control request without a request",
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
                out.current_session().unparsed(HERE, "unknown control request", native_type);
            }
            // These are for the host to ask; from the agent they mean that it speaks for another host.
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
        let call = request.tool_use_id.as_deref().or_else(|| self.calls.only_call_of(tool)).map(str::to_owned);
        self.tell_call(request, out);
        let sub_agent = request.agent_id.as_ref().and_then(|task| self.tasks.visible_sub_agent(task));
        let mut session = out.current_session().sub_agent_or_main(sub_agent);
        match tool {
            "AskUserQuestion" => {
                let (questions, asks) = questions(request.input.as_ref(), call.as_deref());
                if !asks.is_empty() {
                    session.questions_requested(id.as_str(), asks);
                    self.requests.pending.insert(id, Pending::Questions { call, questions });
                    return;
                }
            }
            "ExitPlanMode" => {
                let ask = self.plan_approval(request, call.as_deref());
                session = out.current_session();
                session.questions_requested(id.as_str(), vec![ask]);
                self.requests.pending.insert(id, Pending::Plan { call });
                return;
            }
            _ => {}
        }
        session.permission_requested(id.as_str(), permission(request));
        self.requests.pending.insert(id, Pending::Permission { call });
    }

    /// A request may come before the line of its call. That line comes later, unless a sub-agent's sub-agent asks.
    fn tell_call(&mut self, request: &ControlPermissionRequest, out: &mut Drafts) {
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
        self.calls.begin(id, name, kind.clone(), sub_agent.as_deref(), request.input.as_ref());
        let call = ToolCall::new(id.as_str(), name.as_str()).kind(kind).native_id(id.as_str());
        let call = call.json_arguments(request.input.as_ref());
        let call = inputs::read(name, request.input.as_ref()).describe(call);
        out.current_session().sub_agent_or_main(sub_agent).tool_called(id.as_str(), call);
    }

    /// The plan is in the request, or only in the call that the agent made.
    fn plan_approval(&self, request: &ControlPermissionRequest, call: Option<&str>) -> QuestionDraft {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Input {
            plan: Option<String>,
            #[serde(rename = "planFilePath")]
            file: Option<String>,
        }
        let asked: Input = request.input.as_ref().and_then(|input| input.decode().ok()).unwrap_or_default();
        let called = call.and_then(|call| self.calls.get(call));
        let called: Input = called.map(super::calls::Call::arguments).unwrap_or_default();
        let plan = asked.plan.or(called.plan).unwrap_or_default();
        QuestionDraft {
            call_id: call.map(str::to_owned),
            native: known(json!({ "plan_file_path": asked.file.or(called.file) })),
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
        self.requests.pending.insert(id, Pending::Hook { note: name });
    }

    fn elicitation(&mut self, id: String, request: ControlElicitationRequest, out: &mut Drafts) {
        let schema = request.requested_schema.as_ref().map(Json::to_value);
        let options = choices(schema.as_ref());
        let native = known(json!({
            "mcp_server": request.mcp_server_name, "mode": request.mode.as_ref().map(|mode| mode.as_str().to_owned()),
            "url": request.url, "schema": schema, "description": request.description,
            "elicitation_id": request.elicitation_id,
        }));
        let ask = QuestionDraft {
            prompt: request.message.unwrap_or_default(),
            header: request.title,
            // A form without choices is filled in.
            free_text: options.is_empty(),
            options,
            native,
            ..QuestionDraft::default()
        };
        out.current_session().questions_requested(id.as_str(), vec![ask]);
        self.requests.pending.insert(id, Pending::Elicitation);
    }

    fn user_dialog(&mut self, id: String, request: ControlRequestUserDialogRequest, out: &mut Drafts) {
        let kind = request.dialog_kind.unwrap_or_default();
        let payload = request.payload.as_ref().map(Json::to_value);
        let word = |key: &str| payload.as_ref().and_then(|payload| payload.get(key)).and_then(Value::as_str);
        let prompt = ["message", "question", "title"].into_iter().find_map(word).unwrap_or(&kind).to_owned();
        let ask = QuestionDraft {
            prompt,
            free_text: true,
            call_id: request.tool_use_id.clone(),
            native: known(json!({ "kind": kind, "payload": payload })),
            ..QuestionDraft::default()
        };
        out.current_session().questions_requested(id.as_str(), vec![ask]);
        self.requests.pending.insert(id, Pending::Dialog { call: request.tool_use_id });
    }

    /// The agent no longer waits.
    pub(super) fn control_cancel_request(&mut self, cancel: &ControlCancelRequest, out: &mut Drafts) {
        let id = cancel.request_id.as_deref().unwrap_or_default();
        match self.requests.pending.remove(id) {
            Some(Pending::Hook { note }) => {
                out.current_session().note_finished(id, Note::hook(note), true);
            }
            Some(_) => out.current_session().request_withdrawn(id),
            None => out.dropped("withdrawal of what has its answer"),
        }
    }

    /// The agent answers the host.
    pub(super) fn control_response(&mut self, response: ControlResponse, out: &mut Drafts) {
        match response.response {
            Some(ControlResult::Error(error)) => {
                let words = error.error.unwrap_or_else(|| "the agent refused a request".to_owned());
                if error.request_id.is_some() && error.request_id == self.requests.interrupt {
                    self.requests.interrupt = None;
                    self.turn.not_interrupted();
                    out.current_session().interrupt_rejected();
                }
                let native = known(json!({ "request_id": error.request_id }));
                // A request that the host made beside the turn says nothing about the turn.
                let failure = Failure::new(ErrorCode::InvalidRequest, words).native(native).outside_turn();
                out.current_session().failed(failure);
            }
            Some(ControlResult::Success(answer)) => {
                let asked = answer.request_id.and_then(|id| self.requests.model_changes.remove(&id));
                if let Some(note) = asked.and_then(|model| self.settings.model_in_use(Some(&model))) {
                    out.current_session().note(note);
                }
                out.dropped("answer to the host's own request");
            }
            Some(ControlResult::Unknown { tag, .. }) => {
                let native_type = Some(format!("control_response/{tag}"));
                out.current_session().unparsed(HERE, "unknown control response", native_type);
            }
            None => out.dropped("answer to the host's own request"),
        }
    }

    /// What the host sends. A line that cannot be read says nothing here; the agent has its own opinion of it.
    pub(super) fn sent(&mut self, line: &str, out: &mut Drafts) {
        let Ok(decoded) = StdinMessage::decode(line) else {
            return;
        };
        match decoded.value {
            StdinMessage::User(message) => {
                let Some(MessageParam::User(body)) = message.message else {
                    return;
                };
                let content = body.content.map(content::sent).unwrap_or_default();
                if !content.is_empty() {
                    let prompt = self.prompts.sent(content, message.uuid, out.raw(), self.turn.is_running());
                    out.current_session().prompt_sent(prompt);
                }
            }
            StdinMessage::ControlRequest(request) => match request.request {
                Some(ControlRequestInner::Interrupt(_)) => {
                    self.requests.interrupt = Some(request.request_id);
                    self.interrupted_by_host();
                    out.current_session().interrupt_requested();
                }
                Some(ControlRequestInner::SetModel(change)) => {
                    if let Some(model) = change.model
                        && self.requests.model_changes.len() < MAX_ASKED
                    {
                        self.requests.model_changes.insert(request.request_id, model);
                    }
                }
                _ => {}
            },
            StdinMessage::ControlResponse(response) => self.answered(response, out),
            // Keep-alives, and withdrawals of the host's own requests.
            _ => {}
        }
    }

    /// The host answers what the agent asked. Whatever is not clearly a yes is a no.
    fn answered(&mut self, response: ControlResponse, out: &mut Drafts) {
        let (id, answer) = match response.response {
            Some(ControlResult::Success(success)) => (success.request_id, success.response),
            Some(ControlResult::Error(error)) => (error.request_id, None),
            _ => return,
        };
        let Some(id) = id else { return };
        let Some(pending) = self.requests.pending.remove(&id) else {
            return;
        };
        let mut session = out.current_session();
        match pending {
            Pending::Permission { .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    let given = approval_scopes(allow.updated_permissions.as_deref());
                    session.permission_approved(id, given.last().cloned().unwrap_or(ApprovalScope::Once));
                }
                denied => {
                    session.permission_denied(id);
                    self.stopped(denied.as_ref(), out);
                }
            },
            Pending::Questions { questions, .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    session.questions_answered(id, answers(&questions, allow.updated_input.as_ref()));
                }
                denied => self.reject(id, denied, out),
            },
            Pending::Plan { .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(_)) => {
                    session.questions_answered(id, vec![QuestionAnswer::Answered("approve".to_owned())]);
                }
                denied => self.reject(id, denied, out),
            },
            Pending::Elicitation | Pending::Dialog { .. } => match accepted(answer.as_ref()) {
                Some(words) => session.questions_answered(id, vec![QuestionAnswer::Answered(words)]),
                None => session.questions_rejected(id, None),
            },
            Pending::Hook { note } => {
                let failed = answer.is_none();
                session.note_finished(id, Note::hook(note), failed);
            }
        }
    }

    /// The host stops the running turn, or the one that what it sent is about to begin.
    fn interrupted_by_host(&mut self) {
        if self.turn.is_running() || self.prompts.are_waiting() {
            self.turn.interrupted();
        }
    }

    /// A refusal may also stop the turn.
    fn stopped(&mut self, denied: Option<&PermissionResult>, out: &mut Drafts) {
        if let Some(PermissionResult::Deny(deny)) = denied
            && deny.interrupt == Some(true)
        {
            self.interrupted_by_host();
            out.current_session().interrupt_requested();
        }
    }

    fn reject(&mut self, id: String, denied: Option<PermissionResult>, out: &mut Drafts) {
        self.stopped(denied.as_ref(), out);
        let why = match denied {
            Some(PermissionResult::Deny(deny)) => deny.message.filter(|message| !message.is_empty()),
            _ => None,
        };
        out.current_session().questions_rejected(id, why);
    }
}

fn control_notice(subtype: &str, out: &mut Drafts) {
    let detail = format!("control request: {subtype}");
    out.current_session().note(Note::notice(detail));
}

fn verdict(answer: Option<&Json>) -> Option<PermissionResult> {
    PermissionResult::decode(answer?.get()).ok().map(|decoded| decoded.value)
}

fn permission(request: &ControlPermissionRequest) -> PermissionDraft {
    let tool = request.tool_name.as_deref().unwrap_or_default();
    let about = inputs::read(tool, request.input.as_ref());
    PermissionDraft {
        call_id: request.tool_use_id.clone(),
        kind: Some(tools::kind(tool)),
        title: about.title.or_else(|| about.input.is_none().then(|| tool.to_owned())),
        input: about.input,
        reason: request.decision_reason.clone(),
        scopes: approval_scopes(request.permission_suggestions.as_deref()),
        native: known(json!({
            "tool_name": request.tool_name, "title": request.title, "display_name": request.display_name,
            "description": request.description, "suggestions": request.permission_suggestions,
            "blocked_path": request.blocked_path, "agent_id": request.agent_id, "mcp_server": request.mcp_server,
        })),
    }
}

/// How far an approval with these changes of the rules reaches, from the least on.
fn approval_scopes(updates: Option<&[PermissionUpdate]>) -> Vec<ApprovalScope> {
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

/// Where a change of the rules is kept.
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
