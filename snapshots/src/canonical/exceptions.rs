//! Scenarios that an agent cannot run like the others, each with the recording that shows it.

use interlingua_convert::Agent;

use super::{CanonicalScenario, FocusTarget};

/// A scenario for which an agent has another trace, or that it cannot run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceException {
    /// The scenario.
    pub scenario: CanonicalScenario,
    /// The agent.
    pub agent: Agent,
    /// Name of the recording that shows the difference: `agent/version/scenario`.
    pub recording: &'static str,
    /// What the recording shows.
    pub evidence: Evidence,
    /// Why the converter cannot remove the difference.
    pub reason: &'static str,
}

/// What a recording shows instead of the scenario's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Evidence {
    /// The first turn, or the [target](TraceException::target) in it, has this trace.
    Trace(&'static [&'static str]),
    /// This tool call of the first turn has this trace.
    CallTrace(usize, &'static [&'static str]),
    /// The agent lists its tools, and no tool name contains any of these words.
    MissingTool(&'static [&'static str]),
}

impl TraceException {
    /// The exception for a scenario and an agent, if there is one.
    #[must_use]
    pub fn find(scenario: CanonicalScenario, agent: Agent) -> Option<&'static Self> {
        EXCEPTIONS.iter().find(|exception| exception.scenario == scenario && exception.agent == agent)
    }

    /// The part of the turn that the trace describes: the tool call if the trace has one, else the request.
    #[must_use]
    pub fn target(&self) -> FocusTarget {
        let trace = match self.evidence {
            Evidence::Trace(trace) => trace,
            Evidence::CallTrace(call, _) => return FocusTarget::ToolCall(call),
            Evidence::MissingTool(_) => return self.scenario.target(),
        };
        let has = |kind: &str| trace.iter().any(|line| line.starts_with(kind));
        match self.scenario.target() {
            FocusTarget::ToolCall(_) if !has("tool_call/") => FocusTarget::FirstRequest,
            target => target,
        }
    }
}

/// Words in the names of tools that ask the user.
const QUESTION_TOOL_WORDS: &[&str] = &["ask", "question"];

/// All exceptions.
pub const EXCEPTIONS: &[TraceException] = &[
    TraceException {
        scenario: CanonicalScenario::PermissionAllowed,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/server-approval-queue",
        evidence: Evidence::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call command], completed [tool_call command]",
            "error",
            "tool_result/tool: started [tool_result], failed [tool_result]",
            "turn.ended failed",
        ]),
        reason: "with JSON output, Amp ends the turn where it would have to ask for permission",
    },
    TraceException {
        scenario: CanonicalScenario::PermissionDenied,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/permission-ask-rule",
        evidence: Evidence::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call command], completed [tool_call command]",
            "tool_result/tool: started [tool_result], failed [tool_result]",
            "message/assistant: started [], delta, completed [text]",
            "turn.ended completed",
        ]),
        reason: "with JSON output, Amp treats the rule `ask` as a refusal and sends no request",
    },
    TraceException {
        scenario: CanonicalScenario::Question,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/text",
        evidence: Evidence::MissingTool(QUESTION_TOOL_WORDS),
        reason: "Amp has no tool that asks the user",
    },
    TraceException {
        scenario: CanonicalScenario::Question,
        agent: Agent::Codex,
        recording: "codex/0.166.0/request_user_input",
        evidence: Evidence::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "question.requested",
            "question.resolved answered",
            "message/assistant: started [], delta, completed [text]",
            "turn.ended completed",
        ]),
        reason: "the request names an item that Codex never starts, so the call, its arguments and its result are unknown",
    },
];
