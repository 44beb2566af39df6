//! The scenarios that every agent can be put through, and the trace that each should leave.

use super::About;

/// Something that happens in a turn, whichever agent runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scenario {
    /// The model answers.
    PlainText,
    /// The model thinks, then answers.
    Reasoning,
    /// A command that exits with 0.
    Command,
    /// A command that exits with something else.
    FailingCommand,
    /// A file is changed in places.
    FileEdit,
    /// A command for which the agent asks, and may.
    PermissionAllowed,
    /// A command for which the agent asks, and may not.
    PermissionDenied,
    /// The agent asks the user something and is answered.
    Question,
    /// The host stops the turn while the model speaks.
    Interrupt,
    /// The model cannot be used.
    ModelError,
}

const USER: &str = "message/user: started [], delta, completed [text]";
const ANSWER: &str = "message/assistant: started [], delta, completed [text]";
const COMMAND: &str = "tool_call/assistant: started [tool_call command], completed [tool_call command]";
const RESULT: &str = "tool_result/tool: started [tool_result], completed [tool_result]";
const FAILURE: &str = "tool_result/tool: started [tool_result], failed [tool_result]";

impl Scenario {
    /// All of them.
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

    /// The trace it leaves.
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

    /// What it is about in a turn: of one that is about a tool call, the first.
    #[must_use]
    pub const fn about(self) -> About {
        if self.is_about_a_call() { About::Call(0) } else { About::Turn }
    }

    /// Whether it is about one tool call, so that others in the turn do not count.
    #[must_use]
    pub const fn is_about_a_call(self) -> bool {
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
