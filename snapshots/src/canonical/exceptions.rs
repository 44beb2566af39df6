//! What an agent truly cannot do as the others do, each with the recording that shows it.

use interlingua_convert::Agent;

use super::{About, Scenario};

/// A scenario that an agent plays otherwise, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exception {
    /// What is played.
    pub scenario: Scenario,
    /// By whom.
    pub agent: Agent,
    /// The recording that shows it, as `agent/version/scenario`.
    pub recording: &'static str,
    /// What it shows.
    pub shown: Shown,
    /// Why no converter can mend it.
    pub why: &'static str,
}

/// What a recording shows instead of the scenario's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// Its first turn, or what it is about in it, leaves this trace.
    Trace(&'static [&'static str]),
    /// The agent lists its tools, and none has a name with one of these in it.
    NoTool(&'static [&'static str]),
}

impl Exception {
    /// The exception that an agent makes in a scenario, if it does.
    #[must_use]
    pub fn of(scenario: Scenario, agent: Agent) -> Option<&'static Self> {
        EXCEPTIONS.iter().find(|exception| exception.scenario == scenario && exception.agent == agent)
    }

    /// What its trace is about: the call, if there is one in it, or else the request.
    #[must_use]
    pub fn about(&self) -> About {
        let Shown::Trace(trace) = self.shown else { return self.scenario.about() };
        let has = |kind: &str| trace.iter().any(|line| line.starts_with(kind));
        match self.scenario.about() {
            About::Call(_) if !has("tool_call/") => About::Request,
            about => about,
        }
    }
}

/// The words in the names of tools that ask the user.
const ASKING: &[&str] = &["ask", "question"];

/// All exceptions.
pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        scenario: Scenario::PermissionAllowed,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/server-approval-queue",
        shown: Shown::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call command], completed [tool_call command]",
            "error",
            "tool_result/tool: started [tool_result], failed [tool_result]",
            "turn.ended failed",
        ]),
        why: "with a host that reads JSON, Amp gives up where it would have to ask",
    },
    Exception {
        scenario: Scenario::PermissionDenied,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/permission-ask-rule",
        shown: Shown::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "tool_call/assistant: started [tool_call command], completed [tool_call command]",
            "tool_result/tool: started [tool_result], failed [tool_result]",
            "message/assistant: started [], delta, completed [text]",
            "turn.ended completed",
        ]),
        why: "a rule that says `ask` is a refusal where there is nobody to ask; no request is made",
    },
    Exception {
        scenario: Scenario::Question,
        agent: Agent::Amp,
        recording: "amp/0.0.1790142911-g7618fb/text",
        shown: Shown::NoTool(ASKING),
        why: "Amp has no tool that asks the user",
    },
    Exception {
        scenario: Scenario::Question,
        agent: Agent::Codex,
        recording: "codex/0.166.0/request_user_input",
        shown: Shown::Trace(&[
            "turn.started",
            "message/user: started [], delta, completed [text]",
            "question.requested",
            "question.resolved answered",
            "message/assistant: started [], delta, completed [text]",
            "turn.ended completed",
        ]),
        why: "the request names an item that Codex never starts, so that neither the call nor its arguments nor its \
              result are known",
    },
];
