//! Checks that the workspace compiles with the new types. The compiler's errors are the places that need a person.

use std::process::Command;

use anyhow::Result;
use serde_json::Value;

use super::{Finding, run_step};
use crate::repository::Repository;

/// Compiles everything. Returns one finding per error.
pub(super) fn check(repository: &Repository) -> Result<Vec<Finding>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args([
            "check",
            "--quiet",
            "--locked",
            "--workspace",
            "--all-targets",
            "--keep-going",
            "--message-format",
            "json",
        ])
        .current_dir(repository.root());
    let output = run_step("cargo check --workspace --all-targets", command)?;
    let mut findings: Vec<Finding> = output.text.lines().filter_map(parse_error).collect();
    if findings.is_empty() && !output.succeeded() {
        let what = "it failed; see the output above".to_owned();
        findings.push(Finding { place: "cargo check".to_owned(), what });
    }
    Ok(findings)
}

/// Parses one of cargo's messages. `None` if it is no error of the compiler.
fn parse_error(line: &str) -> Option<Finding> {
    let line: Value = serde_json::from_str(line).ok()?;
    let message = line.get("message").filter(|message| message["level"] == "error")?;
    let span = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
    let place = format!("{}:{}", span["file_name"].as_str()?, span["line_start"]);
    Some(Finding { place, what: message["message"].as_str()?.replace('\n', " ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_compiler_has_its_place() {
        let line = r#"{"reason":"compiler-message","message":{"level":"error","message":"non-exhaustive patterns: `N::X(_)` not covered","spans":[{"file_name":"out/agents.rs","line_start":9,"is_primary":false},{"file_name":"crates/convert/src/codex/notifications.rs","line_start":25,"is_primary":true}]}}"#;
        let expected = Finding {
            place: "crates/convert/src/codex/notifications.rs:25".to_owned(),
            what: "non-exhaustive patterns: `N::X(_)` not covered".to_owned(),
        };
        assert_eq!(parse_error(line), Some(expected));
        let warning = r#"{"reason":"compiler-message","message":{"level":"warning","message":"unused","spans":[]}}"#;
        assert_eq!(parse_error(warning), None);
        assert_eq!(parse_error(r#"{"reason":"build-finished","success":false}"#), None);
    }
}
