//! Amp: one process per turn.
//!
//! Its thread lives on Amp's server, and `amp threads continue` goes on with it in another process. A turn's message is
//! written to its standard input where the installed version reads messages there, and is an argument of the command
//! line otherwise. What it may do is decided by its own rules before a turn begins; it asks nothing on the way. What is
//! sent is made by [`interlingua_protocol::amp`].

mod flags;
mod help;
mod mcp_config;
mod prompt;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use interlingua_convert::{Agent, Failure, Input, Launch};
use interlingua_protocol::amp::read_thread_id;
use interlingua_schema::{ErrorCode, Message};

use super::installed::InstalledAgent;
use crate::agents::{Mode, Models};
use crate::driver::{CommandReceiver, DriverCommand, OutputSender, ServeError, ServeOutcome, SessionSpec};
use crate::error::Refusal;
use crate::install::{Found, Installation, LaunchConfig};
use crate::process::{Process, Program, forward};
use crate::variables::variables;
use help::Help;
use mcp_config::McpConfig;
use prompt::Delivery;

/// Variables of the server's environment that Amp gets.
const INHERITED_VARIABLES: [&str; 2] = ["AMP_*", "ANTHROPIC_API_KEY"];
/// Variables that are set for every process: an installed agent does not update itself.
const FIXED_VARIABLES: [(&str, &str); 1] = [("AMP_SKIP_UPDATE_CHECK", "1")];
/// The variable without which it waits for somebody to log in.
const KEY: &str = "AMP_API_KEY";

/// Amp.
pub(crate) struct AmpAgent {
    installation: Installation,
    /// What programs say of themselves.
    help: Mutex<HashMap<PathBuf, Help>>,
}

impl AmpAgent {
    pub(crate) fn new(machine: &LaunchConfig) -> Self {
        Self { installation: Installation::new(Self::AGENT, machine), help: Mutex::default() }
    }

    async fn run(
        &self,
        spec: SessionSpec,
        mut commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let mut thread = spec.native_session_id.as_ref().map(|native| native.as_str().to_owned());
        let mut waiting = None;
        loop {
            let message = match waiting.take() {
                Some(message) => message,
                None => match commands.next().await {
                    Some(DriverCommand::SendMessage(message)) => message,
                    // It asks nothing, and between turns there is nothing to stop.
                    Some(_) => continue,
                    None => return Ok(ServeOutcome::Stopped),
                },
            };
            if !self.has_key(&spec) {
                let words = format!("Amp has no key: set {KEY} in the server's environment or in the session's `env`");
                output.send_failure(Failure::new(ErrorCode::Auth, words)).await;
                continue;
            }
            let Some(mut turn) = self.begin(&spec, thread.as_deref(), &message, &output).await? else { continue };
            match turn.run(&mut commands, &output, &mut thread).await {
                TurnEnd::ProcessExited(message) => waiting = message,
                TurnEnd::SessionLeft => {
                    turn.process.leave(&output).await;
                    return Ok(ServeOutcome::Stopped);
                }
            }
        }
    }

    /// Starts the process of a turn. `None` if the message cannot be delivered, which the wire then knows.
    async fn begin(
        &self,
        spec: &SessionSpec,
        thread: Option<&str>,
        message: &Message,
        output: &OutputSender,
    ) -> Result<Option<Turn>, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let env = variables(&INHERITED_VARIABLES, &FIXED_VARIABLES, &spec.env);
        let help = self.help(&found, &env).await;
        let delivery = match Delivery::read(message, &help).await {
            Ok(delivery) => delivery,
            Err(reason) => {
                output.send_failure(Failure::new(ErrorCode::InvalidRequest, reason)).await;
                return Ok(None);
            }
        };
        let mcp = McpConfig::write(&spec.mcp).map_err(|error| ServeError::Unavailable(error.to_string()))?;
        let args = flags::command_line(spec, thread, &delivery, mcp.as_ref(), &help);
        let words = std::iter::once(Self::AGENT.descriptor().program.to_owned()).chain(args.iter().cloned()).collect();
        let program = Program { path: found.path, args, env, directory: spec.directory.clone() };
        let started = self.installation.supervisor().start(program).await;
        let mut process = started.map_err(|error| ServeError::Unavailable(error.to_string()))?;
        output.send_launch(Launch::new(found.version, words)).await;
        if let Delivery::Line(line) = &delivery {
            output.send(Input::Sent(line.clone())).await;
            process.send(line);
        }
        process.close_input();
        output.send(Input::Close).await;
        Ok(Some(Turn { process, _mcp: mcp }))
    }

    /// What the program can be told, asked once. A program that does not say is told only what every version knows.
    async fn help(&self, found: &Found, env: &[(std::ffi::OsString, std::ffi::OsString)]) -> Help {
        let known = |all: &Mutex<HashMap<PathBuf, Help>>| {
            all.lock().unwrap_or_else(PoisonError::into_inner).get(&found.path).cloned()
        };
        if let Some(help) = known(&self.help) {
            return help;
        }
        let said = self.installation.says(&found.path, "--help", env.to_vec()).await;
        let Some(help) = said.as_deref().map(Help::read) else {
            tracing::warn!("{} does not say what it can do; it is told the least", found.path.display());
            return Help::default();
        };
        self.help.lock().unwrap_or_else(PoisonError::into_inner).insert(found.path.clone(), help.clone());
        help
    }

    /// Whether it can start without asking somebody to log in.
    fn has_key(&self, spec: &SessionSpec) -> bool {
        let of_session = spec.env.get(KEY).is_some_and(|key| !key.is_empty());
        let is_enough = |name: &String| {
            name == KEY || Self::AGENT.descriptor().login_files.iter().any(|login| login.command == name)
        };
        let of_server = self.installation.status().credentials.iter().any(is_enough);
        of_session || of_server
    }
}

/// A turn with its process.
struct Turn {
    process: Process,
    /// The process reads it when it starts.
    _mcp: Option<McpConfig>,
}

/// Why a turn is no longer listened to.
enum TurnEnd {
    /// The process has exited. A message may have come meanwhile.
    ProcessExited(Option<Message>),
    /// The session lets go.
    SessionLeft,
}

impl Turn {
    /// Forwards what the process prints until it exits, or the session lets go.
    async fn run(
        &mut self,
        commands: &mut CommandReceiver,
        output: &OutputSender,
        thread: &mut Option<String>,
    ) -> TurnEnd {
        let mut waiting = None;
        loop {
            let inputs = tokio::select! {
                biased;
                command = commands.next() => {
                    match command {
                        None => return TurnEnd::SessionLeft,
                        Some(DriverCommand::SendMessage(message)) => waiting = Some(message),
                        Some(DriverCommand::Interrupt) if waiting.take().is_some() => {
                            output.send_failure(Failure::new(ErrorCode::AgentError, "interrupted before it began")).await;
                        }
                        Some(DriverCommand::Interrupt) => self.process.interrupt().await,
                        // It asks nothing.
                        Some(DriverCommand::ReplyPermission { .. } | DriverCommand::AnswerQuestions { .. } | DriverCommand::RejectQuestions { .. }) => {}
                    }
                    continue;
                }
                inputs = self.process.read() => inputs,
            };
            if thread.is_none() {
                *thread = inputs.iter().find_map(|input| match input {
                    Input::Received(line) => read_thread_id(line),
                    _ => None,
                });
            }
            if forward(inputs, output).await {
                return TurnEnd::ProcessExited(waiting);
            }
        }
    }
}

impl InstalledAgent for AmpAgent {
    const AGENT: Agent = Agent::Amp;
    /// A process per turn: between turns there is nothing to keep.
    const IDLE_TIMEOUT: Duration = Duration::ZERO;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        flags::check(spec)
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(flags::modes())
    }

    /// The mode decides the model.
    async fn models(&self) -> Result<Models, ServeError> {
        Ok(Models::default())
    }

    async fn serve(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        self.run(spec, commands, output).await
    }
}
