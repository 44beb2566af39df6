//! Replays one process to its end: drives the state, the output and the clock.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agent_protocol::{AgentProtocol as _, SyntheticOutput};
use crate::faulty_output::{FaultEffect, FaultyOutput, exit_process};
use crate::pacing::{Delay, Pacer};
use crate::script::{Action, Channel};
use crate::source::SavedState;
use crate::state::{Next, ReplayState};
use crate::transport::Incoming;
use crate::{Agent, ReplayOptions};

/// Exit code of a process that was interrupted by SIGINT, as shells report it.
const SIGINT_EXIT: i32 = 130;
/// Exit code of a process that was terminated by SIGTERM, as shells report it.
const SIGTERM_EXIT: i32 = 143;

/// The state file, and the number of the process that writes to it.
#[derive(Debug)]
pub(crate) struct StateFile {
    pub(crate) path: PathBuf,
    pub(crate) process: usize,
}

/// Replays one process.
#[derive(Debug)]
pub(crate) struct Player {
    agent: Agent,
    state: ReplayState,
    output: FaultyOutput,
    pacer: Pacer,
    incoming: UnboundedReceiver<Incoming>,
    options: ReplayOptions,
    state_file: Option<StateFile>,
    journal: Option<File>,
}

impl Player {
    pub(crate) fn new(
        agent: Agent,
        state: ReplayState,
        output: FaultyOutput,
        incoming: UnboundedReceiver<Incoming>,
        options: ReplayOptions,
        state_file: Option<StateFile>,
    ) -> io::Result<Self> {
        let start_ms = state.upcoming_step().filter(|_| state.position() > 0).map_or(0, |step| step.time_ms);
        let pacer = Pacer::new(&options, start_ms)?;
        let journal = match &options.journal_file {
            Some(path) => Some(File::options().create(true).append(true).open(path)?),
            None => None,
        };
        Ok(Self { agent, state, output, pacer, incoming, options, state_file, journal })
    }

    /// Replays to the end and returns the exit code of the process.
    ///
    /// The methods below return the exit code as soon as the process has to exit, and `None` while it runs.
    pub(crate) async fn run(mut self) -> i32 {
        let effect = self.output.start();
        if let Some(code) = self.apply_fault(effect).await {
            return code;
        }
        loop {
            while let Ok(incoming) = self.incoming.try_recv() {
                if let Some(code) = self.receive(incoming).await {
                    return code;
                }
            }
            let upcoming = self.state.upcoming_step().filter(|step| matches!(step.action, Action::Send(_)));
            let delay = upcoming.map_or(Delay::None, |step| self.pacer.delay(step.time_ms));
            let ended = match delay {
                Delay::None => {
                    let next = self.state.next();
                    self.execute(next).await
                }
                Delay::Until(time) => self.pause(Some(time)).await,
                Delay::Step => self.pause(None).await,
            };
            if let Some(code) = ended {
                return code;
            }
        }
    }

    /// Does what is next.
    async fn execute(&mut self, next: Next) -> Option<i32> {
        match next {
            Next::Send { step, to } => self.send_recorded(step, to.as_deref()).await,
            Next::Received { step } => {
                let time_ms = self.state.step(step).time_ms;
                self.pacer.observe(time_ms);
                self.log(&format!("received step {}", self.state.step(step).record_number));
                if let Some(key) = self.state.pending_key(step).map(str::to_owned) {
                    self.output.transport().accept_request(&key, self.state.reply_status(step));
                }
                self.save_position();
                None
            }
            Next::Skipped => None,
            Next::SendSynthetic(outputs) => self.send_synthetic(outputs).await,
            Next::Wait { may_time_out } => self.wait(may_time_out).await,
            Next::Exit(code) => {
                self.output.transport().flush().await;
                self.save_position();
                self.pacer.report("exit");
                Some(code.unwrap_or(0))
            }
            Next::Finished if self.state.is_one_shot() || !self.state.has_input() => {
                self.output.transport().flush().await;
                self.pacer.report("exit");
                Some(0)
            }
            Next::Finished => self.wait_for_host("over").await,
        }
    }

    /// Sends a recorded line.
    async fn send_recorded(&mut self, step: usize, to: Option<&str>) -> Option<i32> {
        let recorded = self.state.step(step);
        let (time_ms, number) = (recorded.time_ms, recorded.record_number);
        let Action::Send(line) = &recorded.action else { return None };
        let channel = line.channel;
        let mut text = self.state.ids().rewrite(&line.text);
        if let Some(to) = to {
            text = self.agent.set_answer_key(&text, to).into();
        }
        let effect = self.output.send(channel, &text, to);
        self.pacer.observe(time_ms);
        if self.options.step_socket.is_some() {
            self.output.transport().flush().await;
            let kind = match channel {
                Channel::Output => "recv",
                Channel::Stderr => "stderr",
                Channel::Reply(_) => "reply",
            };
            self.pacer.finish_step(&format!("{kind} {number}"));
        }
        self.apply_fault(effect).await
    }

    /// Sends what is not in the recording.
    async fn send_synthetic(&mut self, outputs: Vec<SyntheticOutput>) -> Option<i32> {
        if outputs.is_empty() {
            self.log("ignored a message that the recording does not have");
        }
        for output in outputs {
            self.log(&format!("sent synthetic {output:?}"));
            let effect = match output {
                SyntheticOutput::Line(line) => self.output.send(Channel::Output, &line, None),
                SyntheticOutput::Answer { to, status, body } => {
                    let channel = if self.agent == Agent::OpenCode { Channel::Reply(status) } else { Channel::Output };
                    self.output.send(channel, &body, Some(&to))
                }
                SyntheticOutput::Exit { stderr, code } => {
                    self.output.send(Channel::Stderr, &stderr, None);
                    FaultEffect::Exit(code)
                }
            };
            if let Some(code) = self.apply_fault(effect).await {
                return Some(code);
            }
        }
        None
    }

    /// Waits for the host, at most for the host timeout if `may_time_out`.
    async fn wait(&mut self, may_time_out: bool) -> Option<i32> {
        if !may_time_out {
            return self.wait_for_host("waiting").await;
        }
        self.output.transport().flush().await;
        match timeout(self.options.host_timeout, self.incoming.recv()).await {
            Ok(Some(incoming)) => self.receive(incoming).await,
            Ok(None) => self.receive(Incoming::EndOfInput).await,
            Err(_) => {
                self.log("host timeout: continuing without its message");
                match self.state.time_out() {
                    Some(next) => Box::pin(self.execute(next)).await,
                    None => None,
                }
            }
        }
    }

    /// Waits for the host. A step that is requested meanwhile is answered with `reason`, because there is no line.
    async fn wait_for_host(&mut self, reason: &str) -> Option<i32> {
        self.output.transport().flush().await;
        tokio::select! {
            incoming = self.incoming.recv() => self.receive(incoming.unwrap_or(Incoming::EndOfInput)).await,
            () = self.pacer.step_requested() => {
                let number = self.state.upcoming_step().map_or(0, |step| step.record_number);
                self.pacer.report(&format!("{reason} {number}"));
                None
            }
        }
    }

    /// Waits for a time or a requested step. Any message of the host ends the wait.
    async fn pause(&mut self, until: Option<Instant>) -> Option<i32> {
        self.output.transport().flush().await;
        tokio::select! {
            incoming = self.incoming.recv() => self.receive(incoming.unwrap_or(Incoming::EndOfInput)).await,
            () = async { match until { Some(time) => sleep_until(time).await, None => std::future::pending().await } } => None,
            () = self.pacer.step_requested() => None,
        }
    }

    /// Handles what came from the host.
    async fn receive(&mut self, incoming: Incoming) -> Option<i32> {
        match incoming {
            Incoming::Message(message) => {
                self.log(&format!("host: {}", message.meaning));
                self.state.push(message);
                None
            }
            Incoming::EndOfInput => {
                self.log("host: end of input");
                self.state.end_input();
                None
            }
            Incoming::Interrupt => self.handle_signal(SIGINT_EXIT).await,
            Incoming::Terminate => self.handle_signal(SIGTERM_EXIT).await,
        }
    }

    /// Handles a signal. Claude Code and Amp end their turn in order when they are interrupted, Amp also when it is
    /// terminated.
    async fn handle_signal(&mut self, code: i32) -> Option<i32> {
        let ends_turn = match self.agent {
            Agent::Amp => true,
            Agent::Claude => code == SIGINT_EXIT,
            Agent::Codex | Agent::OpenCode | Agent::Acp => false,
        };
        if !ends_turn {
            return Some(code);
        }
        let outputs = self.state.interrupt();
        let ended = self.send_synthetic(outputs).await;
        self.output.transport().flush().await;
        ended.or(Some(0))
    }

    /// Applies the effect of a fault.
    async fn apply_fault(&mut self, effect: FaultEffect) -> Option<i32> {
        match effect {
            FaultEffect::Continue => None,
            FaultEffect::Exit(code) => {
                self.output.transport().flush().await;
                Some(code)
            }
            FaultEffect::Hang { ignores_signals } => {
                self.output.transport().flush().await;
                loop {
                    match self.incoming.recv().await {
                        Some(Incoming::Interrupt) if !ignores_signals => return Some(SIGINT_EXIT),
                        Some(Incoming::Terminate) if !ignores_signals => return Some(SIGTERM_EXIT),
                        Some(Incoming::Interrupt | Incoming::Terminate) => self.log("ignored a signal"),
                        Some(Incoming::Message(_) | Incoming::EndOfInput) => {}
                        None => std::future::pending().await,
                    }
                }
            }
        }
    }

    /// Saves the position for the next process. If that fails, the process exits: a replay that stops is better than
    /// one that continues at the wrong place.
    fn save_position(&self) {
        if let Some(StateFile { path, process }) = &self.state_file {
            let saved = SavedState { process: *process, step: self.state.position(), ids: self.state.ids().clone() };
            if let Err(error) = saved.advance(path) {
                eprintln!("interlingua-replay: {error}");
                exit_process(2);
            }
        }
    }

    fn log(&mut self, entry: &str) {
        if let Some(journal) = &mut self.journal {
            // The journal only helps with debugging, so the replay continues if it cannot be written.
            let _ = writeln!(journal, "{entry}");
        }
    }
}
