//! Where an agent shows other data than the others, and what it does not say.

use interlingua_convert::Agent;

use super::{Aspect, Comparison};

/// A key of tool inputs and status data that only some agents say. It is not compared.
#[derive(Debug, Clone, Copy)]
pub struct OptionalKey {
    /// The key.
    pub key: &'static str,
    /// Who says it and who does not.
    pub why: &'static str,
}

/// The keys that are not compared.
pub const OPTIONAL_KEYS: &[OptionalKey] = &[
    OptionalKey { key: "description", why: "what a command or sub-agent is for: Codex has no place for it" },
    OptionalKey { key: "cwd", why: "where a command runs: only Codex says it with every command" },
    OptionalKey { key: "edits", why: "the texts that are replaced: Codex changes files by patches" },
    OptionalKey { key: "diff", why: "the patch: Claude Code and OpenCode replace texts" },
    OptionalKey {
        key: "change",
        why: "what happens to a file: a write of Claude Code or OpenCode may create or replace",
    },
    OptionalKey { key: "agent", why: "which agent is to do a task: Codex has no names for them" },
    OptionalKey { key: "max_attempts", why: "how often a request is tried: OpenCode does not say" },
];

/// What an agent shows otherwise, because it does not say it.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    /// The agent.
    pub agent: Agent,
    /// What is otherwise.
    pub aspect: Aspect,
    /// In these scenarios; in all of them when there are none.
    pub scenarios: &'static [&'static str],
    /// What the agent truly does not say.
    pub why: &'static str,
}

impl Exception {
    /// Whether it is about what this agent shows here.
    #[must_use]
    pub fn covers(&self, agent: Agent, comparison: &Comparison) -> bool {
        self.agent == agent
            && self.aspect == comparison.aspect
            && (self.scenarios.is_empty() || self.scenarios.contains(&comparison.scenario.as_str()))
    }
}

const fn except(agent: Agent, aspect: Aspect, scenarios: &'static [&'static str], why: &'static str) -> Exception {
    Exception { agent, aspect, scenarios, why }
}

/// What a recording of Codex holds no command of: the host acts before Codex tells of it.
const STOPPED_AT_ONCE: &[&str] = &["ended-while-a-command-runs", "interrupted-while-a-command-runs"];
const HELPERS: &[&str] = &["helper-answers", "helper-runs-a-command"];
const READS: &[&str] =
    &["change-is-allowed", "edits-a-file", "patches-several-files", "reads-a-file", "reads-a-file-that-is-not-there"];
const QUESTIONS: &[&str] = &["asks-two-questions", "asks-which-colour", "question-is-dismissed"];
const REFUSED: &[&str] = &["denied", "question-is-dismissed"];

const CODEX_READS: &str = "has no tool that reads files: its model runs a command, for which it asks too";
const CODEX_HELPERS: &str = "says that a sub-agent began, and waits for it with another call";
const CODEX_STOPPED: &str = "tells of a command only once it runs; here the host acts before that";
const CODEX_PLAN: &str = "tells the plan, but not the call that made it";
const CODEX_ASKS: &str = "names a call with its questions, but never tells of that call, nor of its result";
const CODEX_NO_TOOL: &str = "does not tell that its model called a tool that is not there";
const CLAUDE_HELPERS: &str = "does not print what a sub-agent says, nor the exit codes of its commands";
const CLAUDE_CUT: &str = "asks its model three times to go on, and shows that";
const CLAUDE_PATCH: &str = "has no tool that changes several files or deletes one";
const OPENCODE_CUT: &str = "does not call it a failure when the answer is cut off; the stop reason tells it";
const OPENCODE_REFUSED: &str = "ends the turn when it is refused without a word";
const OPENCODE_SEARCH: &str = "has a tool that searches; the models of the others run a command";

/// All exceptions.
pub const EXCEPTIONS: &[Exception] = &[
    except(Agent::Claude, Aspect::Sequence, &["answer-is-cut-at-the-limit"], CLAUDE_CUT),
    except(Agent::Claude, Aspect::Sequence, HELPERS, CLAUDE_HELPERS),
    except(Agent::Claude, Aspect::Sequence, &["patches-several-files"], CLAUDE_PATCH),
    except(Agent::Codex, Aspect::Sequence, QUESTIONS, CODEX_ASKS),
    except(Agent::Codex, Aspect::Sequence, READS, CODEX_READS),
    except(Agent::Codex, Aspect::Sequence, HELPERS, CODEX_HELPERS),
    except(Agent::Codex, Aspect::Sequence, STOPPED_AT_ONCE, CODEX_STOPPED),
    except(Agent::Codex, Aspect::Sequence, &["keeps-a-list"], CODEX_PLAN),
    except(Agent::Codex, Aspect::Sequence, &["no-such-tool"], CODEX_NO_TOOL),
    except(Agent::OpenCode, Aspect::Sequence, &["answer-is-cut-at-the-limit"], OPENCODE_CUT),
    except(Agent::OpenCode, Aspect::Sequence, REFUSED, OPENCODE_REFUSED),
    except(Agent::OpenCode, Aspect::Sequence, &["searches-files"], OPENCODE_SEARCH),
    except(
        Agent::OpenCode,
        Aspect::Sequence,
        &["document-is-attached", "image-is-attached", "text-is-attached"],
        "tells what it adds to an attachment for its model; the others do not",
    ),
    except(Agent::Claude, Aspect::Texts, &["answer-is-cut-at-the-limit"], CLAUDE_CUT),
    except(Agent::Claude, Aspect::Texts, HELPERS, CLAUDE_HELPERS),
    except(Agent::OpenCode, Aspect::Texts, REFUSED, OPENCODE_REFUSED),
    except(Agent::Claude, Aspect::Titles, &["patches-several-files"], CLAUDE_PATCH),
    except(Agent::Codex, Aspect::Titles, QUESTIONS, CODEX_ASKS),
    except(Agent::Codex, Aspect::Titles, READS, CODEX_READS),
    except(Agent::Codex, Aspect::Titles, HELPERS, CODEX_HELPERS),
    except(Agent::Codex, Aspect::Titles, STOPPED_AT_ONCE, CODEX_STOPPED),
    except(Agent::Codex, Aspect::Titles, &["keeps-a-list"], CODEX_PLAN),
    except(Agent::Codex, Aspect::Titles, &["no-such-tool"], CODEX_NO_TOOL),
    except(Agent::OpenCode, Aspect::Titles, &["searches-files"], OPENCODE_SEARCH),
    except(Agent::Claude, Aspect::Inputs, &["patches-several-files"], CLAUDE_PATCH),
    except(Agent::Codex, Aspect::Inputs, QUESTIONS, CODEX_ASKS),
    except(Agent::Codex, Aspect::Inputs, READS, CODEX_READS),
    except(Agent::Codex, Aspect::Inputs, HELPERS, CODEX_HELPERS),
    except(Agent::Codex, Aspect::Inputs, STOPPED_AT_ONCE, CODEX_STOPPED),
    except(Agent::Codex, Aspect::Inputs, &["keeps-a-list"], CODEX_PLAN),
    except(Agent::Codex, Aspect::Inputs, &["no-such-tool"], CODEX_NO_TOOL),
    except(Agent::OpenCode, Aspect::Inputs, &["searches-files"], OPENCODE_SEARCH),
    except(Agent::Claude, Aspect::Outputs, &["helper-runs-a-command"], CLAUDE_HELPERS),
    except(Agent::Claude, Aspect::Outputs, &["patches-several-files"], CLAUDE_PATCH),
    except(
        Agent::Claude,
        Aspect::Outputs,
        &["ended-while-a-command-runs"],
        "tells the exit code of the command that it ends with itself; the others leave before",
    ),
    except(
        Agent::Claude,
        Aspect::Outputs,
        &["searches-files"],
        "runs a `grep` of its own, which writes paths otherwise",
    ),
    except(Agent::Codex, Aspect::Outputs, QUESTIONS, CODEX_ASKS),
    except(Agent::Codex, Aspect::Outputs, READS, CODEX_READS),
    except(Agent::Codex, Aspect::Outputs, HELPERS, CODEX_HELPERS),
    except(Agent::Codex, Aspect::Outputs, STOPPED_AT_ONCE, CODEX_STOPPED),
    except(Agent::Codex, Aspect::Outputs, &["keeps-a-list"], CODEX_PLAN),
    except(Agent::Codex, Aspect::Outputs, &["no-such-tool"], CODEX_NO_TOOL),
    except(Agent::OpenCode, Aspect::Outputs, &["searches-files"], OPENCODE_SEARCH),
    except(
        Agent::Claude,
        Aspect::Files,
        &["document-is-attached", "text-is-attached"],
        "is sent what is in a document, not where it is",
    ),
    except(Agent::Claude, Aspect::Files, &["patches-several-files"], CLAUDE_PATCH),
    except(Agent::OpenCode, Aspect::Files, &["patches-several-files"], "writes `1,1` where a hunk has one line"),
    except(Agent::Codex, Aspect::Files, &["image-is-attached"], "is sent where an image is, not what is in it"),
    except(Agent::Codex, Aspect::Files, &["commands-one-after-the-other"], "says which files a command reads"),
    except(
        Agent::Claude,
        Aspect::Permissions,
        &["allowed-for-good"],
        "stores a rule where the others allow for the rest of the session",
    ),
    except(Agent::Codex, Aspect::Permissions, &["change-is-allowed"], CODEX_READS),
    except(
        Agent::OpenCode,
        Aspect::Permissions,
        &["allowed-for-good", "allowed-once", "denied", "denied-with-a-reason", "interrupted-while-asked"],
        "cannot store a rule for good",
    ),
    except(Agent::Codex, Aspect::Questions, QUESTIONS, CODEX_ASKS),
    except(Agent::Claude, Aspect::Questions, &["question-is-dismissed"], "is refused with words; the others without"),
    except(Agent::Claude, Aspect::Statuses, &["allowed-for-good"], "proposes another mode with the rule"),
    except(
        Agent::Claude,
        Aspect::Statuses,
        &["connection-breaks-then-fine"],
        "does not say what kind of failure it was",
    ),
    except(Agent::Claude, Aspect::Statuses, &["error-in-the-stream"], "does not try again"),
    except(Agent::Claude, Aspect::Statuses, HELPERS, "tells how far a sub-agent is; the others only show what it does"),
    except(Agent::Codex, Aspect::Statuses, QUESTIONS, "asks the user only in plan mode"),
    except(
        Agent::Codex,
        Aspect::Statuses,
        &["error-in-the-stream"],
        "says of an error in the stream only that it broke off",
    ),
    except(
        Agent::Codex,
        Aspect::Statuses,
        &["overloaded-then-fine", "server-error-then-fine"],
        "does not tell that it makes a request again which a server error answered",
    ),
    except(
        Agent::OpenCode,
        Aspect::Statuses,
        &["server-error-then-fine"],
        "says the words of a failure, not its status",
    ),
    except(Agent::OpenCode, Aspect::Statuses, &["refused-for-a-wrong-key"], "does not try a wrong key again"),
    except(
        Agent::Codex,
        Aspect::Errors,
        &["refused-as-invalid"],
        "does not say the status of a request that was refused",
    ),
    except(Agent::OpenCode, Aspect::Errors, &["answer-is-cut-at-the-limit"], OPENCODE_CUT),
    except(Agent::OpenCode, Aspect::Turns, &["answer-is-cut-at-the-limit"], OPENCODE_CUT),
    except(Agent::OpenCode, Aspect::Turns, REFUSED, OPENCODE_REFUSED),
    except(Agent::OpenCode, Aspect::Sessions, &[], "has no permission modes, only rules"),
];
