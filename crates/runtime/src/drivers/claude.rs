//! Claude Code: one process per session, lines of JSON both ways, and a control protocol among them.
//!
//! The process lives through any number of turns, one `user` line each. What it wants to know of the user it asks as a
//! `control_request`; everything that it asks gets an answer, a refusal if need be. A session that lost its process
//! goes on with `--resume`.

mod flags;
mod message;
mod requests;

use std::time::Duration;

use interlingua_convert::{Agent, Failure, Input, Launch};
use interlingua_schema::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::installed::InstalledAgent;
use crate::agents::{Mode, Model, Models};
use crate::driver::{Order, Orders, Parting, ServeError, SessionSpec, Wire};
use crate::environment::Environment;
use crate::error::Refusal;
use crate::install::{Found, Installation, Machine};
use crate::process::{Process, Program};
use crate::variables::variables;
use crate::wire::WireBatch;
use requests::Requests;

/// What of the server's environment is Claude Code's: its keys and settings, and those of the clouds it can use.
const OWN: [&str; 7] = [
    "ANTHROPIC_*",
    "AWS_*",
    "CLAUDE_*",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "IS_SANDBOX",
];
/// An agent that was installed stays as it is.
const SET: [(&str, &str); 1] = [("DISABLE_AUTOUPDATER", "1")];
/// How long it may take to say hello, when it is only asked what it can do.
const GREETING_TIMEOUT: Duration = Duration::from_secs(20);

/// Claude Code.
pub(crate) struct ClaudeAgent {
    installation: Installation,
}

impl ClaudeAgent {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self { installation: Installation::new(Self::AGENT, machine) }
    }

    async fn run(&self, spec: SessionSpec, orders: Orders, wire: Wire) -> Result<Parting, ServeError> {
        let found = self.installation.program(spec.agent_version.as_deref())?;
        let (args, mcp_secrets) = flags::of(&spec);
        let mut env = variables(&OWN, &SET, &spec.env);
        env.extend(mcp_secrets);
        use_either_key(&mut env);
        let process = self.start(&found, args.clone(), env, &spec).await?;
        let words = std::iter::once(Self::AGENT.descriptor().program.to_owned()).chain(args).collect();
        wire.launched(Launch::new(found.version, words)).await;
        let plan_leads_to = flags::plan_leads_to(&spec);
        let mut talk = Talk {
            process,
            wire,
            batch: WireBatch::default(),
            requests: Requests::new(plan_leads_to),
            asked: 0,
            resume: Resume::of(&spec),
        };
        talk.request(&json!({"subtype": "initialize", "hooks": {}})).await;
        talk.go_on(orders).await
    }

    async fn start(
        &self,
        found: &Found,
        args: Vec<String>,
        env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
        spec: &SessionSpec,
    ) -> Result<Process, ServeError> {
        let program = Program { path: found.path.clone(), args, env, directory: spec.directory.clone() };
        let started = self.installation.supervisor().start(program).await;
        started.map_err(|error| ServeError::Unavailable(error.to_string()))
    }

    /// What it says when it is greeted, outside of any session.
    async fn greeting(&self) -> Result<Greeting, ServeError> {
        let found = self.installation.program(None)?;
        let program = Program {
            path: found.path,
            args: flags::WIRE.map(str::to_owned).to_vec(),
            env: variables(&OWN, &SET, &Environment::default()),
            directory: std::env::temp_dir(),
        };
        let failed =
            |reason: String| ServeError::Unavailable(format!("Claude Code was asked what it can do, {reason}"));
        let started = self.installation.supervisor().start(program).await;
        let mut process = started.map_err(|error| ServeError::Unavailable(error.to_string()))?;
        process.send(&control_request("hello", &json!({"subtype": "initialize", "hooks": {}})));
        let answer = timeout(GREETING_TIMEOUT, async {
            loop {
                match process.next().await {
                    Input::Received(line) => {
                        if let Some(greeting) = Greeting::read(&line) {
                            return Ok(greeting);
                        }
                    }
                    Input::Unreadable { error, .. } => {
                        return Err(failed(format!("and its answer cannot be read: {error}")));
                    }
                    Input::Exit { code } => return Err(failed(format!("and left with exit code {code:?}"))),
                    _ => {}
                }
            }
        });
        answer.await.unwrap_or_else(|_| Err(failed(format!("and said nothing for {GREETING_TIMEOUT:?}"))))
    }
}

/// The variable that we also take a key from is not Claude Code's own.
fn use_either_key(env: &mut Vec<(std::ffi::OsString, std::ffi::OsString)>) {
    let find = |wanted: &str| env.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    if find("ANTHROPIC_API_KEY").is_none()
        && let Some(key) = find("CLAUDE_API_KEY")
    {
        env.push(("ANTHROPIC_API_KEY".into(), key));
    }
}

/// What the agent says of itself when it is greeted.
#[derive(Deserialize)]
struct Greeting {
    #[serde(default)]
    models: Vec<Offered>,
}

/// A model that it offers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Offered {
    value: String,
    display_name: Option<String>,
    #[serde(default)]
    supported_effort_levels: Vec<String>,
}

impl Greeting {
    fn read(line: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Line {
            response: Response,
        }
        #[derive(Deserialize)]
        struct Response {
            response: Greeting,
        }
        serde_json::from_str::<Line>(line).ok().map(|line| line.response.response)
    }

    fn into_models(self) -> Models {
        let default_model = self.models.first().map(|model| model.value.clone());
        let models = self.models.into_iter().map(|model| Model {
            id: model.value,
            name: model.display_name,
            variants: model.supported_effort_levels,
            default_variant: None,
        });
        Models { models: models.collect(), default_model }
    }
}

fn control_request(id: &str, request: &Value) -> String {
    json!({"type": "control_request", "request_id": id, "request": request}).to_string()
}

/// What becomes of a session that is to be resumed.
#[derive(Debug, PartialEq, Eq)]
enum Resume {
    /// Nothing is to be resumed, or it is.
    Done,
    /// It has not spoken yet.
    Open,
    /// It does not know the session, in its own words.
    Unknown(String),
}

impl Resume {
    fn of(spec: &SessionSpec) -> Self {
        if spec.native.is_some() { Self::Open } else { Self::Done }
    }
}

/// A conversation with one process.
struct Talk {
    process: Process,
    wire: Wire,
    /// What is on its way to the session.
    batch: WireBatch,
    requests: Requests,
    /// How many requests we made.
    asked: u64,
    resume: Resume,
}

impl Talk {
    async fn go_on(mut self, mut orders: Orders) -> Result<Parting, ServeError> {
        loop {
            tokio::select! {
                biased;
                order = orders.next() => {
                    let Some(order) = order else {
                        self.process.leave(&self.wire).await;
                        return Ok(Parting::Left);
                    };
                    self.obey(order).await;
                }
                inputs = self.process.read() => {
                    if self.receive(inputs).await {
                        return match self.resume {
                            Resume::Unknown(words) => Err(ServeError::Lost(words)),
                            Resume::Done | Resume::Open => Ok(Parting::Left),
                        };
                    }
                }
            }
        }
    }

    /// Forwards what the process said, and answers what nobody else will. True if the process is gone.
    async fn receive(&mut self, inputs: Vec<Input>) -> bool {
        let has_exited = matches!(inputs.last(), Some(Input::Exit { .. }));
        for input in inputs {
            let refusal = match &input {
                Input::Received(line) => self.take_note(line),
                Input::Unreadable { bytes, error } => requests::refuse_unreadable(bytes, error),
                _ => None,
            };
            self.batch.push(input);
            self.answer(refusal).await;
        }
        self.wire.send_batch(&mut self.batch).await;
        has_exited
    }

    async fn obey(&mut self, order: Order) {
        match order {
            Order::Message(message) => match message::line(&message).await {
                Ok(line) => self.say(&line).await,
                Err(reason) => self.wire.failed(Failure::new(ErrorCode::InvalidRequest, reason)).await,
            },
            Order::Permission { key, reply } => {
                let answer = self.requests.permission(key.as_str(), reply);
                self.answer(answer).await;
            }
            Order::Answer { key, answers } => {
                let answer = self.requests.answer(key.as_str(), &answers);
                self.answer(answer).await;
            }
            Order::Reject { key } => {
                let answer = self.requests.reject(key.as_str());
                self.answer(answer).await;
            }
            Order::Interrupt => self.request(&json!({"subtype": "interrupt"})).await,
        }
    }

    /// Takes note of what the agent asks and withdraws. What nobody can answer is refused by the line to send.
    fn take_note(&mut self, line: &str) -> Option<String> {
        if self.resume == Resume::Open {
            self.resume = resumed(line);
        }
        self.requests.heard(line)
    }

    async fn answer(&mut self, answer: Option<String>) {
        if let Some(line) = answer {
            self.say(&line).await;
        }
    }

    async fn request(&mut self, request: &Value) {
        self.asked += 1;
        let line = control_request(&format!("host-{}", self.asked), request);
        self.say(&line).await;
    }

    async fn say(&mut self, line: &str) {
        self.batch.push(Input::Sent(line.to_owned()));
        self.wire.send_batch(&mut self.batch).await;
        self.process.send(line);
    }
}

/// What a line says about a session that is to be resumed. One that is unknown is told by a result, and nothing else.
fn resumed(line: &str) -> Resume {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Line {
        r#type: String,
        is_error: bool,
        num_turns: u64,
        errors: Vec<String>,
    }
    let line: Line = serde_json::from_str(line).unwrap_or_default();
    match line.r#type.as_str() {
        "control_response" => Resume::Open,
        "result" if line.is_error && line.num_turns == 0 && !line.errors.is_empty() => {
            Resume::Unknown(line.errors.join("; "))
        }
        _ => Resume::Done,
    }
}

impl InstalledAgent for ClaudeAgent {
    const AGENT: Agent = Agent::Claude;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn check(&self, spec: &SessionSpec) -> Result<(), Refusal> {
        flags::check(spec)
    }

    async fn modes(&self) -> Result<Vec<Mode>, ServeError> {
        Ok(flags::modes())
    }

    async fn models(&self) -> Result<Models, ServeError> {
        self.greeting().await.map(Greeting::into_models)
    }

    async fn serve(&self, spec: SessionSpec, orders: Orders, wire: Wire) -> Result<Parting, ServeError> {
        self.run(spec, orders, wire).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_it_does_not_know_is_lost_in_its_own_words() {
        let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found"]}"#;
        assert_eq!(resumed(line), Resume::Unknown("No conversation found".to_owned()));
        assert_eq!(resumed(r#"{"type":"system","subtype":"init","session_id":"1"}"#), Resume::Done);
        assert_eq!(resumed(r#"{"type":"control_response","response":{}}"#), Resume::Open);
    }

    #[test]
    fn its_models_come_with_their_efforts() {
        let line = r#"{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"models":[
            {"value":"default","displayName":"Default","supportedEffortLevels":["low","high"]},{"value":"haiku"}]}}}"#;
        let models = Greeting::read(line).unwrap().into_models();
        assert_eq!(models.default_model.as_deref(), Some("default"));
        assert_eq!(models.models[0].variants, ["low", "high"]);
        assert_eq!((models.models[1].id.as_str(), &models.models[1].name), ("haiku", &None));
    }
}
