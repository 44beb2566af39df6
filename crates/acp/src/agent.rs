//! The agent side of the protocol: one method per request of the client.

mod choices;
mod sessions;

use std::collections::HashMap;

use interlingua_client::ClientError;
use interlingua_native::acp::{
    AgentCapabilities, ClientNotification, ClientRequest, ClientRequestEnvelope, CloseSessionRequest,
    DeleteSessionRequest, Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest,
    LoadSessionRequest, McpCapabilities, NewSessionRequest, PromptCapabilities, RequestId, ResumeSessionRequest,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities,
    SessionResumeCapabilities, SetSessionModeRequest,
};
use interlingua_native::{Native as _, Request, new};
use interlingua_protocol::acp::{
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, PROTOCOL_VERSION, RESOURCE_NOT_FOUND, RpcError, refuse, respond,
};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::connection::Connection;
use crate::prompt::PromptFiles;
use crate::server::Server;
use crate::session::{AttachedSession, ClientSupport};
use crate::settings::Settings;

/// JSON-RPC error code for a line that is not JSON.
const PARSE_ERROR: i64 = -32700;
/// JSON-RPC error code for JSON that is not a request.
const INVALID_REQUEST: i64 = -32600;
/// The agent of one client.
pub(crate) struct Agent {
    server: Server,
    /// The agent of new sessions.
    default_choice: String,
    connection: Connection,
    settings: Settings,
    support: ClientSupport,
    /// The sessions that are open in this client.
    sessions: HashMap<String, AttachedSession>,
    files: PromptFiles,
    /// Number of prompts so far, for the ids of their messages.
    prompts: u64,
    /// The MCP servers that the client has passed on, by session.
    mcp: HashMap<String, Value>,
}

type Answer<R> = Result<<R as Request>::Response, RpcError>;

impl Agent {
    pub(crate) fn new(server: Server, default_choice: String, connection: Connection) -> Self {
        Self {
            settings: Settings::new(server.clone(), connection.clone()),
            server,
            default_choice,
            connection,
            support: ClientSupport::default(),
            sessions: HashMap::new(),
            files: PromptFiles::default(),
            prompts: 0,
            mcp: HashMap::new(),
        }
    }

    /// Handles the lines of the client until it closes the input.
    pub(crate) async fn run(mut self, input: impl AsyncRead + Unpin) -> std::io::Result<()> {
        let mut input = BufReader::new(input);
        let mut bytes = Vec::new();
        while input.read_until(b'\n', &mut bytes).await? > 0 {
            match String::from_utf8(std::mem::take(&mut bytes)) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => self.handle_line(line).await,
                Err(error) => self.connection.send(refuse(null_id(), PARSE_ERROR, &error.to_string())),
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
        if line.trim_start().starts_with('[') {
            return self.connection.send(refuse(null_id(), INVALID_REQUEST, "batches are not part of the protocol"));
        }
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
            Ok(decoded) => match decoded.losses.repairs.first() {
                // The client would not notice that a part of its request is ignored.
                Some(repair) if method != "initialize" => {
                    let reason = format!("at {}: {}", repair.path, repair.reason);
                    return self.connection.send(refuse(id, INVALID_PARAMS, &reason));
                }
                _ => decoded.value.message,
            },
            Err(error) => return self.connection.send(refuse(id, INVALID_PARAMS, &error.to_string())),
        };
        if let Err(error) = self.server.check().await {
            return self.refuse(id, &to_rpc_error(&error));
        }
        match request {
            ClientRequest::Initialize(request) => {
                let answer = Ok(self.initialize(&request));
                self.answer::<InitializeRequest>(id, answer);
            }
            ClientRequest::SessionNew(request) => match self.new_session(request).await {
                Ok(session) => self.answer_with_settings::<NewSessionRequest>(id, session),
                Err(error) => self.refuse(id, &error),
            },
            ClientRequest::SessionLoad(request) => match self.load_session(request).await {
                Ok(session) => self.answer_with_settings::<LoadSessionRequest>(id, session),
                Err(error) => self.refuse(id, &error),
            },
            ClientRequest::SessionResume(request) => match self.resume_session(request).await {
                Ok(session) => self.answer_with_settings::<ResumeSessionRequest>(id, session),
                Err(error) => self.refuse(id, &error),
            },
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
            ClientRequest::SessionSetConfigOption(request) => self.set_option(id, request).await,
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

    fn refuse(&self, id: RequestId, error: &RpcError) {
        self.connection.send(refuse(id, error.code, &error.message));
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
}

/// JSON-RPC answers a line without a readable id with the id null.
fn null_id() -> RequestId {
    RequestId::Unknown(Value::Null.into())
}

fn invalid_params(message: impl Into<String>) -> RpcError {
    RpcError { code: INVALID_PARAMS, message: message.into() }
}

/// The id of the session that a request is for.
fn session_id(id: Option<String>) -> Result<String, RpcError> {
    id.filter(|id| !id.is_empty()).ok_or_else(|| invalid_params("`sessionId` is missing"))
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
