//! The control protocol: what the agent asks the host, and what the host sends.

use foldhash::HashMap;
use interlingua_native::claude::{
    ControlCancelRequest, ControlElicitationRequest, ControlPermissionRequest, ControlRequest, ControlRequestInner,
    ControlRequestUserDialogRequest, ControlResponse, ControlResult, HookCallbackRequest, MessageParam,
    PermissionResult, StdinMessage,
};
use interlingua_native::{Json, Native as _, Union as _};
use interlingua_schema::{Answer, ContentPart, ErrorCode, StatusLabel};
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use super::questions::{accepted, answers, choices, questions};
use super::{ClaudeConverter, HERE, content};
use crate::{Ask, Drafts, Failure, Note, Scope, SessionDrafts};

/// So many requests of the host are remembered whose answer matters.
const MOST_ASKED: usize = 256;

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
                session.withdrawn(key.as_str());
            }
            !settled
        });
    }

    /// The host closed the agent's input: there will be no answers.
    pub(super) fn unanswerable(&mut self, out: &mut Drafts) {
        let mut keys: Vec<String> = self.pending.drain().map(|(key, _)| key).collect();
        keys.sort_unstable();
        for key in keys {
            out.current().withdrawn(key);
        }
    }
}

impl ClaudeConverter {
    #[allow(clippy::match_same_arms, reason = "every variant is named")]
    pub(super) fn control_request(&mut self, request: ControlRequest, out: &mut Drafts) {
        let id = request.request_id;
        let Some(inner) = request.request else {
            return out.current().unparsed(HERE, "a control request without a request", Some("control_request".into()));
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
                out.current().unparsed(HERE, "unknown control request", native_type);
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
            _ => control_notice(subtype, out),
        }
    }

    fn can_use_tool(&mut self, id: String, request: &ControlPermissionRequest, out: &mut Drafts) {
        let tool = request.tool_name.clone().unwrap_or_default();
        let call = request.tool_use_id.clone();
        let sub_agent = request.agent_id.as_ref().and_then(|task| self.tasks.get(task));
        let mut session = out.current().sub_agent_or_main(sub_agent.map(String::as_str));
        match tool.as_str() {
            "AskUserQuestion" => {
                let (questions, asks) = questions(request.input.as_ref(), call.as_deref());
                if !asks.is_empty() {
                    session.questions_asked(id.as_str(), asks);
                    self.requests.pending.insert(id, Pending::Questions { call, questions });
                    return;
                }
            }
            "ExitPlanMode" => {
                let ask = self.plan_approval(request);
                session = out.current();
                session.questions_asked(id.as_str(), vec![ask]);
                self.requests.pending.insert(id, Pending::Plan { call });
                return;
            }
            _ => {}
        }
        session.permission_asked(id.as_str(), tool, Some(permission_metadata(request)));
        self.requests.pending.insert(id, Pending::Permission { call });
    }

    /// The plan is in the request, or only in the call that the agent made.
    fn plan_approval(&self, request: &ControlPermissionRequest) -> Ask {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Input {
            plan: Option<String>,
            #[serde(rename = "planFilePath")]
            file: Option<String>,
        }
        let asked: Input = request.input.as_ref().and_then(|input| input.decode().ok()).unwrap_or_default();
        let call = request.tool_use_id.as_ref().and_then(|call| self.calls.get(call));
        let called: Input = call.map(super::calls::Call::arguments).unwrap_or_default();
        let plan = asked.plan.or(called.plan).unwrap_or_default();
        let metadata = facts(json!({
            "kind": "plan_approval", "tool_use_id": request.tool_use_id, "plan_file_path": asked.file.or(called.file),
        }));
        Ask { prompt: plan, options: vec!["approve".to_owned(), "reject".to_owned()], metadata: Some(metadata) }
    }

    fn hook_callback(&mut self, id: String, request: &HookCallbackRequest, out: &mut Drafts) {
        let event = request.input.as_ref().map_or("hook", |input| input.variant());
        let name = match &request.callback_id {
            Some(callback) => format!("{event}: {callback}"),
            None => event.to_owned(),
        };
        out.current().note_started(id.as_str(), Note::status(StatusLabel::Hook, Some(name.clone())));
        self.requests.pending.insert(id, Pending::Hook { note: name });
    }

    fn elicitation(&mut self, id: String, request: ControlElicitationRequest, out: &mut Drafts) {
        let schema = request.requested_schema.as_ref().map(Json::to_value);
        let options = choices(schema.as_ref());
        let metadata = facts(json!({
            "kind": "elicitation", "mcp_server": request.mcp_server_name, "title": request.title,
            "mode": request.mode.as_ref().map(|mode| mode.as_str().to_owned()), "url": request.url, "schema": schema,
            "description": request.description, "elicitation_id": request.elicitation_id,
        }));
        let prompt = request.message.unwrap_or_default();
        out.current().questions_asked(id.as_str(), vec![Ask { prompt, options, metadata: Some(metadata) }]);
        self.requests.pending.insert(id, Pending::Elicitation);
    }

    fn user_dialog(&mut self, id: String, request: ControlRequestUserDialogRequest, out: &mut Drafts) {
        let kind = request.dialog_kind.unwrap_or_default();
        let payload = request.payload.as_ref().map(Json::to_value);
        let word = |key: &str| payload.as_ref().and_then(|payload| payload.get(key)).and_then(Value::as_str);
        let prompt = ["message", "question", "title"].into_iter().find_map(word).unwrap_or(&kind).to_owned();
        let metadata = facts(json!({ "kind": kind, "tool_use_id": request.tool_use_id, "payload": payload }));
        out.current().questions_asked(id.as_str(), vec![Ask { prompt, options: Vec::new(), metadata: Some(metadata) }]);
        self.requests.pending.insert(id, Pending::Dialog { call: request.tool_use_id });
    }

    /// The agent no longer waits.
    pub(super) fn control_cancel_request(&mut self, cancel: &ControlCancelRequest, out: &mut Drafts) {
        let id = cancel.request_id.as_deref().unwrap_or_default();
        match self.requests.pending.remove(id) {
            Some(Pending::Hook { note }) => {
                out.current().note_finished(id, Note::status(StatusLabel::Hook, Some(note)), true);
            }
            Some(_) => out.current().withdrawn(id),
            None => out.dropped("withdrawal of what has its answer"),
        }
    }

    /// The agent answers the host.
    pub(super) fn control_response(&mut self, response: ControlResponse, out: &mut Drafts) {
        match response.response {
            Some(ControlResult::Error(error)) => {
                let words = error.error.unwrap_or_else(|| "the agent refused a request".to_owned());
                let details = json!({ "request_id": error.request_id });
                // A request that the host made beside the turn says nothing about the turn.
                let failure = Failure::new(ErrorCode::InvalidRequest, words).details(details).aside();
                out.current().failed(failure);
            }
            Some(ControlResult::Success(answer)) => {
                let asked = answer.request_id.and_then(|id| self.requests.model_changes.remove(&id));
                if let Some(note) = asked.and_then(|model| self.settings.model_in_use(Some(&model))) {
                    out.current().note(note);
                }
                out.dropped("answer to the host's own request");
            }
            Some(ControlResult::Unknown { tag, .. }) => {
                let native_type = Some(format!("control_response/{tag}"));
                out.current().unparsed(HERE, "unknown control response", native_type);
            }
            Some(_) | None => out.dropped("answer to the host's own request"),
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
                    let prompt = self.prompts.sent(content, message.uuid);
                    out.current().prompted(prompt);
                }
            }
            StdinMessage::ControlRequest(request) => match request.request {
                Some(ControlRequestInner::Interrupt(_)) => out.current().interrupt_asked(),
                Some(ControlRequestInner::SetModel(change)) => {
                    if let Some(model) = change.model
                        && self.requests.model_changes.len() < MOST_ASKED
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
        let mut session = out.current();
        match pending {
            Pending::Permission { .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    let always = allow.updated_permissions.is_some_and(|updates| !updates.is_empty());
                    session.permission_approved(id, if always { Scope::Always } else { Scope::Once });
                }
                denied => {
                    session.permission_denied(id);
                    stopped(denied.as_ref(), &mut session);
                }
            },
            Pending::Questions { questions, .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    session.questions_answered(id, answers(&questions, allow.updated_input.as_ref()));
                }
                denied => reject(id, denied, &mut session),
            },
            Pending::Plan { .. } => match verdict(answer.as_ref()) {
                Some(PermissionResult::Allow(_)) => {
                    session.questions_answered(id, vec![Answer::Answered("approve".to_owned())]);
                }
                denied => reject(id, denied, &mut session),
            },
            Pending::Elicitation | Pending::Dialog { .. } => match accepted(answer.as_ref()) {
                Some(words) => session.questions_answered(id, vec![Answer::Answered(words)]),
                None => session.questions_rejected(id, None),
            },
            Pending::Hook { note } => {
                let failed = answer.is_none();
                let mut note = Note::status(StatusLabel::Hook, Some(note));
                if let Some(answer) = answer {
                    note = note.with(ContentPart::Json { json: answer.to_value() });
                }
                session.note_finished(id, note, failed);
            }
        }
    }
}

fn control_notice(subtype: &str, out: &mut Drafts) {
    let detail = format!("control request: {subtype}");
    out.current().note(Note::status(StatusLabel::Notice, Some(detail)));
}

fn verdict(answer: Option<&Json>) -> Option<PermissionResult> {
    PermissionResult::decode(answer?.get()).ok().map(|decoded| decoded.value)
}

/// A refusal may also stop the turn.
fn stopped(denied: Option<&PermissionResult>, session: &mut SessionDrafts<'_>) {
    if let Some(PermissionResult::Deny(deny)) = denied
        && deny.interrupt == Some(true)
    {
        session.interrupt_asked();
    }
}

fn reject(id: String, denied: Option<PermissionResult>, session: &mut SessionDrafts<'_>) {
    stopped(denied.as_ref(), session);
    let why = match denied {
        Some(PermissionResult::Deny(deny)) => deny.message.filter(|message| !message.is_empty()),
        _ => None,
    };
    session.questions_rejected(id, why);
}

fn permission_metadata(request: &ControlPermissionRequest) -> Value {
    facts(json!({
        "tool_name": request.tool_name, "tool_use_id": request.tool_use_id, "title": request.title,
        "display_name": request.display_name, "description": request.description,
        "input": request.input.as_ref().map(Json::to_value), "suggestions": request.permission_suggestions,
        "blocked_path": request.blocked_path, "reason": request.decision_reason, "agent_id": request.agent_id,
        "mcp_server": request.mcp_server,
    }))
}
