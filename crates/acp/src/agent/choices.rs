//! Modes and options that the client chooses, and the answers that offer them.

use interlingua_client::{CreateSessionRequest, SessionInfo, UpdateSessionRequest};
use interlingua_native::acp::{
    LoadSessionRequest, LoadSessionResponse, NewSessionRequest, NewSessionResponse, RequestId, ResumeSessionRequest,
    ResumeSessionResponse, SessionConfigOption, SessionModeState, SetSessionConfigOptionRequest,
    SetSessionConfigOptionRequestValue, SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse,
};
use interlingua_native::{Request, new};
use interlingua_protocol::acp::{RpcError, respond};

use super::{Agent, Answer, invalid_params, session_id, to_rpc_error};
use crate::options::{self, AGENT, DEFAULT, MODE, MODEL, VARIANT};
use crate::updates::Projector;

/// A request whose answer offers the modes and options of a session.
pub(super) trait OpensSession: Request {
    fn response(session: &str, modes: SessionModeState, options: Vec<SessionConfigOption>) -> Self::Response;
}

impl OpensSession for NewSessionRequest {
    fn response(session: &str, modes: SessionModeState, options: Vec<SessionConfigOption>) -> NewSessionResponse {
        let mut response = new!(NewSessionResponse { session_id: session });
        (response.modes, response.config_options) = (Some(modes), Some(options));
        response
    }
}

impl OpensSession for LoadSessionRequest {
    fn response(_: &str, modes: SessionModeState, options: Vec<SessionConfigOption>) -> LoadSessionResponse {
        let mut response = LoadSessionResponse::new();
        (response.modes, response.config_options) = (Some(modes), Some(options));
        response
    }
}

impl OpensSession for ResumeSessionRequest {
    fn response(_: &str, modes: SessionModeState, options: Vec<SessionConfigOption>) -> ResumeSessionResponse {
        let mut response = ResumeSessionResponse::new();
        (response.modes, response.config_options) = (Some(modes), Some(options));
        response
    }
}

impl Agent {
    /// Answers a request that opens a session. The agent may take long to list its models, and other requests do not wait
    /// for that.
    pub(super) fn answer_with_settings<R: OpensSession>(&self, id: RequestId, session: SessionInfo)
    where
        R::Response: serde::Serialize,
    {
        let (settings, connection) = (self.settings.clone(), self.connection.clone());
        tokio::spawn(async move {
            let options = settings.options(&session).await;
            connection.send({
                let response = R::response(&session.session_id, options::modes(&session), options.options.clone());
                respond::<R>(id, &response)
            });
            settings.complete(&session.session_id, &options).await;
        });
    }

    pub(super) async fn set_mode(&mut self, request: SetSessionModeRequest) -> Answer<SetSessionModeRequest> {
        let (id, mode) = (session_id(request.session_id)?, request.mode_id.unwrap_or_default());
        self.change_mode(&id, &mode).await?;
        self.report_changes(&id);
        Ok(SetSessionModeResponse::new())
    }

    async fn change_mode(&self, id: &str, mode: &str) -> Result<(), RpcError> {
        let mut update = UpdateSessionRequest::default();
        update.permission_mode = Some(Some(mode.to_owned()));
        self.server.client().update_session(id, &update).await.map_err(|error| to_rpc_error(&error))?;
        Ok(())
    }

    /// Shows the client all settings that depend on its choice.
    fn report_changes(&self, id: &str) {
        let Some(attached) = self.sessions.get(id) else { return };
        let (settings, shown, id) = (self.settings.clone(), attached.shown.clone(), id.to_owned());
        tokio::spawn(async move { settings.report_changes(&id, &shown).await });
    }

    pub(super) async fn set_option(&mut self, id: RequestId, request: SetSessionConfigOptionRequest) {
        match self.choose_option(request).await {
            Ok(session) => {
                let (settings, connection) = (self.settings.clone(), self.connection.clone());
                tokio::spawn(async move {
                    let options = settings.options(&session).await;
                    let response = new!(SetSessionConfigOptionResponse { config_options: options.options.clone() });
                    connection.send(respond::<SetSessionConfigOptionRequest>(id, &response));
                    settings.complete(&session.session_id, &options).await;
                });
            }
            Err(error) => self.refuse(id, &error),
        }
    }

    async fn choose_option(&mut self, request: SetSessionConfigOptionRequest) -> Result<SessionInfo, RpcError> {
        let id = session_id(request.session_id)?;
        let Some(SetSessionConfigOptionRequestValue::Text(value)) = request.value else {
            return Err(invalid_params("expected a text as the value"));
        };
        match request.config_id.as_deref() {
            Some(MODE) => {
                self.change_mode(&id, &value).await?;
                self.report_changes(&id);
            }
            Some(MODEL) => {
                let mut update = UpdateSessionRequest::default();
                update.model = Some(Some(value).filter(|value| value != DEFAULT));
                self.server.client().update_session(&id, &update).await.map_err(|error| to_rpc_error(&error))?;
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
                let other = other.unwrap_or_default();
                let message =
                    format!("there is no option `{other}`; expected one of {MODE}, {AGENT}, {MODEL}, {VARIANT}");
                return Err(invalid_params(message));
            }
        }
        let session = self.server.client().session(&id).await.map_err(|error| to_rpc_error(&error))?;
        if let Some(attached) = self.sessions.get(&id).filter(|_| request.config_id.as_deref() != Some(MODE)) {
            attached.shown.observe(&session);
        }
        Ok(session)
    }

    /// Creates a session without a turn again, with another agent or variant. The server cannot change these.
    async fn replace_session(
        &mut self,
        id: &str,
        change: impl FnOnce(&mut CreateSessionRequest),
    ) -> Result<(), RpcError> {
        let client = self.server.client();
        let session = client.session(id).await.map_err(|error| to_rpc_error(&error))?;
        let has_turns = session.last_turn_status.is_some() || session.state != interlingua_client::SessionState::Idle;
        if has_turns || !session.secrets_missing.is_empty() {
            return Err(invalid_params("the agent and the variant can be chosen before the first prompt only"));
        }
        let mut create = CreateSessionRequest::new(session.agent.as_str());
        create.directory.clone_from(&session.directory);
        create.permission_mode.clone_from(&session.permission_mode);
        create.model = Some(session.model).filter(|model| !model.is_empty() && model != DEFAULT);
        create.variant = session.variant;
        create.title = session.title;
        create.labels = session.labels;
        create.mcp = self.mcp.get(id).cloned();
        change(&mut create);
        // The new one is checked under another id first, so that a refusal leaves the session as it is.
        let probe = format!("{id}-check");
        client.create_session(&probe, &create).await.map_err(|error| to_rpc_error(&error))?;
        let _ = client.delete_session(&probe).await;
        self.detach(id);
        client.delete_session(id).await.map_err(|error| to_rpc_error(&error))?;
        client.create_session(id, &create).await.map_err(|error| to_rpc_error(&error))?;
        if let Some(mcp) = create.mcp {
            self.mcp.insert(id.to_owned(), mcp);
        }
        let session = client.session(id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(&session, session.event_count, Projector::new()).await
    }
}
