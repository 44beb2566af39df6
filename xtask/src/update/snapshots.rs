//! Runs the tests, and accepts the snapshots that need no judgement: those of new recordings, additions to the list of an
//! agent's generated types, and undeclared fields that earlier versions of the agent had as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use interlingua_agents::Agent;
use similar::{ChangeTag, TextDiff};

use super::{Finding, StepOutput, run_step};
use crate::console;
use crate::repository::Repository;

/// Runs all tests, accepts what needs no judgement, and returns the rest.
pub(super) fn test_and_accept(repository: &Repository, agent: Agent) -> Result<Vec<Finding>> {
    let first = run_tests(repository, SnapshotFailures::Ignored)?;
    let pending = find_pending(&repository.root().join("snapshots"));
    let has_pending = !pending.is_empty();
    let mut findings = Vec::new();
    for path in pending {
        let old_path = path.with_extension("");
        let read =
            |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
        let (old, new) = (read(&old_path)?, read(&path)?);
        let name = repository.relative(&old_path);
        match first_difference(&old, &new) {
            Some(difference) if difference.removes || !is_expected_addition(&old_path, agent, &old, &new) => findings
                .push(Finding {
                    place: format!("{name}:{}", difference.line),
                    what: "the snapshot differs; review it with `cargo insta review`".to_owned(),
                }),
            _ => {
                std::fs::rename(&path, &old_path).with_context(|| format!("cannot replace {name}"))?;
                console::log(format_args!("accepted {name}"));
            }
        }
    }
    // With the accepted snapshots, the tests fail only for reasons that need a person.
    let last = if has_pending { run_tests(repository, SnapshotFailures::Reported)? } else { first };
    findings.extend(failed_tests(&last, !findings.is_empty()));
    Ok(findings)
}

/// What becomes of a snapshot that differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SnapshotFailures {
    /// It is written beside the old one, and the test goes on, so that all of its snapshots are written.
    Ignored,
    /// It fails its test.
    Reported,
}

/// Runs all tests. Snapshots that do not exist yet are written; those that differ are written beside the old ones.
fn run_tests(repository: &Repository, failures: SnapshotFailures) -> Result<StepOutput> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["test", "--quiet", "--locked", "--workspace", "--no-fail-fast"])
        .env("INSTA_UPDATE", "unseen")
        .env("INSTA_FORCE_PASS", if failures == SnapshotFailures::Ignored { "1" } else { "0" })
        .current_dir(repository.root());
    run_step("cargo test --workspace", command)
}

/// The tests that failed, with the place of the assertion. With `has_differences`, snapshots that differ are reported
/// already, so their failures are left out.
fn failed_tests(output: &StepOutput, has_differences: bool) -> Vec<Finding> {
    let is_snapshot = |place: &str| place.contains("/insta-");
    let mut panics = 0;
    let mut findings = Vec::new();
    for line in output.text.lines() {
        let Some((thread, place)) = line.split_once(" panicked at ") else { continue };
        let Some(name) = thread.split('\'').nth(1) else { continue };
        panics += 1;
        if has_differences && is_snapshot(place) {
            continue;
        }
        let place = place.trim_end_matches(':');
        let place = place.rsplit_once(':').map_or(place, |(place, _column)| place);
        findings.push(Finding { place: place.to_owned(), what: format!("the test `{name}` fails") });
    }
    // A test program that does not compile, or is killed, prints no panic.
    if panics == 0 && !output.succeeded() {
        let what = "it failed; see the output above".to_owned();
        findings.push(Finding { place: "cargo test --workspace".to_owned(), what });
    }
    findings
}

/// The new states of snapshots that differ: `NAME.snap.new` beside `NAME.snap`.
fn find_pending(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(find_pending(&path));
        } else if path.to_string_lossy().ends_with(".snap.new") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Whether the lines that a snapshot has gained need no judgement.
fn is_expected_addition(path: &Path, agent: Agent, old: &str, new: &str) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name != "unknown_fields.snap" {
        return name == format!("api_{}.snap", agent.id());
    }
    // The undeclared fields of a version follow its heading, such as `codex/0.169.0`.
    let known: BTreeSet<&str> = split_header(old).1.lines().map(str::trim).collect();
    let is_heading = |line: &str| line.starts_with(&format!("{}/", agent.id()));
    split_header(new).1.lines().all(|line| is_heading(line) || known.contains(line.trim()))
}

/// How two states of a snapshot differ.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    /// Line of the first difference, in the old file.
    line: usize,
    /// Whether a line of the old state is missing.
    removes: bool,
}

/// Compares the content of two snapshots, without their headers. `None` if it is the same.
fn first_difference(old: &str, new: &str) -> Option<Difference> {
    let (header, old) = split_header(old);
    let (_, new) = split_header(new);
    let diff = TextDiff::from_lines(old, new);
    let mut line = header.lines().count();
    let mut first = None;
    let mut removes = false;
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => line += 1,
            ChangeTag::Delete => {
                line += 1;
                removes = true;
                first.get_or_insert(line);
            }
            ChangeTag::Insert => {
                first.get_or_insert(line);
            }
        }
    }
    first.map(|line| Difference { line, removes })
}

/// Splits a snapshot behind its header, which is between two lines `---`.
fn split_header(text: &str) -> (&str, &str) {
    let end = text.match_indices("---\n").nth(1).map_or(0, |(start, marker)| start + marker.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_removes_nothing() {
        let old = "---\nsource: a.rs\n---\nA\nB\n";
        let new = "---\nsource: a.rs\nassertion_line: 3\n---\nA\nA2\nB\n";
        assert_eq!(first_difference(old, old), None);
        assert_eq!(first_difference(old, new), Some(Difference { line: 4, removes: false }));
        assert_eq!(first_difference(new, old).map(|difference| difference.removes), Some(true));
    }

    #[test]
    fn only_undeclared_fields_of_earlier_versions_are_expected() {
        let path = Path::new("snapshots/unknown_fields.snap");
        let old = "---\n---\ncodex/0.1.0\n  turn\n    extra\n";
        let expected = |new: &str| is_expected_addition(path, Agent::Codex, old, &format!("{old}{new}"));
        assert!(expected("codex/0.2.0\n  turn\n    extra\n"));
        assert!(!expected("codex/0.2.0\n  turn\n    brand_new\n"));
        assert!(is_expected_addition(Path::new("api_codex.snap"), Agent::Codex, old, old));
        assert!(!is_expected_addition(Path::new("api_claude.snap"), Agent::Codex, old, old));
    }

    fn output(code: i32, text: &str) -> StepOutput {
        StepOutput { code: Some(code), text: text.to_owned() }
    }

    #[test]
    fn a_failed_test_has_the_place_of_its_assertion() {
        let text = "\nthread 'universal::coverage::is_current' (12) panicked at snapshots/tests/it/coverage.rs:35:5:\n\
                    thread 'api' panicked at /registry/insta-1.49.0/src/runtime.rs:719:13:\n";
        let expected = Finding {
            place: "snapshots/tests/it/coverage.rs:35".to_owned(),
            what: "the test `universal::coverage::is_current` fails".to_owned(),
        };
        assert_eq!(failed_tests(&output(101, text), true), [expected]);
        assert_eq!(failed_tests(&output(101, text), false).len(), 2);
        assert_eq!(failed_tests(&output(0, "test result: ok."), false), []);
    }

    #[test]
    fn a_failure_without_a_failed_test_is_not_lost() {
        let findings = failed_tests(&output(101, "running 3 tests\n"), false);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].place, "cargo test --workspace");
        assert_eq!(failed_tests(&StepOutput { code: None, text: String::new() }, true).len(), 1);
    }
}
