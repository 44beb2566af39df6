//! One scenario on one agent, from its start to its end.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use interlingua_record::Target;
use interlingua_scripted_model::scenario::{HostAction, HostAnswer, Trigger, TriggeredAction, Turn};
use interlingua_scripted_model::{Scenario, ScriptedModel, TurnEndSource};
use interlingua_wirelog::Header;
use rustix::process::Signal;

use crate::host::{Attached, Host, Seen, Stage};
use crate::place::Place;
use crate::scrub::Scrubber;
use crate::tape::Tape;

/// Always free: there is nobody else in this network.
const MODEL_PORT: u16 = 8787;
/// Longer than any step takes on a busy machine, retries included.
const STEP: Duration = Duration::from_secs(60);

/// Why a scenario could not be played.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Where it was.
    step: String,
    /// What went wrong there.
    reason: String,
    /// The last that the agent said.
    said: Vec<String>,
    /// The last that it complained.
    stderr: Vec<String>,
}

impl Failure {
    /// The scenario was played, but the recording could not be kept.
    pub(crate) fn of_keeping(error: &anyhow::Error) -> Self {
        let step = "after the end, keeping the recording".to_owned();
        Self { step, reason: format!("{error:#}"), said: Vec::new(), stderr: Vec::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "failed {}: {}", self.step, self.reason)?;
        for (title, lines) in [("the agent last said", &self.said), ("its standard error ends", &self.stderr)] {
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
pub(crate) async fn play(target: &Target, scenario: &Scenario, tools: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let tape = Tape::new(Header::default(), Scrubber::default());
    let mut player =
        Player { target, scenario, tape, step: "before the start".to_owned(), said_ahead: 0, open: BTreeSet::new() };
    match player.run(tools).await {
        Ok(recording) => Ok(recording),
        Err(error) => {
            let (said, stderr) = player.tape.last();
            Err(Failure { step: player.step, reason: format!("{error:#}"), said, stderr })
        }
    }
}

struct Player<'a> {
    target: &'a Target,
    scenario: &'a Scenario,
    tape: Tape,
    /// What it is doing, for the report of a failure.
    step: String,
    /// How many of the following turns' messages were said already.
    said_ahead: usize,
    /// The sessions whose turn was left open.
    open: BTreeSet<String>,
}

impl Player<'_> {
    async fn run(&mut self, tools: Option<&Path>) -> Result<Vec<u8>> {
        let place = Place::make(self.scenario, tools)?;
        let recorder = std::env::current_exe().context("cannot tell which program this is")?;
        let names = vec![
            (recorder.display().to_string(), "/opt/host/tool".to_owned()),
            (self.target.program.display().to_string(), format!("/opt/agent/{}", self.target.agent)),
        ];
        let mut header = Header::new(self.target.agent.to_string());
        header.version = Some(self.target.version.clone());
        header.scenario = Some(self.scenario.name.clone());
        self.tape = Tape::new(header, Scrubber::new(names));
        let model =
            ScriptedModel::start(self.scenario.clone(), place.workspace.clone(), MODEL_PORT, TurnEndSource::Host)
                .await
                .context("cannot serve the model")?;
        let played = self.host(&model, &place, recorder).await;
        let problems = model.report().problems;
        model.stop().await;
        // What the model could not do is why the rest went wrong.
        if !problems.is_empty() {
            bail!("{}", problems.join("; "));
        }
        played?;
        self.tape.write().context("cannot write the recording")
    }

    /// Plays the scenario to the agent, which is gone afterwards.
    async fn host(&mut self, model: &ScriptedModel, place: &Place, recorder: PathBuf) -> Result<()> {
        let tape = self.tape.clone();
        let url = model.url();
        let stage = Stage {
            scenario: self.scenario,
            program: &self.target.program,
            version: &self.target.version,
            place,
            tape: &tape,
            model: &url,
            recorder,
        };
        "at the start of the agent".clone_into(&mut self.step);
        let mut host = limited(Host::start(self.target.agent, stage)).await?;
        let played = self.turns(&mut host, model, place).await;
        if played.is_err() {
            // The next scenario wants the same ports.
            host.signal(Signal::KILL)?;
            while !matches!(limited(host.next()).await, Ok(Seen::Gone) | Err(_)) {}
        }
        played
    }

    /// Plays all turns, and lets the agent end.
    async fn turns(&mut self, host: &mut Host<'_>, model: &ScriptedModel, place: &Place) -> Result<()> {
        for (index, turn) in self.scenario.turns.iter().enumerate() {
            self.turn(host, model, place, index, turn).await?;
        }
        while let Some(session) = self.open.first().cloned() {
            self.step = format!("at the end, waiting for the turn of session {session:?}");
            match limited(host.next()).await? {
                Seen::TurnOver { session } => {
                    self.open.remove(&session);
                    limited(host.settle()).await?;
                }
                Seen::Gone => bail!("the agent ended by itself"),
                Seen::Text | Seen::Retry | Seen::Asked(_) => {}
            }
        }
        "at the end".clone_into(&mut self.step);
        if !host.is_gone() {
            limited(host.end()).await?;
        }
        Ok(())
    }

    async fn turn(
        &mut self,
        host: &mut Host<'_>,
        model: &ScriptedModel,
        place: &Place,
        index: usize,
        turn: &Turn,
    ) -> Result<()> {
        let number = index + 1;
        if turn.resume {
            self.step = format!("in turn {number}, starting the agent anew");
            limited(host.resume(&turn.session)).await?;
        }
        if self.said_ahead > 0 {
            // It was said, and its end awaited, in an earlier turn.
            self.said_ahead -= 1;
            return Ok(());
        }
        self.step = format!("in turn {number}, saying {:?}", turn.prompt);
        say(host, place, turn).await?;
        if turn.overlaps_next {
            // It only has to be under way.
            self.step = format!("in turn {number}, waiting for its first words");
            self.open.insert(turn.session.clone());
            return until_text(host).await;
        }
        let mut answers: Vec<&HostAnswer> = turn.answers.iter().collect();
        let mut actions: Vec<&TriggeredAction> = turn.actions.iter().collect();
        loop {
            self.step = match actions.first() {
                Some(action) => format!("in turn {number}, waiting for {:?} or the end of the turn", action.trigger),
                None => format!("in turn {number}, waiting for its end"),
            };
            let next = actions.first().copied();
            let happened = tokio::select! {
                seen = limited(host.next()) => Some(seen?),
                () = file_is_there(place, next) => None,
            };
            if let Some(action) = next.filter(|action| triggers(action, happened.as_ref())) {
                actions.remove(0);
                self.step = format!("in turn {number}, doing {:?}", action.action);
                self.act(host, place, action, index).await?;
                continue;
            }
            match happened {
                None | Some(Seen::Text | Seen::Retry) => {}
                Some(Seen::Asked(ask)) => {
                    if answers.is_empty() {
                        bail!("the agent asks ({}) and the scenario has no answer left", ask.about);
                    }
                    let answer = answers.remove(0);
                    self.step = format!("in turn {number}, answering {answer:?} to {}", ask.about);
                    limited(host.answer(&ask, answer)).await?;
                }
                Some(Seen::TurnOver { session }) => {
                    limited(host.settle()).await?;
                    model.end_turn(&session);
                    self.open.remove(&session);
                    // What was said meanwhile may be part of the turn that is over, or a turn of its own.
                    let mut said = index + 1..=index + self.said_ahead;
                    if session == turn.session && said.all(|turn| model.has_played_turn(turn)) {
                        return Ok(());
                    }
                }
                Some(Seen::Gone) => {
                    if turn.actions.iter().any(|action| {
                        matches!(action.action, HostAction::Kill | HostAction::Terminate | HostAction::CloseInput)
                    }) {
                        return Ok(());
                    }
                    bail!("the agent ended by itself");
                }
            }
        }
    }

    async fn act(&mut self, host: &mut Host<'_>, place: &Place, action: &TriggeredAction, index: usize) -> Result<()> {
        match action.action {
            HostAction::Interrupt => limited(host.interrupt(&self.scenario.turns[index].session)).await,
            HostAction::Kill => host.signal(Signal::KILL),
            HostAction::Terminate => host.signal(Signal::TERM),
            HostAction::CloseInput => {
                host.close();
                Ok(())
            }
            HostAction::SendMessage => {
                self.said_ahead += 1;
                let next = self.scenario.turns.get(index + self.said_ahead).context("no turn follows")?;
                say(host, place, next).await
            }
        }
    }
}

/// Whether what happened (nothing that the host saw: what the action waited for) is what the action waits for.
fn triggers(action: &TriggeredAction, happened: Option<&Seen>) -> bool {
    match happened {
        None => true,
        Some(Seen::Text) => action.trigger == Trigger::Text,
        Some(Seen::Asked(_)) => action.trigger == Trigger::Request,
        Some(Seen::Retry) => action.trigger == Trigger::Retry,
        Some(_) => false,
    }
}

/// Says what the user says in a turn, with the files that go with it.
async fn say(host: &mut Host<'_>, place: &Place, turn: &Turn) -> Result<()> {
    let files: Result<Vec<Attached>> = turn.attachments.iter().map(|name| Attached::read(place, name)).collect();
    limited(host.say(&turn.session, &turn.prompt, &files?)).await
}

async fn until_text(host: &mut Host<'_>) -> Result<()> {
    loop {
        match limited(host.next()).await? {
            Seen::Text => return Ok(()),
            Seen::Retry => {}
            Seen::Asked(ask) => bail!("the agent asks ({}) in a turn that is left open", ask.about),
            Seen::TurnOver { .. } | Seen::Gone => bail!("the turn ended before it showed any words"),
        }
    }
}

/// Does something within the time that a step may take.
async fn limited<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    match tokio::time::timeout(STEP, step).await {
        Ok(result) => result,
        Err(_) => bail!("nothing happened for {} s", STEP.as_secs()),
    }
}

/// Comes back when the file is there that the action waits for; never if it waits for something else.
async fn file_is_there(place: &Place, action: Option<&TriggeredAction>) {
    let Some(TriggeredAction { trigger: Trigger::File(name), .. }) = action else {
        return std::future::pending().await;
    };
    let file = place.workspace.join(name);
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
