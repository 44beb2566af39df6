//! Claude Code: one process per session, JSON lines in both directions, with a control protocol among them.
//!
//! The process serves any number of turns, one `user` line each. It asks the user by `control_request`; the driver
//! answers every request, if necessary with a refusal. A session whose process has exited continues with `--resume`.
//! [`interlingua_protocol::claude`] builds what is sent.

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
use crate::process_environment::process_environment;

/// Variables of the server's environment that Claude Code inherits: its keys and settings, and those of the clouds that
/// it can use.
const INHERITED_VARIABLES: [&str; 7] = [
    "ANTHROPIC_*",
    "AWS_*",
    "CLAUDE_*",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "IS_SANDBOX",
];
/// Variables that are set for every process. They keep an installed agent from updating itself.
const FIXED_VARIABLES: [(&str, &str); 1] = [("DISABLE_AUTOUPDATER", "1")];
/// How long the process may take to answer `initialize` outside of a session.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(20);

/// Claude Code.
pub(crate) struct ClaudeAgent {
    installation: Installation,
}

impl ClaudeAgent {
    pub(crate) fn new(config: &LaunchConfig) -> Self {
        Self { installation: Installation::new(Self::AGENT, config) }
    }

    async fn run(
        &self,
        spec: SessionSpec,
        commands: CommandReceiver,
        output: OutputSender,
    ) -> Result<ServeOutcome, ServeError> {
        let installed = self.installation.find_program(spec.agent_version.as_deref())?;
        let (args, mcp_secrets) = options::command_line(&spec, installed.semver().as_ref());
        let mut env = process_environment(&INHERITED_VARIABLES, &FIXED_VARIABLES, &spec.env);
        env.extend(mcp_secrets);
        accept_claude_api_key(&mut env);
        let directory = spec.directory.clone();
        let process = self.start(Program { path: installed.path, args: args.clone(), env, directory }).await?;
        let command = std::iter::once(Self::AGENT.descriptor().program.to_owned()).chain(args).collect();
        output.send_launch(Launch::new(installed.version, command)).await;
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
        let result = self.installation.supervisor().start(program).await;
        result.map_err(|error| ServeError::Unavailable(error.to_string()))
    }

    /// Starts a process outside of any session and asks it for its models.
    async fn initialize(&self) -> Result<ControlInitializeResponse, ServeError> {
        let installed = self.installation.find_program(None)?;
        let args = claude::command_line(&SessionOptions::default(), installed.semver().as_ref());
        let env = process_environment(&INHERITED_VARIABLES, &FIXED_VARIABLES, &Environment::default());
        let program = Program { path: installed.path, args, env, directory: std::env::temp_dir() };
        let mut process = self.start(program).await?;
        let request = ControlRequestBuilder::default().build(claude::initialize());
        process.send(request.line());
        let failed =
            |reason: String| ServeError::Unavailable(format!("cannot list the models of Claude Code: {reason}"));
        let answer = timeout(INITIALIZE_TIMEOUT, async {
            loop {
                match process.next().await {
                    Input::Received(line) => {
                        if let Some(answer) = request.read_answer(&line) {
                            return answer.map_err(failed);
                        }
                    }
                    Input::Unreadable { error, .. } => return Err(failed(format!("cannot read its answer: {error}"))),
                    Input::Exit { code } => {
                        let code = code.map_or_else(|| "an unknown code".to_owned(), |code| format!("code {code}"));
                        return Err(failed(format!("the process exited with {code}")));
                    }
                    _ => {}
                }
            }
        });
        answer.await.unwrap_or_else(|_| Err(failed(format!("no answer within {INITIALIZE_TIMEOUT:?}"))))
    }
}

/// Also accepts the API key in `CLAUDE_API_KEY`, which Claude Code itself does not read.
fn accept_claude_api_key(env: &mut Vec<(OsString, OsString)>) {
    let find = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    if find("ANTHROPIC_API_KEY").is_none()
        && let Some(key) = find("CLAUDE_API_KEY")
    {
        env.push(("ANTHROPIC_API_KEY".into(), key));
    }
}

/// The models that the agent lists. The first is its default.
fn to_models(offered: ControlInitializeResponse) -> Models {
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
    Models { default_model: models.first().map(|model| model.id.clone()), models, fallback: false }
}

/// A session with its process.
struct Session {
    process: Process,
    output: OutputSender,
    /// Inputs that are about to be sent to the session.
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
                        self.process.shutdown(&self.output).await;
                        return Ok(ServeOutcome::Stopped);
                    };
                    self.execute(command).await;
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

    /// Forwards inputs of the process, and refuses unsupported requests. True if the process has exited.
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

    /// Tracks requests of the agent and their withdrawal. Returns the line that refuses an unsupported request.
    fn receive_line(&mut self, line: &str) -> Option<String> {
        if self.resume == ResumeStatus::Undecided {
            self.resume = ResumeStatus::from_line(line);
        }
        match self.pending.receive(line) {
            Received::Refused(refusal) => Some(refusal),
            Received::Other | Received::Pending(_) | Received::Withdrawn(_) => None,
        }
    }

    async fn execute(&mut self, command: DriverCommand) {
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

    /// Answers a request of the agent, if it is still pending.
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

/// The line that refuses an unreadable request, for example one that is too long; `None` if the bytes are not a
/// request. Without an answer, the agent would wait forever.
fn refuse_unreadable(bytes: &[u8], error: &str) -> Option<String> {
    let start = String::from_utf8_lossy(bytes);
    let mut json = Scanner::new(&start);
    let (mut kind, mut id) = (None, None);
    if json.enter_object() {
        while let Some(key) = json.next_key() {
            match key {
                "type" => kind = json.string(),
                "request_id" => id = json.string(),
                _ => {}
            }
        }
    }
    id.filter(|_| kind.as_deref() == Some("control_request"))
        .map(|id| claude::refuse(id.into_owned(), &format!("the request cannot be read: {error}")))
}

impl InstalledAgent for ClaudeAgent {
    const AGENT: Agent = Agent::Claude;
    const DEFAULT_MODE: Option<&'static str> = Some(options::BUILD);

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        let installed = self.installation.find_program(spec.agent_version.as_deref()).ok();
        options::check(spec, installed.and_then(|installed| installed.semver()).as_ref())
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(options::modes())
    }

    async fn models(&self) -> Result<Models, ServeError> {
        self.initialize().await.map(to_models)
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
    fn models_have_their_efforts() {
        let answer = r#"{"models":[{"value":"default","displayName":"Default","supportedEffortLevels":["low","high"]},
            {"value":"haiku"}]}"#;
        let models = to_models(ControlInitializeResponse::decode(answer).unwrap().value);
        assert_eq!(models.default_model.as_deref(), Some("default"));
        assert_eq!(models.models[0].variants, ["low", "high"]);
        assert_eq!((models.models[1].id.as_str(), &models.models[1].name), ("haiku", &None));
    }

    #[test]
    fn a_too_long_request_is_refused() {
        let request =
            br#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","input":{"text":"aaa"#;
        let line = refuse_unreadable(request, "too long").unwrap();
        assert!(line.contains("r1") && line.contains("too long"), "{line}");
        assert_eq!(refuse_unreadable(br#"{"type":"assistant","message":{"content":"aaa"#, "too long"), None);
    }
}
