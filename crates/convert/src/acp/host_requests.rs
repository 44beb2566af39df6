//! Lines that the host sends, and the agent's responses to its requests.

use interlingua_agents::{AcpProfile, login_remedy};
use interlingua_native::acp::{
    ClientNotification, ClientRequest, ClientRequestEnvelope, ContentBlock, ForkSessionResponse, InitializeResponse,
    LoadSessionResponse, McpServer, NewSessionResponse, PromptResponse, ResumeSessionResponse,
    SetSessionConfigOptionResponse, StopReason as NativeStopReason, Usage as NativeUsage,
};
use interlingua_native::{DecodeError, Json, Losses, Native as _};
use interlingua_schema::{ContentPart, ErrorCode, StopReason, TurnStatus};
use serde::Deserialize;

use super::content::prompt_part;
use super::failures::RpcFailure;
use super::settings::SessionSettings;
use super::usage::TurnUsage;
use super::wire::{Line, Outcome};
use super::{ACP, AcpConverter};
use crate::drop_reason::HOST_RESPONSE;
use crate::losses::report_losses;
use crate::{Drafts, Failure, Key, PromptDraft, TurnEnd};

/// Message of the error for a turn with too many model requests.
const LIMIT_REACHED: &str = "the agent reached its limit of model requests in a turn, or took the turn for a loop";
/// Method that agents still accept although it is no longer part of the protocol.
const SET_MODEL: &str = "session/set_model";

/// A request of the host without a response.
#[derive(Debug)]
pub(super) enum HostRequest {
    Initialize,
    /// A session is created, in this directory and with these MCP servers.
    New {
        cwd: Option<String>,
        mcp_servers: Vec<String>,
    },
    /// A session is loaded with its history, or resumed without.
    Open {
        session: String,
        cwd: Option<String>,
        mcp_servers: Vec<String>,
        has_history: bool,
    },
    Fork {
        cwd: Option<String>,
        mcp_servers: Vec<String>,
    },
    Prompt {
        session: String,
        /// Number of the prompt, which tells which of several started the running turn; `None` if the session is not known.
        number: Option<u64>,
    },
    SetMode {
        session: String,
        mode: String,
    },
    SetModel {
        session: String,
        model: String,
    },
    SetOption {
        session: String,
    },
    /// The response says nothing about a session.
    Other(String),
}

impl HostRequest {
    /// The session of a prompt.
    pub(super) fn prompted_session(&self) -> Option<&str> {
        match self {
            Self::Prompt { session, .. } => Some(session),
            _ => None,
        }
    }

    /// The method, for errors.
    fn method(&self) -> &str {
        match self {
            Self::Initialize => "initialize",
            Self::New { .. } => "session/new",
            Self::Open { has_history: true, .. } => "session/load",
            Self::Open { has_history: false, .. } => "session/resume",
            Self::Fork { .. } => "session/fork",
            Self::Prompt { .. } => "session/prompt",
            Self::SetMode { .. } => "session/set_mode",
            Self::SetModel { .. } => SET_MODEL,
            Self::SetOption { .. } => "session/set_config_option",
            Self::Other(method) => method,
        }
    }
}

/// Parameters of `session/set_model`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SetModelParams {
    session_id: String,
    model_id: String,
}

/// A request that the schema does not declare, with its parameters.
#[derive(Deserialize)]
struct Undeclared {
    #[serde(default)]
    params: SetModelParams,
}

impl AcpConverter {
    pub(super) fn handle_sent(&mut self, line: &str, out: &mut Drafts) {
        match Line::parse(line) {
            Line::Request { method, id } => {
                let request = match ClientRequestEnvelope::decode(line) {
                    Ok(decoded) => self.observe_host_request(decoded.value.message, line, out),
                    // A request that the agent will refuse.
                    Err(_) => HostRequest::Other(method.into_owned()),
                };
                self.host_requests.insert(id.to_string(), request);
            }
            Line::Notification { .. } => {
                if let Ok(decoded) = ClientNotification::decode(line) {
                    self.observe_host_notification(decoded.value, out);
                }
            }
            Line::Response { id, result } => self.handle_host_response(&id, result, out),
            Line::Invalid(_) => {}
        }
    }

    fn observe_host_request(&mut self, request: ClientRequest, line: &str, out: &mut Drafts) -> HostRequest {
        let other = |method: &str| HostRequest::Other(method.to_owned());
        match request {
            ClientRequest::Initialize(_) => HostRequest::Initialize,
            ClientRequest::SessionNew(request) => {
                HostRequest::New { cwd: request.cwd, mcp_servers: server_names(request.mcp_servers) }
            }
            ClientRequest::SessionFork(request) => {
                HostRequest::Fork { cwd: request.cwd, mcp_servers: server_names(request.mcp_servers) }
            }
            ClientRequest::SessionLoad(request) => {
                let session = request.session_id.unwrap_or_default();
                self.history_requested(&session);
                let mcp_servers = server_names(request.mcp_servers);
                HostRequest::Open { session, cwd: request.cwd, mcp_servers, has_history: true }
            }
            ClientRequest::SessionResume(request) => HostRequest::Open {
                session: request.session_id.unwrap_or_default(),
                cwd: request.cwd,
                mcp_servers: server_names(request.mcp_servers),
                has_history: false,
            },
            ClientRequest::SessionPrompt(request) => {
                let session = request.session_id.unwrap_or_default();
                let number = self.prompt_sent(&session, request.prompt.unwrap_or_default(), out);
                HostRequest::Prompt { session, number }
            }
            ClientRequest::SessionSetMode(request) => HostRequest::SetMode {
                session: request.session_id.unwrap_or_default(),
                mode: request.mode_id.unwrap_or_default(),
            },
            ClientRequest::SessionSetConfigOption(request) => {
                HostRequest::SetOption { session: request.session_id.unwrap_or_default() }
            }
            ClientRequest::Unknown { tag, .. } if tag == SET_MODEL => {
                let params = serde_json::from_str(line)
                    .map_or_else(|_| SetModelParams::default(), |sent: Undeclared| sent.params);
                HostRequest::SetModel { session: params.session_id, model: params.model_id }
            }
            ClientRequest::AuthStatus(_) => other("auth/status"),
            ClientRequest::Authenticate(_) => other("authenticate"),
            ClientRequest::Logout(_) => other("logout"),
            ClientRequest::ProvidersDisable(_) => other("providers/disable"),
            ClientRequest::ProvidersList(_) => other("providers/list"),
            ClientRequest::ProvidersSet(_) => other("providers/set"),
            ClientRequest::SessionArchive(_) => other("session/archive"),
            ClientRequest::SessionClose(_) => other("session/close"),
            ClientRequest::SessionDelete(_) => other("session/delete"),
            ClientRequest::SessionList(_) => other("session/list"),
            ClientRequest::SessionSetTitle(_) => other("session/set_title"),
            ClientRequest::SessionStatus(_) => other("session/status"),
            ClientRequest::SessionUnarchive(_) => other("session/unarchive"),
            ClientRequest::Unknown { tag, .. } => HostRequest::Other(tag),
        }
    }

    /// A prompt starts a turn, or waits until the running one has ended. A prompt for a session that the agent does not
    /// know is not part of a conversation.
    fn prompt_sent(&mut self, session: &str, blocks: Vec<ContentBlock>, out: &mut Drafts) -> Option<u64> {
        let id = self.known_id(session)?;
        // What the agent wrote between two turns is a message of its own.
        if !self.has_prompt(id) {
            self.finish_messages(id, out);
        }
        self.prompt_count += 1;
        let parts: Vec<ContentPart> = blocks.into_iter().filter_map(prompt_part).collect();
        out.session(id).prompt_sent(PromptDraft::new(parts).id(prompt_key(self.prompt_count)));
        if !self.has_prompt(id) {
            let metadata = self.turn_metadata(id);
            out.session(id).turn_started(None, metadata);
        }
        Some(self.prompt_count)
    }

    /// Whether a prompt of the session is not answered.
    pub(super) fn has_prompt(&self, id: &str) -> bool {
        self.host_requests.values().any(|request| request.prompted_session() == Some(id))
    }

    /// Whether an earlier prompt of the session is not answered, so that the running turn is not that of this prompt.
    fn has_earlier_prompt(&self, id: &str, number: u64) -> bool {
        self.host_requests.values().any(|request| match request {
            HostRequest::Prompt { session, number: Some(other) } => session == id && *other < number,
            _ => false,
        })
    }

    /// Starts the turn of a prompt that has waited for the end of another one.
    fn start_waiting_turn(&mut self, id: &str, out: &mut Drafts) {
        if self.has_prompt(id) {
            let metadata = self.turn_metadata(id);
            out.session(id).synthetic().turn_started(None, metadata);
        }
    }

    fn observe_host_notification(&mut self, notification: ClientNotification, out: &mut Drafts) {
        match notification {
            ClientNotification::SessionCancel(cancel) => {
                let id = cancel.session_id.unwrap_or_default();
                if self.has_prompt(&id)
                    && let Some(id) = self.known_id(&id)
                {
                    out.session(id).interrupt_requested();
                }
            }
            // The cancelled request is answered with an error.
            ClientNotification::CancelRequest(_)
            | ClientNotification::McpMessage(_)
            | ClientNotification::Unknown { .. } => {}
        }
    }

    /// Directory and MCP servers of the request that opens this session, or that may create it.
    pub(super) fn requested_session(&self, id: &str) -> (Option<String>, Vec<String>) {
        let opens = |request: &&HostRequest| matches!(request, HostRequest::Open { session, .. } if session == id);
        let creates = |request: &&HostRequest| matches!(request, HostRequest::New { .. });
        let mut requests = self.host_requests.values();
        match requests.clone().find(opens).or_else(|| requests.find(creates)) {
            Some(HostRequest::Open { cwd, mcp_servers, .. } | HostRequest::New { cwd, mcp_servers }) => {
                (cwd.clone(), mcp_servers.clone())
            }
            _ => (None, Vec::new()),
        }
    }

    /// The agent responds to a request of the host.
    pub(super) fn handle_response(&mut self, id: &str, result: Outcome<'_>, out: &mut Drafts) {
        let Some(request) = self.host_requests.remove(id) else {
            return match result {
                // An error without an id: the agent could not read a line.
                Err(error) => out.current_session().failed(RpcFailure::decode(error).into_failure(None).outside_turn()),
                Ok(_) => out.dropped(HOST_RESPONSE),
            };
        };
        match result {
            Ok(result) => self.handle_result(request, result, out),
            Err(error) => self.handle_error(&request, RpcFailure::decode(error), out),
        }
    }

    fn handle_result(&mut self, request: HostRequest, result: &str, out: &mut Drafts) {
        match request {
            HostRequest::Initialize => {
                out.dropped(HOST_RESPONSE);
                self.observe_implementation(result, out);
            }
            HostRequest::New { cwd, mcp_servers } => match NewSessionResponse::decode(result) {
                Ok(decoded) => {
                    let response = decoded.value;
                    let settings = SessionSettings::new(response.modes, response.models, response.config_options);
                    let id = response.session_id.unwrap_or_default();
                    let session = self.session(&id);
                    session.usage.start();
                    session.mcp_servers = mcp_servers;
                    self.session_opened(&id, cwd, &settings, out);
                    report_losses(ACP, &decoded.losses, out);
                }
                Err(error) => unreadable(&error, "session/new", out),
            },
            HostRequest::Fork { cwd, mcp_servers } => match ForkSessionResponse::decode(result) {
                Ok(decoded) => {
                    let response = decoded.value;
                    let settings = SessionSettings::new(response.modes, None, response.config_options);
                    let id = response.session_id.unwrap_or_default();
                    self.session(&id).mcp_servers = mcp_servers;
                    self.session_opened(&id, cwd, &settings, out);
                    report_losses(ACP, &decoded.losses, out);
                }
                Err(error) => unreadable(&error, "session/fork", out),
            },
            HostRequest::Open { session, cwd, mcp_servers, has_history } => {
                self.history_ended(&session, out);
                self.session(&session).mcp_servers = mcp_servers;
                let (settings, losses) = match reopened(result, has_history) {
                    Ok(reopened) => reopened,
                    Err(error) => return unreadable(&error, "session/load", out),
                };
                self.session_opened(&session, cwd, &settings, out);
                report_losses(ACP, &losses, out);
            }
            HostRequest::Prompt { session, .. } => self.prompt_answered(&session, result, out),
            HostRequest::SetMode { session, mode } => self.handle_mode(&session, Some(mode), out),
            HostRequest::SetModel { session, model } => self.handle_model(&session, model, out),
            HostRequest::SetOption { session } => {
                let decoded = match SetSessionConfigOptionResponse::decode(result) {
                    Ok(decoded) => decoded,
                    Err(error) => return unreadable(&error, "session/set_config_option", out),
                };
                self.handle_config_options(&session, &decoded.value.config_options.unwrap_or_default(), out);
                report_losses(ACP, &decoded.losses, out);
            }
            HostRequest::Other(_) => out.dropped(HOST_RESPONSE),
        }
        if !out.has_input_drafts() {
            out.dropped(HOST_RESPONSE);
        }
    }

    fn observe_implementation(&mut self, result: &str, out: &mut Drafts) {
        let decoded = match InitializeResponse::decode(result) {
            Ok(decoded) => decoded,
            Err(error) => return unreadable(&error, "initialize", out),
        };
        report_losses(ACP, &decoded.losses, out);
        self.login_methods = decoded.value.login_methods();
        if let Some(info) = decoded.value.agent_info {
            let known = info.name.as_deref().and_then(AcpProfile::from_implementation);
            self.profile = known.or_else(|| AcpProfile::from_id(self.agent));
            self.dialect = self.profile.map(|profile| profile.dialect).unwrap_or_default();
            self.implementation = super::Implementation { name: info.name, version: info.version };
        }
    }

    fn handle_error(&mut self, request: &HostRequest, error: RpcFailure, out: &mut Drafts) {
        match request {
            HostRequest::Prompt { session, number } => {
                if let (Some(id), Some(number)) = (self.known_id(session), *number) {
                    if self.has_earlier_prompt(id, number) {
                        // The agent does not take a prompt while it works on another one.
                        let mut drafts = out.session(id);
                        drafts.prompt_rejected(prompt_key(number));
                        return drafts.failed(self.failure(error, Some(request.method())).outside_turn());
                    }
                    let is_cancelled = error.is_cancellation();
                    if !is_cancelled {
                        self.finish_messages(id, out);
                    }
                    let status = if is_cancelled { TurnStatus::Interrupted } else { TurnStatus::Failed };
                    let failure = (!is_cancelled).then(|| self.failure(error, None));
                    self.end_turn(id, TurnEnd::with_status(status), failure, (None, None), out);
                    return;
                }
            }
            HostRequest::Open { session, .. } => self.history_ended(session, out),
            _ => {}
        }
        let failure = self.failure(error, Some(request.method())).outside_turn();
        out.current_session().failed(failure);
    }

    /// The failure for an error. A missing login says what to do.
    fn failure(&self, error: RpcFailure, request: Option<&str>) -> Failure {
        let requires_login = error.requires_login();
        let mut failure = error.into_failure(request);
        if requires_login {
            let descriptor = self.profile.map(|profile| &profile.descriptor);
            failure.message = format!("{}: {}", failure.message, login_remedy(descriptor, &self.login_methods));
        }
        failure
    }

    /// A prompt is answered, which ends its turn.
    fn prompt_answered(&mut self, session: &str, result: &str, out: &mut Drafts) {
        let (response, losses) = match PromptResponse::decode(result) {
            Ok(decoded) => (Some(decoded.value), Some(decoded.losses)),
            Err(error) => {
                unreadable(&error, "session/prompt", out);
                (None, None)
            }
        };
        let Some(id) = self.known_id(session) else { return };
        let (stop_reason, usage, meta) =
            response.map(|response| (response.stop_reason, response.usage, response.meta)).unwrap_or_default();
        // A message of a turn that was cut off is cut off, too.
        if stop_reason != Some(NativeStopReason::Cancelled) {
            self.finish_messages(id, out);
        }
        let (status, reason) = turn_end(stop_reason.as_ref());
        if stop_reason == Some(NativeStopReason::MaxTurnRequests) {
            self.fail_denied_calls(id, out);
            out.session(id).synthetic().failed(Failure::new(ErrorCode::Limit, LIMIT_REACHED));
        }
        self.end_turn(id, TurnEnd::with_status(status).stop_reason(reason), None, (usage, meta.as_ref()), out);
        if let Some(losses) = losses {
            report_losses(ACP, &losses, out);
        }
    }

    /// Ends the turn of a prompt. The turn of a prompt that has waited starts.
    fn end_turn(
        &mut self,
        id: &str,
        mut end: TurnEnd,
        failure: Option<Failure>,
        (usage, meta): (Option<NativeUsage>, Option<&Json>),
        out: &mut Drafts,
    ) {
        self.settle_all_calls(id, out);
        self.fail_denied_calls(id, out);
        if let Some(session) = self.sessions.get_mut(id) {
            session.messages.clear();
        }
        let TurnUsage { usage, native } = self.turn_usage(id, usage, meta);
        (end.usage, end.native) = (usage, native);
        let mut drafts = out.session(id);
        if let Some(failure) = failure {
            drafts.failed(failure);
        }
        drafts.turn_ended(end);
        self.forget_finished_calls(id);
        self.start_waiting_turn(id, out);
    }
}

/// Key of the n-th prompt.
fn prompt_key(number: u64) -> Key {
    Key::numbered("prompt", number)
}

/// Names of the MCP servers that the host passes on.
fn server_names(servers: Option<Vec<McpServer>>) -> Vec<String> {
    servers.into_iter().flatten().filter_map(|server| server.name).collect()
}

/// The settings of a session that was loaded or resumed. Older agents answer with null.
fn reopened(result: &str, has_history: bool) -> Result<(SessionSettings, Losses), DecodeError> {
    if result == "null" {
        return Ok((SessionSettings::default(), Losses::default()));
    }
    if has_history {
        let decoded = LoadSessionResponse::decode(result)?;
        let response = decoded.value;
        Ok((SessionSettings::new(response.modes, response.models, response.config_options), decoded.losses))
    } else {
        let decoded = ResumeSessionResponse::decode(result)?;
        let response = decoded.value;
        Ok((SessionSettings::new(response.modes, response.models, response.config_options), decoded.losses))
    }
}

fn unreadable(error: &impl ToString, method: &str, out: &mut Drafts) {
    out.current_session().unparsed(ACP, error.to_string(), Some(format!("answer to {method}")));
}

/// Status of a turn, and why the model stopped. An unknown reason is not a success.
fn turn_end(reason: Option<&NativeStopReason>) -> (TurnStatus, Option<StopReason>) {
    match reason {
        Some(NativeStopReason::EndTurn) => (TurnStatus::Completed, Some(StopReason::EndTurn)),
        Some(NativeStopReason::MaxTokens) => (TurnStatus::Completed, Some(StopReason::MaxTokens)),
        Some(NativeStopReason::Refusal) => (TurnStatus::Completed, Some(StopReason::Refusal)),
        Some(NativeStopReason::MaxTurnRequests) => (TurnStatus::Failed, Some(StopReason::Other)),
        Some(NativeStopReason::Cancelled) => (TurnStatus::Interrupted, None),
        Some(NativeStopReason::Unknown(_)) | None => (TurnStatus::Failed, None),
    }
}
