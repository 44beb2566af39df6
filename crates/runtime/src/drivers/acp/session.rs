//! A session with its agent: opening it, and carrying out its commands.

use std::time::Duration;

use interlingua_agents::AcpProfile;
use interlingua_convert::{Failure, Launch};
use interlingua_native::new;
use interlingua_protocol::acp::acp::{
    AgentCapabilities, InitializeRequest, InitializeResponse, LoadSessionRequest, NewSessionRequest, PromptRequest,
    ResumeSessionRequest,
};
use interlingua_protocol::acp::{
    self, Choice, OpenedSession, RESOURCE_NOT_FOUND, Reply, RpcError, SessionOptions, decode_answer,
};
use interlingua_schema::{ErrorCode, Message};
use tokio::time::timeout;

use super::connection::{Connection, Event, login_advice};
use super::options;
use super::prompt::read_prompt;
use crate::driver::{CommandReceiver, DriverCommand, PermissionReply, ServeError, ServeOutcome, SessionSpec};
use crate::drivers::INTERRUPTED_BEFORE_START;

/// How long an agent may take to answer a request that opens or configures a session. Some load for many seconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(120);

/// A session with its agent.
pub(super) struct Session {
    profile: &'static AcpProfile,
    spec: SessionSpec,
    connection: Connection,
    initialized: Option<InitializeResponse>,
    /// The agent's id of the session.
    id: String,
    /// Ids of the prompts that are not answered.
    prompts: Vec<u64>,
    /// Commands that came while the session was being opened.
    early: Vec<DriverCommand>,
    /// The session closed the connection while it was being opened.
    is_closed: bool,
}

/// Why a session cannot be opened.
enum OpenError {
    /// The session closes the connection, or the process has exited.
    Ended,
    Failed(ServeError),
}

impl From<ServeError> for OpenError {
    fn from(error: ServeError) -> Self {
        Self::Failed(error)
    }
}

impl Session {
    pub(super) fn new(profile: &'static AcpProfile, spec: SessionSpec, connection: Connection) -> Self {
        Self {
            profile,
            spec,
            connection,
            initialized: None,
            id: String::new(),
            prompts: Vec::new(),
            early: Vec::new(),
            is_closed: false,
        }
    }

    pub(super) async fn run(
        mut self,
        version: Option<String>,
        mut commands: CommandReceiver,
    ) -> Result<ServeOutcome, ServeError> {
        let arguments = self.profile.arguments.iter().map(|argument| (*argument).to_owned());
        let command = std::iter::once(self.profile.descriptor.program.to_owned()).chain(arguments).collect();
        let launch = Launch::new(version, command).has_history(self.spec.native_session_id.is_some());
        self.connection.output().send_launch(launch).await;
        match self.open(&mut commands).await {
            Ok(()) => {}
            Err(OpenError::Ended) => {
                self.connection.shutdown().await;
                return Ok(ServeOutcome::Stopped);
            }
            // Dropping the connection ends the agent. Its exit is not reported, because the error says more.
            Err(OpenError::Failed(error)) => return Err(error),
        }
        for command in std::mem::take(&mut self.early) {
            self.execute(command).await;
        }
        loop {
            tokio::select! {
                biased;
                command = commands.next() => {
                    let Some(command) = command else {
                        self.connection.shutdown().await;
                        return Ok(ServeOutcome::Stopped);
                    };
                    self.execute(command).await;
                }
                event = self.connection.receive() => match event {
                    Event::Exited => return Ok(ServeOutcome::Stopped),
                    Event::Answer { id, line } => {
                        if let Some(end) = self.observe_answer(id, &line) {
                            self.connection.shutdown().await;
                            return end;
                        }
                    }
                },
            }
        }
    }

    /// Initializes the agent, opens the session, and chooses its mode and model.
    async fn open(&mut self, commands: &mut CommandReceiver) -> Result<(), OpenError> {
        let id = self.connection.initialize(self.profile);
        let line = self.answer_to(id, commands).await?;
        let initialized = decode_answer::<InitializeRequest>(&line)
            .map_err(|error| ServeError::Unavailable(format!("{} refuses to start: {error}", self.name())))?;
        self.initialized = Some(initialized);
        let mcp_servers = options::mcp_servers(&self.spec, self.capabilities()).map_err(ServeError::Unavailable)?;
        let options = SessionOptions { cwd: self.spec.directory.to_string_lossy().into_owned(), mcp_servers };
        let opened = match self.spec.native_session_id.clone() {
            Some(native) => self.reopen(native.as_str(), &options, commands).await?,
            None => self.create(&options, commands).await?,
        };
        self.id.clone_from(&opened.id);
        let changes = options::changes(self.profile, &self.spec, &opened).map_err(ServeError::Unavailable)?;
        for change in changes {
            let id = self.connection.next_id();
            self.connection.send(change.clone().into_line(id, &opened.id));
            let line = self.answer_to(id, commands).await?;
            // All of these are answered with an object.
            if let Err(error) = decode_answer::<InitializeRequest>(&line) {
                return Err(ServeError::Unavailable(format!("{} refuses {change:?}: {error}", self.name())).into());
            }
        }
        Ok(())
    }

    async fn create(
        &mut self,
        options: &SessionOptions,
        commands: &mut CommandReceiver,
    ) -> Result<OpenedSession, OpenError> {
        let line = self.request(commands, |id| {
            (acp::request_line(id, options.create()), acp::request_line(id, options.without_secrets().create()))
        });
        match decode_answer::<NewSessionRequest>(&line.await?) {
            Ok(response) => Ok(response.into()),
            Err(error) => Err(self.unavailable(&error).into()),
        }
    }

    /// Resumes a session, or loads it with its history.
    async fn reopen(
        &mut self,
        native: &str,
        options: &SessionOptions,
        commands: &mut CommandReceiver,
    ) -> Result<OpenedSession, OpenError> {
        let capabilities = self.capabilities();
        let can_load = capabilities.and_then(|capabilities| capabilities.load_session) == Some(true);
        let session = capabilities.and_then(|capabilities| capabilities.session_capabilities.as_ref());
        if session.is_some_and(|session| session.resume.is_some()) {
            let line = self.request(commands, |id| {
                let hidden = options.without_secrets().resume(native);
                (acp::request_line(id, options.resume(native)), acp::request_line(id, hidden))
            });
            return match decode_answer::<ResumeSessionRequest>(&line.await?) {
                Ok(response) => Ok(OpenedSession::resumed(native, response)),
                Err(error) => Err(self.lost(native, &error).into()),
            };
        }
        if can_load {
            let line = self.request(commands, |id| {
                let hidden = options.without_secrets().load(native);
                (acp::request_line(id, options.load(native)), acp::request_line(id, hidden))
            });
            return match decode_answer::<LoadSessionRequest>(&line.await?) {
                Ok(response) => Ok(OpenedSession::loaded(native, response)),
                Err(error) => Err(self.lost(native, &error).into()),
            };
        }
        let reason = format!("{} cannot resume a session after its process has exited", self.name());
        Err(ServeError::SessionLost(reason).into())
    }

    /// Sends a request, which is reported without its secrets, and waits for the answer.
    async fn request(
        &mut self,
        commands: &mut CommandReceiver,
        lines: impl FnOnce(u64) -> (String, String),
    ) -> Result<String, OpenError> {
        let id = self.connection.next_id();
        let (line, reported) = lines(id);
        self.connection.send_as(&line, reported);
        self.answer_to(id, commands).await
    }

    /// Waits for the answer to a request. Commands that come in the meantime wait.
    async fn answer_to(&mut self, id: u64, commands: &mut CommandReceiver) -> Result<String, OpenError> {
        let name = self.name();
        let answer = timeout(OPEN_TIMEOUT, async {
            loop {
                tokio::select! {
                    biased;
                    command = commands.next(), if !self.is_closed => {
                        let Some(command) = command else {
                            self.is_closed = true;
                            return Err(OpenError::Ended);
                        };
                        self.defer(command).await;
                    }
                    event = self.connection.receive() => match event {
                        Event::Answer { id: answered, line } if answered == id => return Ok(line),
                        Event::Answer { .. } => {}
                        Event::Exited => return Err(OpenError::Ended),
                    },
                }
            }
        });
        let timed_out =
            |_| Err(ServeError::Unavailable(format!("{name} did not answer within {OPEN_TIMEOUT:?}")).into());
        answer.await.unwrap_or_else(timed_out)
    }

    /// Keeps a command until the session is open. An interrupt drops the message that waits.
    async fn defer(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::Interrupt => {
                let waiting = self.early.len();
                self.early.retain(|command| !matches!(command, DriverCommand::SendMessage(_)));
                if self.early.len() < waiting {
                    let failure = Failure::new(ErrorCode::AgentError, INTERRUPTED_BEFORE_START);
                    self.connection.output().send_failure(failure).await;
                }
            }
            command => self.early.push(command),
        }
    }

    async fn execute(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::SendMessage(message) => self.send_message(message).await,
            DriverCommand::ReplyPermission { key, reply } => {
                let choice = match reply {
                    PermissionReply::Once => Choice::Once,
                    PermissionReply::Always => Choice::Always,
                    PermissionReply::Reject => Choice::Reject,
                };
                self.reply(key.as_str(), &Reply::Permission(choice));
            }
            DriverCommand::AnswerQuestions { key, answers } => {
                self.reply(key.as_str(), &Reply::Answers(&answers));
            }
            DriverCommand::RejectQuestions { key } => self.reply(key.as_str(), &Reply::Decline),
            DriverCommand::Interrupt => self.interrupt(),
        }
    }

    async fn send_message(&mut self, message: Message) {
        let capabilities = self.capabilities().and_then(|capabilities| capabilities.prompt_capabilities.clone());
        match read_prompt(message, capabilities.as_ref()).await {
            Ok(prompt) => {
                let id = self.connection.next_id();
                self.prompts.push(id);
                let request = new!(PromptRequest { prompt: prompt, session_id: self.id.as_str() });
                self.connection.send(acp::request_line(id, request));
            }
            Err(reason) => {
                let failure = Failure::new(ErrorCode::InvalidRequest, reason);
                self.connection.output().send_failure(failure).await;
            }
        }
    }

    /// Answers a request of the agent, if it is still pending.
    fn reply(&mut self, key: &str, reply: &Reply<'_>) {
        if let Some(line) = self.connection.pending.reply(key, reply) {
            self.connection.send(line);
        }
    }

    /// Cancels the running turn. The protocol requires that pending permission requests are answered, too.
    fn interrupt(&mut self) {
        if self.prompts.is_empty() {
            return;
        }
        self.connection.send(acp::cancel(&self.id));
        for line in self.connection.pending.cancel_all() {
            self.connection.send(line);
        }
    }

    /// Notes that a prompt is answered. Returns how serving ends, if the agent does not know the session any more, or needs
    /// a login: the next message starts another process, which finds it.
    fn observe_answer(&mut self, id: u64, line: &str) -> Option<Result<ServeOutcome, ServeError>> {
        let waiting = self.prompts.len();
        self.prompts.retain(|prompt| *prompt != id);
        if self.prompts.len() == waiting {
            return None;
        }
        match decode_answer::<PromptRequest>(line) {
            Err(error) if error.code == RESOURCE_NOT_FOUND => Some(Err(self.lost(&self.id, &error))),
            Err(error) if error.requires_login() => Some(Ok(ServeOutcome::Stopped)),
            _ => None,
        }
    }

    fn name(&self) -> &'static str {
        self.profile.descriptor.display_name
    }

    fn capabilities(&self) -> Option<&AgentCapabilities> {
        self.initialized.as_ref()?.agent_capabilities.as_ref()
    }

    fn unavailable(&self, error: &RpcError) -> ServeError {
        if error.requires_login() {
            return ServeError::Unauthorized(login_advice(self.profile, self.initialized.as_ref(), &error.message));
        }
        ServeError::Unavailable(format!("{} cannot open a session: {error}", self.name()))
    }

    fn lost(&self, native: &str, error: &RpcError) -> ServeError {
        if error.requires_login() {
            return self.unavailable(error);
        }
        ServeError::SessionLost(format!("{} does not know the session `{native}` any more: {error}", self.name()))
    }
}
