//! The agents as npm has them.

use std::cmp::Ordering;

use semver::Version;

use crate::agents::Fit;

/// An agent that can be installed.
#[derive(Debug)]
pub(crate) struct Package {
    /// Our name of it, which is also that of its program.
    pub(crate) agent: &'static str,
    /// Its name in npm's registry.
    pub(crate) npm: &'static str,
    /// Variables that a key may be in.
    pub(crate) keys: &'static [&'static str],
    /// Files that a login leaves below the home folder, and what to call it.
    pub(crate) logins: &'static [(&'static str, &'static str)],
}

/// Claude Code.
pub(crate) const CLAUDE: Package = Package {
    agent: "claude",
    npm: "@anthropic-ai/claude-code",
    keys: &["ANTHROPIC_API_KEY", "CLAUDE_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    logins: &[(".claude/.credentials.json", "claude login")],
};

/// Codex.
pub(crate) const CODEX: Package = Package {
    agent: "codex",
    npm: "@openai/codex",
    keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
    logins: &[(".codex/auth.json", "codex login")],
};

/// OpenCode.
pub(crate) const OPENCODE: Package = Package {
    agent: "opencode",
    npm: "opencode-ai",
    keys: &[
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
    logins: &[(".local/share/opencode/auth.json", "opencode auth login")],
};

/// Amp.
pub(crate) const AMP: Package = Package {
    agent: "amp",
    npm: "@sourcegraph/amp",
    keys: &["AMP_API_KEY", "ANTHROPIC_API_KEY"],
    logins: &[(".local/share/amp/secrets.json", "amp login")],
};

impl Package {
    /// The version that our types were made for.
    pub(crate) fn version(&self) -> Option<String> {
        interlingua_agent_schemas::find(self.agent).map(|schemas| schemas.agent_version.to_owned())
    }

    /// The command that installs it.
    pub(crate) fn install_command(&self, version: Option<&str>) -> String {
        match version {
            Some(version) => format!("interlingua agents install {}@{version}", self.agent),
            None => format!("interlingua agents install {}", self.agent),
        }
    }
}

/// How a version stands to the one that our types were made for.
pub(super) fn fit(version: &str, made_for: &str) -> Fit {
    match compare(version, made_for) {
        Ordering::Less => Fit::Older,
        Ordering::Equal => Fit::Same,
        Ordering::Greater => Fit::Newer,
    }
}

/// Compares two versions by their numbers, then by whether they are releases. What follows the numbers of a pre-release
/// is no order: Amp puts a commit there. A version that is not a semantic one is older than all others.
fn compare(one: &str, other: &str) -> Ordering {
    let key = |version: &str| {
        let version = Version::parse(version).ok()?;
        Some((version.major, version.minor, version.patch, version.pre.is_empty()))
    };
    key(one).cmp(&key(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_version_that_its_types_were_made_for() {
        for package in [&CLAUDE, &CODEX, &OPENCODE, &AMP] {
            let version = package.version().unwrap_or_else(|| panic!("{} has none", package.agent));
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{} {version}", package.agent);
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (older, newer) in [("2.1.9", "2.1.10"), ("0.166.0-alpha.1", "0.166.0"), ("0.0.17-ga", "0.0.18-gb")] {
            assert_eq!(compare(older, newer), Ordering::Less, "{older} {newer}");
        }
        assert_eq!(compare("0.0.1-gaa", "0.0.1-gbb"), Ordering::Equal);
    }

    #[test]
    fn a_newer_version_is_told_from_an_older() {
        assert_eq!(
            ["3.0.0", "1.9.9", "2.0.0"].map(|version| fit(version, "2.0.0")),
            [Fit::Newer, Fit::Older, Fit::Same]
        );
    }
}
