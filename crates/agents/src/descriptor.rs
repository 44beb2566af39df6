//! What there is to know about each agent.

/// The facts about an agent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// The id that commands, wirelog headers, folders and the API use: lower case letters.
    pub id: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// The package that installs the agent with npm.
    pub npm_package: &'static str,
    /// The file name of the agent's program.
    pub program: &'static str,
    /// Environment variables in which a key may stand, the most usual one first.
    pub credential_variables: &'static [&'static str],
    /// Files that a login leaves below the home folder.
    pub login_files: &'static [LoginFile],
    /// How the agent's processes relate to sessions.
    pub process_model: ProcessModel,
    /// The agent's name in the bounded envelope: `^[a-z][a-z0-9_]*$`.
    pub envelope_name: &'static str,
    /// How far the agent's wire format can be relied on.
    pub stability: Stability,
    /// Whether a session can choose a variant of its model, such as an effort of reasoning.
    pub has_model_variants: bool,
    /// Whether the agent can be pointed at a model of one's own, such as the scripted one. One that cannot talks to its
    /// vendor's server only.
    pub has_custom_model: bool,
}

/// A file that shows that somebody logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginFile {
    /// Its path below the home folder.
    pub path: &'static str,
    /// The command that makes it, which is also what the login is called.
    pub command: &'static str,
}

/// How an agent's processes relate to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessModel {
    /// One process serves one session, turn after turn, on its standard streams.
    ProcessPerSession,
    /// One process serves one turn; the next one resumes the session.
    ProcessPerTurn,
    /// One process serves many sessions, so that what it sends says which session it is about.
    SharedServer,
}

impl ProcessModel {
    /// Whether one process serves several sessions.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::SharedServer)
    }
}

/// How far an agent's wire format can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Made for hosts, and kept compatible by its vendor.
    Stable,
    /// It may change with any release.
    Experimental,
}

impl Stability {
    /// The name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Stable => "Stable",
            Self::Experimental => "Experimental",
        }
    }
}

pub(crate) static CLAUDE: Descriptor = Descriptor {
    id: "claude",
    display_name: "Claude Code",
    npm_package: "@anthropic-ai/claude-code",
    program: "claude",
    credential_variables: &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    login_files: &[LoginFile { path: ".claude/.credentials.json", command: "claude login" }],
    process_model: ProcessModel::ProcessPerSession,
    envelope_name: "claude_code",
    stability: Stability::Stable,
    has_model_variants: true,
    has_custom_model: true,
};

pub(crate) static CODEX: Descriptor = Descriptor {
    id: "codex",
    display_name: "Codex",
    npm_package: "@openai/codex",
    program: "codex",
    credential_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    login_files: &[LoginFile { path: ".codex/auth.json", command: "codex login" }],
    process_model: ProcessModel::SharedServer,
    envelope_name: "codex",
    stability: Stability::Stable,
    has_model_variants: true,
    has_custom_model: true,
};

pub(crate) static OPENCODE: Descriptor = Descriptor {
    id: "opencode",
    display_name: "OpenCode",
    npm_package: "opencode-ai",
    program: "opencode",
    credential_variables: &[
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENCODE_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "DEEPSEEK_API_KEY",
        "XAI_API_KEY",
    ],
    login_files: &[LoginFile { path: ".local/share/opencode/auth.json", command: "opencode auth login" }],
    process_model: ProcessModel::SharedServer,
    envelope_name: "opencode",
    stability: Stability::Experimental,
    has_model_variants: true,
    has_custom_model: true,
};

pub(crate) static AMP: Descriptor = Descriptor {
    id: "amp",
    display_name: "Amp",
    npm_package: "@sourcegraph/amp",
    program: "amp",
    credential_variables: &["AMP_API_KEY", "ANTHROPIC_API_KEY"],
    login_files: &[LoginFile { path: ".local/share/amp/secrets.json", command: "amp login" }],
    process_model: ProcessModel::ProcessPerTurn,
    envelope_name: "amp",
    stability: Stability::Experimental,
    has_model_variants: false,
    has_custom_model: false,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::Agent;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for agent in Agent::ALL {
            let descriptor = agent.descriptor();
            assert!(seen.insert(descriptor.id), "{}", descriptor.id);
            assert!(descriptor.id.bytes().all(|byte| byte.is_ascii_lowercase()), "{}", descriptor.id);
            let is_envelope = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(descriptor.envelope_name.bytes().all(is_envelope), "{}", descriptor.envelope_name);
            assert!(!descriptor.credential_variables.is_empty(), "{}", descriptor.id);
        }
    }
}
