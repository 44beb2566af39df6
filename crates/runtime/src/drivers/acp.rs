//! Agents that speak the Agent Client Protocol: one process per session, JSON-RPC lines in both directions.
//!
//! The process serves any number of turns. It asks the user for permissions, and the host for files and terminals. A
//! session whose process has exited is resumed, or loaded with its history, by what the agent supports.
//! [`interlingua_protocol::acp`] builds what is sent.

mod connection;
mod files;
mod options;
mod prompt;
mod services;
mod session;
mod terminals;

use std::sync::Arc;
use std::time::Duration;

use interlingua_agents::AcpProfile;
use interlingua_convert::Converter;
use interlingua_convert::acp::AcpConverter;
use interlingua_protocol::acp::OpenedSession;
use interlingua_protocol::acp::acp::SessionConfigOptionCategory;
use interlingua_schema::Message;
use tokio::time::timeout;

use crate::agents::{AgentStatus, InstallOptions, Mode, Model, Models};
use crate::attachments;
use crate::driver::{
    BoxFuture, CommandReceiver, Driver, InstallProgress, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Installation, InstalledProgram, LaunchConfig};
use crate::process::{Process, Program};
use crate::process_environment::process_environment;
use connection::Connection;
use session::Session;

/// How long an agent may take to describe itself outside of a session.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(60);

/// The driver of one agent that speaks the protocol.
pub(crate) struct AcpDriver {
    profile: &'static AcpProfile,
    installation: Installation,
}

impl AcpDriver {
    pub(crate) fn new(profile: &'static AcpProfile, config: &LaunchConfig) -> Self {
        Self { profile, installation: Installation::of_profile(profile, config) }
    }

    fn id(&self) -> &'static str {
        self.profile.descriptor.id
    }

    async fn start(
        &self,
        installed: &InstalledProgram,
        env: &Environment,
        directory: std::path::PathBuf,
    ) -> Result<Process, ServeError> {
        let program = Program {
            path: installed.path.clone(),
            args: self.profile.arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            env: process_environment(self.profile.inherited_variables, self.profile.fixed_variables, env),
            directory,
        };
        let started = self.installation.supervisor().start(program).await;
        started.map_err(|error| ServeError::Unavailable(error.to_string()))
    }

    async fn run(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let installed = self.installation.find_program(spec.agent_version.as_deref())?;
        let process = self.start(&installed, &spec.env, spec.directory.clone()).await?;
        let supervisor = self.installation.supervisor().clone();
        let connection = Connection::new(process, output, supervisor, &spec);
        Session::new(self.profile, spec, connection).run(installed.version, commands).await
    }

    /// Starts a process outside of any session, and opens a session in it that has no turn.
    async fn describe(&self) -> Result<OpenedSession, ServeError> {
        let installed = self.installation.find_program(None)?;
        let failed =
            |reason: String| ServeError::Unavailable(format!("{} does not describe itself: {reason}", self.id()));
        let folder = std::env::temp_dir();
        let process = self.start(&installed, &Environment::default(), folder.clone()).await?;
        let described = timeout(DESCRIBE_TIMEOUT, connection::describe(process, &folder, self.profile)).await;
        described.unwrap_or_else(|_| Err(format!("no answer within {DESCRIBE_TIMEOUT:?}"))).map_err(failed)
    }
}

impl Driver for AcpDriver {
    fn id(&self) -> &'static str {
        self.id()
    }

    fn converter(&self) -> Box<dyn Converter> {
        Box::new(AcpConverter::new(self.id()))
    }

    fn status(&self) -> AgentStatus {
        self.installation.status()
    }

    fn refresh_status(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(async move { self.installation.refresh_version().await })
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        self.installation.check_version(spec)?;
        options::check(self.profile, spec)
    }

    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        attachments::check_sizes(message)
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(async move { self.describe().await.map(|opened| options::modes(&opened)) })
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Box::pin(async move { self.describe().await.map(|opened| to_models(&opened)) })
    }

    fn install(self: Arc<Self>, install: InstallOptions, progress: InstallProgress) -> BoxFuture<Result<(), String>> {
        Box::pin(async move { self.installation.install(install, progress).await.map(drop) })
    }

    fn serve(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        Box::pin(async move { self.run(spec, commands, output).await })
    }
}

/// The models that an agent offers. The efforts of the current model count for all of them.
fn to_models(opened: &OpenedSession) -> Models {
    let Some((models, current)) = opened.models() else { return Models::default() };
    let (efforts, default_effort) = opened.choices(&SessionConfigOptionCategory::ThoughtLevel).unwrap_or_default();
    let variants: Vec<String> = efforts.into_iter().map(|(id, _)| id).collect();
    let default_variant = Some(default_effort).filter(|effort| !effort.is_empty());
    let to_model = |(id, name): (String, String)| Model {
        name: Some(name).filter(|name| *name != id),
        id,
        variants: variants.clone(),
        default_variant: default_variant.clone(),
    };
    Models {
        default_model: Some(current).filter(|current| !current.is_empty()),
        models: models.into_iter().map(to_model).collect(),
        fallback: false,
    }
}
