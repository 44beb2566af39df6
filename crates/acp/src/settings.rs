//! Settings of sessions: what a client can choose, and reports of what another client has chosen.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlingua_client::{AgentModels, SessionInfo};
use interlingua_native::acp::{
    ConfigOptionUpdateSessionUpdate, CurrentModeUpdateSessionUpdate, SessionConfigOption, SessionUpdate,
};
use interlingua_native::new;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::options::{self, DEFAULT};
use crate::server::Server;

/// How long an answer waits for the list of models. Agents that start for it take longer; then an update follows.
const MODELS_WAIT: Duration = Duration::from_secs(2);
/// How long an agent may take to list its models.
const MODELS_TIMEOUT: Duration = Duration::from_secs(60);

/// What clients can choose. The models of an agent are listed once.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    server: Server,
    connection: Connection,
    models: Arc<Mutex<HashMap<String, Arc<OnceCell<AgentModels>>>>>,
}

/// The options of a session.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) options: Vec<SessionConfigOption>,
    /// The list of models has not come yet.
    is_incomplete: bool,
}

/// The settings of a session that were shown to the client last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShownSettings(Arc<Mutex<Option<Chosen>>>);

/// What a client can choose in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Chosen {
    mode: String,
    model: String,
    agent: String,
    variant: Option<String>,
}

impl Chosen {
    fn new(session: &SessionInfo) -> Self {
        Self {
            mode: session.permission_mode.clone().unwrap_or_else(|| DEFAULT.to_owned()),
            model: session.model.clone(),
            agent: session.agent.clone(),
            variant: session.variant.clone(),
        }
    }
}

impl ShownSettings {
    /// Notes what the client is shown now. Returns what it was shown before.
    fn replace(&self, chosen: Chosen) -> Option<Chosen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).replace(chosen)
    }

    /// The client is shown the settings of this session.
    pub(crate) fn observe(&self, session: &SessionInfo) {
        self.replace(Chosen::new(session));
    }
}

impl Settings {
    pub(crate) fn new(server: Server, connection: Connection) -> Self {
        Self { server, connection, models: Arc::default() }
    }

    /// The options of a session. The list of models may be missing.
    pub(crate) async fn options(&self, session: &SessionInfo) -> Options {
        self.options_within(session, MODELS_WAIT).await
    }

    async fn options_within(&self, session: &SessionInfo, limit: Duration) -> Options {
        let agents = self.server.client().agents().await.unwrap_or_default();
        let cell = {
            let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(models.entry(session.agent.clone()).or_default())
        };
        let (client, agent) = (self.server.client(), session.agent.clone());
        // A task, so that the list is read to its end when nothing waits for it any more.
        let listing = tokio::spawn(async move { cell.get_or_try_init(|| client.models(&agent)).await.cloned() });
        let (models, is_incomplete) = match timeout(limit, listing).await {
            Ok(Ok(Ok(models))) => (Some(models), false),
            Ok(Ok(Err(error))) => {
                tracing::debug!(agent = %session.agent, %error, "the agent does not list its models");
                (None, false)
            }
            Ok(Err(_)) => (None, false),
            Err(_) => (None, true),
        };
        Options { options: options::options(session, &agents, models.as_ref()), is_incomplete }
    }

    /// Sends the options of a session again if the client got them without the models.
    pub(crate) async fn complete(&self, id: &str, options: &Options) {
        if !options.is_incomplete {
            return;
        }
        let Ok(session) = self.server.client().session(id).await else { return };
        let options = self.options_within(&session, MODELS_TIMEOUT).await;
        if !options.is_incomplete {
            self.connection.update(id, options_update(options.options));
        }
    }

    /// Tells the client what has changed since it was shown the settings of a session.
    pub(crate) async fn report_changes(&self, id: &str, shown: &ShownSettings) {
        let Ok(session) = self.server.client().session(id).await else { return };
        let chosen = Chosen::new(&session);
        let Some(before) = shown.replace(chosen.clone()).filter(|before| *before != chosen) else { return };
        if before.mode != chosen.mode {
            self.connection.update(id, mode_update(chosen.mode));
        }
        let options = self.options(&session).await;
        self.connection.update(id, options_update(options.options));
    }
}

fn mode_update(mode: String) -> SessionUpdate {
    new!(CurrentModeUpdateSessionUpdate { current_mode_id: mode }).into()
}

fn options_update(options: Vec<SessionConfigOption>) -> SessionUpdate {
    new!(ConfigOptionUpdateSessionUpdate { config_options: options }).into()
}
