//! Everything that a flow is played on: a fresh place, a model, a server, and the sessions on it.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_client::Client;
use interlingua_convert::Agent;
use interlingua_record::Target;
use interlingua_record::place::Place;
use interlingua_schema::EventData;
use interlingua_scripted_model::{Scenario, ScriptedModel, TurnEndSource};

use crate::leftovers;
use crate::server::{Said, Server};
use crate::session::Session;
use crate::settings;

/// Always free: there is nobody else in this network.
const MODEL_PORT: u16 = 8787;
/// Longer than any step takes on a busy machine.
const STEP: Duration = Duration::from_secs(90);

/// Where a flow is played.
pub(crate) struct Stage<'a> {
    pub(crate) agent: Agent,
    pub(crate) scenario: &'a Scenario,
    pub(crate) place: Place,
    pub(crate) model: ScriptedModel,
    /// The sessions, by their names in the scenario.
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) client: Client,
    program: &'a Path,
    variables: Vec<(String, String)>,
    server: Option<Server>,
    said: Said,
}

impl<'a> Stage<'a> {
    /// Sets the stage. `program` is the server, `tools` a folder with programs that agents want to find, and `said`
    /// gets what the server says.
    pub(crate) async fn set(
        target: &Target,
        scenario: &'a Scenario,
        program: &'a Path,
        tools: Option<&Path>,
        said: &Said,
    ) -> Result<Self> {
        let agent = target.agent;
        let place = Place::make(scenario, tools)?;
        let model = ScriptedModel::start(scenario.clone(), place.workspace.clone(), MODEL_PORT, TurnEndSource::Host)
            .await
            .context("cannot serve the model")?;
        settings::at_home(agent, &place.home, &model.url())?;
        let mut variables = place.environment();
        put_on_path(target, &place.home, &mut variables)?;
        variables.extend(settings::server(agent, &model.url()));
        let server = Server::start(program, &variables, &place.home, said).await?;
        let client = Client::new(&server.url)?;
        let (sessions, said) = (BTreeMap::new(), said.clone());
        Ok(Self { agent, scenario, place, model, sessions, client, program, variables, server: Some(server), said })
    }

    /// The session of that name, made if there is none.
    pub(crate) async fn session(&mut self, name: &str) -> Result<&mut Session> {
        if !self.sessions.contains_key(name) {
            let wanted = settings::session(self.agent, self.scenario, &self.place.workspace)?;
            limited(self.client.create_session(name, &wanted)).await?;
            let session = limited(Session::follow(&self.client, name)).await?;
            self.sessions.insert(name.to_owned(), session);
        }
        self.sessions.get_mut(name).context("there is no such session")
    }

    /// Stops the server and starts it anew. Nothing may be left in between.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.stop().await?;
        }
        self.start_anew().await
    }

    /// Kills the server, and starts it anew. Nothing may be left in between.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.kill().await?;
        }
        self.start_anew().await
    }

    async fn start_anew(&mut self) -> Result<()> {
        leftovers::none().await?;
        let server = Server::start(self.program, &self.variables, &self.place.home, &self.said).await?;
        self.client = Client::new(&server.url)?;
        self.server = Some(server);
        for session in self.sessions.values_mut() {
            limited(session.follow_again(&self.client)).await?;
        }
        Ok(())
    }

    /// Ends all sessions and sees them end.
    pub(crate) async fn end_sessions(&mut self) -> Result<()> {
        for session in self.sessions.values_mut() {
            limited(self.client.terminate(&session.id)).await?;
            while !matches!(limited(session.next()).await?.data, EventData::SessionEnded(_)) {}
        }
        Ok(())
    }

    /// Takes the stage down. Nothing may be left.
    pub(crate) async fn strike(mut self) -> Result<()> {
        let stopped = match self.server.take() {
            Some(server) => server.stop().await,
            None => Ok(()),
        };
        let alone = leftovers::none().await;
        self.model.stop().await;
        stopped.and(alone)
    }
}

/// Puts the agent where the server looks for it.
fn put_on_path(target: &Target, home: &Path, variables: &mut [(String, String)]) -> Result<()> {
    let folder = home.join(".local/bin");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let link = folder.join(target.agent.id());
    symlink(&target.program, &link).with_context(|| format!("cannot make {}", link.display()))?;
    for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        *path = format!("{}:{path}", folder.display());
    }
    Ok(())
}

/// Does something within the time that a step may take.
pub(crate) async fn limited<T, E: Into<anyhow::Error>>(step: impl Future<Output = Result<T, E>>) -> Result<T> {
    match tokio::time::timeout(STEP, step).await {
        Ok(result) => result.map_err(Into::into),
        Err(_) => bail!("nothing happened for {} s", STEP.as_secs()),
    }
}
