//! Requests of the agent and the host's responses: permissions, questions, files and terminals of the host.

use interlingua_native::Native as _;
use interlingua_native::acp::{
    AgentRequest, CancelRequestNotification, CreateTerminalResponse, PermissionOption, PermissionOptionKind,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, TerminalOutputResponse,
    WaitForTerminalExitResponse,
};
use interlingua_schema::ApprovalScope;
use serde_json::json;

use super::elicitation::Form;
use super::questions::{AskedQuestions, asked_questions};
use super::tools::ToolFields;
use super::wire::Outcome;
use super::{ACP, AcpConverter};
use crate::{Drafts, PermissionDraft};

/// Drop reason for requests that the host program answers without asking the user: files and terminals.
const HOST_SERVICE: &str = "a request for a file or terminal of the host";
/// Drop reason for messages of an MCP server that runs in the host.
const HOST_MCP: &str = "a message to an MCP server of the host";

/// A request of the agent without a response.
#[derive(Debug)]
pub(super) enum AgentRequestState {
    Permission {
        session: String,
        call: String,
        /// Id and kind of each option.
        options: Vec<(String, Option<PermissionOptionKind>)>,
        /// The request asks questions instead of a permission.
        questions: Option<AskedQuestions>,
    },
    Elicitation {
        session: String,
        form: Form,
    },
    CreateTerminal,
    TerminalOutput {
        terminal: String,
    },
    TerminalExit {
        terminal: String,
    },
    /// The response says nothing that the agent does not report itself.
    Other,
}

/// A terminal that the host runs for the agent.
#[derive(Debug, Default)]
pub(super) struct Terminal {
    pub(super) output: String,
    pub(super) exit_code: Option<i32>,
}

impl AcpConverter {
    pub(super) fn handle_agent_request(&mut self, id: String, request: AgentRequest, out: &mut Drafts) {
        let state = match request {
            AgentRequest::SessionRequestPermission(request) => return self.permission_requested(id, *request, out),
            AgentRequest::ElicitationCreate(request) => return self.elicitation_requested(id, request, out),
            AgentRequest::TerminalCreate(_) => AgentRequestState::CreateTerminal,
            AgentRequest::TerminalOutput(request) => {
                AgentRequestState::TerminalOutput { terminal: request.terminal_id.unwrap_or_default() }
            }
            AgentRequest::TerminalWaitForExit(request) => {
                AgentRequestState::TerminalExit { terminal: request.terminal_id.unwrap_or_default() }
            }
            AgentRequest::FsReadTextFile(_)
            | AgentRequest::FsWriteTextFile(_)
            | AgentRequest::TerminalKill(_)
            | AgentRequest::TerminalRelease(_) => AgentRequestState::Other,
            AgentRequest::McpMessage(_) => {
                self.agent_requests.insert(id, AgentRequestState::Other);
                return out.dropped(HOST_MCP);
            }
            AgentRequest::Unknown { tag, .. } => {
                return out.current_session().unparsed(ACP, "unknown request", Some(tag));
            }
        };
        self.agent_requests.insert(id, state);
        out.dropped(HOST_SERVICE);
    }

    fn permission_requested(&mut self, id: String, request: RequestPermissionRequest, out: &mut Drafts) {
        let session = request.session_id.unwrap_or_default();
        let options = request.options.unwrap_or_default();
        let mut permission = PermissionDraft {
            scopes: scopes(&options),
            native: Some(json!({ "options": options })),
            ..PermissionDraft::default()
        };
        let options = options.into_iter().filter_map(|option| Some((option.option_id?, option.kind))).collect();
        let (mut call, mut parent, mut questions) = (String::new(), None, None);
        if let Some(fields) = request.tool_call.map(ToolFields::requested) {
            call.clone_from(&fields.id);
            permission.call_id = Some(call.clone());
            let texts = fields.texts();
            self.mention_requested_call(&session, fields, out);
            if let Some(tool) = self.session(&session).calls.get(&call) {
                parent = tool.parent().cloned();
                questions = asked_questions(tool, &call);
                permission.reason = tool.reason(texts);
            }
        }
        let mut drafts = self.drafts(&session, out).sub_agent_or_main(parent);
        let questions = if let Some((asked, questions)) = questions {
            drafts.questions_requested(id.as_str(), questions);
            Some(asked)
        } else {
            drafts.permission_requested(id.as_str(), permission);
            None
        };
        self.agent_requests.insert(id, AgentRequestState::Permission { session, call, options, questions });
    }

    /// The agent no longer waits for an answer.
    pub(super) fn handle_cancelled_request(&mut self, cancelled: CancelRequestNotification, out: &mut Drafts) {
        let Some(id) = cancelled.request_id.map(|id| id.to_string()) else { return out.dropped(HOST_SERVICE) };
        let session = match self.agent_requests.get(&id) {
            Some(AgentRequestState::Permission { session, .. } | AgentRequestState::Elicitation { session, .. }) => {
                session.clone()
            }
            Some(_) | None => return out.dropped(HOST_SERVICE),
        };
        if let Some(AgentRequestState::Permission { call, .. }) = self.agent_requests.get(&id) {
            let call = call.clone();
            self.call_denied(&session, &call);
        }
        self.drafts(&session, out).request_withdrawn(id);
    }

    /// The host responds to a request of the agent.
    pub(super) fn handle_host_response(&mut self, id: &str, result: Outcome<'_>, out: &mut Drafts) {
        match self.agent_requests.remove(id) {
            Some(AgentRequestState::Permission { session, call, options, questions }) => {
                let result = result.ok();
                let approved = result.and_then(|result| approved_scope(result, &options));
                let is_approved = approved.is_some();
                if let Some(asked) = &questions {
                    self.questions_answered(&session, id, asked, (result, is_approved), out);
                } else if let Some(scope) = approved {
                    self.drafts(&session, out).permission_approved(id, scope);
                } else {
                    self.drafts(&session, out).permission_denied(id);
                }
                if !is_approved {
                    self.call_denied(&session, &call);
                }
            }
            Some(AgentRequestState::Elicitation { session, form }) => {
                self.elicitation_answered(&session, id, &form, result.ok(), out);
            }
            Some(AgentRequestState::CreateTerminal) => {
                let created = result.ok().and_then(|result| CreateTerminalResponse::decode(result).ok());
                if let Some(terminal) = created.and_then(|created| created.value.terminal_id) {
                    self.terminals.insert(terminal, Terminal::default());
                }
            }
            Some(AgentRequestState::TerminalOutput { terminal }) => {
                let Some(response) = result.ok().and_then(|result| TerminalOutputResponse::decode(result).ok()) else {
                    return;
                };
                let state = self.terminals.entry(terminal).or_default();
                state.output = response.value.output.unwrap_or_default();
                let exit_code = response.value.exit_status.and_then(|status| status.exit_code);
                state.exit_code = exit_code.and_then(|code| i32::try_from(code).ok()).or(state.exit_code);
            }
            Some(AgentRequestState::TerminalExit { terminal }) => {
                let response = result.ok().and_then(|result| WaitForTerminalExitResponse::decode(result).ok());
                let exit_code = response.and_then(|response| response.value.exit_code);
                let state = self.terminals.entry(terminal).or_default();
                state.exit_code = exit_code.and_then(|code| i32::try_from(code).ok()).or(state.exit_code);
            }
            Some(AgentRequestState::Other) | None => {}
        }
    }
}

/// The scopes that the options offer.
fn scopes(options: &[PermissionOption]) -> Vec<ApprovalScope> {
    let offers = |kind: &PermissionOptionKind| options.iter().any(|option| option.kind.as_ref() == Some(kind));
    let mut scopes = Vec::new();
    if offers(&PermissionOptionKind::AllowOnce) {
        scopes.push(ApprovalScope::Once);
    }
    if offers(&PermissionOptionKind::AllowAlways) {
        scopes.push(ApprovalScope::Always);
    }
    scopes
}

/// The scope of the approval that a response contains. Only an option that is known to allow is an approval.
fn approved_scope(result: &str, options: &[(String, Option<PermissionOptionKind>)]) -> Option<ApprovalScope> {
    let response = RequestPermissionResponse::decode(result).ok()?.value;
    let RequestPermissionOutcome::Selected(selected) = response.outcome? else { return None };
    let chosen = selected.option_id?;
    let (_, kind) = options.iter().find(|(id, _)| *id == chosen)?;
    match kind.as_ref()? {
        PermissionOptionKind::AllowOnce => Some(ApprovalScope::Once),
        PermissionOptionKind::AllowAlways => Some(ApprovalScope::Always),
        PermissionOptionKind::RejectOnce | PermissionOptionKind::RejectAlways | PermissionOptionKind::Unknown(_) => {
            None
        }
    }
}
