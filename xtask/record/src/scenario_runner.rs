//! Plays one scenario on one agent and records it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_record::InstalledAgent;
use interlingua_scripted_model::scenario::{HostAction, HostAnswer, Trigger, TriggeredAction, Turn};
use interlingua_scripted_model::{Scenario, ScriptedModel, TurnEndSource};
use interlingua_wirelog::Header;
use rustix::process::Signal;

use crate::agent_dirs::AgentDirs;
use crate::host::{AttachedFile, Host, HostContext, HostEvent};
use crate::recording_writer::RecordingWriter;
use crate::scrub::Scrubber;

/// Always free: nothing else runs in this network namespace.
const MODEL_PORT: u16 = 8787;
/// Longer than any step takes on a busy machine, including retries.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which the workspace is checked for a file.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Why a scenario could not be recorded.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The step that failed.
    step: String,
    /// The error.
    reason: String,
    /// Last lines that the agent sent.
    received: Vec<String>,
    /// Last lines of its standard error.
    stderr: Vec<String>,
}

impl Failure {
    /// The scenario was played, but its recording could not be compared or saved.
    pub(crate) fn after_play(error: &anyhow::Error) -> Self {
        let step = "after the end, saving the recording".to_owned();
        Self { step, reason: format!("{error:#}"), received: Vec::new(), stderr: Vec::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "failed {}: {}", self.step, self.reason)?;
        for (title, lines) in
            [("last lines from the agent", &self.received), ("end of its standard error", &self.stderr)]
        {
            if !lines.is_empty() {
                writeln!(f, "  {title}:")?;
            }
            for line in lines {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}

/// Plays a scenario and returns the recording.
pub(crate) async fn record_scenario(
    agent: &InstalledAgent,
    scenario: &Scenario,
    tools: Option<&Path>,
) -> Result<Vec<u8>, Failure> {
    let mut runner = ScenarioRunner {
        agent,
        scenario,
        recording: RecordingWriter::new(Header::default(), Scrubber::default()),
        step: "before the start".to_owned(),
        messages_ahead: 0,
        open_sessions: BTreeSet::new(),
    };
    match runner.run(tools).await {
        Ok(recording) => Ok(recording),
        Err(error) => {
            let (received, stderr) = runner.recording.last_lines();
            Err(Failure { step: runner.step, reason: format!("{error:#}"), received, stderr })
        }
    }
}

struct ScenarioRunner<'a> {
    agent: &'a InstalledAgent,
    scenario: &'a Scenario,
    recording: RecordingWriter,
    /// The current step, for the report of a failure.
    step: String,
    /// Number of prompts of later turns that were sent already.
    messages_ahead: usize,
    /// Sessions whose turn still runs while the next turn is played.
    open_sessions: BTreeSet<String>,
}

impl ScenarioRunner<'_> {
    async fn run(&mut self, tools: Option<&Path>) -> Result<Vec<u8>> {
        let dirs = AgentDirs::prepare(self.scenario, tools)?;
        let recorder = std::env::current_exe().context("cannot determine the path of this program")?;
        let names = vec![
            (recorder.display().to_string(), "/opt/host/tool".to_owned()),
            (self.agent.program.display().to_string(), format!("/opt/agent/{}", self.agent.agent)),
        ];
        let mut header = Header::new(self.agent.agent.to_string());
        header.version = Some(self.agent.version.clone());
        header.scenario = Some(self.scenario.name.clone());
        self.recording = RecordingWriter::new(header, Scrubber::new(names));
        let model =
            ScriptedModel::start(self.scenario.clone(), dirs.workspace.clone(), MODEL_PORT, TurnEndSource::Host)
                .await
                .context("cannot start the scripted model")?;
        let result = self.run_agent(&model, &dirs, recorder).await;
        let problems = model.report().problems;
        model.stop().await;
        // A problem of the model is the cause of other failures, so it is reported instead of them.
        if !problems.is_empty() {
            bail!("{}", problems.join("; "));
        }
        result?;
        self.recording.encode().context("cannot encode the recording")
    }

    /// Starts the agent and plays the scenario. The agent has exited when this returns.
    async fn run_agent(&mut self, model: &ScriptedModel, dirs: &AgentDirs, recorder: PathBuf) -> Result<()> {
        let recording = self.recording.clone();
        let model_url = model.url();
        let context = HostContext {
            scenario: self.scenario,
            program: &self.agent.program,
            version: &self.agent.version,
            dirs,
            recording: &recording,
            model_url: &model_url,
            recorder,
        };
        "at the start of the agent".clone_into(&mut self.step);
        let mut host = with_timeout(Host::start(self.agent.agent, context)).await?;
        let result = self.play_turns(&mut host, model, dirs).await;
        if result.is_err() {
            // Frees the ports for the next scenario.
            host.signal(Signal::KILL)?;
            while !matches!(with_timeout(host.next()).await, Ok(HostEvent::Exited) | Err(_)) {}
        }
        result
    }

    /// Plays all turns, and shuts the agent down.
    async fn play_turns(&mut self, host: &mut Host<'_>, model: &ScriptedModel, dirs: &AgentDirs) -> Result<()> {
        for (index, turn) in self.scenario.turns.iter().enumerate() {
            self.play_turn(host, model, dirs, index, turn).await?;
        }
        while let Some(session) = self.open_sessions.first().cloned() {
            self.step = format!("at the end, waiting for the turn of session {session:?}");
            match with_timeout(host.next()).await? {
                HostEvent::TurnEnded { session } => {
                    self.open_sessions.remove(&session);
                    with_timeout(host.drain()).await?;
                }
                HostEvent::Exited => bail!("the agent exited unexpectedly"),
                HostEvent::Text | HostEvent::Retry | HostEvent::Request(_) => {}
            }
        }
        "at the end".clone_into(&mut self.step);
        if !host.has_exited() {
            with_timeout(host.shutdown()).await?;
        }
        Ok(())
    }

    async fn play_turn(
        &mut self,
        host: &mut Host<'_>,
        model: &ScriptedModel,
        dirs: &AgentDirs,
        index: usize,
        turn: &Turn,
    ) -> Result<()> {
        let number = index + 1;
        if turn.resume {
            self.step = format!("in turn {number}, restarting the agent");
            with_timeout(host.resume(&turn.session)).await?;
        }
        if self.messages_ahead > 0 {
            // The prompt was sent in an earlier turn, which also waited for the end of this one.
            self.messages_ahead -= 1;
            return Ok(());
        }
        self.step = format!("in turn {number}, sending {:?}", turn.prompt);
        send_prompt(host, dirs, turn).await?;
        if turn.overlaps_next {
            self.step = format!("in turn {number}, waiting for its first text");
            self.open_sessions.insert(turn.session.clone());
            return wait_for_text(host).await;
        }
        let mut answers: Vec<&HostAnswer> = turn.answers.iter().collect();
        let mut actions: Vec<&TriggeredAction> = turn.actions.iter().collect();
        loop {
            self.step = match actions.first() {
                Some(action) => format!("in turn {number}, waiting for {:?} or the end of the turn", action.trigger),
                None => format!("in turn {number}, waiting for its end"),
            };
            let next = actions.first().copied();
            let event = tokio::select! {
                event = with_timeout(host.next()) => Some(event?),
                () = wait_for_file(dirs, next) => None,
            };
            if let Some(action) = next.filter(|action| is_triggered(action, event.as_ref())) {
                actions.remove(0);
                self.step = format!("in turn {number}, doing {:?}", action.action);
                self.act(host, dirs, action, index).await?;
                continue;
            }
            match event {
                None | Some(HostEvent::Text | HostEvent::Retry) => {}
                Some(HostEvent::Request(request)) => {
                    if answers.is_empty() {
                        bail!("the scenario has no answer left for the agent's request ({})", request.description);
                    }
                    let answer = answers.remove(0);
                    self.step = format!("in turn {number}, answering {answer:?} to {}", request.description);
                    with_timeout(host.answer(&request, answer)).await?;
                }
                Some(HostEvent::TurnEnded { session }) => {
                    with_timeout(host.drain()).await?;
                    model.end_turn(&session);
                    self.open_sessions.remove(&session);
                    // A message that was sent meanwhile may be part of the ended turn, or a turn of its own.
                    let mut sent_turns = index + 1..=index + self.messages_ahead;
                    if session == turn.session && sent_turns.all(|turn| model.has_played_turn(turn)) {
                        return Ok(());
                    }
                }
                Some(HostEvent::Exited) => {
                    let ends_agent = |action: &TriggeredAction| {
                        matches!(action.action, HostAction::Kill | HostAction::Terminate | HostAction::CloseInput)
                    };
                    if turn.actions.iter().any(ends_agent) {
                        return Ok(());
                    }
                    bail!("the agent exited unexpectedly");
                }
            }
        }
    }

    async fn act(
        &mut self,
        host: &mut Host<'_>,
        dirs: &AgentDirs,
        action: &TriggeredAction,
        index: usize,
    ) -> Result<()> {
        match action.action {
            HostAction::Interrupt => with_timeout(host.interrupt(&self.scenario.turns[index].session)).await,
            HostAction::Kill => host.signal(Signal::KILL),
            HostAction::Terminate => host.signal(Signal::TERM),
            HostAction::CloseInput => {
                host.close_input();
                Ok(())
            }
            HostAction::SendMessage => {
                self.messages_ahead += 1;
                let next =
                    self.scenario.turns.get(index + self.messages_ahead).context("the scenario has no next turn")?;
                send_prompt(host, dirs, next).await
            }
        }
    }
}

/// Whether an event triggers an action. `None` means that the file of the action exists.
fn is_triggered(action: &TriggeredAction, event: Option<&HostEvent>) -> bool {
    match event {
        None => true,
        Some(HostEvent::Text) => action.trigger == Trigger::Text,
        Some(HostEvent::Request(_)) => action.trigger == Trigger::Request,
        Some(HostEvent::Retry) => action.trigger == Trigger::Retry,
        Some(_) => false,
    }
}

/// Sends the prompt of a turn with its attachments.
async fn send_prompt(host: &mut Host<'_>, dirs: &AgentDirs, turn: &Turn) -> Result<()> {
    let files: Result<Vec<AttachedFile>> = turn.attachments.iter().map(|name| AttachedFile::read(dirs, name)).collect();
    with_timeout(host.send_message(&turn.session, &turn.prompt, &files?)).await
}

async fn wait_for_text(host: &mut Host<'_>) -> Result<()> {
    loop {
        match with_timeout(host.next()).await? {
            HostEvent::Text => return Ok(()),
            HostEvent::Retry => {}
            HostEvent::Request(request) => {
                bail!("the agent made a request ({}) before its first text", request.description);
            }
            HostEvent::TurnEnded { .. } | HostEvent::Exited => bail!("the turn ended before its first text"),
        }
    }
}

/// Runs a step with [`STEP_TIMEOUT`].
async fn with_timeout<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(STEP_TIMEOUT, step).await {
        Ok(result) => result,
        Err(_) => bail!("timeout: nothing happened for {} s", STEP_TIMEOUT.as_secs()),
    }
}

/// Waits until the file of an action exists. Never returns if the action does not wait for a file.
async fn wait_for_file(dirs: &AgentDirs, action: Option<&TriggeredAction>) {
    let Some(TriggeredAction { trigger: Trigger::File(name), .. }) = action else {
        return std::future::pending().await;
    };
    let file = dirs.workspace.join(name);
    while !file.exists() {
        tokio::time::sleep(FILE_POLL_INTERVAL).await;
    }
}
