//! How to write a driver: the code that runs sessions on one agent program.
//!
//! A [`Driver`] stands for one agent program. When a session has a message for its agent, it calls [`Driver::serve`],
//! which runs as a separate task. The two talk through two channels, so that neither side blocks while the other one
//! waits for it:
//!
//! ```text
//!            DriverCommand (message, answer, interrupt)
//!  session ───────────────────────────────────────▶ serve ───▶ the agent's process, or a server that sessions share
//!          ◀───────────────────────────────────────       ◀───
//!            Input (every line in both directions, exit)
//! ```
//!
//! A driver knows the agent's protocol and nothing about universal events. It reports **every** line in both directions
//! to its [`OutputSender`], in the order in which the lines crossed the wire. That includes the lines that the driver
//! itself sends: the session's converter learns about prompts, answers and interrupts from them. The session converts
//! these inputs to events by the same path as `interlingua convert`.
//!
//! Lines that arrive together are passed on together, all the way from the agent's pipe to the session. Nothing waits
//! for a batch to fill.
//!
//! # Rules for `serve`
//!
//! * `serve` starts the agent (a process, or a thread on a shared server). If [`SessionSpec::native_session_id`] is
//!   set, it resumes that session. Then it executes commands until [`CommandReceiver::next`] returns `None`, which
//!   means that the session closes the connection. It then ends everything that it started for this session, with all
//!   descendants, within a few seconds, and returns. If its future is dropped, the same happens at once.
//! * One [`DriverCommand::SendMessage`] comes at a time. The next one comes when the stream shows that the turn has
//!   ended. The converter decides how a turn ends. A driver that knows that a message cannot be delivered calls
//!   [`OutputSender::send_failure`].
//! * The death of an agent is reported as [`Input::Exit`](interlingua_convert::Input::Exit), after the last of its
//!   output. `serve` may then return, and the next message calls it again. Or it keeps running and starts a process per
//!   turn. It drops all clones of the output sender before it returns.
//! * [`DriverCommand::Interrupt`] is executed in the way that the agent's protocol defines. If the turn does not end
//!   within the runtime's grace period, the session closes the connection.
//! * No secret goes to the output sender: what it gets is stored and shown. Keys belong in the environment of the
//!   process.
//! * A driver whose sessions share a process routes the lines that it receives. A session gets the lines of its own
//!   native session, those of that session's sub-agents, and those that concern all sessions.
//!
//! # Answers
//!
//! Permissions and questions are answered by the key that the converter gave the request
//! ([`permission_requested`](interlingua_convert::SessionDrafts::permission_requested)). The key is the text of the
//! native request id: Claude Code's `request_id`, Codex's JSON-RPC id, OpenCode's request id. The ids that clients see
//! may have a suffix that makes them unique; the session removes it before it sends the command. If one request has
//! several questions, they are answered together and in order, when the client has answered the last of them.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Converter, Key};
use interlingua_schema::{Message, NativeSessionId, SessionId};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::agents::{AgentStatus, InstallOptions, InstallRemedy, Mode, Models};
use crate::batch_channel::{self, Receiver};
pub use crate::driver_output::OutputSender;
use crate::driver_output::TimedOutput;
use crate::environment::Environment;
use crate::error::Refusal;
use crate::mcp::McpServers;
use crate::permission_mode::PermissionMode;

/// Receives the number of bytes that an installation has on disk so far.
pub type InstallProgress = Box<dyn FnMut(u64) + Send>;

/// A boxed future that can be sent to another thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Bytes that can wait for a session before its driver has to wait. The session takes them all at once, so this is also
/// how much it reads before it looks at its commands again.
const OUTPUT_CAPACITY: u32 = 32 << 10;

/// One agent program, able to serve any number of sessions.
pub trait Driver: Send + Sync + 'static {
    /// The agent's name in the API: `claude`, `codex`, `opencode`, `amp`, `mock`.
    fn id(&self) -> &'static str;

    /// Creates a converter for the inputs that [`serve`](Driver::serve) reports. A session actor gets a new one when it
    /// starts and keeps it for all its calls of `serve`.
    fn converter(&self) -> Box<dyn Converter>;

    /// What is known about the agent without starting anything. It is called often and answers from memory.
    fn status(&self) -> AgentStatus;

    /// Finds out what takes time, such as the version of a program, so that [`status`](Driver::status) includes it.
    /// Called before a session is created.
    fn refresh_status(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// Checks that a session can be created with this spec. Anything that the agent cannot honour (a mode, a model, a
    /// variant, a version, MCP servers) is refused here; `serve` must honour what passes. The caller has checked that
    /// the directory exists.
    ///
    /// # Errors
    /// Says what cannot be honoured, and what could.
    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal>;

    /// Checks that a message can be delivered. An agent that takes no attachments refuses them here.
    ///
    /// # Errors
    /// Says what cannot be delivered.
    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        if message.attachments.is_empty() {
            return Ok(());
        }
        Err(Refusal::field("attachments", format!("{} takes no attachments", self.id())))
    }

    /// The native session id for a new session, if the agent lets the host choose it. From the first start on,
    /// [`SessionSpec::native_session_id`] has this id.
    fn choose_native_session_id(&self, session: &SessionId) -> Option<NativeSessionId> {
        let _ = session;
        None
    }

    /// Whether the agent keeps files of its sessions on this host, so that only a server with these files can resume a
    /// session.
    fn keeps_files(&self) -> bool {
        true
    }

    /// The modes that a session can be created with. May ask the agent.
    fn modes(self: Arc<Self>) -> BoxFuture<Result<Vec<Mode>, ServeError>>;

    /// The models that a session can be created with. May ask the agent.
    fn models(self: Arc<Self>) -> BoxFuture<Result<Models, ServeError>>;

    /// Installs the agent, and calls `progress` at intervals with the number of bytes on disk.
    fn install(self: Arc<Self>, options: InstallOptions, progress: InstallProgress) -> BoxFuture<Result<(), String>>;

    /// The mode of a session that was created without one; `None` if the agent decides.
    fn default_mode(&self) -> Option<&'static str> {
        None
    }

    /// The model of a session that was created without one; `None` if the agent decides.
    fn default_model(&self) -> Option<&'static str> {
        None
    }

    /// Why `model` or `permissionMode` cannot be changed once the agent has created its session; `None` if a resumed
    /// session takes the new value.
    fn refuse_change(&self, field: SessionOption) -> Option<&'static str> {
        let _ = field;
        None
    }

    /// Whether one process serves several sessions. It cannot get variables that differ from message to message.
    fn shares_process(&self) -> bool {
        false
    }

    /// Folder for skills, relative to the agent's working directory; `None` if the agent has none.
    fn skills_folder(&self) -> Option<&'static str> {
        None
    }

    /// How long an idle agent is kept. Zero where starting costs nothing.
    fn idle_timeout(&self) -> Duration {
        Duration::from_secs(300)
    }

    /// Serves one session until the session closes the connection or the agent is gone. The [module](self) has the
    /// rules.
    fn serve(
        self: Arc<Self>,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> BoxFuture<Result<ServeOutcome, ServeError>>;

    /// Ends the processes that sessions share. Called when all sessions have closed their connections.
    fn shutdown(self: Arc<Self>) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }
}

/// An option of a session that can be changed after it was created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionOption {
    /// The model.
    Model,
    /// What the agent may do without asking.
    PermissionMode,
}

/// What a session requires of its agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSpec {
    /// Our id of the session.
    pub session_id: SessionId,
    /// The agent's id of the session, once it has one. If it is set, the session is resumed.
    pub native_session_id: Option<NativeSessionId>,
    /// The agent's working directory, absolute. It existed when the session was created.
    pub directory: PathBuf,
    /// `build`, `plan`, `custom` or a mode of the agent; `None` for the agent's default.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking.
    pub permission_mode: PermissionMode,
    /// The model; `None` for the agent's default.
    pub model: Option<String>,
    /// The model's variant (an effort, a size); `None` for its default.
    pub variant: Option<String>,
    /// The agent's version; `None` for the installed one.
    pub agent_version: Option<String>,
    /// The title that a person gave the session, for agents that show it.
    pub title: Option<String>,
    /// Environment variables of the session, in addition to the server's. Kept in memory only.
    pub env: Environment,
    /// MCP servers of the session.
    pub mcp: McpServers,
}

/// What a session tells its driver to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum DriverCommand {
    /// Start a turn with this message.
    SendMessage(Message),
    /// Answer a permission request.
    ReplyPermission {
        /// Key of the native request.
        key: Key,
        /// The answer.
        reply: PermissionReply,
    },
    /// Answer the questions of a request.
    AnswerQuestions {
        /// Key of the native request.
        key: Key,
        /// For each question in order, the chosen options or the written text.
        answers: Vec<Vec<String>>,
    },
    /// Reject the questions of a request.
    RejectQuestions {
        /// Key of the native request.
        key: Key,
    },
    /// Stop the running turn. The session continues.
    Interrupt,
}

/// The answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionReply {
    /// Approved, this time.
    Once,
    /// Approved, from now on.
    Always,
    /// Denied.
    Reject,
}

/// How [`Driver::serve`] ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeOutcome {
    /// The session closed the connection, or the agent is gone and can be started again.
    Stopped,
    /// The agent ended the session: no message can resume it. Returned after the agent's exit was reported.
    SessionEnded,
}

/// Why a session cannot be served, or no longer. Clients see these texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The agent's program was not found. The running turn fails; the next message tries again.
    #[error("{agent} is not installed; {remedy}")]
    NotInstalled {
        /// The agent.
        agent: &'static str,
        /// How to install it.
        remedy: InstallRemedy,
    },
    /// The agent could not be started or did not answer. The running turn fails; the next message tries again.
    #[error("{0}")]
    Unavailable(String),
    /// The agent requires a login, or another key. The running turn fails; the next message tries again.
    #[error("{0}")]
    Unauthorized(String),
    /// The agent does not know the session any more, or can never start again: the session ends.
    #[error("{0}")]
    SessionLost(String),
}

/// The driver's end of the command channel.
#[derive(Debug)]
pub struct CommandReceiver(mpsc::UnboundedReceiver<DriverCommand>);

impl CommandReceiver {
    /// Waits for the next command; `None` when the session closes the connection. Cancellation loses no command.
    pub async fn next(&mut self) -> Option<DriverCommand> {
        self.0.recv().await
    }
}

/// The ends of both channels: the command sender and output receiver of the session, and the driver's counterparts.
pub(crate) struct Channels {
    pub(crate) command_sender: mpsc::UnboundedSender<DriverCommand>,
    pub(crate) command_receiver: CommandReceiver,
    pub(crate) output_sender: OutputSender,
    pub(crate) output_receiver: Receiver<TimedOutput>,
}

/// Creates the two channels between a session and its driver.
pub(crate) fn channels() -> Channels {
    let (command_sender, commands) = mpsc::unbounded_channel();
    let (outputs, output_receiver) = batch_channel::channel(OUTPUT_CAPACITY);
    Channels {
        command_sender,
        command_receiver: CommandReceiver(commands),
        output_sender: OutputSender(outputs),
        output_receiver,
    }
}
