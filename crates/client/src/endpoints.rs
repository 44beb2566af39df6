//! One method per endpoint.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::Client;
use crate::error::ClientError;
use crate::follow::EventStream;
use crate::frames::{FrameStream, TurnStream};
use crate::types::{
    AgentInfo, AgentList, AgentModels, AttachedFile, CheckReport, CreateSessionRequest, CreatedSession, EventPage,
    EventQuery, ExportFormat, Health, HistoryPage, HistoryQuery, ImportRequest, ImportStatus, InstallRequest,
    InstallStatus, MessageList, MessageRequest, ModeInfo, ModeList, PermissionAnswer, QueuedMessage, Ready,
    SecretsRequest, SessionInfo, SessionPage, SessionQuery, TurnQuery, UpdateSessionRequest,
};

/// # The server
///
/// All methods fail if the server cannot be reached or refuses the request.
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Checks that the server is up. Needs no token.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.fetch(self.get(&["health"])?).await
    }

    /// Checks that the server can take work. Needs no token.
    ///
    /// # Errors
    ///
    /// If it cannot, for example because it is stopping.
    pub async fn ready(&self) -> Result<Ready, ClientError> {
        self.fetch(self.get(&["ready"])?).await
    }

    /// The server's OpenAPI document.
    pub async fn openapi(&self) -> Result<Value, ClientError> {
        self.fetch(self.get(&["openapi.json"])?).await
    }

    /// The JSON Schema of the universal event.
    pub async fn event_schema(&self) -> Result<Value, ClientError> {
        self.fetch(self.get(&["schema.json"])?).await
    }

    /// The server's metrics in the Prometheus text format.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let response = self.execute(self.request(Method::GET, "/metrics")).await?;
        response.text().await.map_err(|error| self.request_error(&error))
    }
}

/// # Agents
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Lists the agents. Starts none of them.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, ClientError> {
        self.fetch::<AgentList>(self.get(&["agents"])?).await.map(|list| list.agents)
    }

    /// Installs an agent. Returns when it is installed.
    pub async fn install_agent(&self, agent: &str, install: &InstallRequest) -> Result<(), ClientError> {
        self.execute_empty(self.post(&["agents", agent, "install"])?.json(install)).await
    }

    /// Starts to install an agent, or joins the installation that runs. Does not wait for its end.
    pub async fn start_install(&self, agent: &str, install: &InstallRequest) -> Result<InstallStatus, ClientError> {
        let request = self.post(&["agents", agent, "install"])?.header("Prefer", "respond-async");
        self.fetch(request.json(install)).await
    }

    /// Reads how far the last installation of an agent is.
    pub async fn install_status(&self, agent: &str) -> Result<InstallStatus, ClientError> {
        self.fetch(self.get(&["agents", agent, "install"])?).await
    }

    /// Lists the modes that a session of the agent can be created with.
    pub async fn modes(&self, agent: &str) -> Result<Vec<ModeInfo>, ClientError> {
        self.fetch::<ModeList>(self.get(&["agents", agent, "modes"])?).await.map(|list| list.modes)
    }

    /// Lists the models that a session of the agent can be created with.
    pub async fn models(&self, agent: &str) -> Result<AgentModels, ClientError> {
        self.fetch(self.get(&["agents", agent, "models"])?).await
    }
}

/// # Sessions on disk
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Lists the sessions that agents keep on the disk of the server's machine, newest first.
    pub async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage, ClientError> {
        let parameters = [
            ("agent", query.agent.clone()),
            ("directory", query.directory.clone()),
            ("since", query.since.clone()),
            ("limit", query.limit.map(|limit| limit.to_string())),
            ("cursor", query.cursor.clone()),
        ];
        self.fetch(self.endpoint(Method::GET, &["history"], &parameters)?).await
    }

    /// Imports sessions from disk into the store. Returns when they are imported.
    pub async fn import_history(&self, import: &ImportRequest) -> Result<ImportStatus, ClientError> {
        self.fetch(self.post(&["history", "import"])?.json(import)).await
    }

    /// Starts to import sessions from disk, or joins the import of the same sessions that runs. Does not wait for its end.
    pub async fn start_import(&self, import: &ImportRequest) -> Result<ImportStatus, ClientError> {
        let request = self.post(&["history", "import"])?.header("Prefer", "respond-async");
        self.fetch(request.json(import)).await
    }

    /// Reads how far an import is; the last one without an id.
    pub async fn import_status(&self, id: Option<u64>) -> Result<ImportStatus, ClientError> {
        let parameters = [("id", id.map(|id| id.to_string()))];
        self.fetch(self.endpoint(Method::GET, &["history", "import"], &parameters)?).await
    }
}

/// # Sessions
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Lists the sessions, newest first: all of them, or one page per call if the query has a limit.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, ClientError> {
        let mut parameters = vec![
            ("agent", query.agent.clone()),
            ("state", query.state.clone()),
            ("directory", query.directory.clone()),
            ("since", query.since.clone()),
            ("q", query.text.clone()),
            ("limit", query.limit.map(|limit| limit.to_string())),
            ("cursor", query.cursor.clone()),
        ];
        parameters.extend(query.labels.iter().map(|label| ("label", Some(label.clone()))));
        self.fetch(self.endpoint(Method::GET, &["sessions"], &parameters)?).await
    }

    /// Creates a session with this id.
    pub async fn create_session(
        &self,
        session: &str,
        create: &CreateSessionRequest,
    ) -> Result<CreatedSession, ClientError> {
        self.fetch(self.post(&["sessions", session])?.json(create)).await
    }

    /// Loads a session.
    pub async fn session(&self, session: &str) -> Result<SessionInfo, ClientError> {
        self.fetch(self.get(&["sessions", session])?).await
    }

    /// Changes a session, and returns it as it is then.
    pub async fn update_session(
        &self,
        session: &str,
        update: &UpdateSessionRequest,
    ) -> Result<SessionInfo, ClientError> {
        self.fetch(self.endpoint(Method::PATCH, &["sessions", session], &[])?.json(update)).await
    }

    /// Stops a session's agent, and deletes the session with all its events.
    pub async fn delete_session(&self, session: &str) -> Result<(), ClientError> {
        self.execute_empty(self.endpoint(Method::DELETE, &["sessions", session], &[])?).await
    }

    /// Supplies values that a session was created with, after a restart of the server or to replace them.
    pub async fn set_secrets(&self, session: &str, secrets: &SecretsRequest) -> Result<(), ClientError> {
        self.execute_empty(self.endpoint(Method::PUT, &["sessions", session, "secrets"], &[])?.json(secrets)).await
    }

    /// Interrupts the running turn, if there is one. The session stays open, and queued messages stay queued.
    pub async fn interrupt(&self, session: &str) -> Result<(), ClientError> {
        self.execute_empty(self.post(&["sessions", session, "interrupt"])?).await
    }

    /// Ends a session and stops its agent. Its events can still be read.
    pub async fn terminate(&self, session: &str) -> Result<(), ClientError> {
        self.execute_empty(self.post(&["sessions", session, "terminate"])?).await
    }
}

/// # Messages and answers
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Lists the queue: the messages whose turns have not begun.
    pub async fn queued_messages(&self, session: &str) -> Result<Vec<QueuedMessage>, ClientError> {
        self.fetch::<MessageList>(self.get(&["sessions", session, "messages"])?).await.map(|list| list.messages)
    }

    /// Removes a message from the queue.
    pub async fn cancel_message(&self, session: &str, message_id: &str) -> Result<(), ClientError> {
        self.execute_empty(self.endpoint(Method::DELETE, &["sessions", session, "messages", message_id], &[])?).await
    }

    /// Uploads a file, and returns what to put into [`MessageRequest::attachments`]. For files that are not on the
    /// server's machine.
    pub async fn upload_attachment(
        &self,
        session: &str,
        filename: &str,
        mime: Option<&str>,
        content: impl Into<reqwest::Body>,
    ) -> Result<AttachedFile, ClientError> {
        let query = [("filename", Some(filename.to_owned()))];
        let request = self.endpoint(Method::POST, &["sessions", session, "attachments"], &query)?;
        let mime = mime.unwrap_or("application/octet-stream");
        self.fetch(request.header(CONTENT_TYPE, mime).body(content)).await
    }

    /// Queues a message. Returns when it is durable.
    pub async fn send_message(&self, session: &str, message: &MessageRequest) -> Result<(), ClientError> {
        self.execute_empty(self.post(&["sessions", session, "messages"])?.json(message)).await
    }

    /// Queues a message and streams the events of the turn that it starts.
    pub async fn stream_turn(
        &self,
        session: &str,
        message: &MessageRequest,
        query: TurnQuery,
    ) -> Result<TurnStream, ClientError> {
        let query = [flag("include_raw", query.include_raw), flag("hold", query.hold)];
        let request = self.endpoint(Method::POST, &["sessions", session, "messages", "stream"], &query)?;
        Ok(TurnStream::new(self.execute_stream(request.json(message)).await?))
    }

    /// Answers a permission request.
    pub async fn reply_permission(
        &self,
        session: &str,
        permission_id: &str,
        answer: PermissionAnswer,
    ) -> Result<(), ClientError> {
        let request = self.post(&["sessions", session, "permissions", permission_id, "reply"])?;
        self.execute_empty(request.json(&json!({ "reply": answer }))).await
    }

    /// Answers a question with some of its options, or with free text.
    pub async fn reply_question(
        &self,
        session: &str,
        question_id: &str,
        answers: &[String],
    ) -> Result<(), ClientError> {
        let request = self.post(&["sessions", session, "questions", question_id, "reply"])?;
        self.execute_empty(request.json(&json!({ "answers": [answers] }))).await
    }

    /// Rejects a question, together with those that were asked with it.
    pub async fn reject_question(&self, session: &str, question_id: &str) -> Result<(), ClientError> {
        self.execute_empty(self.post(&["sessions", session, "questions", question_id, "reject"])?).await
    }
}

/// # Events
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Reads a page of a session's events.
    pub async fn events(&self, session: &str, query: EventQuery) -> Result<EventPage, ClientError> {
        let query = [
            ("offset", Some(query.after.to_string())),
            ("limit", query.limit.map(|limit| limit.to_string())),
            flag("include_raw", query.include_raw),
        ];
        self.fetch(self.endpoint(Method::GET, &["sessions", session, "events"], &query)?).await
    }

    /// Exports a session as a file. The file is not read into memory: its bytes come from the response.
    pub async fn export_session(&self, session: &str, format: ExportFormat) -> Result<reqwest::Response, ClientError> {
        let query = [("format", Some(format.as_str().to_owned()))];
        self.execute(self.endpoint(Method::GET, &["sessions", session, "export"], &query)?).await
    }

    /// Checks a session's events against the lifecycle rules.
    pub async fn check_session(&self, session: &str) -> Result<CheckReport, ClientError> {
        self.fetch(self.get(&["sessions", session, "check"])?).await
    }

    /// Follows a session's events until it ends. Reconnects when a connection breaks; see [`EventStream`].
    pub async fn follow_events(&self, session: &str, query: EventQuery) -> Result<EventStream, ClientError> {
        EventStream::open(self, session, query).await
    }

    /// Follows a session's events over one connection, as undecoded server-sent events.
    pub async fn event_frames(&self, session: &str, query: EventQuery) -> Result<FrameStream, ClientError> {
        let path = ["sessions", session, "events", "sse"];
        let request = self.endpoint(Method::GET, &path, &[flag("include_raw", query.include_raw)])?;
        self.execute_stream(request.header("Last-Event-ID", query.after.to_string())).await
    }
}

impl Client {
    fn get(&self, segments: &[&str]) -> Result<RequestBuilder, ClientError> {
        self.endpoint(Method::GET, segments, &[])
    }

    fn post(&self, segments: &[&str]) -> Result<RequestBuilder, ClientError> {
        self.endpoint(Method::POST, segments, &[])
    }
}

/// A query parameter that is omitted unless it is true.
fn flag(name: &str, value: bool) -> (&str, Option<String>) {
    (name, value.then(|| "true".to_owned()))
}
