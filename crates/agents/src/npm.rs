//! How the npm client reports failures. It prints lines such as `npm error code E404` on standard error.

use std::fmt;

/// What to do if there is no npm.
pub const NPM_MISSING: &str = "npm is not on the PATH: install Node.js 20 or newer, which includes npm";

/// Codes for a registry that does not answer.
const UNREACHABLE_CODES: [&str; 11] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "ENETDOWN",
    "EHOSTUNREACH",
    "ERR_SOCKET_TIMEOUT",
    "FETCH_ERROR",
    "ENOTCACHED",
];
/// Codes for a package or version that does not exist.
const NOT_FOUND_CODES: [&str; 3] = ["E404", "ETARGET", "ENOVERSIONS"];
/// What lines with details of a system call begin with. The message follows them.
const DETAILS: [&str; 5] = ["code ", "errno ", "syscall ", "path ", "A complete log"];

/// A failure of npm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NpmFailure {
    /// The registry cannot be reached. Has npm's code for the reason.
    Unreachable(String),
    /// The registry does not have the package or version. Has what npm was looking for, if it says so.
    NotFound(Option<String>),
    /// The disk is full.
    DiskFull,
    /// Any other failure, with npm's code, if it has one, and message.
    Other {
        /// The code, such as `EACCES`.
        code: Option<String>,
        /// The message, or the last line that npm printed.
        message: Option<String>,
    },
}

impl NpmFailure {
    /// Parses what npm printed on standard error.
    #[must_use]
    pub fn parse(stderr: &str) -> Self {
        let lines = || {
            let lines = stderr.lines();
            // Before npm 10.
            let lines =
                lines.filter_map(|line| line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! ")));
            lines.map(str::trim)
        };
        let code = lines().find_map(|line| line.strip_prefix("code "));
        match code {
            Some(code) if UNREACHABLE_CODES.contains(&code) => Self::Unreachable(code.to_owned()),
            Some(code) if NOT_FOUND_CODES.contains(&code) => {
                let spec = lines().find_map(|line| line.strip_prefix("notarget No matching version found for "));
                Self::NotFound(spec.map(|spec| spec.trim_end_matches('.').to_owned()))
            }
            Some("ENOSPC") => Self::DiskFull,
            code => {
                let is_message =
                    |line: &&str| !line.is_empty() && !DETAILS.iter().any(|detail| line.starts_with(detail));
                let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty() && code.is_none());
                let message = lines().find(is_message).or(last);
                Self::Other { code: code.map(str::to_owned), message: message.map(str::to_owned) }
            }
        }
    }
}

impl fmt::Display for NpmFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(code) => {
                write!(f, "npm cannot reach its registry ({code}): check the network and npm's proxy settings")
            }
            Self::NotFound(spec) => write!(f, "the npm registry has no {}", spec.as_deref().unwrap_or("such package")),
            Self::DiskFull => f.write_str("the disk is full; free some space"),
            Self::Other { code: Some(code), message: Some(message) } => write!(f, "{code}, {message}"),
            Self::Other { code: Some(text), message: None } | Self::Other { code: None, message: Some(text) } => {
                f.write_str(text)
            }
            Self::Other { code: None, message: None } => f.write_str("it printed no reason"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_registry_is_detected() {
        for stderr in ["npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n", "npm ERR! code EAI_AGAIN\n"] {
            assert_eq!(NpmFailure::parse(stderr), NpmFailure::Unreachable("EAI_AGAIN".to_owned()));
        }
    }

    #[test]
    fn a_missing_version_is_named() {
        let stderr = "npm error code ETARGET\nnpm error notarget No matching version found for @openai/codex@9.\n";
        assert_eq!(NpmFailure::parse(stderr).to_string(), "the npm registry has no @openai/codex@9");
        assert_eq!(NpmFailure::parse("npm error code E404\n"), NpmFailure::NotFound(None));
    }

    #[test]
    fn any_other_failure_has_the_message_of_npm() {
        let text = |stderr: &str| NpmFailure::parse(stderr).to_string();
        assert_eq!(
            text("npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n"),
            "EACCES, permission denied"
        );
        assert_eq!(text("env: 'node': No such file or directory\n"), "env: 'node': No such file or directory");
        assert_eq!(text(""), "it printed no reason");
        assert_eq!(NpmFailure::parse("npm error code ENOSPC\n"), NpmFailure::DiskFull);
    }
}
