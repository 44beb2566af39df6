//! The beginning of a stretch of work: where the session stands, and what a dead server left open.

use interlingua_convert::{Conversion, ConversionOptions, Failure};
use interlingua_schema::{ErrorCode, NativeMetadata, NativeSessionId, SessionMetadata};
use interlingua_store::Session;
use serde_json::json;
use tokio::time::Instant;

use super::open_work::OpenWork;
use super::page::Page;
use super::standing::Standing;
use super::{Actor, Phase, Replies};
use crate::agents::AgentStatus;
use crate::driver_output::now;
use crate::error::RuntimeError;
use crate::ids::UniqueIds;
use crate::runtime::Runtime;

impl Actor {
    /// Reads where a session stands and brings it to order: one that is new begins, and what was left open closes.
    pub(super) async fn take_up(runtime: &Runtime, asked: Session) -> Result<Self, RuntimeError> {
        let store = &runtime.shared.store;
        // Whoever asked may have looked some time ago.
        let session = store
            .session(&asked.id)
            .await?
            .filter(|session| session.key == asked.key)
            .ok_or_else(|| RuntimeError::SessionNotFound(asked.id.clone()))?;
        if session.ended {
            return Err(RuntimeError::SessionEnded(session.id));
        }
        let driver = runtime.driver(&session.agent)?;
        let kept = store.load_state(session.key).await?;
        let ids = Box::new(UniqueIds::new(session.id.clone()));
        let mut conversion = Conversion::new(driver.converter(), ConversionOptions::new(true, ids));
        let mut page = Page::default();
        let mut standing = Standing::default();
        if session.event_count == 0 {
            let native = session.native_session_id.as_ref().map(NativeSessionId::as_str);
            let metadata = metadata(&session, &driver.status());
            conversion.start_session(Some(now()), native, metadata, &mut page.events);
        } else {
            let (stands, resume) = Standing::load(store, &session, &kept).await?;
            standing = stands;
            conversion.resume(resume);
            let failure = Failure::new(ErrorCode::AgentError, "the server stopped before the turn was over");
            conversion.close_unfinished(Some(now()), &failure, &mut page.events);
        }
        let mut actor = Self {
            runtime: runtime.clone(),
            driver,
            noted_busy: session.busy,
            session,
            config: kept.config,
            conversion,
            standing,
            page,
            writing: None,
            open: OpenWork::default(),
            phase: Phase::Rest,
            connection: None,
            ordered: None,
            may_have_messages: true,
            waiting: std::collections::HashMap::new(),
            replies: Replies::default(),
            interrupt: None,
            idle_since: Instant::now(),
        };
        actor.watch();
        actor.commit().await?;
        Ok(actor)
    }
}

/// What is known of a session before its agent has started.
fn metadata(session: &Session, agent: &AgentStatus) -> SessionMetadata {
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
