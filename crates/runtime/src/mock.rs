//! The mock agent: runs inside this process, and needs no keys and no installation.
//!
//! It is an agent like the others. It has its own wire format, one JSON object per line, and a converter for it, so a
//! mock session takes the same path from line to event as a real one. The first word of a message decides what it does
//! (`help` lists the commands), or a [`MockScenario`] file does. It is as fast as the store, unless a pace is set.
//!
//! It honours permission modes: in `bypass` it never asks, in `acceptEdits` it asks for commands only, in `plan` it
//! changes nothing. It can be configured by environment like a process: `INTERLINGUA_MOCK_PACE_MS` in a session's `env`
//! sets the pace of that session.

mod commands;
mod converter;
mod line;
mod scenario;
mod session;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_convert::{Converter, Input};
use interlingua_schema::{Message, NativeSessionId, SessionId};

use crate::agents::{AgentStatus, InstallOptions, Mode, Model, Models};
use crate::driver::{
    BoxFuture, CommandReceiver, Driver, DriverCommand, InstallProgress, OutputSender, ServeError, ServeOutcome,
    SessionSpec,
};
use crate::error::Refusal;
use crate::permission_mode::PermissionMode;
use commands::TurnPlan;
use converter::MockConverter;
use line::AgentLine;
pub use scenario::{MockScenario, MockScenarioError};
use session::{MockSession, TurnAbort};

const ID: &str = "mock";
const NAME: &str = "Mock";
const MODEL: &str = "mock";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The variable that sets the pace of a session.
const PACE_VARIABLE: &str = "INTERLINGUA_MOCK_PACE_MS";
/// The mode of a session that was created without a mode.
const DEFAULT_MODE: &str = "build";
/// The modes: id, name and description.
const MODES: [(&str, &str, &str); 2] =
    [("build", "Build", "Executes its commands"), ("plan", "Plan", "Makes no changes that need permission")];

/// The driver of the mock agent.
#[derive(Debug, Default)]
pub struct MockDriver {
    pace: Duration,
    scenario: Option<MockScenario>,
    /// State of sessions that is kept between turns. Sessions without such state have no entry.
    session_states: Mutex<HashMap<SessionId, SessionState>>,
}

/// State of a session that is kept between turns.
#[derive(Debug, Default)]
struct SessionState {
    /// How many turns of the scenario were played.
    played_turns: usize,
    /// Actions that the user has allowed for the session.
    allowed_actions: HashSet<String>,
}

impl MockDriver {
    /// A driver that executes the built-in commands, as fast as possible.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the pause between two lines.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Sets the scenario to play. Messages without a turn in the scenario are executed as commands.
    #[must_use]
    pub fn scenario(mut self, scenario: MockScenario) -> Self {
        self.scenario = Some(scenario);
        self
    }

    /// Decides what to do for a message.
    fn plan_turn(&self, session: &SessionId, message: &Message) -> TurnPlan {
        let turns = self.scenario.iter().flat_map(|scenario| &scenario.turns);
        let is_prefix = |on: &str| message.text.trim_start().starts_with(on);
        if let Some(turn) = turns.clone().find(|turn| turn.on.as_deref().is_some_and(is_prefix)) {
            return TurnPlan { steps: turn.steps.clone(), ends_session: false };
        }
        let mut in_order = turns.filter(|turn| turn.on.is_none()).peekable();
        if in_order.peek().is_some() {
            let mut states = self.session_states();
            let state = states.entry(session.clone()).or_default();
            if let Some(turn) = in_order.nth(state.played_turns) {
                state.played_turns += 1;
                return TurnPlan { steps: turn.steps.clone(), ends_session: false };
            }
        }
        commands::plan_turn(&message.text)
    }

    fn session_states(&self) -> MutexGuard<'_, HashMap<SessionId, SessionState>> {
        self.session_states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allowed_actions(&self, session: &SessionId) -> HashSet<String> {
        self.session_states().get(session).map(|state| state.allowed_actions.clone()).unwrap_or_default()
    }

    fn store_allowed_actions(&self, session: &SessionId, actions: &HashSet<String>) {
        if !actions.is_empty() {
            self.session_states().entry(session.clone()).or_default().allowed_actions.clone_from(actions);
        }
    }

    /// The pace of a session: from its environment, the scenario or the driver, in this order.
    fn session_pace(&self, spec: &SessionSpec) -> Duration {
        let from_scenario = self.scenario.as_ref().and_then(|scenario| scenario.pace_ms).map(Duration::from_millis);
        let from_env = spec.env.get(PACE_VARIABLE).and_then(|pace| pace.parse().ok()).map(Duration::from_millis);
        from_env.or(from_scenario).unwrap_or(self.pace)
    }

    async fn run(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let is_plan = spec.agent_mode.as_deref() == Some("plan");
        let permissions = if is_plan { PermissionMode::Plan } else { spec.permission_mode };
        let pace = self.session_pace(&spec);
        let mut session = MockSession::new(output, commands, pace, permissions, self.allowed_actions(&spec.session_id));
        let hello = AgentLine::Hello {
            session: native_session_id(&spec.session_id),
            model: MODEL.to_owned(),
            version: VERSION.to_owned(),
            cwd: spec.directory.to_str().map(str::to_owned),
            mode: spec.agent_mode.clone().unwrap_or_else(|| DEFAULT_MODE.to_owned()),
            permission_mode: permissions.name().to_owned(),
            tools: commands::TOOLS.map(str::to_owned).to_vec(),
        };
        session.print(&hello).await;
        while let Some(command) = session.next_command_between_turns().await {
            // Replies and interrupts between turns have no effect.
            let DriverCommand::SendMessage(message) = command else { continue };
            let TurnPlan { steps, ends_session } = self.plan_turn(&spec.session_id, &message);
            let result = session.run_turn(message, steps).await;
            self.store_allowed_actions(&spec.session_id, &session.allowed_actions);
            match result {
                Ok(()) if ends_session => {
                    session.output.send(Input::Exit { code: Some(0) }).await;
                    return Ok(ServeOutcome::SessionEnded);
                }
                Ok(()) | Err(TurnAbort::Interrupted) => {}
                Err(TurnAbort::ConnectionClosed) => break,
                Err(TurnAbort::Exit(code)) => {
                    session.output.send(Input::Exit { code: Some(code) }).await;
                    break;
                }
            }
        }
        Ok(ServeOutcome::Stopped)
    }
}

fn native_session_id(session: &SessionId) -> String {
    format!("mock-{session}")
}

impl Driver for MockDriver {
    fn id(&self) -> &'static str {
        ID
    }

    fn converter(&self) -> Box<dyn Converter> {
        Box::new(MockConverter::default())
    }

    fn status(&self) -> AgentStatus {
        AgentStatus {
            id: ID,
            name: NAME,
            installed: true,
            version: Some(VERSION.to_owned()),
            needs_no_credentials: true,
            ..AgentStatus::default()
        }
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        if let Some(mode) = &spec.agent_mode
            && !MODES.iter().any(|(id, _, _)| id == mode)
        {
            return Err(Refusal::mode("agentMode", mode.as_str(), &MODES.map(|(id, _, _)| id)));
        }
        if let Some(model) = spec.model.as_deref().filter(|model| *model != MODEL) {
            return Err(Refusal::field("model", format!("mock has no model `{model}`: expected `{MODEL}`")));
        }
        if let Some(variant) = &spec.variant {
            return Err(Refusal::field("variant", format!("mock has no model variants, found `{variant}`")));
        }
        if let Some(version) = spec.agent_version.as_deref().filter(|version| *version != VERSION) {
            return Err(Refusal::field("agentVersion", format!("mock has version {VERSION}, not {version}")));
        }
        if !spec.mcp.is_empty() {
            return Err(Refusal::field("mcp", "mock does not support MCP servers"));
        }
        match spec.env.get(PACE_VARIABLE).map(str::parse::<u64>) {
            Some(Err(_)) => Err(Refusal::field("env", format!("expected a number of milliseconds in {PACE_VARIABLE}"))),
            _ => Ok(()),
        }
    }

    /// The folder that most agents use, so that clients can try skills.
    fn skills_folder(&self) -> Option<&'static str> {
        Some(".agents/skills")
    }

    fn check_message(&self, _message: &Message) -> Result<(), Refusal> {
        Ok(())
    }

    fn choose_native_session_id(&self, session: &SessionId) -> Option<NativeSessionId> {
        Some(native_session_id(session).into())
    }

    fn keeps_files(&self) -> bool {
        false
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        let modes = MODES.map(|(id, name, description)| Mode::new(id, name, description)).to_vec();
        Box::pin(std::future::ready(Ok(modes)))
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        let model = Model { id: MODEL.to_owned(), name: Some("Mock".to_owned()), ..Model::default() };
        let models = Models { models: vec![model], default_model: Some(MODEL.to_owned()), fallback: false };
        Box::pin(std::future::ready(Ok(models)))
    }

    fn install(self: Arc<Self>, install: InstallOptions, _: InstallProgress) -> BoxFuture<Result<(), String>> {
        let done = match install.version {
            Some(version) if version != VERSION => Err(format!("mock is built in and only has version {VERSION}")),
            _ => Ok(()),
        };
        Box::pin(std::future::ready(done))
    }

    fn default_mode(&self) -> Option<&'static str> {
        Some(DEFAULT_MODE)
    }

    fn default_model(&self) -> Option<&'static str> {
        Some(MODEL)
    }

    fn idle_timeout(&self) -> Duration {
        Duration::ZERO
    }

    fn serve(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>> {
        Box::pin(self.run(spec, commands, output))
    }
}
