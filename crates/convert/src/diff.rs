//! Unified diffs.

use crate::paths::diff_header_path;
use similar::{Algorithm, TextDiff};

/// Maximum number of lines, both sides together, that are compared line by line.
const MAX_COMPARED_LINES: usize = 50_000;

/// Unified diff of one file with three lines of context and the headers `--- a/…` and `+++ b/…`. `None` if nothing
/// changed. A side that is `None` means that the file was created or deleted.
#[must_use]
pub fn unified_diff(path: &str, old: Option<&str>, new: Option<&str>) -> Option<String> {
    let (before, after) = (old.unwrap_or(""), new.unwrap_or(""));
    if before == after {
        return None;
    }
    let path = path.trim_start_matches('/');
    let from = if old.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    let to = if new.is_some() { format!("b/{path}") } else { "/dev/null".to_owned() };
    if before.lines().count() + after.lines().count() > MAX_COMPARED_LINES {
        return Some(replacement_diff(&from, &to, before, after));
    }
    // Patience takes linear time on long texts that are mostly equal, as edits are.
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(before, after);
    Some(diff.unified_diff().context_radius(3).header(&from, &to).to_string())
}

/// Replaces the header of a diff of one file by the uniform one: `--- a/<path>` and `+++ b/<path>`. The path is
/// relative to the session's directory if the file is below it, and `/dev/null` on the missing side of a created or
/// deleted file.
pub(crate) fn with_header(diff: &str, path: &str, to: Option<&str>, cwd: Option<&str>) -> String {
    let mut rest = diff;
    let (mut created, mut deleted) = (false, false);
    // The header ends at the first hunk. In a text without hunks, only lines that look like a header belong to it.
    while !rest.is_empty() && !rest.starts_with("@@") {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let is_header = [
            "--- ",
            "+++ ",
            "diff ",
            "index ",
            "Index: ",
            "===",
            "new file ",
            "deleted file ",
            "rename ",
            "similarity ",
        ]
        .iter()
        .any(|start| line.starts_with(start));
        if !is_header {
            break;
        }
        created |= line.starts_with("--- /dev/null");
        deleted |= line.starts_with("+++ /dev/null");
        rest = after;
    }
    let side = |prefix: &str, path: &str, is_missing: bool| {
        if is_missing { "/dev/null".to_owned() } else { format!("{prefix}/{}", diff_header_path(path, cwd)) }
    };
    let (from, to) = (side("a", path, created), side("b", to.unwrap_or(path), deleted));
    format!("--- {from}\n+++ {to}\n{rest}")
}

/// A diff that removes the whole old text and adds the whole new one.
fn replacement_diff(from: &str, to: &str, old: &str, new: &str) -> String {
    let side = |sign: &'static str, text| -> String { str::lines(text).flat_map(|line| [sign, line, "\n"]).collect() };
    let range = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        lines => format!("1,{lines}"),
    };
    format!("--- {from}\n+++ {to}\n@@ -{} +{} @@\n{}{}", range(old), range(new), side("-", old), side("+", new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_and_new_files_have_a_diff_and_equal_texts_have_none() {
        assert_eq!(
            unified_diff("/src/a.rs", Some("a\nb\n"), Some("a\nc\n")).unwrap(),
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        assert_eq!(unified_diff("x", None, Some("hi\n")).unwrap(), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hi\n");
        assert_eq!(unified_diff("x", Some("same"), Some("same")), None);
    }

    #[test]
    fn every_diff_has_the_same_header() {
        let hunk = "@@ -1 +1 @@\n-a\n+b\n";
        for header in ["", "--- /w/src/a.rs\n+++ /w/src/a.rs\n", "Index: a.rs\n=====\n--- a.rs\told\n+++ a.rs\tnew\n"] {
            let diff = with_header(&format!("{header}{hunk}"), "/w/src/a.rs", None, Some("/w"));
            assert_eq!(diff, format!("--- a/src/a.rs\n+++ b/src/a.rs\n{hunk}"));
        }
        let created = with_header("--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+a\n", "/w/a", None, Some("/w"));
        assert_eq!(created, "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(with_header(hunk, "/etc/x", None, Some("/w")), format!("--- a/etc/x\n+++ b/etc/x\n{hunk}"));
        assert_eq!(with_header(hunk, "/w/a", Some("/w/b"), Some("/w")), format!("--- a/a\n+++ b/b\n{hunk}"));
    }

    #[test]
    fn a_huge_file_is_replaced_as_a_whole() {
        let old = "x\n".repeat(MAX_COMPARED_LINES);
        let diff = unified_diff("x", Some(&old), Some("y\n")).unwrap();
        assert!(diff.starts_with("--- a/x\n+++ b/x\n@@ -1,50000 +1,1 @@\n-x\n"));
    }
}
