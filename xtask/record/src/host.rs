//! Speaking to an agent as a host does, in the agent's own protocol.
//!
//! The three hosts say the same things about what they see: the agent shows words, asks something, is done with a
//! turn, is gone. Everything else that crosses the wire is only taken down.

mod attached;
mod claude;
mod codex;
mod opencode;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use interlingua_convert::Agent;
use interlingua_scripted_model::Scenario;
use interlingua_scripted_model::scenario::HostAnswer;
use rustix::process::Signal as OsSignal;
use serde_json::Value;

pub(crate) use self::attached::Attached;
use crate::place::Place;
use crate::tape::Tape;

/// What a host has seen.
#[derive(Debug)]
pub(crate) enum Seen {
    /// The agent shows some of the model's words.
    Text,
    /// The agent says that it tries again.
    Retry,
    /// The agent asks.
    Asked(Ask),
    /// A session's turn is over.
    TurnOver {
        /// The session's name in the scenario.
        session: String,
    },
    /// The agent is gone.
    Gone,
}

/// Something that the agent asks.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// What it asks, in a word or two.
    pub(crate) about: String,
    /// The request, as it came, or what the host knows it by.
    pub(crate) request: Value,
}

/// Everything that a host needs to know.
pub(crate) struct Stage<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) program: &'a Path,
    /// The agent's version.
    pub(crate) version: &'a str,
    pub(crate) place: &'a Place,
    pub(crate) tape: &'a Tape,
    /// Where the model is.
    pub(crate) model: &'a str,
    /// This program, which is also an MCP server.
    pub(crate) recorder: PathBuf,
}

/// The host of one agent.
pub(crate) enum Host<'a> {
    Claude(claude::Host<'a>),
    Codex(codex::Host<'a>),
    OpenCode(opencode::Host<'a>),
}

/// Does the same with whichever host it is.
macro_rules! each {
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
    pub(crate) async fn start(agent: Agent, stage: Stage<'a>) -> Result<Self> {
        Ok(match agent {
            Agent::Claude => Self::Claude(claude::Host::start(stage).await?),
            Agent::Codex => Self::Codex(codex::Host::start(stage).await?),
            Agent::OpenCode => Self::OpenCode(opencode::Host::start(stage).await?),
            Agent::Amp => bail!("Amp's model runs on its own server"),
        })
    }

    /// Says something in a session, which begins with that if it is new. Files may go with it.
    pub(crate) async fn say(&mut self, session: &str, text: &str, files: &[Attached]) -> Result<()> {
        each!(self, host => host.say(session, text, files).await)
    }

    /// Answers what the agent asked.
    pub(crate) async fn answer(&mut self, ask: &Ask, answer: &HostAnswer) -> Result<()> {
        each!(self, host => host.answer(ask, answer).await)
    }

    /// Tells the agent to stop the turn of a session.
    pub(crate) async fn interrupt(&mut self, session: &str) -> Result<()> {
        each!(self, host => host.interrupt(session).await)
    }

    /// What there is to see next.
    pub(crate) async fn next(&mut self) -> Result<Seen> {
        each!(self, host => host.next().await)
    }

    /// Waits for what still comes after a turn, where the agent has more to say.
    pub(crate) async fn settle(&mut self) -> Result<()> {
        match self {
            Self::Claude(_) | Self::Codex(_) => Ok(()),
            Self::OpenCode(host) => host.settle().await,
        }
    }

    /// Starts the agent anew and takes up a session again.
    pub(crate) async fn resume(&mut self, session: &str) -> Result<()> {
        each!(self, host => host.resume(session).await)
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: OsSignal) -> Result<()> {
        each!(self, host => host.process.signal(signal))
    }

    /// Closes the agent's input.
    pub(crate) fn close(&mut self) {
        each!(self, host => host.process.close());
    }

    /// Whether the agent is gone.
    pub(crate) fn is_gone(&self) -> bool {
        each!(self, host => host.process.is_gone())
    }

    /// Ends the agent in its own way and waits until it is gone.
    pub(crate) async fn end(&mut self) -> Result<()> {
        each!(self, host => host.end().await)
    }
}

/// What a host says when the user does not say why not.
pub(crate) const NO: &str = "The user said no.";
