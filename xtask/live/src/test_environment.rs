//! Everything that a flow runs in: fresh directories, a model, a server, and the sessions on it.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_client::Client;
use interlingua_convert::Agent;
use interlingua_record::InstalledAgent;
use interlingua_record::agent_dirs::AgentDirs;
use interlingua_schema::EventData;
use interlingua_scripted_model::{Scenario, ScriptedModel, TurnEndSource};

use crate::leftover_processes;
use crate::server::{Server, ServerLog};
use crate::session::Session;
use crate::settings;

/// Always free: nothing else runs in this network namespace.
const MODEL_PORT: u16 = 8787;
/// Longer than any step takes on a busy machine.
const STEP_TIMEOUT: Duration = Duration::from_secs(90);

/// The environment of a flow.
pub(crate) struct TestEnvironment<'a> {
    pub(crate) agent: Agent,
    pub(crate) scenario: &'a Scenario,
    pub(crate) dirs: AgentDirs,
    pub(crate) model: ScriptedModel,
    /// Sessions by their names in the scenario.
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) client: Client,
    program: &'a Path,
    variables: Vec<(String, String)>,
    server: Option<Server>,
    log: ServerLog,
}

impl<'a> TestEnvironment<'a> {
    /// Prepares the directories and starts the model and the server. `program` is the server's program, `tools` a
    /// folder with additional programs for the agent, and `log` collects the server's standard error.
    pub(crate) async fn start(
        installed: &InstalledAgent,
        scenario: &'a Scenario,
        program: &'a Path,
        tools: Option<&Path>,
        log: &ServerLog,
    ) -> Result<Self> {
        let agent = installed.agent;
        let dirs = AgentDirs::prepare(scenario, tools)?;
        let model = ScriptedModel::start(scenario.clone(), dirs.workspace.clone(), MODEL_PORT, TurnEndSource::Host)
            .await
            .context("cannot start the scripted model")?;
        settings::write_home_config(agent, &dirs.home, &model.url())?;
        let mut variables = dirs.environment();
        add_to_path(installed, &dirs.home, &mut variables)?;
        variables.extend(settings::server_environment(agent, &model.url()));
        let server = Server::start(program, &variables, &dirs.home, log).await?;
        let client = Client::new(&server.url)?;
        let (sessions, log) = (BTreeMap::new(), log.clone());
        Ok(Self { agent, scenario, dirs, model, sessions, client, program, variables, server: Some(server), log })
    }

    /// The session with this name. It is created if it does not exist.
    pub(crate) async fn session(&mut self, name: &str) -> Result<&mut Session> {
        if !self.sessions.contains_key(name) {
            let request = settings::session_request(self.agent, self.scenario, &self.dirs.workspace)?;
            with_timeout(self.client.create_session(name, &request)).await?;
            let session = with_timeout(Session::follow(&self.client, name)).await?;
            self.sessions.insert(name.to_owned(), session);
        }
        self.sessions.get_mut(name).with_context(|| format!("there is no session {name:?}"))
    }

    /// Stops the server and starts it again. No process may remain in between.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.stop().await?;
        }
        self.start_server().await
    }

    /// Kills the server and starts it again. No process may remain in between.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.kill().await?;
        }
        self.start_server().await
    }

    async fn start_server(&mut self) -> Result<()> {
        leftover_processes::wait_for_all().await?;
        let server = Server::start(self.program, &self.variables, &self.dirs.home, &self.log).await?;
        self.client = Client::new(&server.url)?;
        self.server = Some(server);
        for session in self.sessions.values_mut() {
            with_timeout(session.reconnect(&self.client)).await?;
        }
        Ok(())
    }

    /// Terminates all sessions and waits for their `session.ended` events.
    pub(crate) async fn end_sessions(&mut self) -> Result<()> {
        for session in self.sessions.values_mut() {
            with_timeout(self.client.terminate(&session.id)).await?;
            while !matches!(with_timeout(session.next()).await?.data, EventData::SessionEnded(_)) {}
        }
        Ok(())
    }

    /// Stops the server and the model. No process may remain.
    pub(crate) async fn shutdown(mut self) -> Result<()> {
        let stopped = match self.server.take() {
            Some(server) => server.stop().await,
            None => Ok(()),
        };
        let no_leftovers = leftover_processes::wait_for_all().await;
        self.model.stop().await;
        stopped.and(no_leftovers)
    }
}

/// Links the agent's program into a folder and adds the folder to `PATH`, where the server looks for it.
fn add_to_path(agent: &InstalledAgent, home: &Path, variables: &mut [(String, String)]) -> Result<()> {
    let folder = home.join(".local/bin");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let link = folder.join(agent.agent.id());
    symlink(&agent.program, &link).with_context(|| format!("cannot create {}", link.display()))?;
    for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = format!("{}:{path}", folder.display());
    }
    Ok(())
}

/// Runs a step with [`STEP_TIMEOUT`].
pub(crate) async fn with_timeout<T, E: Into<anyhow::Error>>(step: impl Future<Output = Result<T, E>>) -> Result<T> {
    match tokio::time::timeout(STEP_TIMEOUT, step).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => bail!("timeout: nothing happened for {} s", STEP_TIMEOUT.as_secs()),
    }
}
