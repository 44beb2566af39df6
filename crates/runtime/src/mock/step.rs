//! What the mock agent does in a turn, step by step: built in, or read from a scenario file.

use std::path::Path;

use interlingua_convert::Note;
use interlingua_schema::{ErrorCode, QuestionOption, StatusData, StatusLabel, ToolKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{File, Image};

/// What the mock agent does instead of obeying the built-in commands. `docs/mock.md` has the format.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MockScenario {
    /// Milliseconds between two lines; left out, the driver's own pace.
    #[serde(default)]
    pub(super) pace_ms: Option<u64>,
    /// The turns.
    #[serde(default, rename = "turn")]
    pub(super) turns: Vec<Turn>,
}

/// One turn of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// Played whenever a message begins with this; a turn without is played once, in order.
    #[serde(default)]
    pub(super) on: Option<String>,
    /// What is done.
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<Step>,
}

/// One thing that is done.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// A message, in one piece.
    Say(String),
    /// A message that streams in these pieces.
    Stream(Vec<String>),
    /// Reasoning that streams word by word.
    Think(String),
    /// A message with an image.
    Image(Image),
    /// A tool: call, perhaps permission, result.
    Tool(Tool),
    /// Several tools at once: all calls, then all permissions, then all results.
    Tools(Vec<Tool>),
    /// Requests, all at once, each a list of questions. The turn goes on when all are answered.
    Ask(Vec<Vec<Question>>),
    /// A change of state.
    Status(Status),
    /// Something there is no word for.
    Unknown(Value),
    /// A failure.
    Error(Trouble),
    /// A line that cannot be read.
    Unparsed(String),
    /// A line on standard error.
    Stderr(String),
    /// A pause.
    WaitMs(u64),
    /// Deaf from here on, to interrupts too.
    Hang(bool),
    /// Gone, with this exit code.
    Exit(i32),
    /// What a built-in command does.
    Command(String),
}

impl Step {
    /// Whether it can be played; the error says why not.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Command(command) if !super::commands::is_command(command) => {
                let known = super::commands::NAMES.join(", ");
                Err(format!("there is no command `{command}`: expected one of {known}"))
            }
            Self::Status(status) => status.clone().note().map(drop),
            _ => Ok(()),
        }
    }
}

/// A tool that is used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default = "other")]
    pub(super) kind: ToolKind,
    #[serde(default = "no_arguments")]
    pub(super) arguments: Value,
    /// What is asked for first; nothing is when absent.
    #[serde(default)]
    pub(super) permission: Option<String>,
    /// Why it is asked for.
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// It runs for so long, also when its turn is over. Its result comes after that, between two turns.
    #[serde(default)]
    pub(super) background_ms: Option<u64>,
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    pub(super) exit_code: Option<i32>,
    #[serde(default)]
    pub(super) failed: bool,
    #[serde(default)]
    pub(super) files: Vec<File>,
}

fn other() -> ToolKind {
    ToolKind::Other
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) options: Vec<Choice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) header: Option<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub(super) multiple: bool,
    /// Whether the answer may be something else than an option; left out, only if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) free_text: Option<bool>,
    /// Whether the answer is not to be shown.
    #[serde(default)]
    pub(super) secret: bool,
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Choice {
    /// Its name.
    Label(String),
    /// Its name and what it means.
    Described(QuestionOption),
}

/// A change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    pub(super) label: StatusLabel,
    /// What a hook or a notice says, and what a task is about. The other labels have a sentence of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    /// The data of the label; none for a hook or a notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<Value>,
}

impl Status {
    /// The status as a draft; the error says what is wrong with it.
    pub(super) fn note(self) -> Result<Note, String> {
        let Self { label, detail, json } = self;
        let data = StatusData::decode(&label, &json.unwrap_or_default());
        let data = data.transpose().map_err(|error| format!("the json of status `{label:?}`: {error}"))?;
        Ok(match (data, label) {
            (Some(StatusData::Retry(retry)), _) => Note::retry(retry),
            (Some(StatusData::Compaction(compaction)), _) => Note::compaction(compaction),
            (Some(StatusData::ModelChanged(change)), _) => Note::model_changed(change.from, change.to),
            (Some(StatusData::ModeChanged(change)), _) => Note::mode_changed(change.from, change.to),
            (Some(StatusData::RateLimit(limit)), _) => Note::rate_limit(limit),
            (Some(StatusData::Task(task)), _) => Note::task(task, detail.as_deref(), None),
            (Some(StatusData::Plan(plan)), _) => Note::plan(plan.steps),
            (None, StatusLabel::Hook) => Note::hook(detail.unwrap_or_default()),
            (None, StatusLabel::Notice) => Note::notice(detail.unwrap_or_default()),
            (_, label) => return Err(format!("no agent tells of a status `{label:?}` by itself")),
        })
    }
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trouble {
    pub(super) message: String,
    #[serde(default = "agent_error")]
    pub(super) code: ErrorCode,
    /// The turn goes on and does not fail.
    #[serde(default)]
    pub(super) aside: bool,
    /// The HTTP status that the agent was answered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// The agent's own name for the failure.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Whether trying again may help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retryable: Option<bool>,
}

fn agent_error() -> ErrorCode {
    ErrorCode::AgentError
}

/// Why a scenario cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MockScenarioError {
    /// The file cannot be read.
    #[error("cannot read the scenario {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// The file is not a scenario.
    #[error("{0} is not a scenario: {1}")]
    Invalid(String, String),
}

impl MockScenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a scenario.
    pub fn read(file: &Path) -> Result<Self, MockScenarioError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| MockScenarioError::Unreadable(name.clone(), error))?;
        Self::parse(&text).map_err(|error| MockScenarioError::Invalid(name, error))
    }

    /// Reads the text of a scenario; the error says where it is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for step in scenario.turns.iter().flat_map(|turn| &turn.steps) {
            step.check()?;
        }
        Ok(scenario)
    }
}
