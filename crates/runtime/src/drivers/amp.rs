//! Amp: one process per turn.
//!
//! The thread is stored on Amp's server, and `amp threads continue` continues it in another process. If the installed
//! version reads messages from standard input, the message of a turn is written there; otherwise it is an argument of
//! the command line. Amp's own rules decide before the turn what it may do; it never asks.
//! [`interlingua_protocol::amp`] builds what is sent.

mod mcp_config;
mod options;
mod prompt;
mod supported_flags;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use interlingua_convert::{Agent, Failure, Input, Launch};
use interlingua_protocol::amp::read_thread_id;
use interlingua_schema::{ErrorCode, Message};

use super::INTERRUPTED_BEFORE_START;
use super::installed::InstalledAgent;
use crate::agents::{Mode, Models};
use crate::driver::{CommandReceiver, DriverCommand, OutputSender, ServeError, ServeOutcome, SessionSpec};
use crate::error::Refusal;
use crate::install::{Installation, InstalledProgram, LaunchConfig};
use crate::process::{Process, Program, forward};
use crate::process_environment::process_environment;
use mcp_config::McpConfig;
use prompt::Delivery;
use supported_flags::SupportedFlags;

/// Variables of the server's environment that Amp inherits.
const INHERITED_VARIABLES: [&str; 2] = ["AMP_*", "ANTHROPIC_API_KEY"];
/// Variables that are set for every process. They keep an installed agent from updating itself.
const FIXED_VARIABLES: [(&str, &str); 1] = [("AMP_SKIP_UPDATE_CHECK", "1")];
/// The variable with the API key. Without a key or login, Amp waits for a login.
const API_KEY: &str = "AMP_API_KEY";

/// Amp.
pub(crate) struct AmpAgent {
    installation: Installation,
    /// Folder for the MCP configurations of running turns.
    mcp_folder: PathBuf,
    /// The flags that programs support.
    supported_flags: Mutex<HashMap<PathBuf, SupportedFlags>>,
}

impl AmpAgent {
    pub(crate) fn new(config: &LaunchConfig) -> Self {
        let mcp_folder = config.runtime_folder().join(Self::AGENT.id());
        McpConfig::sweep(&mcp_folder);
        Self { installation: Installation::new(Self::AGENT, config), mcp_folder, supported_flags: Mutex::default() }
    }

    async fn run(
        &self,
        spec: SessionSpec,
        mut commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let mut thread = spec.native_session_id.as_ref().map(|native| native.as_str().to_owned());
        let mut queued = None;
        loop {
            let message = match queued.take() {
                Some(message) => message,
                None => match commands.next().await {
                    Some(DriverCommand::SendMessage(message)) => message,
                    // Amp never asks, and between turns there is nothing to interrupt.
                    Some(_) => continue,
                    None => return Ok(ServeOutcome::Stopped),
                },
            };
            if !self.has_credentials(&spec) {
                let reason =
                    format!("Amp has no API key: set {API_KEY} in the server's environment or in the session's `env`");
                output.send_failure(Failure::new(ErrorCode::Auth, reason)).await;
                continue;
            }
            let Some(mut turn) = self.start_turn(&spec, thread.as_deref(), &message, &output).await? else { continue };
            match turn.run(&mut commands, &output, &mut thread).await {
                TurnEnd::ProcessExited(message) => queued = message,
                TurnEnd::ConnectionClosed => {
                    turn.process.shutdown(&output).await;
                    return Ok(ServeOutcome::Stopped);
                }
            }
        }
    }

    /// Starts the process of a turn. `None` if the message cannot be delivered, which is then reported as a failure.
    async fn start_turn(
        &self,
        spec: &SessionSpec,
        thread: Option<&str>,
        message: &Message,
        output: &OutputSender,
    ) -> Result<Option<Turn>, ServeError> {
        let installed = self.installation.find_program(spec.agent_version.as_deref())?;
        let env = process_environment(&INHERITED_VARIABLES, &FIXED_VARIABLES, &spec.env);
        let flags = self.supported_flags(&installed, &env).await;
        let delivery = match Delivery::new(message, &flags).await {
            Ok(delivery) => delivery,
            Err(reason) => {
                output.send_failure(Failure::new(ErrorCode::InvalidRequest, reason)).await;
                return Ok(None);
            }
        };
        let mcp = McpConfig::write(&self.mcp_folder, &spec.mcp)
            .map_err(|error| ServeError::Unavailable(format!("cannot write the MCP configuration for Amp: {error}")))?;
        let args = options::command_line(spec, thread, &delivery, mcp.as_ref(), &flags);
        let command_line =
            std::iter::once(Self::AGENT.descriptor().program.to_owned()).chain(args.iter().cloned()).collect();
        let program = Program { path: installed.path, args, env, directory: spec.directory.clone() };
        let started = self.installation.supervisor().start(program).await;
        let mut process = started.map_err(|error| ServeError::Unavailable(error.to_string()))?;
        output.send_launch(Launch::new(installed.version, command_line)).await;
        if let Delivery::Line(line) = &delivery {
            output.send(Input::Sent(line.clone())).await;
            process.send(line);
        }
        process.close_stdin();
        output.send(Input::Close).await;
        Ok(Some(Turn { process, _mcp_config: mcp }))
    }

    /// The flags that a program supports. It is asked once, by `--help`. If it does not answer, only flags that every
    /// version supports are used.
    async fn supported_flags(
        &self,
        installed: &InstalledProgram,
        env: &[(std::ffi::OsString, std::ffi::OsString)],
    ) -> SupportedFlags {
        let lock = || self.supported_flags.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&installed.path).cloned();
        if let Some(flags) = known {
            return flags;
        }
        let help = self.installation.capture_output(&installed.path, "--help", env.to_vec()).await;
        let Some(flags) = help.as_deref().map(SupportedFlags::parse) else {
            let program = installed.path.display();
            tracing::warn!(agent = "amp", %program, "`--help` failed; using only flags that every version supports");
            return SupportedFlags::default();
        };
        lock().insert(installed.path.clone(), flags.clone());
        flags
    }

    /// Whether Amp can start without asking for a login.
    fn has_credentials(&self, spec: &SessionSpec) -> bool {
        let has_session_key = spec.env.get(API_KEY).is_some_and(|key| !key.is_empty());
        let is_sufficient = |name: &String| {
            name == API_KEY || Self::AGENT.descriptor().login_files.iter().any(|login| login.command == name)
        };
        has_session_key || self.installation.status().credentials.iter().any(is_sufficient)
    }
}

/// A running turn with its process.
struct Turn {
    process: Process,
    /// Kept until the process has read it.
    _mcp_config: Option<McpConfig>,
}

/// Why the driver stops serving a turn.
enum TurnEnd {
    /// The process has exited. The next message may have arrived meanwhile.
    ProcessExited(Option<Message>),
    /// The session closed the connection.
    ConnectionClosed,
}

impl Turn {
    /// Forwards what the process prints until it exits, or the session closes the connection.
    async fn run(
        &mut self,
        commands: &mut CommandReceiver,
        output: &OutputSender,
        thread: &mut Option<String>,
    ) -> TurnEnd {
        let mut queued = None;
        loop {
            let inputs = tokio::select! {
                biased;
                command = commands.next() => {
                    match command {
                        None => return TurnEnd::ConnectionClosed,
                        Some(DriverCommand::SendMessage(message)) => queued = Some(message),
                        Some(DriverCommand::Interrupt) if queued.take().is_some() => {
                            output.send_failure(Failure::new(ErrorCode::AgentError, INTERRUPTED_BEFORE_START)).await;
                        }
                        Some(DriverCommand::Interrupt) => self.process.interrupt().await,
                        // Amp never asks.
                        Some(
                            DriverCommand::ReplyPermission { .. }
                            | DriverCommand::AnswerQuestions { .. }
                            | DriverCommand::RejectQuestions { .. },
                        ) => {}
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
                return TurnEnd::ProcessExited(queued);
            }
        }
    }
}

impl InstalledAgent for AmpAgent {
    const AGENT: Agent = Agent::Amp;
    const DEFAULT_MODE: Option<&'static str> = Some(options::BUILD);
    /// A process per turn: between turns there is nothing to keep.
    const IDLE_TIMEOUT: Duration = Duration::ZERO;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        options::check(spec)
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(options::modes())
    }

    /// None: the mode decides the model.
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
