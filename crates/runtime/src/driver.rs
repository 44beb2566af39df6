//! What an agent brings so that sessions can be run on it.
//!
//! A [`Driver`] stands for one agent program. A session that has something to say calls [`Driver::serve`], which runs
//! as a task of its own and is spoken to through two channels, so that neither side ever waits for the other while the
//! other waits for it:
//!
//! ```text
//!            Order (message, answer, interrupt)
//!  session ───────────────────────────────────────▶ serve ───▶ the agent's process, or a server that many share
//!          ◀───────────────────────────────────────       ◀───
//!            Input (every line both ways, exit)
//! ```
//!
//! The driver knows the agent's protocol and nothing of universal events. It hands **every** line both ways to the
//! [`Wire`], in the order they crossed, its own included: what it sent is how the session's converter learns of
//! prompts, answers and interrupts. The session makes events of it by the same path as `interlingua convert`.
//!
//! What came together is handed over together, all along the way from the agent's pipe to the session, and nothing
//! waits for more to come.
//!
//! # Rules for `serve`
//!
//! * It brings the agent up (a process, a thread on a shared server), resumed by [`SessionSpec::native`] if that is
//!   there, and then obeys [`Orders::next`] until that is `None`: the session lets go. Then it ends what it started for
//!   this session, with all descendants, within a few seconds, and returns. Whoever is dropped does the same at once.
//! * One [`Order::Message`] comes at a time: the next one when the stream has shown that the turn is over. How the
//!   turn ends is for the converter to say; a driver that knows that a message cannot be delivered says
//!   [`Wire::failed`].
//! * An agent that dies is [`Input::Exit`](interlingua_convert::Input::Exit), after the last of its output. `serve` may then return, in which case the next
//!   message calls it again, or go on and start a process per turn. All clones of the wire are dropped before it
//!   returns.
//! * [`Order::Interrupt`] is obeyed as the agent wants it. If the turn does not end within the runtime's grace, the
//!   session lets go.
//! * Nothing secret goes to the wire: what crosses it is stored and shown. Keys belong into the process's environment.
//! * A driver whose sessions share a process routes what it receives: a session gets the lines of its own native
//!   session, of that session's sub-agents, and those that concern everybody.
//!
//! # Answers
//!
//! Permissions and questions are answered by the key under which the converter asked
//! ([`permission_requested`](interlingua_convert::SessionDrafts::permission_requested)), which is the native request's own id
//! as text: Claude Code's `request_id`, Codex's JSON-RPC id, OpenCode's request id. The ids that clients see may have
//! a suffix to be unique; the session takes that off before it orders. Several questions of one request are answered
//! together, in order, when the client has answered the last of them.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use interlingua_convert::{Converter, Key};
use interlingua_schema::{Message, NativeSessionId, SessionId};
use tokio::sync::mpsc;

use crate::agents::{AgentStatus, Install, Mode, Models};
use crate::batches::{self, Receiver};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::mcp::McpServers;
use crate::modes::PermissionMode;
use crate::wire::DriverMessage;
pub use crate::wire::Wire;

/// Something that is under way and can be sent to another thread.
pub type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How many bytes can wait for a session before its driver has to wait. They are taken together, so it is also how much a
/// session reads before its commands have their turn again.
const WIRE_CAPACITY: u32 = 32 << 10;

/// One agent program, able to serve any number of sessions.
pub trait Driver: Send + Sync + 'static {
    /// The name that clients give: `claude`, `codex`, `opencode`, `amp`, `mock`.
    fn id(&self) -> &'static str;

    /// A converter for what [`serve`](Driver::serve) hands to the wire. A session that is taken up gets a fresh one and
    /// keeps it through any number of calls of `serve`.
    fn converter(&self) -> Box<dyn Converter>;

    /// What there is to know without starting anything: it is asked often, and answered from memory.
    fn status(&self) -> AgentStatus;

    /// Finds out what takes a moment to know, such as the version of a program. Called before a session is created;
    /// [`status`](Driver::status) knows it afterwards.
    fn look(self: Arc<Self>) -> Task<()> {
        Box::pin(std::future::ready(()))
    }

    /// Whether a session can be had so. Whatever the agent cannot honour (a mode, a model, a variant, a version, MCP
    /// servers) is refused here; what passes must be honoured by `serve`. That the directory exists is seen to.
    ///
    /// # Errors
    /// What cannot be honoured, and what could.
    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal>;

    /// Whether a message can be delivered: an agent that takes no attachments refuses them here.
    ///
    /// # Errors
    /// What cannot be delivered.
    fn check_message(&self, message: &Message) -> Result<(), Refusal> {
        if message.attachments.is_empty() {
            return Ok(());
        }
        Err(Refusal::field("attachments", format!("{} takes no attachments", self.id())))
    }

    /// The native id that a session will have, for an agent that lets us choose. Such a driver finds in
    /// [`SessionSpec::native`] what it said here from the first start on.
    fn native_id(&self, session: &SessionId) -> Option<NativeSessionId> {
        let _ = session;
        None
    }

    /// The modes a session can be created with. May ask the agent.
    fn modes(self: Arc<Self>) -> Task<Result<Vec<Mode>, ServeError>>;

    /// The models a session can be created with. May ask the agent.
    fn models(self: Arc<Self>) -> Task<Result<Models, ServeError>>;

    /// Installs the agent.
    fn install(self: Arc<Self>, install: Install) -> Task<Result<(), String>>;

    /// How long an agent is kept that has nothing to do. Zero where starting costs nothing.
    fn linger(&self) -> Duration {
        Duration::from_secs(300)
    }

    /// Serves one session until it lets go or the agent is gone. See the [module](self) for the rules.
    fn serve(self: Arc<Self>, spec: SessionSpec, orders: Orders, wire: Wire) -> Task<Result<Parting, ServeError>>;

    /// Ends whatever the sessions shared. They have all let go by then.
    fn shutdown(self: Arc<Self>) -> Task<()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a session wants of its agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSpec {
    /// The session, by our name.
    pub session_id: SessionId,
    /// The session by the agent's name, once there is one: it is to be resumed.
    pub native: Option<NativeSessionId>,
    /// The agent's working directory, absolute; it existed when the session was created.
    pub directory: PathBuf,
    /// `build`, `plan`, `custom` or one of the agent's own; `None` for the agent's default.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking.
    pub permission_mode: PermissionMode,
    /// The model; `None` for the agent's default.
    pub model: Option<String>,
    /// The model's variant (an effort, a size); `None` for its default.
    pub variant: Option<String>,
    /// The agent's version; `None` for the one that is installed.
    pub agent_version: Option<String>,
    /// What a person calls the session, for agents that show it.
    pub title: Option<String>,
    /// Environment variables of the session, on top of the server's own. Kept in memory only.
    pub env: Environment,
    /// MCP servers of the session.
    pub mcp: McpServers,
}

/// What a session orders.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Order {
    /// Begin a turn with this message.
    Message(Message),
    /// Answer a permission request.
    Permission {
        /// The native request.
        key: Key,
        /// The answer.
        reply: PermissionReply,
    },
    /// Answer the questions of a request.
    Answer {
        /// The native request.
        key: Key,
        /// For each question in order, what was chosen or written.
        answers: Vec<Vec<String>>,
    },
    /// Refuse to answer the questions of a request.
    Reject {
        /// The native request.
        key: Key,
    },
    /// Stop the running turn; the session goes on.
    Interrupt,
}

/// The answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermissionReply {
    /// Yes, this time.
    Once,
    /// Yes, from now on.
    Always,
    /// No.
    Reject,
}

/// How an agent parts from a session that it served well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parting {
    /// The session let go, or the agent is gone and can be brought back.
    Left,
    /// The agent ended the session: no message will bring it back. To be said after the exit was sent.
    Finished,
}

/// Why a session is not served, or not any longer. The texts are shown to clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The agent's program is not there. The running turn fails; the next message tries again.
    #[error("{agent} is not installed: `{command}` installs it")]
    NotInstalled {
        /// The agent.
        agent: &'static str,
        /// The command that installs it.
        command: String,
    },
    /// The agent could not be started, or could not be spoken to. The running turn fails; the next message tries
    /// again.
    #[error("{0}")]
    Unavailable(String),
    /// The agent no longer knows the session, or never will start again: the session ends.
    #[error("{0}")]
    Lost(String),
}

/// A driver's end of the channel that orders come by.
#[derive(Debug)]
pub struct Orders(mpsc::UnboundedReceiver<Order>);

impl Orders {
    /// The next order; `None` when the session lets go. Can be cancelled without losing one.
    pub async fn next(&mut self) -> Option<Order> {
        self.0.recv().await
    }
}

/// A pair of channels: the session's ends, and the driver's.
pub(crate) fn channels() -> (mpsc::UnboundedSender<Order>, Orders, Wire, Receiver<DriverMessage>) {
    let (orders, ordered) = mpsc::unbounded_channel();
    let (wire, messages) = batches::channel(WIRE_CAPACITY);
    (orders, Orders(ordered), Wire(wire), messages)
}
