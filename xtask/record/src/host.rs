//! Hosts that drive the agents in their own protocols.
//!
//! The three hosts report the same events: the agent streams text, makes a request, ends a turn, exits. Everything else
//! that crosses the wire is only recorded.

mod attached_file;
mod claude;
mod codex;
mod opencode;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use interlingua_convert::Agent;
use interlingua_scripted_model::Scenario;
use interlingua_scripted_model::scenario::HostAnswer;
use rustix::process::Signal;
use serde_json::Value;

pub(crate) use self::attached_file::AttachedFile;
use crate::agent_dirs::AgentDirs;
use crate::recording_writer::RecordingWriter;

/// An event that a host reports.
#[derive(Debug)]
pub(crate) enum HostEvent {
    /// The agent has streamed some of the model's text.
    Text,
    /// The agent has reported a retry.
    Retry,
    /// The agent requests a permission or asks a question.
    Request(AgentRequest),
    /// The turn of a session has ended.
    TurnEnded {
        /// Name of the session in the scenario.
        session: String,
    },
    /// The agent has exited.
    Exited,
}

/// A permission or question request of the agent.
#[derive(Clone, Debug)]
pub(crate) struct AgentRequest {
    /// Short description for the report of a failure.
    pub(crate) description: String,
    /// The request as it came, or its id.
    pub(crate) payload: Value,
}

/// Everything that a host needs to run an agent.
pub(crate) struct HostContext<'a> {
    pub(crate) scenario: &'a Scenario,
    /// Path of the agent's program.
    pub(crate) program: &'a Path,
    /// Version of the agent.
    pub(crate) version: &'a str,
    pub(crate) dirs: &'a AgentDirs,
    pub(crate) recording: &'a RecordingWriter,
    /// URL of the scripted model.
    pub(crate) model_url: &'a str,
    /// Path of this program, which is also an MCP server.
    pub(crate) recorder: PathBuf,
}

/// The host of one agent.
pub(crate) enum Host<'a> {
    Claude(claude::Host<'a>),
    Codex(codex::Host<'a>),
    OpenCode(opencode::Host<'a>),
}

/// Evaluates the same expression for each kind of host.
macro_rules! dispatch {
    ($host:expr, $inner:ident => $do:expr) => {
        match $host {
            Host::Claude($inner) => $do,
            Host::Codex($inner) => $do,
            Host::OpenCode($inner) => $do,
        }
    };
}

impl<'a> Host<'a> {
    /// Starts the agent.
    pub(crate) async fn start(agent: Agent, context: HostContext<'a>) -> Result<Self> {
        Ok(match agent {
            Agent::Claude => Self::Claude(claude::Host::start(context).await?),
            Agent::Codex => Self::Codex(codex::Host::start(context).await?),
            Agent::OpenCode => Self::OpenCode(opencode::Host::start(context).await?),
            Agent::Amp => bail!("Amp's model runs on its own server"),
            Agent::Acp => bail!("the recordings of ACP agents are captured, not made by this program"),
        })
    }

    /// Sends a message with attached files in a session. The first message of a session creates it.
    pub(crate) async fn send_message(&mut self, session: &str, text: &str, files: &[AttachedFile]) -> Result<()> {
        dispatch!(self, host => host.send_message(session, text, files).await)
    }

    /// Answers a request of the agent.
    pub(crate) async fn answer(&mut self, request: &AgentRequest, answer: &HostAnswer) -> Result<()> {
        dispatch!(self, host => host.answer(request, answer).await)
    }

    /// Interrupts the turn of a session.
    pub(crate) async fn interrupt(&mut self, session: &str) -> Result<()> {
        dispatch!(self, host => host.interrupt(session).await)
    }

    /// Waits for the next event.
    pub(crate) async fn next(&mut self) -> Result<HostEvent> {
        dispatch!(self, host => host.next().await)
    }

    /// Waits for the messages that an agent sends after the end of a turn.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        match self {
            Self::Claude(_) | Self::Codex(_) => Ok(()),
            Self::OpenCode(host) => host.drain().await,
        }
    }

    /// Restarts the agent and resumes a session.
    pub(crate) async fn resume(&mut self, session: &str) -> Result<()> {
        dispatch!(self, host => host.resume(session).await)
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        dispatch!(self, host => host.process.signal(signal))
    }

    /// Closes the agent's input.
    pub(crate) fn close_input(&mut self) {
        dispatch!(self, host => host.process.close_input());
    }

    /// Whether the agent has exited.
    pub(crate) fn has_exited(&self) -> bool {
        dispatch!(self, host => host.process.has_exited())
    }

    /// Ends the agent in the way of its protocol and waits for its exit.
    pub(crate) async fn shutdown(&mut self) -> Result<()> {
        dispatch!(self, host => host.shutdown().await)
    }
}

/// Reason of a denial if the scenario gives none.
pub(crate) const DEFAULT_DENIAL: &str = "The user said no.";
