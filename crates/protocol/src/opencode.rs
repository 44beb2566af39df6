//! OpenCode: requests over HTTP, and one event stream per directory.
//!
//! [`Requests`] builds every request of a host. A request is encoded as an [`HttpCall`], and its reply, an
//! [`HttpReply`], is decoded to the type that OpenCode's OpenAPI document declares for that request:
//!
//! ```
//! use interlingua_protocol::opencode::{HttpReply, Request, Requests, SessionCreateRequest, SessionOptions};
//!
//! let requests = Requests::in_directory("/work".as_ref());
//! let options = SessionOptions { title: Some("Fruit".to_owned()), ..SessionOptions::default() };
//! let call = Request::from(requests.create_session(options)).to_call(None);
//! assert_eq!((call.method, call.path.as_str()), ("POST", "/session?directory=/work"));
//! assert_eq!(call.body.as_deref(), Some(r#"{"title":"Fruit"}"#));
//!
//! let reply = HttpReply::new(200, Some("application/json"), r#"{"id":"ses_1"}"#);
//! assert_eq!(reply.decode::<SessionCreateRequest>()?.id, "ses_1");
//! # Ok::<(), interlingua_protocol::opencode::HttpReplyError>(())
//! ```
//!
//! Events are server-sent events, each with one [`Event`] as its data.

mod configuration;
mod http;
mod pending;
mod server;
mod support;

use std::path::Path;

use interlingua_native::new;
pub use interlingua_native::opencode::{
    Agent, AgentListRequest, AgentMode, Config, ConfigGetRequest, Event, EventSubscribeRequest, McpServerConfig,
    PermissionAction, PermissionActionConfig, PermissionConfig, PermissionConfigObject, PermissionDecision,
    PermissionReplyRequest, PermissionRule, PermissionRuleConfig, PromptBodyModel, PromptPart, PromptRequest,
    ProviderListRequest, ProviderListResponse, QuestionRejectRequest, QuestionReplyRequest, SessionAbortRequest,
    SessionCreateRequest, SessionStatus, SessionStatusesRequest,
};
use interlingua_native::opencode::{
    FilePartInput, PermissionReplyBody, PromptBody, QuestionReplyBody, SessionCreateBody, TextPartInput,
};

pub use self::configuration::{
    CONFIGURATION_VARIABLE, add_to_configuration, local_mcp_server, oauth_client, remote_mcp_server,
};
pub use self::http::{HttpCall, HttpReply, HttpReplyError, Request};
pub use self::pending::{PendingRequest, PendingRequests};
pub use self::server::{DEFAULT_USERNAME, PASSWORD_VARIABLE, USERNAME_VARIABLE, find_listening_url, serve_arguments};
pub use self::support::SUPPORT;

/// The options of a new session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionOptions {
    /// The title; `None` if OpenCode asks the model for one.
    pub title: Option<String>,
    /// Rules in addition to the user's configuration. The last one that matches counts.
    pub permission: Option<Vec<PermissionRule>>,
}

/// The options of a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptOptions {
    /// The model; `None` for the session's last or the configured one.
    pub model: Option<PromptBodyModel>,
    /// The agent, such as `plan`; `None` for the default agent.
    pub agent: Option<String>,
    /// The variant of the model, such as `high`.
    pub variant: Option<String>,
}

/// Builds the requests to a server, all for the same directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    directory: Option<String>,
}

/// Sets the directory of a request.
macro_rules! with_directory {
    ($requests:ident, $request:expr) => {{
        let mut request = $request;
        request.query.directory.clone_from(&$requests.directory);
        request
    }};
}

impl Requests {
    /// Builds requests for the directory in which the server was started.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds requests for a directory. A server has sessions, configuration and events of any number of directories.
    #[must_use]
    pub fn in_directory(directory: &Path) -> Self {
        Self { directory: Some(directory.to_string_lossy().into_owned()) }
    }

    /// Subscribes to the events of the directory. The first event is sent at once.
    #[must_use]
    pub fn subscribe(&self) -> EventSubscribeRequest {
        with_directory!(self, EventSubscribeRequest::new())
    }

    /// Creates a session.
    #[must_use]
    pub fn create_session(&self, options: SessionOptions) -> SessionCreateRequest {
        let SessionOptions { title, permission } = options;
        let body = SessionCreateBody { title, permission, ..SessionCreateBody::new() };
        with_directory!(self, SessionCreateRequest::new(body))
    }

    /// Sends a message to a session. The reply comes at once; the results come as events.
    #[must_use]
    pub fn prompt(&self, session: &str, parts: Vec<PromptPart>, options: PromptOptions) -> PromptRequest {
        let PromptOptions { model, agent, variant } = options;
        let body = PromptBody { model, agent, variant, ..new!(PromptBody { parts: parts }) };
        with_directory!(self, PromptRequest::new(session, body))
    }

    /// Aborts the running turn of a session. Its pending requests stay open until they are [rejected](Self::reject).
    #[must_use]
    pub fn abort(&self, session: &str) -> SessionAbortRequest {
        with_directory!(self, SessionAbortRequest::new(session))
    }

    /// Answers a permission request. A rejection without a message ends the turn; with one, the turn continues.
    #[must_use]
    pub fn reply_to_permission(
        &self,
        request: &str,
        decision: PermissionDecision,
        message: Option<&str>,
    ) -> PermissionReplyRequest {
        let message = message.map(str::to_owned);
        let body = PermissionReplyBody { message, ..new!(PermissionReplyBody { reply: decision }) };
        with_directory!(self, PermissionReplyRequest::new(request, body))
    }

    /// Answers the questions of a request: for each question in order, the chosen labels or the written text.
    #[must_use]
    pub fn answer_question(&self, request: &str, answers: Vec<Vec<String>>) -> QuestionReplyRequest {
        with_directory!(self, QuestionReplyRequest::new(request, new!(QuestionReplyBody { answers: answers })))
    }

    /// Rejects the questions of a request. This ends the turn.
    #[must_use]
    pub fn reject_question(&self, request: &str) -> QuestionRejectRequest {
        with_directory!(self, QuestionRejectRequest::new(request))
    }

    /// Rejects a pending request.
    #[must_use]
    pub fn reject(&self, pending: &PendingRequest) -> Request {
        match pending {
            PendingRequest::Permission(id) => self.reply_to_permission(id, PermissionDecision::Reject, None).into(),
            PendingRequest::Question(id) => self.reject_question(id).into(),
        }
    }

    /// Lists the sessions that are working, with their status.
    #[must_use]
    pub fn list_session_statuses(&self) -> SessionStatusesRequest {
        with_directory!(self, SessionStatusesRequest::new())
    }

    /// Lists the agents, which are the modes of a session and its sub-agents.
    #[must_use]
    pub fn list_agents(&self) -> AgentListRequest {
        with_directory!(self, AgentListRequest::new())
    }

    /// Lists the providers and their models.
    #[must_use]
    pub fn list_providers(&self) -> ProviderListRequest {
        with_directory!(self, ProviderListRequest::new())
    }

    /// Reads the configuration.
    #[must_use]
    pub fn get_configuration(&self) -> ConfigGetRequest {
        with_directory!(self, ConfigGetRequest::new())
    }
}

/// A text part of a prompt.
#[must_use]
pub fn text_part(text: impl Into<String>) -> PromptPart {
    new!(TextPartInput { text: text }).into()
}

/// A file part of a prompt. The server reads the file from its `file:` URL.
#[must_use]
pub fn file_part(mime: &str, filename: Option<&str>, url: &str) -> PromptPart {
    FilePartInput { filename: filename.map(str::to_owned), ..new!(FilePartInput { mime: mime, url: url }) }.into()
}

/// Parses the full name of a model, `provider/model`. The model may contain slashes; neither part is empty.
#[must_use]
pub fn parse_model(name: &str) -> Option<PromptBodyModel> {
    let (provider, model) = name.split_once('/')?;
    let is_complete = !provider.is_empty() && !model.is_empty();
    is_complete.then(|| PromptBodyModel { provider_id: Some(provider.to_owned()), model_id: Some(model.to_owned()) })
}

/// A rule for a permission, such as `edit` or `bash`; `*` stands for every permission.
#[must_use]
pub fn permission_rule(permission: &str, action: PermissionAction) -> PermissionRule {
    PermissionRule { permission: Some(permission.to_owned()), pattern: Some("*".to_owned()), action: Some(action) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_has_its_provider() {
        let model = parse_model("lab/one/two").unwrap();
        assert_eq!((model.provider_id.as_deref(), model.model_id.as_deref()), (Some("lab"), Some("one/two")));
        assert_eq!(["gpt", "/gpt", "lab/"].map(parse_model), [None, None, None]);
    }
}
