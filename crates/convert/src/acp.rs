//! Converter for agents that speak the Agent Client Protocol: JSON-RPC lines in both directions.
//!
//! The protocol has no start and no end of a message, a turn ends with the answer to the prompt, and a tool call is an
//! object that updates change. Agents differ a lot in what they send, so nothing is required: a permission request or an
//! update may be the first mention of a call, updates may come before the answer to `session/new` and after the answer
//! to `session/prompt`. Host and agent number their requests independently, so each direction has its own table.

mod agent_requests;
mod cleaning;
mod content;
mod elicitation;
mod failures;
mod history;
mod host_requests;
mod messages;
mod notices;
mod questions;
mod session;
mod settings;
#[cfg(test)]
mod tests;
mod tool_input;
mod tool_names;
mod tool_output;
mod tools;
mod usage;
mod wire;

use foldhash::HashMap;
use interlingua_agents::{AcpDialect, AcpProfile};
use interlingua_native::Native as _;
use interlingua_native::Union as _;
use interlingua_native::acp::{
    AgentNotification, AgentNotificationEnvelope, AgentRequest, AgentRequestEnvelope, RequestId, SessionNotification,
    SessionUpdate,
};
use interlingua_schema::{NativeMetadata, SessionMetadata};

use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Launch, SessionDrafts};
use agent_requests::{AgentRequestState, Terminal};
use host_requests::HostRequest;
use messages::ChunkKind;
use session::Session;
use tools::ToolFields;
use wire::Line;

/// Id of the protocol, and the `location` of its `agent.unparsed` events.
const ACP: &str = "acp";
/// Drop reason for the list of slash commands.
const COMMANDS: &str = "the list of commands";
/// Drop reason for the title and the state of a session.
const SESSION_INFO: &str = "title or state of the session";
/// Drop reason for the authentication status.
const AUTH_STATUS: &str = "authentication status";
/// Drop reason for the end of an elicitation by URL, which the answer has resolved.
const ELICITATION_COMPLETE: &str = "end of an elicitation";

/// Converts the lines of an ACP agent into drafts.
#[derive(Debug)]
pub struct AcpConverter {
    /// Name of the agent in the metadata of its sessions.
    agent: &'static str,
    version: Option<String>,
    /// Name and version of the agent by its own account.
    implementation: Implementation,
    /// What is known about the agent in advance.
    profile: Option<&'static AcpProfile>,
    dialect: AcpDialect,
    /// The logins that the agent offers.
    login_methods: Vec<String>,
    /// The agent sends the arguments of its calls.
    sends_arguments: bool,
    sessions: HashMap<String, Session>,
    /// Requests of the host without a response, by the host's ids.
    host_requests: HashMap<String, HostRequest>,
    /// Requests of the agent without a response, by the agent's ids.
    agent_requests: HashMap<String, AgentRequestState>,
    /// Terminals that the host runs for the agent, by id.
    terminals: HashMap<String, Terminal>,
    /// Number of prompts so far.
    prompt_count: u64,
    /// The stream has the history of the session that the agent loads.
    has_history: bool,
}

/// What the agent says about itself.
#[derive(Debug, Default)]
struct Implementation {
    name: Option<String>,
    version: Option<String>,
}

impl Default for AcpConverter {
    fn default() -> Self {
        Self::new(ACP)
    }
}

impl Converter for AcpConverter {
    fn agent(&self) -> &'static str {
        self.agent
    }

    fn observe_launch(&mut self, launch: &Launch, _: &mut Drafts) {
        self.version.clone_from(&launch.version);
        self.has_history = launch.has_history;
        self.reset_process_state();
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) => self.handle_sent(line, out),
            Input::Received(line) => self.handle_received(line, out),
            Input::Exit { .. } => self.process_exited(out),
            // The protocol has no HTTP transport here, and its agents log to standard error.
            Input::Stderr(_)
            | Input::Unreadable { .. }
            | Input::Request { .. }
            | Input::Reply { .. }
            | Input::Close => {}
        }
    }
}

impl AcpConverter {
    /// A converter for sessions of the agent with this name in the API.
    #[must_use]
    pub fn new(agent: &'static str) -> Self {
        let profile = AcpProfile::from_id(agent);
        Self {
            agent,
            version: None,
            implementation: Implementation::default(),
            profile,
            dialect: profile.map(|profile| profile.dialect).unwrap_or_default(),
            login_methods: Vec::new(),
            sends_arguments: false,
            sessions: HashMap::default(),
            host_requests: HashMap::default(),
            agent_requests: HashMap::default(),
            terminals: HashMap::default(),
            prompt_count: 0,
            has_history: false,
        }
    }

    fn handle_received(&mut self, line: &str, out: &mut Drafts) {
        match Line::parse(line) {
            Line::Request { method, id } => self.handle_request_line(&method, &id, line, out),
            Line::Notification { method } => self.handle_notification_line(&method, line, out),
            Line::Response { id, result } => self.handle_response(&id, result, out),
            Line::Invalid(reason) => out.current_session().unparsed(ACP, reason, None),
        }
    }

    fn handle_request_line(&mut self, method: &str, id: &RequestId, line: &str, out: &mut Drafts) {
        if !AgentRequest::TAGS.iter().any(|(tag, _)| *tag == method) {
            return out.current_session().unparsed(ACP, "unknown request", Some(method.to_owned()));
        }
        match AgentRequestEnvelope::decode(line) {
            Ok(decoded) => {
                self.handle_agent_request(id.to_string(), decoded.value.message, out);
                report_losses(ACP, &decoded.losses, out);
            }
            Err(error) => out.current_session().unparsed(ACP, error.to_string(), Some(method.to_owned())),
        }
    }

    fn handle_notification_line(&mut self, method: &str, line: &str, out: &mut Drafts) {
        match AgentNotificationEnvelope::decode(line) {
            Ok(decoded) => {
                self.handle_notification(decoded.value.message, out);
                report_losses(ACP, &decoded.losses, out);
            }
            Err(error) => out.current_session().unparsed(ACP, error.to_string(), Some(method.to_owned())),
        }
    }

    fn handle_notification(&mut self, notification: AgentNotification, out: &mut Drafts) {
        match notification {
            AgentNotification::SessionUpdate(notification) => self.handle_session_update(notification, out),
            AgentNotification::CancelRequest(cancelled) => self.handle_cancelled_request(cancelled, out),
            AgentNotification::AuthStatusUpdate(_) | AgentNotification::AuthStatusUpdate2(_) => {
                out.dropped(AUTH_STATUS);
            }
            AgentNotification::ElicitationComplete(_) => out.dropped(ELICITATION_COMPLETE),
            AgentNotification::Unknown { tag, .. } => {
                out.current_session().unparsed(ACP, "unknown notification", Some(tag));
            }
        }
    }

    /// Converts an update by its kind.
    fn handle_session_update(&mut self, notification: SessionNotification, out: &mut Drafts) {
        let id = notification.session_id.unwrap_or_default();
        let Some(update) = notification.update else {
            return out.current_session().unparsed(ACP, "an update without content", None);
        };
        if is_history(&update) && self.drops_history(&id) {
            return out.dropped(history::REPLAYED);
        }
        self.settle_calls(&id, &update, out);
        match update {
            SessionUpdate::UserMessageChunk(chunk) => {
                self.handle_chunk(&id, ChunkKind::User, chunk.content, chunk.message_id, chunk.meta.as_ref(), out);
            }
            SessionUpdate::AgentMessageChunk(chunk) => {
                self.handle_chunk(&id, ChunkKind::Agent, chunk.content, chunk.message_id, chunk.meta.as_ref(), out);
            }
            SessionUpdate::AgentThoughtChunk(chunk) => {
                self.handle_chunk(&id, ChunkKind::Thought, chunk.content, chunk.message_id, chunk.meta.as_ref(), out);
            }
            SessionUpdate::ToolCall(call) => self.handle_tool(&id, ToolFields::new_call(call), out),
            SessionUpdate::ToolCallUpdate(update) => self.handle_tool(&id, ToolFields::update(update), out),
            SessionUpdate::Plan(plan) => self.handle_plan(&id, plan.entries.unwrap_or_default(), out),
            SessionUpdate::PlanUpdate(update) => self.handle_plan_update(&id, update.plan, out),
            SessionUpdate::PlanRemoved(_) => self.handle_plan(&id, Vec::new(), out),
            SessionUpdate::AvailableCommandsUpdate(_) => out.dropped(COMMANDS),
            SessionUpdate::CurrentModeUpdate(update) => self.handle_mode(&id, update.current_mode_id, out),
            SessionUpdate::ConfigOptionUpdate(update) => {
                self.handle_config_options(&id, &update.config_options.unwrap_or_default(), out);
            }
            SessionUpdate::SessionInfoUpdate(_) => out.dropped(SESSION_INFO),
            SessionUpdate::UsageUpdate(update) => self.handle_usage_update(&id, &update, out),
            SessionUpdate::Notice(notice) => self.handle_notice(&id, notice, out),
            SessionUpdate::CompactionUpdate(update) => self.handle_compaction(&id, update, out),
            SessionUpdate::CompactionSummaryChunk(chunk) => self.handle_compaction_summary(&id, *chunk, out),
            SessionUpdate::SubagentUpdate(update) => self.handle_sub_agent(&id, *update, out),
            SessionUpdate::SessionMessage(message) => self.handle_session_message(&id, message, out),
            SessionUpdate::SessionMessageChunk(chunk) => self.handle_session_message_chunk(&id, *chunk, out),
            SessionUpdate::Unknown { tag, .. } => {
                out.session_or_current(self.known_id(&id)).unparsed(ACP, "unknown update", Some(tag));
            }
        }
    }

    /// The drafts of a session. A session that is mentioned for the first time starts.
    fn drafts<'a>(&mut self, id: &str, out: &'a mut Drafts) -> SessionDrafts<'a> {
        if !self.sessions.get(id).is_some_and(|session| session.is_announced) {
            let (cwd, mcp_servers) = self.requested_session(id);
            let metadata = self.metadata(cwd);
            let session = self.session(id);
            (session.is_announced, session.mcp_servers) = (true, mcp_servers);
            out.session(id).started(metadata);
        }
        out.session(id)
    }

    /// The state of a session, which is added if it is unknown.
    fn session(&mut self, id: &str) -> &mut Session {
        if !self.sessions.contains_key(id) {
            self.sessions.insert(id.to_owned(), Session::default());
        }
        self.sessions.entry(id.to_owned()).or_default()
    }

    /// The id, if drafts were made for this session.
    fn known_id<'a>(&self, id: &'a str) -> Option<&'a str> {
        self.sessions.get(id).is_some_and(|session| session.is_announced).then_some(id)
    }

    /// What is known about every session of this agent.
    fn metadata(&self, cwd: Option<String>) -> SessionMetadata {
        let mut metadata = SessionMetadata::default();
        metadata.agent_version = self.version.clone().or_else(|| self.implementation.version.clone());
        metadata.cwd = cwd;
        let name = NativeMetadata::new().with("implementation", self.implementation.name.clone());
        metadata.native = name.non_empty();
        metadata
    }

    /// The agent has exited. It answers every prompt, so a prompt without an answer was cut off.
    fn process_exited(&mut self, out: &mut Drafts) {
        let mut ids: Vec<String> = self.sessions.keys().cloned().collect();
        ids.sort_unstable();
        for id in ids {
            if !self.has_prompt(&id) {
                self.finish_messages(&id, out);
            } else if self.known_id(&id).is_some() {
                self.settle_all_calls(&id, out);
                out.session(&id).turn_cut_off();
            }
        }
        self.reset_process_state();
    }

    /// Forgets what belongs to the process that has exited.
    fn reset_process_state(&mut self) {
        self.host_requests.clear();
        self.agent_requests.clear();
        self.terminals.clear();
        self.sessions.values_mut().for_each(Session::reset_process_state);
    }
}

/// Whether an update is part of the conversation, which an agent repeats when it loads a session.
fn is_history(update: &SessionUpdate) -> bool {
    match update {
        SessionUpdate::UserMessageChunk(_)
        | SessionUpdate::AgentMessageChunk(_)
        | SessionUpdate::AgentThoughtChunk(_)
        | SessionUpdate::ToolCall(_)
        | SessionUpdate::ToolCallUpdate(_)
        | SessionUpdate::Plan(_)
        | SessionUpdate::PlanUpdate(_)
        | SessionUpdate::PlanRemoved(_)
        | SessionUpdate::CompactionUpdate(_)
        | SessionUpdate::CompactionSummaryChunk(_)
        | SessionUpdate::SubagentUpdate(_)
        | SessionUpdate::SessionMessage(_)
        | SessionUpdate::SessionMessageChunk(_) => true,
        SessionUpdate::AvailableCommandsUpdate(_)
        | SessionUpdate::CurrentModeUpdate(_)
        | SessionUpdate::ConfigOptionUpdate(_)
        | SessionUpdate::SessionInfoUpdate(_)
        | SessionUpdate::UsageUpdate(_)
        | SessionUpdate::Notice(_)
        | SessionUpdate::Unknown { .. } => false,
    }
}
