//! The scenarios that all agents share, and the expected trace of each.

use super::FocusTarget;

/// Something that can happen in a turn of any agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CanonicalScenario {
    /// The model answers with text.
    PlainText,
    /// The model reasons, then answers.
    Reasoning,
    /// A command that exits with code 0.
    Command,
    /// A command that exits with another code.
    FailingCommand,
    /// A file is edited.
    FileEdit,
    /// The agent asks for permission to run a command, and it is approved.
    PermissionAllowed,
    /// The agent asks for permission to run a command, and it is denied.
    PermissionDenied,
    /// The agent asks the user a question, and it is answered.
    Question,
    /// The host interrupts the turn while the model streams its answer.
    Interrupt,
    /// The model request fails.
    ModelError,
}

const USER: &str = "message/user: started [], delta, completed [text]";
const ANSWER: &str = "message/assistant: started [], delta, completed [text]";
const COMMAND: &str = "tool_call/assistant: started [tool_call command], completed [tool_call command]";
const RESULT: &str = "tool_result/tool: started [tool_result], completed [tool_result]";
const FAILURE: &str = "tool_result/tool: started [tool_result], failed [tool_result]";

impl CanonicalScenario {
    /// Every scenario.
    pub const ALL: [Self; 10] = [
        Self::PlainText,
        Self::Reasoning,
        Self::Command,
        Self::FailingCommand,
        Self::FileEdit,
        Self::PermissionAllowed,
        Self::PermissionDenied,
        Self::Question,
        Self::Interrupt,
        Self::ModelError,
    ];

    /// The expected trace.
    #[must_use]
    pub const fn trace(self) -> &'static [&'static str] {
        match self {
            Self::PlainText => &["turn.started", USER, ANSWER, "turn.ended completed"],
            Self::Reasoning => &[
                "turn.started",
                USER,
                "message/assistant: started [reasoning], delta, completed [reasoning]",
                ANSWER,
                "turn.ended completed",
            ],
            Self::Command => &["turn.started", USER, COMMAND, RESULT, ANSWER, "turn.ended completed"],
            Self::FailingCommand => &["turn.started", USER, COMMAND, FAILURE, ANSWER, "turn.ended completed"],
            Self::FileEdit => &[
                "turn.started",
                USER,
                "tool_call/assistant: started [tool_call file_change], completed [tool_call file_change]",
                "tool_result/tool: started [tool_result], completed [tool_result, file_ref]",
                ANSWER,
                "turn.ended completed",
            ],
            Self::PermissionAllowed => &[
                "turn.started",
                USER,
                COMMAND,
                "permission.requested",
                "permission.resolved approved",
                RESULT,
                ANSWER,
                "turn.ended completed",
            ],
            Self::PermissionDenied => &[
                "turn.started",
                USER,
                COMMAND,
                "permission.requested",
                "permission.resolved denied",
                FAILURE,
                ANSWER,
                "turn.ended completed",
            ],
            Self::Question => &[
                "turn.started",
                USER,
                "tool_call/assistant: started [tool_call question], completed [tool_call question]",
                "question.requested",
                "question.resolved answered",
                RESULT,
                ANSWER,
                "turn.ended completed",
            ],
            Self::Interrupt => {
                &["turn.started", USER, "message/assistant: started [], delta, failed [text]", "turn.ended interrupted"]
            }
            Self::ModelError => &["turn.started", USER, "error", "turn.ended failed"],
        }
    }

    /// The part of a turn that the trace describes. For a scenario about a tool call: the first call.
    #[must_use]
    pub const fn target(self) -> FocusTarget {
        if self.is_about_tool_call() { FocusTarget::ToolCall(0) } else { FocusTarget::WholeTurn }
    }

    /// Whether the scenario is about one tool call. Other calls of the turn are then left out of the trace.
    #[must_use]
    pub const fn is_about_tool_call(self) -> bool {
        match self {
            Self::PlainText | Self::Reasoning | Self::Interrupt | Self::ModelError => false,
            Self::Command
            | Self::FailingCommand
            | Self::FileEdit
            | Self::PermissionAllowed
            | Self::PermissionDenied
            | Self::Question => true,
        }
    }
}
