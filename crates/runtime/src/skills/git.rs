//! Git repositories with skills.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::process::Command;
use tokio::time::timeout;

use crate::environment::Environment;
use crate::process_environment::process_environment;

/// How long a command of git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(120);

/// Maximum length of what git says about an error.
const MAX_ERROR_LENGTH: usize = 500;

/// Settings of git: it does not prompt for a password, and runs no program that an address names.
const SETTINGS: [(&str, &str); 3] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file"), ("GIT_CONFIG_NOSYSTEM", "1")];

/// Address of a repository on GitHub.
pub(super) fn github_url(name: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    match name.split_once('/') {
        Some((owner, repository)) if is_name(owner) && is_name(repository) => {
            Ok(format!("https://github.com/{owner}/{}.git", repository.trim_end_matches(".git")))
        }
        _ => Err(format!("expected OWNER/REPOSITORY, found {name:?}")),
    }
}

/// Brings the copy of a repository in `folder` up to date, and returns its path.
pub(super) async fn checkout(folder: &Path, url: &str, reference: Option<&str>) -> Result<PathBuf, String> {
    let reference = reference.unwrap_or("HEAD");
    for (name, value) in [("source", url), ("ref", reference)] {
        if value.starts_with('-') || value.chars().any(char::is_control) {
            return Err(format!("invalid `{name}`: {value:?}"));
        }
    }
    let copy = folder.join(folder_name(url, reference));
    std::fs::create_dir_all(&copy).map_err(|error| format!("cannot create {}: {error}", copy.display()))?;
    run(&copy, &["init", "--quiet"]).await?;
    run(&copy, &["fetch", "--quiet", "--depth", "1", "--no-tags", "--", url, reference]).await?;
    run(&copy, &["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]).await?;
    Ok(copy)
}

/// Name of the folder of a repository at a reference.
fn folder_name(url: &str, reference: &str) -> String {
    let digest = Sha256::digest(format!("{url}\0{reference}"));
    let start = digest.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("{start:032x}")
}

async fn run(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("git");
    // Hooks of the user would run for a repository that a client chose.
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]).args(arguments);
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    command.env_clear().envs(process_environment(&[], &SETTINGS, &Environment::default()));
    let output = timeout(GIT_TIMEOUT, command.output()).await;
    let output = output.map_err(|_| format!("git {} took longer than {} s", arguments[0], GIT_TIMEOUT.as_secs()))?;
    let output = output.map_err(|error| format!("cannot run git, which sources of this type need: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let error: String = String::from_utf8_lossy(&output.stderr).trim().chars().take(MAX_ERROR_LENGTH).collect();
    Err(format!("git {} failed: {error}", arguments[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_on_github_has_an_owner_and_a_name() {
        assert_eq!(github_url("rivet-dev/skills").unwrap(), "https://github.com/rivet-dev/skills.git");
        for name in ["", "skills", "a/b/c", "-x/y", "../y", "a/..", "a b/c", "https://x/y"] {
            assert!(github_url(name).is_err(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_copy_follows_its_repository() {
        let temporary = tempfile::tempdir().unwrap();
        let (origin, copies) = (temporary.path().join("origin"), temporary.path().join("copies"));
        std::fs::create_dir(&origin).unwrap();
        let commit = async |text: &str| {
            std::fs::write(origin.join("SKILL.md"), text).unwrap();
            run(&origin, &["add", "."]).await.unwrap();
            let author = ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", text];
            run(&origin, &author).await.unwrap();
        };
        run(&origin, &["init", "--quiet", "--initial-branch=main"]).await.unwrap();
        commit("first").await;
        let url = format!("file://{}", origin.display());
        let copy = checkout(&copies, &url, None).await.unwrap();
        assert_eq!(std::fs::read_to_string(copy.join("SKILL.md")).unwrap(), "first");
        commit("second").await;
        assert_eq!(checkout(&copies, &url, None).await.unwrap(), copy);
        assert_eq!(std::fs::read_to_string(copy.join("SKILL.md")).unwrap(), "second");
        assert_ne!(checkout(&copies, &url, Some("main")).await.unwrap(), copy);

        for (url, reference) in [
            (url.as_str(), Some("none")),
            ("file:///no/such/repository", None),
            ("ext::sh -c true", None),
            ("--upload-pack=touch x", None),
            (url.as_str(), Some("--force")),
        ] {
            assert!(checkout(&copies, url, reference).await.is_err(), "{url} {reference:?}");
        }
    }
}
