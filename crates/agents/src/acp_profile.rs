//! Agents that speak the Agent Client Protocol: how each is installed, started and configured.

use crate::descriptor::{CLAUDE_LOGIN, CODEX_LOGIN, Descriptor, LoginFile, OPENCODE_LOGIN, ProcessModel, Stability};

/// An agent that speaks the Agent Client Protocol: facts, no behaviour.
#[derive(Debug)]
#[non_exhaustive]
pub struct AcpProfile {
    /// Names, package, program and credentials. The id is the agent's name in the API.
    pub descriptor: Descriptor,
    /// Arguments that start the program as an ACP agent.
    pub arguments: &'static [&'static str],
    /// Variables of the server's environment that the agent inherits, beside the common ones; a `*` at the end matches
    /// any name with this prefix.
    pub inherited_variables: &'static [&'static str],
    /// Variables that are always set. They keep an installed agent from updating itself.
    pub fixed_variables: &'static [(&'static str, &'static str)],
    /// The modes of the agent that stand for the permission modes.
    pub permission_modes: PermissionModes,
    /// Names by which the agent introduces itself on the wire (`agentInfo.name`), older ones included.
    pub implementation_names: &'static [&'static str],
    /// How the agent uses what the protocol leaves open.
    pub dialect: AcpDialect,
    /// Whether the host offers to read and write files for the agent.
    pub offers_files: bool,
    /// The version that was measured; `None` if none was.
    pub measured_version: Option<&'static str>,
    /// How to install it, if it is not an npm package.
    pub install_hint: Option<&'static str>,
}

/// How an agent uses what the protocol leaves open: names of tools, arguments, outputs, usage.
///
/// Agents that derive from each other share a dialect where their wires agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcpDialect {
    /// Nothing is known beyond the protocol.
    #[default]
    Standard,
    /// The adapters that drive Claude Code.
    Claude,
    /// The adapter that drives Codex.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
    /// Qwen Code.
    Qwen,
}

/// The modes of an agent that stand for the permission modes. `None` if the agent has no such mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermissionModes {
    /// The agent asks before anything that matters. Without one, the mode in which a session starts counts.
    pub default: Option<&'static str>,
    /// The agent changes nothing.
    pub plan: Option<&'static str>,
    /// The agent never asks.
    pub bypass: Option<&'static str>,
    /// The agent edits files without asking.
    pub accept_edits: Option<&'static str>,
}

/// What a user can do if an agent requires a login: set a variable, run a command, or use one of the agent's methods.
#[must_use]
pub fn login_remedy(descriptor: Option<&Descriptor>, methods: &[String]) -> String {
    let variables = descriptor.map(|descriptor| descriptor.credential_variables.join(" or ")).unwrap_or_default();
    let mut remedies = Vec::new();
    if !variables.is_empty() {
        remedies.push(format!("set {variables}"));
    }
    if let Some(descriptor) = descriptor.filter(|descriptor| !descriptor.login_files.is_empty()) {
        // The program of the agent may not be on the PATH.
        remedies.push(format!("run `interlingua agents login {}`", descriptor.id));
    }
    let remedy = if remedies.is_empty() { "log in with its own program".to_owned() } else { remedies.join(", or ") };
    if methods.is_empty() { remedy } else { format!("{remedy}; it offers: {}", methods.join(", ")) }
}

impl PermissionModes {
    /// The permission mode that a mode of the agent stands for: `default`, `plan`, `bypass` or `acceptEdits`.
    #[must_use]
    pub fn universal_name(&self, mode: &str) -> Option<&'static str> {
        let names = [
            (self.default, "default"),
            (self.plan, "plan"),
            (self.bypass, "bypass"),
            (self.accept_edits, "acceptEdits"),
        ];
        names.into_iter().find_map(|(own, name)| (own == Some(mode)).then_some(name))
    }
}

impl AcpProfile {
    /// All profiles, in the order in which they are listed.
    pub const ALL: &'static [&'static Self] =
        &[&GEMINI, &COPILOT, &QWEN, &GOOSE, &CURSOR, &KIMI, &CLAUDE_ACP, &CODEX_ACP, &OPENCODE_ACP];

    /// The profile with this id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<&'static Self> {
        Self::ALL.iter().copied().find(|profile| profile.descriptor.id == id)
    }

    /// The profile of the agent that introduces itself by this name.
    #[must_use]
    pub fn from_implementation(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().copied().find(|profile| profile.implementation_names.contains(&name))
    }

    /// A profile for an agent that is started by a command of the user, which inherits these variables of the server's
    /// environment. It is kept until the program ends.
    #[must_use]
    pub fn custom(id: String, program: String, arguments: Vec<String>, inherited: Vec<String>) -> &'static Self {
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let id = leak(id);
        let leak_all =
            |texts: Vec<String>| -> &'static [&'static str] { Vec::leak(texts.into_iter().map(leak).collect()) };
        Box::leak(Box::new(Self {
            descriptor: Descriptor { id, display_name: id, program: leak(program), ..UNINSTALLED },
            arguments: leak_all(arguments),
            inherited_variables: leak_all(inherited),
            fixed_variables: &[],
            permission_modes: NO_MODES,
            implementation_names: &[],
            dialect: AcpDialect::Standard,
            offers_files: true,
            measured_version: None,
            install_hint: None,
        }))
    }
}

/// What the descriptors have in common.
const UNINSTALLED: Descriptor = Descriptor {
    id: "",
    display_name: "",
    npm_package: None,
    other_npm_packages: &[],
    program: "",
    credential_variables: &[],
    provider_variables: &[],
    login_files: &[],
    process_model: ProcessModel::ProcessPerSession,
    envelope_name: "acp",
    stability: Stability::Experimental,
    has_model_variants: true,
    fallback_models: &[],
    has_custom_model: false,
    skills_folder: None,
};

const NO_MODES: PermissionModes = PermissionModes { default: None, plan: None, bypass: None, accept_edits: None };

static GEMINI: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "gemini",
        display_name: "Gemini CLI",
        npm_package: Some("@google/gemini-cli"),
        program: "gemini",
        credential_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        login_files: &[LoginFile::new(".gemini/oauth_creds.json", "gemini")],
        ..UNINSTALLED
    },
    arguments: &["--skip-trust", "--acp"],
    inherited_variables: &["GEMINI_*", "GOOGLE_*"],
    fixed_variables: &[("GEMINI_CLI_DISABLE_AUTO_UPDATE", "true")],
    permission_modes: PermissionModes {
        default: Some("default"),
        plan: Some("plan"),
        bypass: Some("yolo"),
        accept_edits: Some("autoEdit"),
    },
    implementation_names: &["gemini-cli"],
    dialect: AcpDialect::Gemini,
    // It does not understand the answer that a file does not exist, so it could not create files.
    offers_files: false,
    measured_version: Some("0.61.0"),
    install_hint: None,
};

static COPILOT: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "copilot",
        display_name: "Copilot CLI",
        npm_package: Some("@github/copilot"),
        program: "copilot",
        credential_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"],
        login_files: &[LoginFile::new(".copilot/config.json", "copilot login")],
        ..UNINSTALLED
    },
    arguments: &["--acp", "--no-auto-update"],
    inherited_variables: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"],
    fixed_variables: &[],
    permission_modes: PermissionModes {
        default: Some("https://agentclientprotocol.com/protocol/session-modes#agent"),
        plan: Some("https://agentclientprotocol.com/protocol/session-modes#plan"),
        bypass: None,
        accept_edits: None,
    },
    implementation_names: &["Copilot"],
    dialect: AcpDialect::Copilot,
    offers_files: true,
    measured_version: Some("1.0.102"),
    install_hint: None,
};

static QWEN: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "qwen",
        display_name: "Qwen Code",
        npm_package: Some("@qwen-code/qwen-code"),
        program: "qwen",
        credential_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        login_files: &[LoginFile::new(".qwen/oauth_creds.json", "qwen")],
        ..UNINSTALLED
    },
    arguments: &["--acp"],
    inherited_variables: &["OPENAI_*", "DASHSCOPE_*", "QWEN_*"],
    fixed_variables: &[],
    permission_modes: PermissionModes {
        default: Some("default"),
        plan: Some("plan"),
        bypass: Some("yolo"),
        accept_edits: Some("auto-edit"),
    },
    implementation_names: &["qwen-code"],
    dialect: AcpDialect::Qwen,
    offers_files: true,
    measured_version: Some("0.24.4"),
    install_hint: None,
};

static GOOSE: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "goose",
        display_name: "Goose",
        program: "goose",
        credential_variables: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"],
        login_files: &[LoginFile::new(".config/goose/config.yaml", "goose configure")],
        ..UNINSTALLED
    },
    arguments: &["acp"],
    inherited_variables: &["GOOSE_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*", "OPENROUTER_*"],
    fixed_variables: &[],
    permission_modes: NO_MODES,
    implementation_names: &["goose"],
    dialect: AcpDialect::Standard,
    offers_files: true,
    measured_version: None,
    install_hint: Some("install Goose as its documentation describes, so that `goose` is on the PATH"),
};

static CURSOR: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "cursor",
        display_name: "Cursor",
        program: "cursor-agent",
        credential_variables: &["CURSOR_API_KEY"],
        login_files: &[LoginFile::new(".cursor/cli-config.json", "cursor-agent login")],
        ..UNINSTALLED
    },
    arguments: &["acp"],
    inherited_variables: &["CURSOR_*"],
    fixed_variables: &[],
    permission_modes: NO_MODES,
    implementation_names: &["cursor"],
    dialect: AcpDialect::Standard,
    offers_files: true,
    measured_version: None,
    install_hint: Some("install Cursor's command line agent, so that `cursor-agent` is on the PATH"),
};

static KIMI: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "kimi",
        display_name: "Kimi CLI",
        program: "kimi",
        credential_variables: &["KIMI_API_KEY", "MOONSHOT_API_KEY"],
        login_files: &[LoginFile::new(".kimi/config.toml", "kimi login")],
        ..UNINSTALLED
    },
    arguments: &["acp"],
    inherited_variables: &["KIMI_*", "MOONSHOT_*"],
    fixed_variables: &[],
    permission_modes: NO_MODES,
    implementation_names: &["Kimi CLI"],
    dialect: AcpDialect::Standard,
    offers_files: true,
    measured_version: None,
    install_hint: Some("install the Python package `kimi-cli`, so that `kimi` is on the PATH"),
};

static CLAUDE_ACP: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "claude-acp",
        display_name: "Claude Agent (ACP)",
        npm_package: Some("@agentclientprotocol/claude-agent-acp"),
        program: "claude-agent-acp",
        credential_variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        login_files: &[CLAUDE_LOGIN],
        ..UNINSTALLED
    },
    arguments: &[],
    inherited_variables: &["ANTHROPIC_*", "AWS_*", "CLAUDE_*", "IS_SANDBOX"],
    fixed_variables: &[("DISABLE_AUTOUPDATER", "1")],
    permission_modes: PermissionModes {
        default: Some("default"),
        plan: Some("plan"),
        bypass: Some("bypassPermissions"),
        accept_edits: Some("acceptEdits"),
    },
    implementation_names: &[
        "@agentclientprotocol/claude-agent-acp",
        "@zed-industries/claude-agent-acp",
        "@zed-industries/claude-code-acp",
    ],
    dialect: AcpDialect::Claude,
    offers_files: true,
    measured_version: Some("0.99.1"),
    install_hint: None,
};

static CODEX_ACP: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "codex-acp",
        display_name: "Codex (ACP)",
        npm_package: Some("@agentclientprotocol/codex-acp"),
        program: "codex-acp",
        credential_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        login_files: &[CODEX_LOGIN],
        ..UNINSTALLED
    },
    arguments: &[],
    inherited_variables: &["OPENAI_*", "CODEX_*"],
    fixed_variables: &[],
    permission_modes: PermissionModes {
        // Its own default lets a model review commands instead of asking.
        default: Some("workspace-write"),
        plan: Some("read-only"),
        bypass: Some("agent-full-access"),
        accept_edits: None,
    },
    implementation_names: &["@agentclientprotocol/codex-acp", "@zed-industries/codex-acp", "codex-acp"],
    dialect: AcpDialect::Codex,
    offers_files: true,
    measured_version: Some("2.6.0"),
    install_hint: None,
};

static OPENCODE_ACP: AcpProfile = AcpProfile {
    descriptor: Descriptor {
        id: "opencode-acp",
        display_name: "OpenCode (ACP)",
        npm_package: Some("opencode-ai"),
        program: "opencode",
        credential_variables: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY"],
        login_files: &[OPENCODE_LOGIN],
        ..UNINSTALLED
    },
    arguments: &["acp"],
    inherited_variables: &["OPENCODE_*", "OPENAI_*", "ANTHROPIC_*", "OPENROUTER_*", "GEMINI_*", "GROQ_*", "MISTRAL_*"],
    fixed_variables: &[("OPENCODE_DISABLE_AUTOUPDATE", "true")],
    permission_modes: PermissionModes { plan: Some("plan"), ..NO_MODES },
    implementation_names: &["OpenCode"],
    dialect: AcpDialect::OpenCode,
    offers_files: true,
    measured_version: Some("1.18.34"),
    install_hint: None,
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Agent;

    #[test]
    fn every_profile_has_a_name_of_its_own_and_can_be_installed() {
        let mut seen: BTreeSet<&str> = Agent::ALL.map(Agent::id).into();
        for profile in AcpProfile::ALL {
            let descriptor = &profile.descriptor;
            assert!(seen.insert(descriptor.id), "{}", descriptor.id);
            let is_id_char = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
            assert!(descriptor.id.bytes().all(is_id_char), "{}", descriptor.id);
            assert!(!descriptor.credential_variables.is_empty(), "{}", descriptor.id);
            assert_eq!(descriptor.npm_package.is_none(), profile.install_hint.is_some(), "{}", descriptor.id);
            assert_eq!(AcpProfile::from_id(descriptor.id).map(|found| found.descriptor.id), Some(descriptor.id));
        }
    }

    #[test]
    fn an_agent_is_known_by_the_name_that_it_gives() {
        let dialect = |name| AcpProfile::from_implementation(name).map(|profile| profile.dialect);
        assert_eq!(dialect("@zed-industries/claude-code-acp"), Some(AcpDialect::Claude));
        assert_eq!(dialect("qwen-code"), Some(AcpDialect::Qwen));
        assert_eq!(dialect("toy"), None);
        let mut seen = BTreeSet::new();
        assert!(AcpProfile::ALL.iter().flat_map(|profile| profile.implementation_names).all(|name| seen.insert(name)));
    }

    #[test]
    fn the_remedy_for_a_missing_login_names_variables_and_commands() {
        let gemini = &AcpProfile::from_id("gemini").unwrap().descriptor;
        let methods = ["Log in with Google".to_owned()];
        let expected = "set GEMINI_API_KEY or GOOGLE_API_KEY, or run `interlingua agents login gemini`; it offers: Log in with Google";
        assert_eq!(login_remedy(Some(gemini), &methods), expected);
        assert_eq!(login_remedy(None, &[]), "log in with its own program");
    }

    #[test]
    fn a_mode_of_the_agent_stands_for_a_permission_mode() {
        let modes = AcpProfile::from_id("claude-acp").unwrap().permission_modes;
        assert_eq!(modes.universal_name("bypassPermissions"), Some("bypass"));
        assert_eq!(modes.universal_name("acceptEdits"), Some("acceptEdits"));
        assert_eq!(modes.universal_name("auto"), None);
    }

    #[test]
    fn a_command_of_the_user_is_a_profile() {
        let profile =
            AcpProfile::custom("mine".to_owned(), "/bin/mine".to_owned(), vec!["--acp".to_owned()], Vec::new());
        assert_eq!((profile.descriptor.id, profile.descriptor.program), ("mine", "/bin/mine"));
        assert_eq!(profile.arguments, ["--acp"]);
    }
}
