//! The part of a driver that is the same for all installed agents.

use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Agent, Converter, converter_for};
use interlingua_schema::Message;

use crate::agents::{AgentStatus, InstallOptions, Mode, Models, ServerStatus};
use crate::attachments;
use crate::driver::{
    BoxFuture, CommandReceiver, Driver, InstallProgress, OutputSender, ServeError, ServeOutcome, SessionOption,
    SessionSpec,
};
use crate::error::Refusal;
use crate::install::Installation;

/// The part of a driver that differs between installed agents.
pub(crate) trait InstalledAgent: Send + Sync + 'static {
    /// The agent.
    const AGENT: Agent;
    /// As [`Driver::idle_timeout`].
    const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

    /// As [`Driver::default_mode`].
    const DEFAULT_MODE: Option<&'static str>;

    fn installation(&self) -> &Installation;

    /// As [`Driver::refuse_change`].
    fn refuse_change(&self, _field: SessionOption) -> Option<&'static str> {
        None
    }

    /// As [`Driver::check`]. The caller has checked that the version is installed.
    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal>;

    /// As [`Driver::modes`].
    fn modes(&self) -> impl Future<Output = Result<Vec<Mode>, ServeError>> + Send;

    /// As [`Driver::models`].
    fn models(&self) -> impl Future<Output = Result<Models, ServeError>> + Send;

    /// As [`Driver::serve`].
    fn serve(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> impl Future<Output = Result<ServeOutcome, ServeError>> + Send;

    /// The status of the process that sessions share; `None` if they share none.
    fn server(&self) -> Option<ServerStatus> {
        None
    }

    /// As [`Driver::shutdown`].
    fn shutdown(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// The driver of an installed agent.
pub(crate) struct InstalledDriver<A>(pub(crate) A);

impl<A: InstalledAgent> Driver for InstalledDriver<A> {
    fn id(&self) -> &'static str {
        A::AGENT.id()
    }

    fn converter(&self) -> Box<dyn Converter> {
        converter_for(A::AGENT)
    }

    fn status(&self) -> AgentStatus {
        AgentStatus { server: self.0.server(), ..self.0.installation().status() }
    }

    fn refresh_status(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(async move { self.0.installation().refresh_version().await })
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        self.0.installation().check_version(spec)?;
        self.0.check(spec)
    }

    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        attachments::check_sizes(message)
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(async move { self.0.modes().await })
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Box::pin(async move { self.0.models().await })
    }

    fn install(self: Arc<Self>, install: InstallOptions, progress: InstallProgress) -> BoxFuture<Result<(), String>> {
        Box::pin(async move { self.0.installation().install(install, progress).await.map(drop) })
    }

    fn default_mode(&self) -> Option<&'static str> {
        A::DEFAULT_MODE
    }

    fn refuse_change(&self, field: SessionOption) -> Option<&'static str> {
        self.0.refuse_change(field)
    }

    fn shares_process(&self) -> bool {
        A::AGENT.descriptor().process_model.is_shared()
    }

    fn skills_folder(&self) -> Option<&'static str> {
        A::AGENT.descriptor().skills_folder
    }

    fn idle_timeout(&self) -> Duration {
        A::IDLE_TIMEOUT
    }

    fn serve(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        Box::pin(async move { self.0.serve(spec, commands, output).await })
    }

    fn shutdown(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(async move { self.0.shutdown().await })
    }
}
