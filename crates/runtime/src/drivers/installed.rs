//! What the drivers of installed agents have in common.

use interlingua_schema::Message;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Agent, Converter, converter_for};

use crate::agents::{AgentStatus, InstallOptions, Mode, Models, ServerStatus};
use crate::attached;
use crate::driver::{BoxFuture, CommandReceiver, Driver, OutputSender, ServeError, ServeOutcome, SessionSpec};
use crate::error::Refusal;
use crate::install::Installation;

/// An agent that is a program on this machine: what is its own.
pub(crate) trait InstalledAgent: Send + Sync + 'static {
    /// Which agent it is.
    const AGENT: Agent;
    /// How long an agent is kept that has nothing to do.
    const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

    fn installation(&self) -> &Installation;

    /// As [`Driver::check`], but its version is known to be there.
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

    /// The state of the process that its sessions share; `None` if they share none.
    fn server(&self) -> Option<ServerStatus> {
        None
    }

    /// As [`Driver::shutdown`].
    fn shutdown(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Drives an installed agent.
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
        Box::pin(async move { self.0.installation().refresh_status().await })
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        self.0.installation().check_version(spec)?;
        self.0.check(spec)
    }

    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        attached::check(message)
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        Box::pin(async move { self.0.modes().await })
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        Box::pin(async move { self.0.models().await })
    }

    fn install(self: Arc<Self>, install: InstallOptions) -> BoxFuture<Result<(), String>> {
        Box::pin(async move { self.0.installation().install(install, |_| {}).await.map(drop) })
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
