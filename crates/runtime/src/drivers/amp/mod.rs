//! Amp: one process per turn.
//!
//! Its thread lives on Amp's server, and `amp threads continue` goes on with it in another process. A turn's message is
//! its standard input where the installed version can read it there, else a word of the command line. What it may do is
//! decided by its own rules before a turn begins; it asks nothing on the way.

mod flags;
mod help;
mod mcp_config;
mod prompt;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlingua_convert::{Agent, Converter, Failure, Launch};
use interlingua_schema::{ErrorCode, Message};
use serde::Deserialize;

use crate::agents::{AgentStatus, Install, Mode, Models};
use crate::attached;
use crate::driver::{Driver, Order, Orders, Parting, ServeError, SessionSpec, Task, Wire};
use crate::error::Refusal;
use crate::install::{AMP, Found, Installation, Machine};
use crate::process::{Output, Process, Program};
use crate::variables::variables;
use crate::wire::Gathered;
use help::Help;
use mcp_config::McpConfig;
use prompt::Prompt;

/// What of the server's environment is Amp's.
const OWN: [&str; 2] = ["AMP_*", "ANTHROPIC_API_KEY"];
/// An agent that was installed stays as it is.
const SET: [(&str, &str); 1] = [("AMP_SKIP_UPDATE_CHECK", "1")];
/// The variable without which it waits for somebody to log in.
const KEY: &str = "AMP_API_KEY";

/// Drives Amp.
pub(crate) struct AmpDriver {
    installation: Installation,
    /// What programs say of themselves.
    help: Mutex<HashMap<PathBuf, Help>>,
}

impl AmpDriver {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self { installation: Installation::new(&AMP, machine), help: Mutex::default() }
    }

    async fn run(self: Arc<Self>, spec: SessionSpec, mut orders: Orders, wire: Wire) -> Result<Parting, ServeError> {
        let mut thread = spec.native.as_ref().map(|native| native.as_str().to_owned());
        let mut waiting = None;
        loop {
            let message = match waiting.take() {
                Some(message) => message,
                None => match orders.next().await {
                    Some(Order::Message(message)) => message,
                    // It asks nothing, and between turns there is nothing to stop.
                    Some(_) => continue,
                    None => return Ok(Parting::Left),
                },
            };
            if !self.has_key(&spec) {
                let words = format!("Amp has no key: set {KEY} in the server's environment or in the session's `env`");
                wire.failed(Failure::new(ErrorCode::Auth, words)).await;
                continue;
            }
            let Some(mut turn) = self.begin(&spec, thread.as_deref(), &message, &wire).await? else { continue };
            match turn.go_on(&mut orders, &wire, &mut thread).await {
                Left::ByAgent(message) => waiting = message,
                Left::BySession => {
                    turn.process.leave(&wire).await;
                    return Ok(Parting::Left);
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
        wire: &Wire,
    ) -> Result<Option<Turn>, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let env = variables(&OWN, &SET, &spec.env);
        let help = self.help(&found, &env).await;
        let prompt = match Prompt::of(message, &help).await {
            Ok(prompt) => prompt,
            Err(reason) => {
                wire.failed(Failure::new(ErrorCode::InvalidRequest, reason)).await;
                return Ok(None);
            }
        };
        let mcp = McpConfig::of(&spec.mcp).map_err(|error| ServeError::Unavailable(error.to_string()))?;
        let args = flags::of(spec, thread, &prompt, mcp.as_ref(), &help);
        let words = std::iter::once(AMP.agent.to_owned()).chain(args.iter().cloned()).collect();
        let program = Program { path: found.path, args, env, directory: spec.directory.clone() };
        let started = self.installation.supervisor().start(program).await;
        let mut process = started.map_err(|error| ServeError::Unavailable(error.to_string()))?;
        wire.launched(Launch { version: found.version, argv: words, prompt: None }).await;
        if let Prompt::Line(line) = &prompt {
            wire.sent(line.as_str()).await;
            process.send(line);
        }
        process.close_input();
        wire.closed().await;
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
        let is_enough = |name: &String| name == KEY || AMP.logins.iter().any(|(_, login)| login == name);
        let of_server = self.installation.status().credentials.iter().any(is_enough);
        of_session || of_server
    }
}

/// A turn, which is a process.
struct Turn {
    process: Process,
    /// Read by the process when it starts, and gone with the turn.
    _mcp: Option<McpConfig>,
}

/// Who had enough of a turn.
enum Left {
    /// The process, which is gone. A message may have come while it went.
    ByAgent(Option<Message>),
    /// The session lets go.
    BySession,
}

impl Turn {
    /// Listens until the process is gone, or the session lets go.
    async fn go_on(&mut self, orders: &mut Orders, wire: &Wire, thread: &mut Option<String>) -> Left {
        let mut waiting = None;
        loop {
            let output = tokio::select! {
                biased;
                order = orders.next() => {
                    match order {
                        None => return Left::BySession,
                        Some(Order::Message(message)) => waiting = Some(message),
                        Some(Order::Interrupt) if waiting.take().is_some() => {
                            wire.failed(Failure::new(ErrorCode::AgentError, "interrupted before it began")).await;
                        }
                        Some(Order::Interrupt) => self.process.interrupt().await,
                        // It asks nothing.
                        Some(Order::Permission { .. } | Order::Answer { .. } | Order::Reject { .. }) => {}
                    }
                    continue;
                }
                output = self.process.hear() => output,
            };
            if heard(output, wire, thread).await {
                return Left::ByAgent(waiting);
            }
        }
    }
}

/// Hands over what the process said together, and takes note of the thread. True if the process is gone.
async fn heard(output: Vec<Output>, wire: &Wire, thread: &mut Option<String>) -> bool {
    let mut gathered = Gathered::default();
    let mut is_gone = false;
    for output in output {
        if let Output::Line(line) = &output
            && thread.is_none()
        {
            *thread = thread_of(line);
        }
        is_gone |= output.gather(&mut gathered);
    }
    wire.hand_over(&mut gathered).await;
    is_gone
}

/// The thread that a line is about.
fn thread_of(line: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Line {
        session_id: String,
    }
    serde_json::from_str::<Line>(line).ok().map(|line| line.session_id).filter(|id| !id.is_empty())
}

impl Driver for AmpDriver {
    fn id(&self) -> &'static str {
        AMP.agent
    }

    fn converter(&self) -> Box<dyn Converter> {
        Agent::Amp.converter()
    }

    fn status(&self) -> AgentStatus {
        self.installation.status()
    }

    fn look(self: Arc<Self>) -> Task<()> {
        Box::pin(async move { self.installation.look().await })
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        self.installation.check_version(spec)?;
        flags::check(spec)
    }

    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        attached::check(message)
    }

    fn modes(self: Arc<Self>) -> Task<Result<Vec<Mode>, ServeError>> {
        Box::pin(std::future::ready(Ok(flags::modes())))
    }

    /// The mode decides the model.
    fn models(self: Arc<Self>) -> Task<Result<Models, ServeError>> {
        Box::pin(std::future::ready(Ok(Models::default())))
    }

    fn install(self: Arc<Self>, install: Install) -> Task<Result<(), String>> {
        Box::pin(async move { self.installation.install(install, |_| {}).await.map(drop) })
    }

    /// A process per turn: between turns there is nothing to keep.
    fn linger(&self) -> Duration {
        Duration::ZERO
    }

    fn serve(self: Arc<Self>, spec: SessionSpec, orders: Orders, wire: Wire) -> Task<Result<Parting, ServeError>> {
        Box::pin(self.run(spec, orders, wire))
    }
}
