//! Sessions: creating, loading, listing, prompting and closing them.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use interlingua_client::{CreateSessionRequest, EventQuery, SecretsRequest, SessionInfo, SessionQuery, SessionState};
use interlingua_native::acp::{
    CancelNotification, CloseSessionRequest, CloseSessionResponse, ContentBlock, DeleteSessionRequest,
    DeleteSessionResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, McpServer, NewSessionRequest,
    PromptRequest, RequestId, ResumeSessionRequest,
};
use interlingua_native::new;
use interlingua_protocol::acp::{INTERNAL_ERROR, RpcError, refuse, respond};
use tokio::sync::oneshot;

use super::{Agent, Answer, invalid_params, session_id, to_rpc_error, unknown_session};
use crate::api_types::{mcp_config, missing_secrets, to_wire_session};
use crate::session::{AttachedSession, PromptResult};
use crate::updates::Projector;

/// Number of sessions on a page of `session/list`.
const SESSIONS_PER_PAGE: u64 = 50;
/// Number of events that are read at once when a session is loaded.
const EVENTS_PER_PAGE: u64 = 1000;

impl Agent {
    pub(super) async fn new_session(&mut self, request: NewSessionRequest) -> Result<SessionInfo, RpcError> {
        let directory = request.cwd.filter(|cwd| Path::new(cwd).is_absolute());
        let directory = directory.ok_or_else(|| invalid_params("`cwd` must be an absolute path"))?;
        let id = new_session_id();
        let mut create = CreateSessionRequest::new(self.default_choice.as_str());
        create.directory = Some(directory);
        create.mcp = mcp_config(request.mcp_servers.unwrap_or_default());
        if let Some(mcp) = &create.mcp {
            self.mcp.insert(id.clone(), mcp.clone());
        }
        let client = self.server.client();
        client.create_session(&id, &create).await.map_err(|error| to_rpc_error(&error))?;
        let session = client.session(&id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(&session, session.event_count, Projector::new()).await?;
        Ok(session)
    }

    /// Sends the history as updates.
    pub(super) async fn load_session(&mut self, request: LoadSessionRequest) -> Result<SessionInfo, RpcError> {
        let id = session_id(request.session_id)?;
        self.restore_secrets(&id, request.mcp_servers).await?;
        let mut projector = Projector::new().notices(self.support.notices);
        let after = self.read_history(&id, &mut projector, true).await?;
        self.attach_again(&id, after, projector).await
    }

    /// Follows a session without its history. What runs is shown from here on.
    pub(super) async fn resume_session(&mut self, request: ResumeSessionRequest) -> Result<SessionInfo, RpcError> {
        let id = session_id(request.session_id)?;
        let session = self.restore_secrets(&id, request.mcp_servers).await?;
        let mut projector = Projector::new().notices(self.support.notices);
        // A turn that runs continues messages and calls that the projector must know.
        let after = match session.state {
            SessionState::Idle | SessionState::Ended => session.event_count,
            _ => self.read_history(&id, &mut projector, false).await?,
        };
        self.attach_again(&id, after, projector).await
    }

    /// Reads the events of a session, and sends them as updates if they are shown. Returns the number of the last one.
    async fn read_history(&self, id: &str, projector: &mut Projector, is_shown: bool) -> Result<u64, RpcError> {
        let client = self.server.client();
        let mut after = 0;
        loop {
            let query = EventQuery::after(after).limit(EVENTS_PER_PAGE);
            let page = client.events(id, query).await.map_err(|error| to_rpc_error(&error))?;
            for event in &page.events {
                after = event.sequence;
                for update in projector.push(event) {
                    if is_shown {
                        self.connection.update(id, update);
                    }
                }
            }
            if !page.has_more || page.events.is_empty() {
                return Ok(after);
            }
        }
    }

    /// Passes on the values of MCP servers that the server has lost since the session was created.
    async fn restore_secrets(&self, id: &str, servers: Option<Vec<McpServer>>) -> Result<SessionInfo, RpcError> {
        let client = self.server.client();
        let session = client.session(id).await.map_err(|error| to_rpc_error(&error))?;
        let Some(mcp) = missing_secrets(servers.unwrap_or_default(), &session.secrets_missing) else {
            return Ok(session);
        };
        let mut secrets = SecretsRequest::default();
        secrets.mcp = Some(mcp);
        client.set_secrets(id, &secrets).await.map_err(|error| to_rpc_error(&error))?;
        client.session(id).await.map_err(|error| to_rpc_error(&error))
    }

    /// Attaches to a session whose events up to `after` are known.
    async fn attach_again(&mut self, id: &str, after: u64, projector: Projector) -> Result<SessionInfo, RpcError> {
        // After the history, so that it has the requests that wait now.
        let session = self.server.client().session(id).await.map_err(|error| to_rpc_error(&error))?;
        self.attach(&session, after, projector).await?;
        Ok(session)
    }

    /// Follows a session from the event after `after` on.
    pub(super) async fn attach(
        &mut self,
        session: &SessionInfo,
        after: u64,
        projector: Projector,
    ) -> Result<(), RpcError> {
        let projector = projector.notices(self.support.notices);
        // The prompts of a session that is open already go on.
        let prompts = self.sessions.get(&session.session_id).map(|session| session.prompts.clone()).unwrap_or_default();
        let attached = AttachedSession::open(
            (&self.server, &self.connection, &self.settings),
            session,
            after,
            projector,
            self.support,
            prompts,
        );
        let attached = attached.await.map_err(|error| to_rpc_error(&error))?;
        self.sessions.insert(session.session_id.clone(), attached);
        Ok(())
    }

    pub(super) async fn list_sessions(&mut self, request: ListSessionsRequest) -> Answer<ListSessionsRequest> {
        let mut query = SessionQuery::default();
        query.directory = request.cwd;
        query.cursor = request.cursor;
        query.limit = Some(SESSIONS_PER_PAGE);
        let page = self.server.client().sessions(&query).await.map_err(|error| to_rpc_error(&error))?;
        let sessions = page.sessions.into_iter().map(to_wire_session).collect();
        let mut response = new!(ListSessionsResponse { sessions: sessions });
        response.next_cursor = page.next_cursor;
        Ok(response)
    }

    /// Interrupts the turn of this client, and closes the session here. It can be loaded again.
    pub(super) async fn close_session(&mut self, request: CloseSessionRequest) -> Answer<CloseSessionRequest> {
        let id = session_id(request.session_id)?;
        if !self.sessions.contains_key(&id) {
            return Err(unknown_session(&id));
        }
        self.cancel(new!(CancelNotification { session_id: id.as_str() })).await;
        self.detach(&id);
        Ok(CloseSessionResponse::new())
    }

    pub(super) async fn delete_session(&mut self, request: DeleteSessionRequest) -> Answer<DeleteSessionRequest> {
        let id = session_id(request.session_id)?;
        self.server.client().delete_session(&id).await.map_err(|error| to_rpc_error(&error))?;
        self.detach(&id);
        Ok(DeleteSessionResponse::new())
    }

    /// Closes a session here. Its prompts are answered as cancelled.
    pub(super) fn detach(&mut self, id: &str) {
        self.mcp.remove(id);
        if let Some(session) = self.sessions.remove(id) {
            session.prompts.cancel_all();
        }
    }

    /// Sends a prompt. The answer follows when its turn has ended; requests that come before are handled.
    pub(super) async fn prompt(&mut self, id: RequestId, request: PromptRequest) {
        let sent = match session_id(request.session_id) {
            Ok(session) => self.send_prompt(&session, request.prompt.unwrap_or_default()).await,
            Err(error) => Err(error),
        };
        match sent {
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
            Err(error) => self.refuse(id, &error),
        }
    }

    async fn send_prompt(
        &mut self,
        session: &str,
        prompt: Vec<ContentBlock>,
    ) -> Result<oneshot::Receiver<PromptResult>, RpcError> {
        let Some(attached) = self.sessions.get(session) else { return Err(unknown_session(session)) };
        let client = self.server.client();
        let info = client.session(session).await.map_err(|error| to_rpc_error(&error))?;
        if info.state == SessionState::NeedsSecrets {
            // Its message would wait for ever.
            let missing = info.secrets_missing.join(", ");
            let reason =
                format!("the session waits for {missing}: load it with the MCP servers that it was created with");
            return Err(invalid_params(reason));
        }
        self.prompts += 1;
        let message_id = format!("acp-{}-{}", std::process::id(), unique_number(self.prompts));
        let message = self.files.message(&message_id, prompt).map_err(invalid_params)?;
        // The turn may start before the request is answered.
        let result = attached.prompts.add(message_id.clone());
        if let Err(error) = client.send_message(session, &message).await {
            attached.prompts.remove(&message_id);
            return Err(to_rpc_error(&error));
        }
        Ok(result)
    }

    /// Cancels the prompts of this client: those that wait, and the turn that runs.
    pub(super) async fn cancel(&mut self, cancel: CancelNotification) {
        let id = cancel.session_id.unwrap_or_default();
        let Some(attached) = self.sessions.get(&id) else { return };
        let client = self.server.client();
        // A turn of another client goes on.
        let (waiting, mut interrupts) = attached.prompts.cancel_waiting();
        for message in waiting {
            // If its turn has begun in the meantime, it is interrupted.
            interrupts |= client.cancel_message(&id, &message).await.is_err();
        }
        if interrupts && let Err(error) = client.interrupt(&id).await {
            tracing::warn!(session = %id, %error, "cannot interrupt the turn");
        }
    }
}

/// A number that no other process of this machine uses for its messages at the same time.
fn unique_number(count: u64) -> u128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_nanos() + u128::from(count)
}

/// An id for a new session.
fn new_session_id() -> String {
    format!("acp-{:x}-{:x}", unique_number(0), std::process::id())
}
