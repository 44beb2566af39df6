//! The registry: one descriptor per agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Registry row of an agent: facts, no behaviour.
#[derive(Debug)]
#[non_exhaustive]
pub struct Descriptor {
    /// The id that commands, wirelog headers, directories and the API use: lower-case letters.
    pub id: &'static str,
    /// Name for people.
    pub display_name: &'static str,
    /// npm package that installs the agent; `None` if it is installed in another way.
    pub npm_package: Option<&'static str>,
    /// Other names under which the same agent is published.
    pub other_npm_packages: &'static [&'static str],
    /// File name of the agent's program.
    pub program: &'static str,
    /// Environment variables that may hold an API key, the most common one first.
    pub credential_variables: &'static [&'static str],
    /// Environment variables that make the agent use another provider, which has other credentials.
    pub provider_variables: &'static [&'static str],
    /// Files that a login creates in the home directory.
    pub login_files: &'static [LoginFile],
    /// How the agent's processes relate to sessions.
    pub process_model: ProcessModel,
    /// Name of the agent in the bounded envelope: `^[a-z][a-z0-9_]*$`.
    pub envelope_name: &'static str,
    /// Stability of the agent's wire format.
    pub stability: Stability,
    /// Whether a session can choose a variant of its model, such as a reasoning effort.
    pub has_model_variants: bool,
    /// Models to offer while the agent is not installed and cannot be asked; empty where they depend on its configuration,
    /// or on its mode. `default` is first where the agent has a model of this name.
    pub fallback_models: &'static [&'static str],
    /// Whether the agent can use another model server, such as the scripted model. Otherwise it talks to its vendor's
    /// server only.
    pub has_custom_model: bool,
    /// Folder, relative to the agent's working directory, in which it looks for skills; `None` if none is known.
    pub skills_folder: Option<&'static str>,
}

impl Descriptor {
    /// All npm packages that install the agent, the preferred one first.
    pub fn npm_packages(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.npm_package.into_iter().chain(self.other_npm_packages.iter().copied())
    }
}

/// A file that exists after a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginFile {
    /// Path relative to the home directory.
    pub path: &'static str,
    /// Environment variable with another directory for the first part of the path, if there is one, and this part.
    pub moved_by: Option<(&'static str, &'static str)>,
    /// Files beside it that may say where the agent finds other credentials, such as a keychain.
    pub settings: &'static [&'static str],
    /// Command that creates it: a program and its arguments, separated by spaces. It is also the name of this kind of login.
    pub command: &'static str,
}

impl LoginFile {
    pub(crate) const fn new(path: &'static str, command: &'static str) -> Self {
        Self { path, moved_by: None, settings: &[], command }
    }

    /// The path of the file. `variable` finds an environment variable.
    pub fn locate(&self, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some((name, part)) = self.moved_by
            && let (Some(moved), Ok(rest)) = (folder(name), Path::new(self.path).strip_prefix(part))
        {
            return Some(moved.join(rest));
        }
        Some(folder("HOME")?.join(self.path))
    }
}

/// Where Claude Code keeps its login.
pub(crate) const CLAUDE_LOGIN: LoginFile = LoginFile {
    moved_by: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    settings: &["settings.json"],
    ..LoginFile::new(".claude/.credentials.json", "claude auth login")
};

/// Where Codex keeps its login.
pub(crate) const CODEX_LOGIN: LoginFile = LoginFile {
    moved_by: Some(("CODEX_HOME", ".codex")),
    settings: &["config.toml"],
    ..LoginFile::new(".codex/auth.json", "codex login")
};

/// Where OpenCode keeps its login.
pub(crate) const OPENCODE_LOGIN: LoginFile = LoginFile {
    moved_by: Some(("XDG_DATA_HOME", ".local/share")),
    ..LoginFile::new(".local/share/opencode/auth.json", "opencode auth login")
};

/// How an agent's processes relate to sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessModel {
    /// One process serves one session, turn after turn, on its standard streams.
    ProcessPerSession,
    /// One process serves one turn; the process of the next turn resumes the session.
    ProcessPerTurn,
    /// One process serves many sessions; its messages say which session they belong to.
    SharedServer,
}

impl ProcessModel {
    /// Whether one process serves several sessions.
    #[must_use]
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::SharedServer)
    }
}

/// Stability of an agent's wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Meant for hosts, and kept compatible by its vendor.
    Stable,
    /// May change with any release.
    Experimental,
}

impl Stability {
    /// Name for people.
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
    npm_package: Some("@anthropic-ai/claude-code"),
    other_npm_packages: &[],
    program: "claude",
    credential_variables: &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    provider_variables: &[
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_FOUNDRY",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    login_files: &[CLAUDE_LOGIN],
    process_model: ProcessModel::ProcessPerSession,
    envelope_name: "claude_code",
    stability: Stability::Stable,
    has_model_variants: true,
    fallback_models: &["default", "sonnet", "opus", "haiku"],
    has_custom_model: true,
    skills_folder: Some(".claude/skills"),
};

pub(crate) static CODEX: Descriptor = Descriptor {
    id: "codex",
    display_name: "Codex",
    npm_package: Some("@openai/codex"),
    other_npm_packages: &[],
    program: "codex",
    credential_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    provider_variables: &["AZURE_OPENAI_API_KEY", "OPENAI_BASE_URL"],
    login_files: &[CODEX_LOGIN],
    process_model: ProcessModel::SharedServer,
    envelope_name: "codex",
    stability: Stability::Stable,
    has_model_variants: true,
    fallback_models: &["gpt-6.1-sol", "gpt-6-sol", "gpt-6-luna", "gpt-5.5"],
    has_custom_model: true,
    skills_folder: Some(".agents/skills"),
};

pub(crate) static OPENCODE: Descriptor = Descriptor {
    id: "opencode",
    display_name: "OpenCode",
    npm_package: Some("opencode-ai"),
    other_npm_packages: &[],
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
    provider_variables: &[],
    login_files: &[OPENCODE_LOGIN],
    process_model: ProcessModel::SharedServer,
    envelope_name: "opencode",
    stability: Stability::Experimental,
    has_model_variants: true,
    fallback_models: &[],
    has_custom_model: true,
    skills_folder: Some(".opencode/skill"),
};

pub(crate) static AMP: Descriptor = Descriptor {
    id: "amp",
    display_name: "Amp",
    npm_package: Some("@sourcegraph/amp"),
    other_npm_packages: &["@ampcode/cli"],
    program: "amp",
    credential_variables: &["AMP_API_KEY", "ANTHROPIC_API_KEY"],
    provider_variables: &[],
    login_files: &[LoginFile::new(".local/share/amp/secrets.json", "amp login")],
    process_model: ProcessModel::ProcessPerTurn,
    envelope_name: "amp",
    stability: Stability::Experimental,
    has_model_variants: false,
    fallback_models: &[],
    has_custom_model: false,
    skills_folder: Some(".agents/skills"),
};

/// The protocol itself. The agents that speak it are in [`profile`](crate::profile).
pub(crate) static ACP: Descriptor = Descriptor {
    id: "acp",
    display_name: "Agent Client Protocol",
    npm_package: None,
    other_npm_packages: &[],
    program: "acp",
    credential_variables: &[],
    provider_variables: &[],
    login_files: &[],
    process_model: ProcessModel::ProcessPerSession,
    envelope_name: "acp",
    stability: Stability::Stable,
    has_model_variants: false,
    fallback_models: &[],
    has_custom_model: false,
    skills_folder: None,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Agent;

    #[test]
    fn a_login_is_below_the_home_directory_or_where_a_variable_says() {
        let locate = |variables: &[(&str, &str)]| {
            let find = |wanted: &str| variables.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.into());
            CODEX_LOGIN.locate(find)
        };
        assert_eq!(locate(&[("HOME", "/home/a")]), Some("/home/a/.codex/auth.json".into()));
        assert_eq!(locate(&[("HOME", "/home/a"), ("CODEX_HOME", "/c")]), Some("/c/auth.json".into()));
        assert_eq!(locate(&[]), None);
        for login in [CLAUDE_LOGIN, CODEX_LOGIN, OPENCODE_LOGIN] {
            let (_, part) = login.moved_by.unwrap();
            assert!(Path::new(login.path).starts_with(part), "{}", login.path);
        }
    }

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut seen = BTreeSet::new();
        for agent in Agent::ALL {
            let descriptor = agent.descriptor();
            assert!(seen.insert(descriptor.id), "{}", descriptor.id);
            assert!(descriptor.id.bytes().all(|byte| byte.is_ascii_lowercase()), "{}", descriptor.id);
            let is_envelope_char = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            assert!(descriptor.envelope_name.bytes().all(is_envelope_char), "{}", descriptor.envelope_name);
            let has_credentials = !descriptor.credential_variables.is_empty();
            assert_eq!(has_credentials, agent != Agent::Acp, "{}", descriptor.id);
        }
    }
}
