//! Data that an agent does not report, or reports differently.

use interlingua_convert::Agent;

use super::{Aspect, Comparison};

/// A key of tool inputs or status data that only some agents report. It is not compared.
#[derive(Debug, Clone, Copy)]
pub struct OptionalKey {
    /// The key.
    pub key: &'static str,
    /// Which agents report it or do not, and why.
    pub reason: &'static str,
}

/// The keys that are not compared.
pub const OPTIONAL_KEYS: &[OptionalKey] = &[
    OptionalKey { key: "description", reason: "purpose of a command or sub-agent: Codex has no field for it" },
    OptionalKey { key: "cwd", reason: "working directory of a command: only Codex reports it with every command" },
    OptionalKey { key: "edits", reason: "replaced texts: Codex edits files with patches" },
    OptionalKey { key: "diff", reason: "the patch: Claude Code and OpenCode replace texts instead" },
    OptionalKey {
        key: "change",
        reason: "created, replaced or deleted: a write of Claude Code or OpenCode can be either of the first two",
    },
    OptionalKey { key: "agent", reason: "name of a sub-agent: sub-agents of Codex have no names" },
    OptionalKey { key: "max_attempts", reason: "maximum number of attempts of a request: OpenCode does not report it" },
];

/// An aspect in which an agent differs from the others, because it does not report the data or reports it differently.
#[derive(Debug, Clone, Copy)]
pub struct UniformityException {
    /// The agent.
    pub agent: Agent,
    /// The aspect that differs.
    pub aspect: Aspect,
    /// The scenarios in which it differs. Empty means all scenarios.
    pub scenarios: &'static [&'static str],
    /// What the agent does differently. Completes a sentence that starts with the name of the agent.
    pub reason: &'static str,
}

impl UniformityException {
    /// Whether this exception applies to an agent in a comparison.
    #[must_use]
    pub fn covers(&self, agent: Agent, comparison: &Comparison) -> bool {
        self.agent == agent
            && self.aspect == comparison.aspect
            && (self.scenarios.is_empty() || self.scenarios.contains(&comparison.scenario.as_str()))
    }
}

const fn exception(
    agent: Agent,
    aspect: Aspect,
    scenarios: &'static [&'static str],
    reason: &'static str,
) -> UniformityException {
    UniformityException { agent, aspect, scenarios, reason }
}

/// Scenarios in which the host stops Codex before Codex reports the running command.
const STOPPED_COMMANDS: &[&str] = &["ended-while-a-command-runs", "interrupted-while-a-command-runs"];
const SUB_AGENTS: &[&str] = &["helper-answers", "helper-runs-a-command"];
const READS: &[&str] =
    &["change-is-allowed", "edits-a-file", "patches-several-files", "reads-a-file", "reads-a-file-that-is-not-there"];
const QUESTIONS: &[&str] = &["asks-two-questions", "asks-which-colour", "question-is-dismissed"];
const DENIED: &[&str] = &["denied", "question-is-dismissed"];

const CODEX_READS: &str = "has no tool for reading files: its model runs a command, which needs permission too";
const CODEX_SUB_AGENTS: &str = "reports the start of a sub-agent, and waits for it with a second call";
const CODEX_STOPPED: &str = "reports a command only when it runs; here the host stops it before that";
const CODEX_PLAN: &str = "reports the plan, but not the tool call that made it";
const CODEX_QUESTIONS: &str = "names a tool call with its questions, but never reports that call or its result";
const CODEX_UNKNOWN_TOOL: &str = "does not report that its model called a tool that does not exist";
const CLAUDE_SUB_AGENTS: &str = "does not print the messages of a sub-agent, or the exit codes of its commands";
const CLAUDE_TRUNCATED: &str = "asks its model three times to continue, and reports that";
const CLAUDE_PATCH: &str = "has no tool that edits several files or deletes a file";
const OPENCODE_TRUNCATED: &str =
    "does not report a failure when the answer is truncated; only the stop reason shows it";
const OPENCODE_DENIED: &str = "ends the turn after a denial without a message";
const OPENCODE_SEARCH: &str = "has a search tool; the models of the other agents run a command";

/// All exceptions.
pub const EXCEPTIONS: &[UniformityException] = &[
    exception(Agent::Claude, Aspect::Sequence, &["answer-is-cut-at-the-limit"], CLAUDE_TRUNCATED),
    exception(Agent::Claude, Aspect::Sequence, SUB_AGENTS, CLAUDE_SUB_AGENTS),
    exception(Agent::Claude, Aspect::Sequence, &["patches-several-files"], CLAUDE_PATCH),
    exception(Agent::Codex, Aspect::Sequence, QUESTIONS, CODEX_QUESTIONS),
    exception(Agent::Codex, Aspect::Sequence, READS, CODEX_READS),
    exception(Agent::Codex, Aspect::Sequence, SUB_AGENTS, CODEX_SUB_AGENTS),
    exception(Agent::Codex, Aspect::Sequence, STOPPED_COMMANDS, CODEX_STOPPED),
    exception(Agent::Codex, Aspect::Sequence, &["keeps-a-list"], CODEX_PLAN),
    exception(Agent::Codex, Aspect::Sequence, &["no-such-tool"], CODEX_UNKNOWN_TOOL),
    exception(Agent::OpenCode, Aspect::Sequence, &["answer-is-cut-at-the-limit"], OPENCODE_TRUNCATED),
    exception(Agent::OpenCode, Aspect::Sequence, DENIED, OPENCODE_DENIED),
    exception(Agent::OpenCode, Aspect::Sequence, &["searches-files"], OPENCODE_SEARCH),
    exception(
        Agent::OpenCode,
        Aspect::Sequence,
        &["document-is-attached", "image-is-attached", "text-is-attached"],
        "reports the text that it adds to an attachment for its model; the others do not",
    ),
    exception(Agent::Claude, Aspect::Texts, &["answer-is-cut-at-the-limit"], CLAUDE_TRUNCATED),
    exception(Agent::Claude, Aspect::Texts, SUB_AGENTS, CLAUDE_SUB_AGENTS),
    exception(Agent::OpenCode, Aspect::Texts, DENIED, OPENCODE_DENIED),
    exception(Agent::Claude, Aspect::Titles, &["patches-several-files"], CLAUDE_PATCH),
    exception(Agent::Codex, Aspect::Titles, QUESTIONS, CODEX_QUESTIONS),
    exception(Agent::Codex, Aspect::Titles, READS, CODEX_READS),
    exception(Agent::Codex, Aspect::Titles, SUB_AGENTS, CODEX_SUB_AGENTS),
    exception(Agent::Codex, Aspect::Titles, STOPPED_COMMANDS, CODEX_STOPPED),
    exception(Agent::Codex, Aspect::Titles, &["keeps-a-list"], CODEX_PLAN),
    exception(Agent::Codex, Aspect::Titles, &["no-such-tool"], CODEX_UNKNOWN_TOOL),
    exception(Agent::OpenCode, Aspect::Titles, &["searches-files"], OPENCODE_SEARCH),
    exception(Agent::Claude, Aspect::Inputs, &["patches-several-files"], CLAUDE_PATCH),
    exception(Agent::Codex, Aspect::Inputs, QUESTIONS, CODEX_QUESTIONS),
    exception(Agent::Codex, Aspect::Inputs, READS, CODEX_READS),
    exception(Agent::Codex, Aspect::Inputs, SUB_AGENTS, CODEX_SUB_AGENTS),
    exception(Agent::Codex, Aspect::Inputs, STOPPED_COMMANDS, CODEX_STOPPED),
    exception(Agent::Codex, Aspect::Inputs, &["keeps-a-list"], CODEX_PLAN),
    exception(Agent::Codex, Aspect::Inputs, &["no-such-tool"], CODEX_UNKNOWN_TOOL),
    exception(Agent::OpenCode, Aspect::Inputs, &["searches-files"], OPENCODE_SEARCH),
    exception(Agent::Claude, Aspect::Outputs, &["helper-runs-a-command"], CLAUDE_SUB_AGENTS),
    exception(Agent::Claude, Aspect::Outputs, &["patches-several-files"], CLAUDE_PATCH),
    exception(
        Agent::Claude,
        Aspect::Outputs,
        &["ended-while-a-command-runs"],
        "reports the exit code of the command that it kills when it exits; the others exit before that",
    ),
    exception(
        Agent::Claude,
        Aspect::Outputs,
        &["searches-files"],
        "runs its own `grep`, which prints paths differently",
    ),
    exception(Agent::Codex, Aspect::Outputs, QUESTIONS, CODEX_QUESTIONS),
    exception(Agent::Codex, Aspect::Outputs, READS, CODEX_READS),
    exception(Agent::Codex, Aspect::Outputs, SUB_AGENTS, CODEX_SUB_AGENTS),
    exception(Agent::Codex, Aspect::Outputs, STOPPED_COMMANDS, CODEX_STOPPED),
    exception(Agent::Codex, Aspect::Outputs, &["keeps-a-list"], CODEX_PLAN),
    exception(Agent::Codex, Aspect::Outputs, &["no-such-tool"], CODEX_UNKNOWN_TOOL),
    exception(Agent::OpenCode, Aspect::Outputs, &["searches-files"], OPENCODE_SEARCH),
    exception(
        Agent::Claude,
        Aspect::Files,
        &["document-is-attached", "text-is-attached"],
        "receives the content of a document, not its path",
    ),
    exception(Agent::Claude, Aspect::Files, &["patches-several-files"], CLAUDE_PATCH),
    exception(
        Agent::OpenCode,
        Aspect::Files,
        &["patches-several-files"],
        "writes `1,1` in the header of a hunk with one line",
    ),
    exception(Agent::Codex, Aspect::Files, &["image-is-attached"], "receives the path of an image, not its content"),
    exception(Agent::Codex, Aspect::Files, &["commands-one-after-the-other"], "reports which files a command reads"),
    exception(
        Agent::Claude,
        Aspect::Permissions,
        &["allowed-for-good"],
        "stores a permanent rule; the others allow the command for the rest of the session",
    ),
    exception(Agent::Codex, Aspect::Permissions, &["change-is-allowed"], CODEX_READS),
    exception(
        Agent::OpenCode,
        Aspect::Permissions,
        &["allowed-for-good", "allowed-once", "denied", "denied-with-a-reason", "interrupted-while-asked"],
        "cannot store a permanent rule",
    ),
    exception(Agent::Codex, Aspect::Questions, QUESTIONS, CODEX_QUESTIONS),
    exception(
        Agent::Claude,
        Aspect::Questions,
        &["question-is-dismissed"],
        "needs a message with a dismissal; the others do not",
    ),
    exception(
        Agent::Claude,
        Aspect::Statuses,
        &["allowed-for-good"],
        "suggests a permission mode together with the rule",
    ),
    exception(Agent::Claude, Aspect::Statuses, &["connection-breaks-then-fine"], "does not report the kind of failure"),
    exception(Agent::Claude, Aspect::Statuses, &["error-in-the-stream"], "does not retry"),
    exception(
        Agent::Claude,
        Aspect::Statuses,
        SUB_AGENTS,
        "reports the progress of a sub-agent; the others only its actions",
    ),
    exception(Agent::Codex, Aspect::Statuses, QUESTIONS, "asks the user only in plan mode"),
    exception(
        Agent::Codex,
        Aspect::Statuses,
        &["error-in-the-stream"],
        "reports an error in the stream only as a broken connection",
    ),
    exception(
        Agent::Codex,
        Aspect::Statuses,
        &["overloaded-then-fine", "server-error-then-fine"],
        "does not report retries after a server error",
    ),
    exception(
        Agent::OpenCode,
        Aspect::Statuses,
        &["server-error-then-fine"],
        "reports the message of a failure, not its status code",
    ),
    exception(Agent::OpenCode, Aspect::Statuses, &["refused-for-a-wrong-key"], "does not retry a wrong API key"),
    exception(
        Agent::Codex,
        Aspect::Errors,
        &["refused-as-invalid"],
        "does not report the status code of a rejected request",
    ),
    exception(Agent::OpenCode, Aspect::Errors, &["answer-is-cut-at-the-limit"], OPENCODE_TRUNCATED),
    exception(Agent::OpenCode, Aspect::Turns, &["answer-is-cut-at-the-limit"], OPENCODE_TRUNCATED),
    exception(Agent::OpenCode, Aspect::Turns, DENIED, OPENCODE_DENIED),
    exception(Agent::OpenCode, Aspect::Sessions, &[], "has no permission modes, only rules"),
];
