//! The agent side of the protocol: one method per request of the client.

use std::collections::HashMap;
use std::time::Duration;

use interlingua_client::{
    AgentInfo, AgentModels, Client, ClientError, CreateSessionRequest, EventQuery, SessionInfo, SessionQuery,
    UpdateSessionRequest,
};
use interlingua_native::acp::{
    AgentCapabilities, CancelNotification, ClientNotification, ClientRequest, ClientRequestEnvelope,
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, McpCapabilities, NewSessionRequest, NewSessionResponse, PromptCapabilities, PromptRequest,
    RequestId, ResumeSessionRequest, ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities,
    SessionConfigOption, SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
    SetSessionConfigOptionRequest, SetSessionConfigOptionRequestValue, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use interlingua_native::{Native as _, Request, new};
use interlingua_protocol::acp::{
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, PROTOCOL_VERSION, RESOURCE_NOT_FOUND, RpcError, refuse, respond,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::timeout;

use crate::AcpOptions;
use crate::api_types::{mcp_config, to_wire_session};
use crate::connection::Connection;
use crate::options::{self, AGENT, DEFAULT, MODE, MODEL, VARIANT};
use crate::prompt::PromptFiles;
use crate::session::{AttachedSession, ClientSupport};
use crate::updates::Projector;

/// JSON-RPC error code for a line that is not JSON.
const PARSE_ERROR: i64 = -32700;
/// JSON-RPC error code for JSON that is not a request.
const INVALID_REQUEST: i64 = -32600;
/// How long an agent may take to list its models before the session is opened without them.
const MODELS_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of sessions on a page of `session/list`.
const SESSIONS_PER_PAGE: u64 = 50;
/// Number of events that are read at once when a session is loaded.
const EVENTS_PER_PAGE: u64 = 1000;

/// The agent of one client.
pub(crate) struct Agent {
    client: Client,
    options: AcpOptions,
    connection: Connection,
    support: ClientSupport,
    /// The sessions that are open in this client.
    sessions: HashMap<String, AttachedSession>,
    files: PromptFiles,
    /// Number of prompts so far, for the ids of their messages.
    prompts: u64,
}

type Answer<R> = Result<<R as Request>::Response, RpcError>;

impl Agent {
    pub(crate) fn new(client: Client, options: AcpOptions, connection: Connection) -> Self {
        Self {
            client,
            options,
            connection,
            support: ClientSupport::default(),
            sessions: HashMap::new(),
            files: PromptFiles::default(),
            prompts: 0,
        }
    }

    /// Handles the lines of the client until it closes the input.
    pub(crate) async fn run(mut self, input: impl AsyncRead + Unpin) -> std::io::Result<()> {
        let mut lines = BufReader::new(input).lines();
        while let Some(line) = lines.next_line().await? {
            if !line.trim().is_empty() {
                self.handle_line(line).await;
            }
        }
        Ok(())
    }

    async fn handle_line(&mut self, line: String) {
        /// The keys that tell the kind of a line.
        #[derive(serde::Deserialize)]
        struct Head {
            #[serde(default)]
            id: Option<RequestId>,
            #[serde(default)]
            method: Option<String>,
        }
        // JSON-RPC answers a line without a readable id with the id null.
        let null_id = || RequestId::Unknown(Value::Null.into());
        let head: Head = match serde_json::from_str(&line) {
            Ok(head) => head,
            Err(error) if error.is_data() => {
                return self.connection.send(refuse(null_id(), INVALID_REQUEST, &error.to_string()));
            }
            Err(error) => return self.connection.send(refuse(null_id(), PARSE_ERROR, &error.to_string())),
        };
        match (head.method, head.id) {
            (Some(method), Some(id)) => self.handle_request(&method, id, &line).await,
            (Some(_), None) => self.handle_notification(&line).await,
            (None, Some(id)) => self.connection.receive_answer(&id, line),
            (None, None) => {
                self.connection.send(refuse(null_id(), INVALID_REQUEST, "neither a request nor an answer"));
            }
        }
    }

    async fn handle_request(&mut self, method: &str, id: RequestId, line: &str) {
        let request = match ClientRequestEnvelope::decode(line) {
            Ok(decoded) => decoded.value.message,
            Err(error) => return self.connection.send(refuse(id, INVALID_PARAMS, &error.to_string())),
        };
        match request {
            ClientRequest::Initialize(request) => {
                let answer = Ok(self.initialize(&request));
                self.answer::<InitializeRequest>(id, answer);
            }
            ClientRequest::SessionNew(request) => {
                let answer = self.new_session(request).await;
                self.answer::<NewSessionRequest>(id, answer);
            }
            ClientRequest::SessionLoad(request) => {
                let answer = self.load_session(request).await;
                self.answer::<LoadSessionRequest>(id, answer);
            }
            ClientRequest::SessionResume(request) => {
                let answer = self.resume_session(request).await;
                self.answer::<ResumeSessionRequest>(id, answer);
            }
            ClientRequest::SessionList(request) => {
                let answer = self.list_sessions(request).await;
                self.answer::<ListSessionsRequest>(id, answer);
            }
            ClientRequest::SessionClose(request) => {
                let answer = self.close_session(request).await;
                self.answer::<CloseSessionRequest>(id, answer);
            }
            ClientRequest::SessionDelete(request) => {
                let answer = self.delete_session(request).await;
                self.answer::<DeleteSessionRequest>(id, answer);
            }
            ClientRequest::SessionSetMode(request) => {
                let answer = self.set_mode(request).await;
                self.answer::<SetSessionModeRequest>(id, answer);
            }
            ClientRequest::SessionSetConfigOption(request) => {
                let answer = self.set_option(request).await;
                self.answer::<SetSessionConfigOptionRequest>(id, answer);
            }
            ClientRequest::SessionPrompt(request) => self.prompt(id, request).await,
            ClientRequest::AuthStatus(_)
            | ClientRequest::Authenticate(_)
            | ClientRequest::Logout(_)
            | ClientRequest::ProvidersDisable(_)
            | ClientRequest::ProvidersList(_)
            | ClientRequest::ProvidersSet(_)
            | ClientRequest::SessionArchive(_)
            | ClientRequest::SessionFork(_)
            | ClientRequest::SessionSetTitle(_)
            | ClientRequest::SessionStatus(_)
            | ClientRequest::SessionUnarchive(_)
            | ClientRequest::Unknown { .. } => {
                self.connection.send(refuse(id, METHOD_NOT_FOUND, &format!("there is no method `{method}`")));
            }
        }
    }

    fn answer<R: Request>(&self, id: RequestId, answer: Answer<R>)
    where
        R::Response: serde::Serialize,
    {
        self.connection.send(match answer {
            Ok(response) => respond::<R>(id, &response),
            Err(error) => refuse(id, error.code, &error.message),
        });
    }

    async fn handle_notification(&mut self, line: &str) {
        if let Ok(decoded) = ClientNotification::decode(line)
            && let ClientNotification::SessionCancel(cancel) = decoded.value
        {
            self.cancel(cancel).await;
        }
    }

    fn initialize(&mut self, request: &InitializeRequest) -> InitializeResponse {
        let capabilities = request.client_capabilities.as_ref();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
        let session = capabilities.and_then(|capabilities| capabilities.session.as_ref());
        self.support = ClientSupport {
            forms: elicitation.is_some_and(|elicitation| elicitation.form.is_some()),
            notices: session.is_some_and(|session| session.notices.is_some()),
        };
        let sessions = SessionCapabilities {
            list: Some(SessionListCapabilities::new()),
            close: Some(SessionCloseCapabilities::new()),
            delete: Some(SessionDeleteCapabilities::new()),
            resume: Some(SessionResumeCapabilities::new()),
            ..SessionCapabilities::new()
        };
        let capabilities = AgentCapabilities {
            load_session: Some(true),
            prompt_capabilities: Some(PromptCapabilities {
                image: Some(true),
                embedded_context: Some(true),
                ..PromptCapabilities::new()
            }),
            mcp_capabilities: Some(McpCapabilities { http: Some(true), sse: Some(true), ..McpCapabilities::new() }),
            session_capabilities: Some(sessions),
            ..AgentCapabilities::new()
        };
        let info = Implementation {
            title: Some("Interlingua".to_owned()),
            ..new!(Implementation { name: "interlingua", version: env!("CARGO_PKG_VERSION") })
        };
        InitializeResponse {
            agent_capabilities: Some(capabilities),
            agent_info: Some(info),
            auth_methods: Some(Vec::new()),
            ..new!(InitializeResponse { protocol_version: PROTOCOL_VERSION })
        }
    }

    async fn new_session(&mut self, request: NewSessionRequest) -> Answer<NewSessionRequest> {
        let id = new_session_id();
        let mut create = CreateSessionRequest::new(self.options.agent.as_str());
        create.directory = request.cwd;
        create.mcp = mcp_config(request.mcp_servers.unwrap_or_default());
        self.client.create_session(&id, &create).await.map_err(|error| to_rpc_error(&error))?;
        let session = self.client.session(&id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(&id, session.event_count, Projector::new()).await?;
        let options = self.config_options(&session).await;
        let mut response = new!(NewSessionResponse { session_id: id });
        response.modes = Some(options::modes(&session));
        response.config_options = Some(options);
        Ok(response)
    }

    /// Sends the history as updates, then answers.
    async fn load_session(&mut self, request: LoadSessionRequest) -> Answer<LoadSessionRequest> {
        let id = request.session_id.unwrap_or_default();
        let session = self.client.session(&id).await.map_err(|error| to_rpc_error(&error))?;
        let mut projector = Projector::new().notices(self.support.notices);
        let mut after = 0;
        loop {
            let query = EventQuery::after(after).limit(EVENTS_PER_PAGE);
            let page = self.client.events(&id, query).await.map_err(|error| to_rpc_error(&error))?;
            for event in &page.events {
                after = event.sequence;
                for update in projector.push(event) {
                    self.connection.update(&id, update);
                }
            }
            if !page.has_more || page.events.is_empty() {
                break;
            }
        }
        self.attach(&id, after, projector).await?;
        let mut response = LoadSessionResponse::new();
        response.modes = Some(options::modes(&session));
        response.config_options = Some(self.config_options(&session).await);
        Ok(response)
    }

    async fn resume_session(&mut self, request: ResumeSessionRequest) -> Answer<ResumeSessionRequest> {
        let id = request.session_id.unwrap_or_default();
        let session = self.client.session(&id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(&id, session.event_count, Projector::new()).await?;
        let mut response = ResumeSessionResponse::new();
        response.modes = Some(options::modes(&session));
        response.config_options = Some(self.config_options(&session).await);
        Ok(response)
    }

    /// Follows a session from here on.
    async fn attach(&mut self, id: &str, after: u64, projector: Projector) -> Result<(), RpcError> {
        let projector = projector.notices(self.support.notices);
        let attached = AttachedSession::open(&self.client, &self.connection, id, after, projector, self.support).await;
        self.sessions.insert(id.to_owned(), attached.map_err(|error| to_rpc_error(&error))?);
        Ok(())
    }

    async fn list_sessions(&mut self, request: ListSessionsRequest) -> Answer<ListSessionsRequest> {
        let mut query = SessionQuery::default();
        query.directory = request.cwd;
        query.cursor = request.cursor;
        query.limit = Some(SESSIONS_PER_PAGE);
        let page = self.client.sessions(&query).await.map_err(|error| to_rpc_error(&error))?;
        let sessions = page.sessions.into_iter().map(to_wire_session).collect();
        let mut response = new!(ListSessionsResponse { sessions: sessions });
        response.next_cursor = page.next_cursor;
        Ok(response)
    }

    /// Interrupts the turn of this client, and closes the session here. It can be loaded again.
    async fn close_session(&mut self, request: CloseSessionRequest) -> Answer<CloseSessionRequest> {
        let id = request.session_id.unwrap_or_default();
        if !self.sessions.contains_key(&id) {
            return Err(unknown_session(&id));
        }
        self.cancel(new!(CancelNotification { session_id: id.as_str() })).await;
        self.sessions.remove(&id);
        Ok(CloseSessionResponse::new())
    }

    async fn delete_session(&mut self, request: DeleteSessionRequest) -> Answer<DeleteSessionRequest> {
        let id = request.session_id.unwrap_or_default();
        self.sessions.remove(&id);
        self.client.delete_session(&id).await.map_err(|error| to_rpc_error(&error))?;
        Ok(DeleteSessionResponse::new())
    }

    async fn set_mode(&mut self, request: SetSessionModeRequest) -> Answer<SetSessionModeRequest> {
        let (id, mode) = (request.session_id.unwrap_or_default(), request.mode_id.unwrap_or_default());
        self.change_mode(&id, &mode).await?;
        Ok(SetSessionModeResponse::new())
    }

    async fn change_mode(&self, id: &str, mode: &str) -> Result<(), RpcError> {
        let mut update = UpdateSessionRequest::default();
        update.permission_mode = Some(Some(mode.to_owned()));
        self.client.update_session(id, &update).await.map_err(|error| to_rpc_error(&error))?;
        Ok(())
    }

    async fn set_option(&mut self, request: SetSessionConfigOptionRequest) -> Answer<SetSessionConfigOptionRequest> {
        let id = request.session_id.unwrap_or_default();
        let Some(SetSessionConfigOptionRequestValue::Text(value)) = request.value else {
            return Err(RpcError { code: INVALID_PARAMS, message: "expected a text as the value".to_owned() });
        };
        match request.config_id.as_deref() {
            Some(MODE) => self.change_mode(&id, &value).await?,
            Some(MODEL) => {
                let mut update = UpdateSessionRequest::default();
                update.model = Some(Some(value).filter(|value| value != DEFAULT));
                self.client.update_session(&id, &update).await.map_err(|error| to_rpc_error(&error))?;
            }
            Some(AGENT) => {
                self.replace_session(&id, |create| {
                    create.agent = value;
                    (create.model, create.variant, create.agent_mode) = (None, None, None);
                })
                .await?;
            }
            Some(VARIANT) => {
                self.replace_session(&id, |create| create.variant = Some(value).filter(|value| value != DEFAULT))
                    .await?;
            }
            other => {
                let message = format!(
                    "there is no option `{}`; expected one of {MODE}, {AGENT}, {MODEL}, {VARIANT}",
                    other.unwrap_or_default()
                );
                return Err(RpcError { code: INVALID_PARAMS, message });
            }
        }
        let session = self.client.session(&id).await.map_err(|error| to_rpc_error(&error))?;
        let options = self.config_options(&session).await;
        Ok(new!(SetSessionConfigOptionResponse { config_options: options }))
    }

    /// Creates a session without a turn again, with another agent or variant. The server cannot change these.
    async fn replace_session(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut CreateSessionRequest),
    ) -> Result<(), RpcError> {
        let session = self.client.session(id).await.map_err(|error| to_rpc_error(&error))?;
        let has_turns = session.last_turn_status.is_some() || session.state != interlingua_client::SessionState::Idle;
        if has_turns || !session.secrets_missing.is_empty() {
            let message = "the agent and the variant can be chosen before the first prompt only".to_owned();
            return Err(RpcError { code: INVALID_PARAMS, message });
        }
        let mut create = CreateSessionRequest::new(session.agent.as_str());
        create.directory.clone_from(&session.directory);
        create.permission_mode.clone_from(&session.permission_mode);
        create.model = Some(session.model).filter(|model| !model.is_empty() && model != DEFAULT);
        create.variant = session.variant;
        create.title = session.title;
        create.labels = session.labels;
        change(&mut create);
        // The new one is checked under another id first, so that a refusal leaves the session as it is.
        let probe = format!("{id}-check");
        self.client.create_session(&probe, &create).await.map_err(|error| to_rpc_error(&error))?;
        let _ = self.client.delete_session(&probe).await;
        self.sessions.remove(id);
        self.client.delete_session(id).await.map_err(|error| to_rpc_error(&error))?;
        self.client.create_session(id, &create).await.map_err(|error| to_rpc_error(&error))?;
        let session = self.client.session(id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(id, session.event_count, Projector::new()).await
    }

    /// Sends a prompt. The answer follows when its turn has ended; requests that come before are handled.
    async fn prompt(&mut self, id: RequestId, request: PromptRequest) {
        let session = request.session_id.unwrap_or_default();
        match self.send_prompt(&session, request.prompt.unwrap_or_default()).await {
            Ok(result) => {
                let connection = self.connection.clone();
                tokio::spawn(async move {
                    let closed =
                        || Err(RpcError { code: INTERNAL_ERROR, message: "the session was closed".to_owned() });
                    connection.send(match result.await.unwrap_or_else(|_| closed()) {
                        Ok(response) => respond::<PromptRequest>(id, &response),
                        Err(error) => refuse(id, error.code, &error.message),
                    });
                });
            }
            Err(error) => self.connection.send(refuse(id, error.code, &error.message)),
        }
    }

    async fn send_prompt(
        &mut self,
        session: &str,
        prompt: Vec<interlingua_native::acp::ContentBlock>,
    ) -> Result<tokio::sync::oneshot::Receiver<crate::session::PromptResult>, RpcError> {
        let Some(attached) = self.sessions.get(session) else { return Err(unknown_session(session)) };
        self.prompts += 1;
        let message_id = format!("acp-{}-{}", std::process::id(), unique_number(self.prompts));
        let message = self
            .files
            .message(&message_id, prompt)
            .map_err(|reason| RpcError { code: INVALID_PARAMS, message: reason })?;
        // The turn may start before the request is answered.
        let result = attached.prompts.add(message_id.clone());
        if let Err(error) = self.client.send_message(session, &message).await {
            attached.prompts.remove(&message_id);
            return Err(to_rpc_error(&error));
        }
        Ok(result)
    }

    /// Cancels the prompts of this client: those that wait, and the turn that runs.
    async fn cancel(&mut self, cancel: CancelNotification) {
        let id = cancel.session_id.unwrap_or_default();
        let Some(attached) = self.sessions.get(&id) else { return };
        // A turn of another client goes on.
        let (waiting, mut interrupts) = attached.prompts.cancel_waiting();
        for message in waiting {
            // If its turn has begun in the meantime, it is interrupted.
            interrupts |= self.client.cancel_message(&id, &message).await.is_err();
        }
        if interrupts && let Err(error) = self.client.interrupt(&id).await {
            tracing::warn!(session = %id, %error, "cannot interrupt the turn");
        }
    }

    async fn config_options(&self, session: &SessionInfo) -> Vec<SessionConfigOption> {
        let agents: Vec<AgentInfo> = self.client.agents().await.unwrap_or_default();
        let models: Option<AgentModels> = match timeout(MODELS_TIMEOUT, self.client.models(&session.agent)).await {
            Ok(Ok(models)) => Some(models),
            Ok(Err(error)) => {
                tracing::debug!(agent = %session.agent, %error, "the agent does not list its models");
                None
            }
            Err(_) => None,
        };
        options::options(session, &agents, models.as_ref())
    }
}

/// A number that no other process of this machine uses for its messages at the same time.
fn unique_number(count: u64) -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() + u128::from(count)
}

/// An id for a new session.
fn new_session_id() -> String {
    format!("acp-{:x}-{:x}", unique_number(0), std::process::id())
}

fn unknown_session(id: &str) -> RpcError {
    RpcError { code: RESOURCE_NOT_FOUND, message: format!("session `{id}` is not open; load or resume it first") }
}

/// An error of the server as an error of the protocol.
fn to_rpc_error(error: &ClientError) -> RpcError {
    let code = match error.problem().map(|problem| problem.status) {
        Some(404) => RESOURCE_NOT_FOUND,
        Some(400..500) => INVALID_PARAMS,
        _ => INTERNAL_ERROR,
    };
    RpcError { code, message: error.to_string() }
}
