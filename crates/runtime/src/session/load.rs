//! Loading a session: its stored state, and closing what a dead server left open.

use std::collections::HashMap;

use interlingua_convert::{Conversion, ConversionOptions, Failure};
use interlingua_schema::{ErrorCode, EventData, NativeMetadata, NativeSessionId, SessionMetadata};
use interlingua_store::{Lease, Session, StoreError};
use serde_json::json;
use tokio::time::Instant;

use super::checkpoint::Checkpoint;
use super::open_work::OpenWork;
use super::pending_append::PendingAppend;
use super::request_deadlines::RequestDeadlines;
use super::{Phase, QueueHint, Replies, SessionActor};
use crate::agents::AgentStatus;
use crate::create::StoredConfig;
use crate::driver_output::now;
use crate::error::RuntimeError;
use crate::ids::UniqueIds;
use crate::runtime::Runtime;
use crate::secrets::Secrets;

impl SessionActor {
    /// Loads a session and brings its stream into order: a new session is started, and what was left open is closed.
    pub(super) async fn load(runtime: &Runtime, requested: Session, lease: &Lease) -> Result<Self, RuntimeError> {
        let failure = Failure::new(ErrorCode::AgentError, "the server stopped before the turn was over");
        let mut actor = Self::prepare(runtime, requested, lease, &failure).await?;
        actor.commit().await?;
        Ok(actor)
    }

    /// Loads a session whose last events could not be stored because there is no space. An error event says so, and
    /// what was left open is closed.
    pub(super) async fn load_after_full_storage(
        runtime: &Runtime,
        requested: Session,
        lease: &Lease,
        reason: &StoreError,
    ) -> Result<Self, RuntimeError> {
        let failure = Failure::new(ErrorCode::Limit, format!("the agent was stopped: {reason}"));
        let mut actor = Self::prepare(runtime, requested, lease, &failure).await?;
        if !actor.pending.events.iter().any(|event| matches!(event.data, EventData::Error(_))) {
            actor.push_host_drafts(|session| session.failed(failure));
        }
        actor.commit().await?;
        Ok(actor)
    }

    /// Loads a session. What was left open is closed for this reason; nothing is written yet.
    async fn prepare(
        runtime: &Runtime,
        requested: Session,
        lease: &Lease,
        failure: &Failure,
    ) -> Result<Self, RuntimeError> {
        let store = &runtime.shared.store;
        // The caller's copy of the session may be outdated.
        let session = store
            .session(&requested.id)
            .await?
            .filter(|session| session.key == requested.key)
            .ok_or_else(|| RuntimeError::SessionNotFound(requested.id.clone()))?;
        if session.ended {
            return Err(RuntimeError::SessionEnded(session.id));
        }
        let driver = runtime.driver(&session.agent)?;
        let stored = store.load_state(session.key).await?;
        let ids = Box::new(UniqueIds::new(session.id.clone()));
        let mut conversion = Conversion::new(driver.converter(), ConversionOptions::new(true, ids));
        let mut pending = PendingAppend::default();
        let mut checkpoint = Checkpoint::default();
        if session.event_count == 0 {
            let native = session.native_session_id.as_ref().map(NativeSessionId::as_str);
            let metadata = initial_metadata(&session, &driver.status());
            conversion.start_session(Some(now()), native, metadata, &mut pending.events);
        } else {
            let (loaded, resume) = Checkpoint::load(store, &session, &stored).await?;
            checkpoint = loaded;
            conversion.resume(resume);
            conversion.close_unfinished(Some(now()), failure, &mut pending.events);
            pending.essential = true;
        }
        let mut actor = Self {
            runtime: runtime.clone(),
            driver,
            stored_busy: session.busy,
            config: StoredConfig::decode(&session),
            session,
            lease: lease.clone(),
            is_handing_over: false,
            secrets: Secrets::default(),
            needs_secrets: false,
            conversion,
            checkpoint,
            pending,
            in_flight: None,
            open_work: OpenWork::default(),
            phase: Phase::Idle,
            connection: None,
            current_message: None,
            queue: QueueHint { may_have_messages: true, may_have_large_messages: true },
            turn_waiters: HashMap::new(),
            trace_parents: HashMap::new(),
            replies: Replies::default(),
            request_deadlines: RequestDeadlines::default(),
            interrupt: None,
            running: None,
            idle_since: Instant::now(),
        };
        actor.load_secrets();
        actor.observe_events();
        Ok(actor)
    }
}

/// What is known about a session before its agent has started.
fn initial_metadata(session: &Session, agent: &AgentStatus) -> SessionMetadata {
    let mut metadata = SessionMetadata::default();
    metadata.agent_version.clone_from(&agent.version);
    metadata.model.clone_from(&session.model);
    metadata.cwd.clone_from(&session.directory);
    metadata.agent_mode.clone_from(&session.agent_mode);
    metadata.permission_mode.clone_from(&session.permission_mode);
    metadata.native = NativeMetadata::new()
        .with("agent_version_fit", agent.version_fit.map(|fit| json!(fit)))
        .with("variant", session.variant.as_deref())
        .with("title", session.title.as_deref())
        .non_empty();
    metadata
}
