//! Scenario files of the mock agent, and the steps of a turn.

use std::path::Path;

use interlingua_convert::Note;
use interlingua_schema::{ErrorCode, QuestionOption, StatusData, StatusLabel, ToolKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{File, Image};

/// What the mock agent does instead of the built-in commands. `docs/mock.md` describes the format.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MockScenario {
    /// Milliseconds between two lines; `None` for the driver's pace.
    #[serde(default)]
    pub(super) pace_ms: Option<u64>,
    /// The turns.
    #[serde(default, rename = "turn")]
    pub(super) turns: Vec<ScenarioTurn>,
}

/// One turn of a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioTurn {
    /// The turn is played whenever a message starts with this. A turn without it is played once, in order.
    #[serde(default)]
    pub(super) on: Option<String>,
    /// The steps, in order.
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<Step>,
}

/// One step of a turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// A message in one delta.
    Say(String),
    /// A message in these deltas.
    Stream(Vec<String>),
    /// This many megabytes of text, as messages of one megabyte.
    Flood(u32),
    /// Reasoning, one delta per word.
    Think(String),
    /// A message with an image.
    Image(Image),
    /// A tool: call, permission request if needed, result.
    Tool(Tool),
    /// Several tools at once: all calls, then all permission requests, then all results.
    Tools(Vec<Tool>),
    /// Requests, all at once, each a list of questions. The turn continues when all are resolved.
    Ask(Vec<Vec<Question>>),
    /// A status change.
    Status(Status),
    /// An item of an unknown kind.
    Unknown(Value),
    /// An error.
    Error(MockError),
    /// A line that is printed unchanged, even if it is not JSON.
    Unparsed(String),
    /// A line on standard error.
    Stderr(String),
    /// A pause.
    WaitMs(u64),
    /// If true, the agent does not react any more, not even to interrupts.
    Hang(bool),
    /// The agent exits with this code.
    Exit(i32),
    /// The steps of a built-in command.
    Command(String),
}

impl Step {
    /// Checks that the step can be played.
    fn check(&self) -> Result<(), String> {
        match self {
            Self::Command(command) if !super::commands::is_command(command) => {
                let known = super::commands::NAMES.join(", ");
                Err(format!("there is no command `{command}`: expected one of {known}"))
            }
            Self::Status(status) => status.clone().into_note().map(drop),
            _ => Ok(()),
        }
    }
}

/// The use of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) name: String,
    #[serde(default = "default_kind")]
    pub(super) kind: ToolKind,
    #[serde(default = "default_arguments")]
    pub(super) arguments: Value,
    /// The action for which it asks permission first; `None` if it does not ask.
    #[serde(default)]
    pub(super) permission: Option<String>,
    /// The reason in the permission request.
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// The tool runs for this duration in the background, beyond its turn. Its result comes between two turns.
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

fn default_kind() -> ToolKind {
    ToolKind::Other
}

fn default_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Question {
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) options: Vec<Choice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) header: Option<String>,
    /// Whether several options can be chosen.
    #[serde(default)]
    pub(super) multiple: bool,
    /// Whether the answer can be free text; `None` if only a question without options takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) free_text: Option<bool>,
    /// Whether the answer is secret.
    #[serde(default)]
    pub(super) secret: bool,
}

/// An option of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Choice {
    /// The label.
    Label(String),
    /// The label and a description.
    Described(QuestionOption),
}

/// A status change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    pub(super) label: StatusLabel,
    /// The text of a hook or notice, or the description of a task. The other labels have a fixed text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    /// The data of the label; `None` for a hook or a notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) json: Option<Value>,
}

impl Status {
    /// Turns the status into a draft. The error says what is wrong with it.
    pub(super) fn into_note(self) -> Result<Note, String> {
        let Self { label, detail, json } = self;
        let data = StatusData::decode(&label, &json.unwrap_or_default());
        let data = data.transpose().map_err(|error| format!("invalid `json` for status `{label:?}`: {error}"))?;
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
            (
                None,
                label @ (StatusLabel::Retry
                | StatusLabel::Compaction
                | StatusLabel::ModelChanged
                | StatusLabel::ModeChanged
                | StatusLabel::RateLimit
                | StatusLabel::Task
                | StatusLabel::Plan),
            ) => return Err(format!("status `{label}` needs `json`")),
            (None, label @ (StatusLabel::LateResult | StatusLabel::Unknown(_))) => {
                return Err(format!("a scenario cannot use status `{label}`"));
            }
        })
    }
}

/// An error of the mock agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MockError {
    pub(super) message: String,
    #[serde(default = "default_error_code")]
    pub(super) code: ErrorCode,
    /// The turn continues and does not fail.
    #[serde(default)]
    pub(super) aside: bool,
    /// The HTTP status of the model's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    /// The native name of the error.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Whether a retry may help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retryable: Option<bool>,
}

fn default_error_code() -> ErrorCode {
    ErrorCode::AgentError
}

/// Why a scenario file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MockScenarioError {
    /// The file cannot be read.
    #[error("cannot read scenario {0}: {1}")]
    Unreadable(String, std::io::Error),
    /// The file is not a valid scenario.
    #[error("invalid scenario {0}: {1}")]
    Invalid(String, String),
}

impl MockScenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid scenario.
    pub fn read(file: &Path) -> Result<Self, MockScenarioError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| MockScenarioError::Unreadable(name.clone(), error))?;
        Self::parse(&text).map_err(|error| MockScenarioError::Invalid(name, error))
    }

    /// Parses the text of a scenario.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for step in scenario.turns.iter().flat_map(|turn| &turn.steps) {
            step.check()?;
        }
        Ok(scenario)
    }
}
