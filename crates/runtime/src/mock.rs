//! The mock agent: in this process, without keys and without an install.
//!
//! It is an agent like the others. It has a wire of its own, one JSON object a line, and a converter that reads it, so
//! that a mock session takes the same way from line to event that a real one does. What it does about a message is
//! decided by the first word (`help` lists the commands), or by a [`MockScenario`] file. It is as fast as the store can
//! follow, unless it is given a pace.
//!
//! It honours permission modes: `bypass` asks nothing, `acceptEdits` asks for commands only, `plan` changes nothing.
//! Like a process it can be set by its environment: `INTERLINGUA_MOCK_PACE_MS` in a session's `env` is that session's
//! pace.

mod commands;
mod converter;
mod line;
mod player;
mod step;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_convert::{Converter, Input};
use interlingua_schema::{Message, NativeSessionId, SessionId};

use crate::agents::{AgentStatus, InstallOptions, Mode, Model, Models};
use crate::driver::{
    BoxFuture, CommandReceiver, Driver, DriverCommand, OutputSender, ServeError, ServeOutcome, SessionSpec,
};
use crate::error::Refusal;
use crate::modes::PermissionMode;
use commands::Deed;
use converter::MockConverter;
use line::Line;
use player::{Halt, Player};
pub use step::{MockScenario, MockScenarioError};

const ID: &str = "mock";
const MODEL: &str = "mock";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The variable that sets a session's pace.
const PACE: &str = "INTERLINGUA_MOCK_PACE_MS";
/// The mode of a session that was created without one.
const DEFAULT_MODE: &str = "build";
/// Its modes.
const MODES: [(&str, &str, &str); 2] =
    [("build", "Build", "Does what it is told"), ("plan", "Plan", "Says what it would do, and changes nothing")];

/// Drives the mock agent.
#[derive(Debug, Default)]
pub struct MockDriver {
    pace: Duration,
    scenario: Option<MockScenario>,
    /// What it remembers of sessions from one turn to the next; nothing of those that need no memory.
    memories: Mutex<HashMap<SessionId, Memory>>,
}

/// What the mock agent remembers of a session.
#[derive(Debug, Default)]
struct Memory {
    /// How many turns of the scenario were played.
    played: usize,
    /// What was allowed from then on.
    allowed: HashSet<String>,
}

impl MockDriver {
    /// One that obeys the built-in commands, as fast as it can.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time between two lines.
    #[must_use]
    pub fn pace(mut self, pace: Duration) -> Self {
        self.pace = pace;
        self
    }

    /// Plays this scenario. Messages that it has no turn for are obeyed as commands.
    #[must_use]
    pub fn scenario(mut self, scenario: MockScenario) -> Self {
        self.scenario = Some(scenario);
        self
    }

    /// What is done about a message.
    fn deed(&self, session: &SessionId, message: &Message) -> Deed {
        let turns = self.scenario.iter().flat_map(|scenario| &scenario.turns);
        let begins = |on: &str| message.text.trim_start().starts_with(on);
        if let Some(turn) = turns.clone().find(|turn| turn.on.as_deref().is_some_and(begins)) {
            return Deed { steps: turn.steps.clone(), ends: false };
        }
        let mut in_order = turns.filter(|turn| turn.on.is_none()).peekable();
        if in_order.peek().is_some() {
            let mut memories = self.memories();
            let memory = memories.entry(session.clone()).or_default();
            if let Some(turn) = in_order.nth(memory.played) {
                memory.played += 1;
                return Deed { steps: turn.steps.clone(), ends: false };
            }
        }
        commands::deed(&message.text)
    }

    fn memories(&self) -> MutexGuard<'_, HashMap<SessionId, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn allowed(&self, session: &SessionId) -> HashSet<String> {
        self.memories().get(session).map(|memory| memory.allowed.clone()).unwrap_or_default()
    }

    fn allow(&self, session: &SessionId, allowed: &HashSet<String>) {
        if !allowed.is_empty() {
            self.memories().entry(session.clone()).or_default().allowed.clone_from(allowed);
        }
    }

    fn pace_of(&self, spec: &SessionSpec) -> Duration {
        let own = self.scenario.as_ref().and_then(|scenario| scenario.pace_ms).map(Duration::from_millis);
        let set = spec.env.get(PACE).and_then(|pace| pace.parse().ok()).map(Duration::from_millis);
        set.or(own).unwrap_or(self.pace)
    }

    async fn play(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let is_plan = spec.agent_mode.as_deref() == Some("plan");
        let permissions = if is_plan { PermissionMode::Plan } else { spec.permission_mode };
        let mut player =
            Player::new(output, commands, self.pace_of(&spec), permissions, self.allowed(&spec.session_id));
        let session = native_id(&spec.session_id);
        let hello = Line::Hello {
            session,
            model: MODEL.to_owned(),
            version: VERSION.to_owned(),
            cwd: spec.directory.to_str().map(str::to_owned),
            mode: spec.agent_mode.clone().unwrap_or_else(|| DEFAULT_MODE.to_owned()),
            permission_mode: permissions.name().to_owned(),
            tools: commands::TOOLS.map(str::to_owned).to_vec(),
        };
        player.print(&hello).await;
        while let Some(command) = player.order_between_turns().await {
            // Answers and interrupts that come between turns are for nobody.
            let DriverCommand::SendMessage(message) = command else { continue };
            let Deed { steps, ends } = self.deed(&spec.session_id, &message);
            let turn = player.turn(message, steps).await;
            self.allow(&spec.session_id, &player.allowed);
            match turn {
                Ok(()) if ends => {
                    player.output.send(Input::Exit { code: Some(0) }).await;
                    return Ok(ServeOutcome::SessionEnded);
                }
                Ok(()) | Err(Halt::Interrupted) => {}
                Err(Halt::LetGo) => break,
                Err(Halt::Exit(code)) => {
                    player.output.send(Input::Exit { code: Some(code) }).await;
                    break;
                }
            }
        }
        Ok(ServeOutcome::Stopped)
    }
}

fn native_id(session: &SessionId) -> String {
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
            return Err(Refusal::field("model", format!("mock has no model `{model}`: expected {MODEL}")));
        }
        if let Some(variant) = &spec.variant {
            return Err(Refusal::field("variant", format!("mock's model has no variant `{variant}`, nor any other")));
        }
        if let Some(version) = spec.agent_version.as_deref().filter(|version| *version != VERSION) {
            return Err(Refusal::field("agentVersion", format!("mock has version {VERSION}, not {version}")));
        }
        if !spec.mcp.is_empty() {
            return Err(Refusal::field("mcp", "mock talks to no MCP servers"));
        }
        match spec.env.get(PACE).map(str::parse::<u64>) {
            Some(Err(_)) => Err(Refusal::field("env", format!("expected a number of milliseconds in {PACE}"))),
            _ => Ok(()),
        }
    }

    fn check_message(&self, _message: &Message) -> Result<(), Refusal> {
        Ok(())
    }

    fn choose_native_session_id(&self, session: &SessionId) -> Option<NativeSessionId> {
        Some(native_id(session).into())
    }

    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>> {
        let modes = MODES.map(|(id, name, description)| Mode::new(id, name, description)).to_vec();
        Box::pin(std::future::ready(Ok(modes)))
    }

    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>> {
        let model = Model { id: MODEL.to_owned(), name: Some("Mock".to_owned()), ..Model::default() };
        let models = Models { models: vec![model], default_model: Some(MODEL.to_owned()) };
        Box::pin(std::future::ready(Ok(models)))
    }

    fn install(self: Arc<Self>, install: InstallOptions) -> BoxFuture<Result<(), String>> {
        let done = match install.version {
            Some(version) if version != VERSION => Err(format!("mock is built in, with version {VERSION}")),
            _ => Ok(()),
        };
        Box::pin(std::future::ready(done))
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
        Box::pin(self.play(spec, commands, output))
    }
}
