//! Claude Code: one process per session, lines of JSON both ways, and a control protocol among them.
//!
//! The process lives through any number of turns, one `user` line each. What it wants to know of the user it asks as a
//! `control_request`; everything that it asks gets an answer, a refusal if need be. A session that lost its process
//! goes on with `--resume`. What is sent is made by [`interlingua_protocol::claude`].

mod options;
mod prompt;

use std::ffi::OsString;
use std::time::Duration;

use interlingua_convert::{Agent, Failure, Input, Launch};
use interlingua_protocol::claude::{
    self, ControlInitializeResponse, ControlRequestBuilder, HostMessage, ModelInfo, PendingRequests, Received, Reply,
    ResumeStatus, SessionOptions,
};
use interlingua_schema::ErrorCode;
use tokio::time::timeout;

use super::REFUSAL_MESSAGE;
use super::installed::InstalledAgent;
use super::scanner::Scanner;
use crate::agents::{Mode, Model, Models};
use crate::driver::{
    CommandReceiver, DriverCommand, OutputSender, PermissionReply, ServeError, ServeOutcome, SessionSpec,
};
use crate::driver_output::OutputBatch;
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Installation, LaunchConfig};
use crate::process::{Process, Program};
use crate::variables::variables;

/// Variables of the server's environment that Claude Code gets: its keys and settings, and those of the clouds it can
/// use.
const INHERITED_VARIABLES: [&str; 7] = [
    "ANTHROPIC_*",
    "AWS_*",
    "CLAUDE_*",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "IS_SANDBOX",
];
/// Variables that are set for every process: an installed agent does not update itself.
const FIXED_VARIABLES: [(&str, &str); 1] = [("DISABLE_AUTOUPDATER", "1")];
/// Timeout for the answer to `initialize` outside of a session.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(20);

/// Claude Code.
pub(crate) struct ClaudeAgent {
    installation: Installation,
}

impl ClaudeAgent {
    pub(crate) fn new(machine: &LaunchConfig) -> Self {
        Self { installation: Installation::new(Self::AGENT, machine) }
    }

    async fn run(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let (args, mcp_secrets) = options::command_line(&spec, found.semver().as_ref());
        let mut env = variables(&INHERITED_VARIABLES, &FIXED_VARIABLES, &spec.env);
        env.extend(mcp_secrets);
        use_either_key(&mut env);
        let directory = spec.directory.clone();
        let process = self.start(Program { path: found.path, args: args.clone(), env, directory }).await?;
        let command = std::iter::once(Self::AGENT.descriptor().program.to_owned()).chain(args).collect();
        output.send_launch(Launch::new(found.version, command)).await;
        let mut session = Session {
            process,
            output,
            batch: OutputBatch::default(),
            request_builder: ControlRequestBuilder::default(),
            pending: PendingRequests::new(options::mode_after_plan(&spec)),
            resume: if spec.native_session_id.is_some() { ResumeStatus::Undecided } else { ResumeStatus::Resumed },
        };
        session.request(claude::initialize()).await;
        session.run(commands).await
    }

    async fn start(&self, program: Program) -> Result<Process, ServeError> {
        let started = self.installation.supervisor().start(program).await;
        started.map_err(|error| ServeError::Unavailable(error.to_string()))
    }

    /// Starts a process outside of any session and asks it what it offers.
    async fn initialize(&self) -> Result<ControlInitializeResponse, ServeError> {
        let found = self.installation.program(None)?;
        let args = claude::command_line(&SessionOptions::default(), found.semver().as_ref());
        let env = variables(&INHERITED_VARIABLES, &FIXED_VARIABLES, &Environment::default());
        let program = Program { path: found.path, args, env, directory: std::env::temp_dir() };
        let mut process = self.start(program).await?;
        let request = ControlRequestBuilder::default().build(claude::initialize());
        process.send(request.line());
        let failed =
            |reason: String| ServeError::Unavailable(format!("cannot ask Claude Code for its models: {reason}"));
        let answer = timeout(INITIALIZE_TIMEOUT, async {
            loop {
                match process.next().await {
                    Input::Received(line) => {
                        if let Some(answer) = request.read_answer(&line) {
                            return answer.map_err(failed);
                        }
                    }
                    Input::Unreadable { error, .. } => return Err(failed(format!("unreadable answer: {error}"))),
                    Input::Exit { code } => return Err(failed(format!("it exited with code {code:?}"))),
                    _ => {}
                }
            }
        });
        answer.await.unwrap_or_else(|_| Err(failed(format!("no answer within {INITIALIZE_TIMEOUT:?}"))))
    }
}

/// The variable that we also take a key from is not Claude Code's own.
fn use_either_key(env: &mut Vec<(OsString, OsString)>) {
    let find = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    if find("ANTHROPIC_API_KEY").is_none()
        && let Some(key) = find("CLAUDE_API_KEY")
    {
        env.push(("ANTHROPIC_API_KEY".into(), key));
    }
}

/// The models that the agent offers. The first is its default.
fn models(offered: ControlInitializeResponse) -> Models {
    let model = |model: ModelInfo| {
        let efforts = model.supported_effort_levels.unwrap_or_default();
        Some(Model {
            id: model.value?,
            name: model.display_name,
            variants: efforts.iter().map(ToString::to_string).collect(),
            default_variant: None,
        })
    };
    let models: Vec<Model> = offered.models.unwrap_or_default().into_iter().filter_map(model).collect();
    Models { default_model: models.first().map(|model| model.id.clone()), models }
}

/// A session with its process.
struct Session {
    process: Process,
    output: OutputSender,
    /// Lines that are not yet handed to the session.
    batch: OutputBatch,
    request_builder: ControlRequestBuilder,
    pending: PendingRequests,
    resume: ResumeStatus,
}

impl Session {
    async fn run(mut self, mut commands: CommandReceiver) -> Result<ServeOutcome, ServeError> {
        loop {
            tokio::select! {
                biased;
                command = commands.next() => {
                    let Some(command) = command else {
                        self.process.leave(&self.output).await;
                        return Ok(ServeOutcome::Stopped);
                    };
                    self.handle_order(command).await;
                }
                inputs = self.process.read() => {
                    if self.receive(inputs).await {
                        return match self.resume {
                            ResumeStatus::UnknownSession(reason) => Err(ServeError::SessionLost(reason)),
                            ResumeStatus::Undecided | ResumeStatus::Resumed => Ok(ServeOutcome::Stopped),
                        };
                    }
                }
            }
        }
    }

    /// Forwards what the process said, and refuses unsupported requests. True if the process has exited.
    async fn receive(&mut self, inputs: Vec<Input>) -> bool {
        let has_exited = matches!(inputs.last(), Some(Input::Exit { .. }));
        for input in inputs {
            let refusal = match &input {
                Input::Received(line) => self.receive_line(line),
                Input::Unreadable { bytes, error } => refuse_unreadable(bytes, error),
                _ => None,
            };
            self.batch.push(input);
            if let Some(refusal) = refusal {
                self.send(refusal).await;
            }
        }
        self.output.send_batch(&mut self.batch).await;
        has_exited
    }

    /// Tracks the requests of the agent and their withdrawal. Returns the line that refuses an unsupported request.
    fn receive_line(&mut self, line: &str) -> Option<String> {
        if self.resume == ResumeStatus::Undecided {
            self.resume = ResumeStatus::from_line(line);
        }
        match self.pending.receive(line) {
            Received::Refused(refusal) => Some(refusal),
            Received::Other | Received::Pending(_) | Received::Withdrawn(_) => None,
        }
    }

    async fn handle_order(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::SendMessage(message) => match prompt::read_prompt(message).await {
                Ok(prompt) => self.send(HostMessage::Prompt(prompt).into_line()).await,
                Err(reason) => self.output.send_failure(Failure::new(ErrorCode::InvalidRequest, reason)).await,
            },
            DriverCommand::ReplyPermission { key, reply } => {
                let reply = match reply {
                    PermissionReply::Once => Reply::Allow,
                    PermissionReply::Always => Reply::AllowAlways,
                    PermissionReply::Reject => Reply::Deny(REFUSAL_MESSAGE),
                };
                self.reply(key.as_str(), reply).await;
            }
            DriverCommand::AnswerQuestions { key, answers } => self.reply(key.as_str(), Reply::Answers(&answers)).await,
            DriverCommand::RejectQuestions { key } => self.reply(key.as_str(), Reply::Dismiss).await,
            DriverCommand::Interrupt => self.request(claude::interrupt()).await,
        }
    }

    /// Answers a request of the agent, if it still waits.
    async fn reply(&mut self, id: &str, reply: Reply<'_>) {
        if let Some(line) = self.pending.reply(id, reply) {
            self.send(line).await;
        }
    }

    async fn request(&mut self, request: impl claude::ControlRequestParams) {
        let line = self.request_builder.build(request).into_line();
        self.send(line).await;
    }

    async fn send(&mut self, line: String) {
        self.batch.push(Input::Sent(line.clone()));
        self.output.send_batch(&mut self.batch).await;
        self.process.send(&line);
    }
}

/// The line that refuses a request which cannot be read, for example because it is too long; `None` if the bytes are no
/// request. The agent would wait for an answer for ever.
fn refuse_unreadable(bytes: &[u8], error: &str) -> Option<String> {
    let beginning = String::from_utf8_lossy(bytes);
    let mut json = Scanner::new(&beginning);
    let (mut kind, mut id) = (None, None);
    if json.enter_object() {
        while let Some(key) = json.next_key() {
            match key {
                "type" => kind = json.text(),
                "request_id" => id = json.text(),
                _ => {}
            }
        }
    }
    id.filter(|_| kind.as_deref() == Some("control_request"))
        .map(|id| claude::refuse(id.into_owned(), &format!("the request cannot be read: {error}")))
}

impl InstalledAgent for ClaudeAgent {
    const AGENT: Agent = Agent::Claude;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let found = self.installation.program(spec.agent_version.as_deref()).ok();
        options::check(spec, found.and_then(|found| found.semver()).as_ref())
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(options::modes())
    }

    async fn models(&self) -> Result<Models, ServeError> {
        self.initialize().await.map(models)
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

#[cfg(test)]
mod tests {
    use interlingua_native::Native as _;

    use super::*;

    #[test]
    fn its_models_come_with_their_efforts() {
        let answer = r#"{"models":[{"value":"default","displayName":"Default","supportedEffortLevels":["low","high"]},
            {"value":"haiku"}]}"#;
        let models = models(ControlInitializeResponse::decode(answer).unwrap().value);
        assert_eq!(models.default_model.as_deref(), Some("default"));
        assert_eq!(models.models[0].variants, ["low", "high"]);
        assert_eq!((models.models[1].id.as_str(), &models.models[1].name), ("haiku", &None));
    }

    #[test]
    fn a_request_that_is_too_long_is_refused() {
        let request =
            br#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","input":{"text":"aaa"#;
        let line = refuse_unreadable(request, "too long").unwrap();
        assert!(line.contains("r1") && line.contains("too long"), "{line}");
        assert_eq!(refuse_unreadable(br#"{"type":"assistant","message":{"content":"aaa"#, "too long"), None);
    }
}
