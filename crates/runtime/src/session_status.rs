//! What a session is doing, for clients.

use interlingua_store::{Session, SessionState};

use crate::create::StoredConfig;
use crate::secrets::Secrets;

/// What a session is doing, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatus {
    /// What the session is doing.
    pub state: SessionState,
    /// Names of the values that the session waits for; empty if none is missing.
    pub secrets_missing: Vec<String>,
    /// The agent's mode: as chosen, as the agent reports it, or its default.
    pub agent_mode: String,
    /// The model: as chosen, as the agent reports it, or the agent's default.
    pub model: String,
}

/// Stands for a mode or model that the agent chooses and has not reported.
const AGENT_DEFAULT: &str = "default";

impl SessionStatus {
    /// The status of a stored session, of which these values are in memory. `default_mode` and `default_model` are those
    /// of the agent.
    pub(crate) fn new(
        session: &Session,
        secrets: Option<&Secrets>,
        default_mode: Option<&str>,
        default_model: Option<&str>,
    ) -> Self {
        // Another server may have them.
        let secrets_missing = if session.ended || session.has_secret_holder {
            Vec::new()
        } else {
            secrets.unwrap_or(&Secrets::default()).missing(&StoredConfig::decode(session).secret_names())
        };
        let choose = |chosen: &Option<String>, reported: &Option<String>, default: Option<&str>| {
            let known = chosen.as_deref().or(reported.as_deref()).or(default);
            known.unwrap_or(AGENT_DEFAULT).to_owned()
        };
        Self {
            state: SessionState::from_session(session, !secrets_missing.is_empty()),
            secrets_missing,
            agent_mode: choose(&session.agent_mode, &session.reported_mode, default_mode),
            model: choose(&session.model, &session.reported_model, default_model),
        }
    }
}
