//! A session as clients see it.

use std::collections::BTreeMap;

use interlingua_runtime::{Runtime, SessionState};
use interlingua_schema::RawJson;
use interlingua_store::Session;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::{PendingRequest, Usage};

/// A session. Fields without a value are null, unless they are described as omitted.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    /// Session id.
    session_id: String,
    /// Agent id.
    agent: String,
    /// The agent's mode: as chosen, as the agent reports it, or its default; `default` if the agent does not say.
    agent_mode: String,
    /// What the agent may do without asking.
    #[schema(required = true)]
    permission_mode: Option<String>,
    /// The model: as chosen, as the agent reports it, or the agent's default; `default` if the agent does not say.
    model: String,
    /// Variant of the model, if one was chosen.
    #[schema(required = true)]
    variant: Option<String>,
    /// The agent's own id of the session; null until it is known.
    #[schema(required = true)]
    native_session_id: Option<String>,
    /// What the session is doing.
    #[schema(value_type = SessionStateSchema)]
    state: SessionState,
    /// Status of the last turn that ended; omitted before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "completed")]
    last_turn_status: Option<String>,
    /// Permission requests and questions that wait for an answer, oldest first.
    #[schema(value_type = Vec<PendingRequest>)]
    pending: RawJson,
    /// Number of messages whose turns have not begun.
    queued: u64,
    /// Total usage of all turns; null if the agent has reported none.
    #[schema(required = true, value_type = Option<Usage>)]
    usage: Option<RawJson>,
    /// Labels, by name.
    labels: BTreeMap<String, String>,
    /// Names of the values that the session waits for in the state `needs_secrets`; omitted in other states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    secrets_missing: Vec<String>,
    /// Whether the session has ended.
    ended: bool,
    /// Number of events, which is also the `sequence` of the last one.
    event_count: u64,
    /// Time of creation in milliseconds since 1970.
    created_at: i64,
    /// Time of the last change in milliseconds since 1970.
    updated_at: i64,
    /// The agent's working directory.
    #[schema(required = true)]
    directory: Option<String>,
    /// Title for people.
    #[schema(required = true)]
    title: Option<String>,
    /// Where the agent can run: `any`, or the name of a server. Omitted unless servers share the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    placement: Option<String>,
    /// The server that owns the session now. Omitted while it is idle, and unless servers share the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server: Option<String>,
}

/// What a session is doing.
#[derive(ToSchema)]
#[schema(as = SessionState, rename_all = "snake_case")]
#[allow(dead_code, reason = "describes `SessionState` of the store")]
pub(crate) enum SessionStateSchema {
    /// Nothing runs and nothing is queued. The next message starts a turn.
    Idle,
    /// The agent works, or a message waits for its turn.
    Running,
    /// The agent waits for the answer to a permission request or a question.
    Waiting,
    /// Values that the session was created with were lost in a restart of the server, and must be supplied again.
    NeedsSecrets,
    /// The session has ended.
    Ended,
}

impl SessionInfo {
    pub(crate) fn new(session: Session, runtime: &Runtime) -> Self {
        let status = runtime.status(&session);
        Self {
            session_id: session.id.as_str().to_owned(),
            agent: session.agent,
            agent_mode: status.agent_mode,
            permission_mode: session.permission_mode,
            model: status.model,
            variant: session.variant,
            native_session_id: session.native_session_id.map(|native| native.as_str().to_owned()),
            state: status.state,
            last_turn_status: session.last_turn_status,
            pending: session.pending.unwrap_or_else(|| RawJson::from_payload("[]")),
            queued: session.queued,
            usage: session.usage,
            labels: session.labels,
            secrets_missing: status.secrets_missing,
            ended: session.ended,
            event_count: session.event_count,
            created_at: session.created_at.as_millis(),
            updated_at: session.updated_at.as_millis(),
            directory: session.directory,
            title: session.title,
            placement: session.placement,
            server: session.owner,
        }
    }
}
